"""The chain: any single change of a finished transcript is found, and the first event that it touches is named."""

from __future__ import annotations

import copy
import hashlib
import json
import re

import pytest
import rfc8785
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_soclab.evidence import ledger
from pytest_soclab.evidence.ledger import GENESIS, Ledger, digest, verify

from .support import red

SCALAR = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-1e15, 1e15)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcé\u2028\n", max_size=4), inner, max_size=3),
    max_leaves=6,
)
DATA = st.dictionaries(st.text("abc", min_size=1, max_size=3), JSON, max_size=3)
CHAIN = st.lists(
    st.tuples(st.sampled_from(["proposal", "result"]), st.integers(0, 2**40), DATA), min_size=1, max_size=6
)


def chain(steps):
    made = Ledger()
    for kind, at, data in steps:
        made.append(kind, at, data)
    return made


def fault_of(events, made):
    found = verify(events, made.root_hash)
    return None if found is None else found.seq


ANY_TEXT = st.text(st.sampled_from('aZ"\\\b\f\n\r\t\x00\x1f\x7fé\u2028\ue000\uffff\U00010000\U0010ffff'), max_size=4)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**54), 2**54) | st.floats() | ANY_TEXT | st.just("\ud800"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(ANY_TEXT | st.integers(0, 2) | st.booleans() | st.none(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ANY)
def test_an_event_has_the_canonical_form_that_the_library_defines(value):
    made = Ledger()
    body = {"seq": 0, "type": "result", "at": 1, "data": {"value": value}, "prev": GENESIS}
    try:
        form = rfc8785.dumps(body)
        assume(not re.search(rb"\d{16}", form.replace(GENESIS.encode(), b"")))  # such a float is refused, tested below
    except (ValueError, TypeError):
        with pytest.raises((ValueError, TypeError)):
            made.append("result", 1, {"value": value})
        return
    event = made.append("result", 1, {"value": value})
    own = dict(event)
    assert own.pop("hash") == hashlib.sha256(form).hexdigest()
    assert own == json.loads(form)
    assert list(own) == sorted(own)


@given(CHAIN)
def test_a_chain_verifies_and_survives_its_file(steps):
    made = chain(steps)
    assert verify(made.events, made.root_hash) is None
    stored = [json.loads(line) for line in made.text().split("\n")[:-1]]
    assert verify(stored, made.root_hash) is None


@given(CHAIN, st.data())
def test_any_edit_is_found_where_it_was_made(steps, data):
    made = chain(steps)
    events = copy.deepcopy(made.events)
    place = data.draw(st.integers(0, len(events) - 1))
    key = data.draw(st.sampled_from(["seq", "type", "at", "data", "prev", "hash", "extra"]))
    value = data.draw(JSON | st.integers(0, 9) | st.just(GENESIS))
    assume(digest(value) != digest(events[place].get(key)) or key not in events[place])
    events[place][key] = value
    assert fault_of(events, made) == place


@given(CHAIN, st.data())
def test_a_removed_key_is_found(steps, data):
    made = chain(steps)
    events = copy.deepcopy(made.events)
    place = data.draw(st.integers(0, len(events) - 1))
    del events[place][data.draw(st.sampled_from(sorted(events[place])))]
    assert fault_of(events, made) == place


@given(CHAIN, st.data())
def test_a_dropped_event_is_found(steps, data):
    check_drop(chain(steps), data.draw(st.integers(0, len(steps) - 1)))


def check_drop(made, place):
    events = made.events[:place] + made.events[place + 1 :]
    assert fault_of(events, made) == place


@given(CHAIN, st.data())
def test_an_inserted_or_repeated_event_is_found(steps, data):
    made = chain(steps)
    place = data.draw(st.integers(0, len(steps)))
    foreign = data.draw(st.sampled_from(made.events))
    events = [*made.events[:place], foreign, *made.events[place:]]
    expected = place + 1 if place < len(steps) and foreign is made.events[place] else place
    assert fault_of(events, made) == expected


@given(CHAIN, st.data())
def test_two_swapped_events_are_found(steps, data):
    made = chain(steps)
    assume(len(steps) > 1)
    first, second = sorted(data.draw(st.sets(st.integers(0, len(steps) - 1), min_size=2, max_size=2)))
    events = list(made.events)
    events[first], events[second] = events[second], events[first]
    assert fault_of(events, made) == first


@given(CHAIN, st.data())
def test_a_cut_end_is_found_by_the_root_hash(steps, data):
    check_truncation(chain(steps), data.draw(st.integers(0, len(steps) - 1)))


def check_truncation(made, kept):
    assert fault_of(made.events[:kept], made) == kept
    assert verify(made.events[:kept]) is None  # which is why a root hash is kept elsewhere


@given(CHAIN, st.data())
def test_a_rehashed_chain_is_found_by_the_root_hash(steps, data):
    made = chain(steps)
    place = data.draw(st.integers(0, len(steps) - 1))
    kind, at, old = steps[place]
    other = chain([*steps[:place], (kind, at, {**old, "forged": 1}), *steps[place + 1 :]])
    assert verify(other.events) is None
    assert fault_of(other.events, made) == len(steps)


@given(DATA)
def test_the_canonical_form_does_not_depend_on_the_order_of_keys(data):
    backwards = dict(reversed(data.items()))
    assert digest(data) == digest(backwards)
    assert Ledger().append("x", 0, data)["hash"] == Ledger().append("x", 0, backwards)["hash"]


KEYED = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), JSON, max_size=5)


