"""Who vouches for a policy: its digest, an OPA on the PATH, or nobody."""

from __future__ import annotations

import re

import pytest

from pytest_soclab.base.errors import PolicyError
from pytest_soclab.policy.checked import BUNDLED_DIGEST, PROVED_DIGESTS, UNCHECKED, check
from pytest_soclab.policy.embedded import checked_engine
from pytest_soclab.policy.load import source_of
from pytest_soclab.policy.process import start_opa
from pytest_soclab.policy.server import ServerEngine

TEXT = 'package soclab.gateway\n\ndecision := {"outcome": "deny", "reasons": ["closed"], "obligations": []}\n'
UNUSED = TEXT + "\nx if {\n\ty := input.y\n\tinput.z\n}\n"


def policy(text: str = TEXT):
    return source_of("mine", {"p.rego": text}, {})


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Make a PATH on which an `opa` is what a test puts there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def script(folder, text: str) -> None:
    (folder / "opa").write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (folder / "opa").chmod(0o755)


def test_the_proved_digest_is_that_of_the_bundled_policy(bundled):
    assert bundled.digest in PROVED_DIGESTS, (
        f"the bundled policy was changed: run the comparisons with OPA (pytest tests/policy -m exhaustive), "
        f"then write {bundled.digest} into PROVED_DIGESTS of policy/checked.py"
    )
    assert check(bundled) == BUNDLED_DIGEST


def test_a_policy_of_ones_own_is_unchecked_without_an_opa(path):
    assert checked_engine(policy()).checked_by == UNCHECKED == "not checked by OPA"


def test_an_opa_on_the_path_checks_it(path, opa):
    (path / "opa").symlink_to(opa)
    assert re.fullmatch(r"opa 1\.\d+\.\d+", checked_engine(policy()).checked_by)


def test_an_opa_on_the_path_refuses_first(path, opa):
    (path / "opa").symlink_to(opa)
    with pytest.raises(PolicyError) as raised:
        check(policy(UNUSED))
    assert str(raised.value) == ("mine/p.rego:6: opa check --strict: assigned var y unused; correct it: OPA refuses it")


def test_an_opa_on_the_path_plans_the_decision_too(path, opa):
    (path / "opa").symlink_to(opa)
    with pytest.raises(
        PolicyError, match=r"mine: opa build: .* function data\.soclab\.gateway\.decision used as reference"
    ):
        check(policy("package soclab.gateway\n\ndecision(x) := x\n"))


@pytest.mark.parametrize("words", ["Version: 0.70.0", "no version at all"])
def test_an_opa_before_1_vouches_for_nothing(path, words):
    script(path, f"echo '{words}'")
    assert check(policy()) == UNCHECKED


def test_an_opa_that_breaks_while_it_checks_refuses(path):
    script(path, 'test "$1" = version && echo "Version: 1.9.0" && exit 0\necho broken >&2\nexit 2')
    with pytest.raises(PolicyError, match="mine: opa check --strict: broken"):
        check(policy())


def test_an_opa_that_breaks_while_it_builds_refuses(path):
    script(path, 'test "$1" = version && echo "Version: 1.9.0" && exit 0\ntest "$1" = check && exit 0\nexit 2')
    with pytest.raises(PolicyError, match="mine: opa build: it gives no answer"):
        check(policy())


def test_a_server_vouches_with_its_version(opa):
    with start_opa(opa) as running:
        engine = ServerEngine.connect(running.url, policy())
        assert re.fullmatch(r"opa 1\.\d+\.\d+", engine.checked_by)
        engine.close()
