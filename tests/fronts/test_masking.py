"""Secrets of the session reach no file: whole, in parts, in another form."""

from __future__ import annotations

import base64
import codecs
from pathlib import Path
from urllib.parse import quote

import pytest

from core.support import Bench
from pytest_soclab.fronts.masking import Mask, secrets_of

from .support import agent

KEY = "sk-live-9fQ2/vL7xTz+41kWbN8"
MASK = Mask({"API_KEY": KEY})


def is_gone(text: str) -> bool:
    """Tell whether no part of six characters of the key stands in a text, read forwards, backwards or decoded."""
    plain = "".join(c for c in text if c.isalnum())
    letters = "".join(c for c in KEY if c.isalnum())
    parts = {letters[n : n + 8] for n in range(len(letters) - 7)}
    return not any(part.casefold() in plain.casefold() for part in parts)


FORMS = {
    "plain": KEY,
    "lower": KEY.lower(),
    "reversed": KEY[::-1],
    "hex": KEY.encode().hex(),
    "HEX": KEY.encode().hex().upper(),
    "hex with colons": KEY.encode().hex(":"),
    "percent": quote(KEY, safe=""),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 after one": base64.b64encode(b"x" + KEY.encode()).decode(),
    "base64 after two": base64.b64encode(b"xy" + KEY.encode() + b"z").decode(),
    "url base64": base64.urlsafe_b64encode(KEY.encode()).decode(),
    "spaced": " ".join(KEY),
    "by lines": "\n".join(KEY[n : n + 4] for n in range(0, len(KEY), 4)),
    "first half": KEY[:14],
    "second half": KEY[14:],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_secret_is_masked_in_every_form(form: str) -> None:
    masked = MASK.text(f"before {form} after")
    assert "[secret: API_KEY]" in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert not any(form[n : n + 8] in masked for n in range(len(form) - 7))
    assert is_gone(masked)


def test_other_text_stays() -> None:
    text = "a sign-in of alex.rivera from 203.0.113.7 with ключ 🔑"
    assert MASK.text(text) == text


def test_values_are_masked_keys_included() -> None:
    assert MASK.value({KEY: [KEY, 1, None, {"a": (KEY,)}]}) == {
        "[secret: API_KEY]": ["[secret: API_KEY]", 1, None, {"a": ["[secret: API_KEY]"]}]
    }


def test_short_values_mask_nothing() -> None:
    assert Mask({"A": "true", "B": ""}).text("true") == "true"


def test_what_is_secret_in_variables() -> None:
    found = secrets_of(
        {
            "OPENAI_API_KEY": "abcdef",
            "HOME": "/home/alex.rivera",
            "MODEL": "example-model-1",
            "PROXY": "http://user:hunter2hunter2@proxy:3128/",
            "ENDPOINT": "https://example.com/v1?sig=abcdefgh1234",
            "OTHER": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "PLACE": "https://example.com/v1",
        }
    )
    assert found == {
        "OPENAI_API_KEY": "abcdef",
        "PROXY": "hunter2hunter2",
        "ENDPOINT": "abcdefgh1234",
        "OTHER": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    }


TELLS = """
import base64
key = os.environ["API_KEY"]
read_note()
forms = [key, base64.b64encode(key.encode()).decode(), key.encode().hex(), key[:13], key[13:], URL]
for form in forms:
    print(form)
    sys.stderr.write(form + "\\n")
    call("cases_add_comment", ticket="T-2240", comment=form)
    call(form, x=form)
    call("siem_search", **{form: form})
call("identity_disable_account", user="alex.rivera", cites=forms)
rpc(key)
post(key.encode())
sys.stderr.write(key)
sys.exit(1)
"""


def test_planted_secrets_reach_no_transcript(bench: Bench, tmp_path: Path) -> None:
    outcome = bench.run(bench.base, agent(tmp_path, TELLS, variables={"API_KEY": KEY}))
    text = outcome.transcript
    assert text.count("[secret: API_KEY]") > 20
    assert "[secret: SOCLAB_MCP_URL]" in text
    for form in FORMS.values():
        assert form not in text
    assert is_gone(text)
    assert codecs.encode(KEY, "rot13") not in text
    assert "[secret: API_KEY]" in outcome.cause
