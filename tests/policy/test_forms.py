"""Where the embedded engine reads Rego as OPA does, where vetting refuses, and what remains."""

from __future__ import annotations

import json
import subprocess

import pytest
from rego_forms import DIFFERENT, DOCUMENT, REFUSED, SAME, module

from pytest_soclab.policy import embedded
from pytest_soclab.policy.probes import PROBES
from pytest_soclab.policy.rego_text import parse
from pytest_soclab.policy.vetting import vet


@pytest.fixture(scope="module")
def by_opa(opa, tmp_path_factory):
    """Return OPA's answer on each form, all asked at once."""
    forms = {**SAME, **REFUSED, **{name: form for name, (form, _) in DIFFERENT.items()}}
    directory = tmp_path_factory.mktemp("forms")
    for number, form in enumerate(forms.values()):
        (directory / f"{number}.rego").write_text(module(f"forms.f{number}", form), encoding="utf-8")
    answers = _eval(opa, directory, "data.forms")
    return {name: answers[f"f{number}"]["decision"] for number, name in enumerate(forms)}


def _eval(opa, path, query):
    command = [opa, "eval", "--stdin-input", "--data", str(path), query]
    done = subprocess.run(command, input=json.dumps(DOCUMENT), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["result"][0]["expressions"][0]["value"]


def by_regopy(form) -> str:
    interpreter = embedded._interpreter()
    interpreter.add_module("form.rego", module("soclab.gateway", form))
    interpreter.set_input(embedded._input(DOCUMENT))
    bundle = interpreter.build(None, ["soclab/gateway/decision"])
    assert bundle.ok()
    return interpreter.query_bundle_entrypoint(bundle, "soclab/gateway/decision")[0].expressions[0]


@pytest.mark.parametrize("name", SAME)
def test_both_engines_agree(by_opa, name):
    assert by_regopy(SAME[name]) == by_opa[name]


@pytest.mark.parametrize("name", SAME)
def test_vetting_lets_pass_what_agrees(name):
    faults = vet([parse("form.rego", module("soclab.gateway", SAME[name]))], embedded.works)
    assert [str(fault) for fault in faults] == []


@pytest.mark.parametrize("name", REFUSED)
def test_vetting_refuses_what_disagrees(by_opa, name):
    assert by_regopy(REFUSED[name]) != by_opa[name]
    assert vet([parse("form.rego", module("soclab.gateway", REFUSED[name]))], embedded.works)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_remains_is_documented(by_opa, name):
    form, answer = DIFFERENT[name]
    assert by_regopy(form) == answer != by_opa[name]


def test_every_probe_holds_in_opa(opa, tmp_path):
    rules = "".join(f'holds contains "{name}" if {expression}\n\n' for name, expression in PROBES.items())
    (tmp_path / "probes.rego").write_text(f"package probes\n\n{rules}", encoding="utf-8")
    assert set(PROBES) - set(_eval(opa, tmp_path, "data.probes.holds")) == set()
