"""Grants: bound to one trial, one call and one use, and to nobody's word but ours."""

from __future__ import annotations

import base64
import json

import jwt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_soclab.gateway import grants
from pytest_soclab.gateway.grants import LIFETIME, GrantFault, GrantOffice, proposal_hash
from pytest_soclab.gateway.state import Proposal

from .support import KEY, red
from .test_ledger import DATA

PROPOSAL = Proposal(1, "identity.disable_account", {"user": "kofi.mensah"}, ())
OTHER = Proposal(2, "identity.disable_account", {"user": "svc-backup"}, ())


def office():
    return GrantOffice(KEY, "trial-1")


def signed(key=KEY, algorithm="HS256", **changed):
    claims = {"jti": "g", "trial": "trial-1", "bound": proposal_hash(PROPOSAL), "until": 1_000}
    return jwt.encode({**claims, **changed}, key, algorithm)


def reason(token, proposal=PROPOSAL, now=0, at=None):
    spent = (at or office()).spend(token, proposal, now)
    return spent.reason if isinstance(spent, GrantFault) else ""


def unsigned():
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    claims = {"jti": "g", "trial": "trial-1", "bound": proposal_hash(PROPOSAL), "until": 1_000}
    return f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims)}."


FAULTS = {
    "no token": (None, "grant_missing"),
    "an empty token": ("", "grant_missing"),
    "garbage": ("garbage", "grant_signature"),
    "a number": (5, "grant_signature"),
    "bytes": (b"\xff", "grant_signature"),
    "another key": (signed(b"a key that is not the one of this session"), "grant_signature"),
    "another algorithm": (signed(algorithm="HS512"), "grant_signature"),
    "alg none": (unsigned(), "grant_signature"),
    "a cut token": (signed()[:-4], "grant_signature"),
    "without its signature": (signed().rpartition(".")[0] + ".", "grant_signature"),
    "without an id": (signed(jti=None), "grant_signature"),
    "another trial": (signed(trial="trial-2"), "grant_trial"),
    "no trial": (signed(trial=None), "grant_trial"),
    "another call": (signed(bound=proposal_hash(OTHER)), "grant_mismatch"),
    "no call": (signed(bound=""), "grant_mismatch"),
    "expired": (signed(until=-1), "grant_expired"),
    "no end": (signed(until=None), "grant_expired"),
    "an end that is a text": (signed(until="soon"), "grant_expired"),
    "an end that is a flag": (signed(until=True), "grant_expired"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_each_fault_has_its_reason(case):
    check_fault(case)


def check_fault(case):
    token, expected = FAULTS[case]
    assert reason(token) == expected


def test_a_grant_opens_exactly_once():
    check_single_use()


def check_single_use():
    at = office()
    token = at.issue(PROPOSAL, 0).token
    assert at.spend(token, PROPOSAL, 0) == "trial-1/grant-001"
    assert reason(token, at=at) == "grant_replayed"


def test_a_grant_that_failed_on_another_call_is_not_used_up():
    at = office()
    token = at.issue(PROPOSAL, 0).token
    assert reason(token, OTHER, at=at) == "grant_mismatch"
    assert reason(token, at=at) == ""


@pytest.mark.parametrize(("now", "expected"), [(LIFETIME, ""), (LIFETIME + 1, "grant_expired")])
def test_a_grant_ends(now, expected):
    at = office()
    assert reason(at.issue(PROPOSAL, 0).token, now=now, at=at) == expected


def test_a_grant_of_another_trial_with_the_same_key_does_not_open():
    assert reason(GrantOffice(KEY, "trial-2").issue(PROPOSAL, 0).token) == "grant_trial"


@given(DATA, DATA, st.sampled_from(["a.b", "a.c"]))
def test_a_grant_is_bound_to_tool_and_arguments(first, second, tool):
    one, two = Proposal(1, "a.b", first, ()), Proposal(1, tool, second, ())
    assume(proposal_hash(one) != proposal_hash(two))
    at = office()
    assert reason(at.issue(one, 0).token, two, at=at) == "grant_mismatch"


@given(st.text(max_size=80) | st.binary(max_size=80))
def test_no_garbage_opens_and_none_raises(token):
    assert reason(token) in ("grant_missing", "grant_signature")


@given(st.integers(0, 400), st.characters(codec="ascii"))
def test_no_changed_character_of_a_token_opens(place, character):
    token = signed()
    changed = token[: place % len(token)] + character + token[place % len(token) + 1 :]
    header, claims, signature = token.split(".")
    assume(changed != token and not (changed.startswith(f"{header}.{claims}.") and _same(changed, signature)))
    assert reason(changed) == "grant_signature"


def _same(token, signature):
    """The last character of a base64 text has bits that mean nothing."""
    mine = token.rpartition(".")[2]
    try:
        return base64.urlsafe_b64decode(mine + "==") == base64.urlsafe_b64decode(signature + "==")
    except ValueError:
        return False


def test_sabotage_of_the_check_is_seen(monkeypatch):
    unverified = jwt.PyJWS(options={"verify_signature": False})
    with monkeypatch.context() as patch:
        patch.setattr(grants, "_SIGNED", unverified)
        for case in ("another key", "alg none", "without its signature"):
            red(check_fault, case)
    with monkeypatch.context() as patch:
        patch.setattr(GrantOffice, "_fault", lambda *_: None)
        for case in ("another trial", "another call", "expired"):
            red(check_fault, case)
        red(check_single_use)