@given(KEYED)
def test_hashes_are_over_the_canonical_form_of_rfc_8785(data):
    assert digest(data) == hashlib.sha256(rfc8785.dumps(data)).hexdigest()
    made = Ledger()
    event = made.append("x", 0, data)
    assert json.loads(made.text()) == event
    assert list(json.loads(made.text())) == [*sorted(event.keys() - {"hash"}), "hash"]
    body = {key: value for key, value in event.items() if key != "hash"}
    assert event["hash"] == hashlib.sha256(rfc8785.dumps(body)).hexdigest()


@pytest.mark.parametrize(
    "value", [True, False, 1, 0, 1.0, -0.0, 1e-7, [True, 1], {"\U0001f600": 1, "\uffff": 2}], ids=repr
)
def test_values_that_are_equal_but_not_the_same_keep_their_form(value):
    assert digest({"a": value}) == hashlib.sha256(rfc8785.dumps({"a": value})).hexdigest()


def test_what_was_logged_is_a_private_copy():
    check_private()


def check_private():
    made, data = Ledger(), {"list": [1], "map": {"a": 1}}
    made.append("x", 0, data)
    data["list"].append(2)
    data["map"]["b"] = 2
    data["new"] = 3
    assert made.events[0]["data"] == {"list": [1], "map": {"a": 1}}
    assert verify(made.events, made.root_hash) is None


@pytest.mark.parametrize(
    "value",
    [
        2**53,
        -(2**53),
        10**30,
        float("nan"),
        float("inf"),
        "\ud800",
        {"\udfff": 1},
        [["\ud800"]],
        object(),
        b"x",
        {1: 2},
    ],
    ids=[str(number) for number in range(11)],
)
def test_what_has_no_canonical_form_raises_and_appends_nothing(value):
    made = Ledger()
    with pytest.raises((ValueError, TypeError)):
        made.append("x", 0, {"value": value})
    assert made.events == []


def test_an_empty_chain_has_the_genesis_hash():
    assert Ledger().root_hash == GENESIS
    assert verify([], GENESIS) is None
    assert verify([], "f" * 64).seq == 0


@pytest.mark.parametrize(
    "events", [[{}], [{"seq": 0}], [{"seq": 0, "prev": GENESIS, "hash": "x", "data": float("nan")}]]
)
def test_an_event_that_is_none_is_a_fault(events):
    assert verify(events).seq == 0


def test_a_fault_says_what_was_found_and_expected():
    made = chain([("a", 0, {}), ("b", 0, {})])
    assert str(verify(made.events[1:])) == "event 0: found seq 1, expected seq 0"
    assert str(verify(made.events[:1], made.root_hash)).startswith("event 1: found a chain that ends in ")


def test_sabotage_of_the_verification_is_seen(monkeypatch):
    made = chain([("a", 0, {"x": 1}), ("b", 1, {}), ("c", 2, {})])
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "_event_fault", lambda *_: None)
        red(check_drop, made, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "root_hash", property(lambda _: None))
        red(check_truncation, made, 2)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", lambda self, kind, at, data: self.events.append({"data": data, "hash": ""}))
        red(check_private)
