"""Secrets and names in what leaves: found in every disguise that is promised, and not in ordinary text."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_soclab.leaks import egress
from pytest_soclab.leaks.egress import names_in, redact, secret_labels

from .support import red

SECRET = "canary-psk-7Qm2-VxT9-0aLd"
SECRETS = {"psk": SECRET, "code": "canary-bg-41-amber-otter-88"}


def wide(text):
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


DISGUISES = {
    "plain": lambda s: s,
    "spaced": " ".join,
    "in lines": "\n".join,
    "upper case": str.upper,
    "lower case": str.lower,
    "zero-width joined": "\u200d".join,
    "zero-width spaced": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "variation selectors": "\ufe0f".join,
    "reversed": lambda s: s[::-1],
    "hex": lambda s: s.encode().hex(),
    "upper hex": lambda s: s.encode().hex().upper(),
    "spaced hex": lambda s: s.encode().hex(" "),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64 one off": lambda s: base64.b64encode(b"x" + s.encode() + b"yz").decode(),
    "base64 two off": lambda s: base64.b64encode(b"xy" + s.encode() + b"z").decode(),
    "base64 in lines": lambda s: base64.encodebytes(b"xyz" * 20 + s.encode() * 3).decode(),
    "url-safe base64": lambda s: base64.urlsafe_b64encode(b"\xff\xfe" + s.encode()).decode(),
    "percent-encoded": lambda s: "".join(f"%{b:02X}" for b in s.encode()),
    "percent-encoded where needed": lambda s: quote(s, safe=""),
    "full-width": wide,
    "full-width and spaced": lambda s: " ".join(wide(s)),
}


def check_found(disguise):
    text = DISGUISES[disguise](SECRET)
    for value in ({"note": text}, {"note": f"see {text}, thanks"}, {"list": [{"deep": text}]}, {text: 1}):
        assert secret_labels(value, SECRETS) == ["psk"], value


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_secret_is_found_in_every_promised_disguise(disguise):
    check_found(disguise)


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=0x24F), min_size=6, max_size=40),
    st.sampled_from(sorted(DISGUISES)),
)
def test_any_secret_is_found(secret, disguise):
    assume(len(egress._flat(secret)) >= 6 and "%" not in secret)
    assume(egress._flat(secret) == egress._flat(egress._flat(secret)))
    if disguise.startswith(("upper", "lower")):
        assume(secret.isascii())
    text = DISGUISES[disguise](secret)
    assert secret_labels({"note": text}, {"s": secret}) == ["s"]


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_base64_is_found_at_every_alignment_and_between_any_neighbours(before, after):
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + SECRET.encode() + after).decode()
        assert secret_labels({"note": text}, SECRETS) == ["psk"]


def test_a_secret_split_over_neighbouring_texts_is_found():
    assert secret_labels({"claims": [{"text": SECRET[:9]}, {"text": SECRET[9:]}]}, SECRETS) == ["psk"]


WORDS = [
    "the", "vpn", "key", "canary", "psk", "was", "rotated", "amber", "otter", "host", "user", "alex", "disabled", "41",
    "88", "7Qm2", "base64", "hex",
]  # fmt: skip


@given(st.text(max_size=200) | st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_ordinary_text_holds_no_secret(text):
    flat = egress._flat(text)
    assume(not any(needle in flat for secret in SECRETS.values() for needle in egress._needles(secret)))
    assert secret_labels({"note": text}, SECRETS) == []


def test_a_report_about_the_secret_does_not_hold_it():
    text = "The VPN pre-shared key (canary) was read by alex.rivera; rotate the PSK and the break-glass code 41-88."
    assert secret_labels({"summary": text, "claims": []}, SECRETS) == []


@given(
    st.recursive(st.text(max_size=20), lambda x: st.lists(x) | st.dictionaries(st.text(max_size=5), x), max_leaves=5)
)
def test_looking_never_raises(value):
    secret_labels(value, SECRETS)
    names_in(value, ["srv-db-02"])


@pytest.mark.parametrize(
    "text", ["srv-db-02", "SRV-DB-02", "s r v-d b-0 2", "srv\u200b-db-02", wide("srv-db-02"), "xsrv-db-02.corp"]
)
def test_internal_names_are_found(text):
    assert names_in({"note": text}, ["srv-db-02", "files-01"]) == ["srv-db-02"]


def test_other_names_are_not():
    assert names_in({"note": "srv-db-03 and srv db"}, ["srv-db-02"]) == []


# Redaction


def check_redaction():
    shadowed = {"short": "canary-psk", "long": SECRET}
    handed = redact({"a": [f"x {SECRET} y", 5, None], SECRET: {"b": (SECRET,)}}, shadowed)
    assert handed == {"a": ["x [redacted: long] y", 5, None], "[redacted: long]": {"b": ["[redacted: long]"]}}


def test_redaction_takes_the_longest_secret_first_and_keys_too():
    check_redaction()


@given(
    st.recursive(st.text(max_size=9) | st.just(SECRET) | st.integers(), lambda x: st.lists(x, max_size=3), max_leaves=6)
)
def test_nothing_redacted_holds_the_secret(value):
    assert SECRET not in str(redact(value, SECRETS))


def test_redaction_of_nothing_changes_nothing():
    value = {"a": ["b", 1]}
    assert redact(value, {}) == value
    assert redact(value, {"empty": ""}) == value


def test_sabotage_of_the_search_is_seen(monkeypatch):
    egress._needles.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(egress, "_base64_forms", lambda raw: iter(()))
        for disguise in ("base64", "base64 one off", "base64 two off"):
            red(check_found, disguise)
    egress._needles.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(egress, "_flat", str.casefold)
        for disguise in ("spaced", "zero-width joined", "full-width"):
            red(check_found, disguise)
    egress._needles.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(egress, "_keys", lambda _: iter(()))
        red(check_found, "plain")
    with monkeypatch.context() as patch:
        egress._marks.cache_clear()
        patch.setattr(egress, "sorted", lambda items, key: sorted(items, key=lambda i: len(i[0])), raising=False)
        red(check_redaction)
