"""Where the embedded engine reads Rego as OPA does, where vetting refuses, and what remains."""

from __future__ import annotations

import json
import subprocess

import pytest
from rego_forms import DOCUMENT, REFUSED, SAME, module

from pytest_soclab.base.errors import PolicyError
from pytest_soclab.policy import embedded
from pytest_soclab.policy.model import ENTRYPOINT
from pytest_soclab.policy.prepared import prepare
from pytest_soclab.policy.probes import PROBES


@pytest.fixture(scope="module")
def by_opa(opa, tmp_path_factory):
    """Return OPA's answer on each form, all asked at once."""
    forms = {**SAME, **REFUSED}
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
    """Return the answer of the engine, or why the form is refused."""
    ready = prepare("", {"form.rego": module("soclab.gateway", form)}, {})
    interpreter = embedded._interpreter()
    bundle = embedded.compile_texts(interpreter, ready, ENTRYPOINT)
    interpreter.set_input(embedded.engine_input(DOCUMENT))
    return embedded.ask(interpreter, bundle, ENTRYPOINT)


@pytest.mark.parametrize("name", SAME)
def test_both_engines_agree(by_opa, name):
    assert by_regopy(SAME[name]) == by_opa[name]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_proved_is_refused(name):
    with pytest.raises(PolicyError, match=r"form\.rego:\d+: "):
        by_regopy(REFUSED[name])


def test_refused_forms_are_rego_that_opa_takes(by_opa):
    assert {by_opa[name] for name in REFUSED} <= {"yes", "no"}


def test_every_probe_holds_in_opa(opa, tmp_path):
    rules = "".join(f'holds contains "{name}" if {expression}\n\n' for name, expression in PROBES.items())
    (tmp_path / "probes.rego").write_text(f"package probes\n\n{rules}", encoding="utf-8")
    assert set(PROBES) - set(_eval(opa, tmp_path, "data.probes.holds")) == set()
