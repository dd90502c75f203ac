"""What a denied or failed call tells its agent: field, expected, nearest, the reason's title, and never a secret."""

from __future__ import annotations

import pytest

from pytest_soclab.base import resources
from pytest_soclab.gateway import gateway as gateway_module
from pytest_soclab.policy.embedded import EmbeddedEngine
from pytest_soclab.policy.load import load_policy

from .support import DISABLE, red

PSK = "canary-psk-7Qm2-VxT9-0aLd"


@pytest.fixture(scope="module")
def engine():
    made = EmbeddedEngine(load_policy(resources.policies()))
    yield made
    made.close()


def why(bench, engine, tool, arguments, cites=()):
    result = bench.gateway(engine=engine).call(tool, arguments, cites)
    assert not result.ok
    return result.error


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("identity.disable_acount", {}, "did you mean 'identity.disable_account'?"),
        (DISABLE, {"usr": "alex.rivera"}, "there is no argument 'usr': did you mean 'user'?"),
        (DISABLE, {"usr": "alex.rivera"}, "user: Field required"),
        (DISABLE, {"user": 7}, "user: Input should be a valid string"),
        ("cases.close_ticket", {"ticket": "T-1", "resolution": "dupplicate", "note": "n"}, "did you mean 'duplicate'?"),
        ("siem.search", {"query": "x", "limit": 51}, "limit: Input should be less than or equal to 50"),
        (DISABLE, {"user": "alex.rivera"}, "insufficient_evidence (The state change rests on too little evidence)"),
        (DISABLE, {"user": "alex.rivera"}, "first read records that name alex.rivera"),
    ],
)
def test_a_denial_says_what_is_wrong_what_was_expected_and_what_is_nearest(bench, engine, tool, arguments, told):
    assert told in why(bench, engine, tool, arguments)


def test_evidence_that_does_not_exist_is_named(bench, engine):
    told = why(bench, engine, DISABLE, {"user": "alex.rivera"}, ["ev_nowhere"])
    assert "unverified_evidence (The cited evidence does not exist)" in told
    assert "not ev_nowhere" in told


def test_a_name_that_does_not_exist_is_told_the_nearest_one_that_was_handed_out(bench, engine):
    point = bench.gateway(engine=engine)
    assert "may be" not in point.call("identity.get_account", {"user": "alex.rivero"}).error
    assert point.call("identity.get_account", {"user": "alex.rivera"}).ok
    told = point.call("identity.get_account", {"user": "alex.rivero"}).error
    assert told == "there is no account 'alex.rivero'; 'alex.rivero' may be 'alex.rivera'"


def check_no_secret(bench, engine):
    point = bench.gateway(engine=engine)
    secret = next(iter(point.state.world.charter.secrets.values()))
    point.state.handed.append(secret)  # the worst case: a record came by unredacted
    told = [
        point.call("identity.get_account", {"user": secret[:-1]}).error,
        point.call("identity.disable_account", {"user": secret, "odd": secret}).error,
        point.call(secret, {}).error,
    ]
    assert all(told)
    assert not [text for text in told if secret in text]


def test_a_secret_is_never_offered(bench, engine):
    check_no_secret(bench, engine)


def test_sabotage_of_the_redaction_is_seen(bench, engine, monkeypatch):
    monkeypatch.setattr(gateway_module, "redact", lambda value, _secrets: value)
    red(check_no_secret, bench, engine)
