"""Puts one hostile text into every free-text field of a record and of its transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import count
from typing import Any

from pydantic import BaseModel

from pytest_soclab.evidence.ledger import Event

TEXTS = {
    "script": "<script>window.pwned=1</script>",
    "end-script": "</script></style></title><script>window.pwned=1</script>",
    "attribute": "\"><img src=x onerror=\"window.pwned=1\"> ' onmouseover='window.pwned=1' x=`y`",
    "comment": "--><!-- <![CDATA[ ]]> <svg onload=window.pwned=1>",
    "template": "{{ 7*7 }}{% include '/etc/passwd' %}${7*7}#{7*7}{{ cycler.__init__.__globals__ }}",
    "link": "javascript:window.pwned=1 data:text/html,<b>x</b> https://evil.example www.evil.example a@evil.example",
    "markdown": "@octocat #1 GH-1 octo/repo#2 ![i](https://e.example/x.png) [l](javascript:1) "
    "<https://a.example> `x` |a|\\|b| **b** $x^2$ [r]: https://e.example",
    "fence": "``` ```` ` \\` `` end",
    "ansi": "\x1b[31mred\x1b[0m\x1b]0;title\x07\x00\x9b31m",
    "rtl": "\u202egnp.exe\u2066 \u200f\u061c مرحبا \u2028 \u200d\ufeff",
    "lines": "one\r\n## two\n- three\n\n| a | b |\n| - | - |\n```\n\tfour",
    "surrogate": "lone \ud800 surrogate \U0010ffff \ufffe",
    "leading": "- 1. # > + = item",
    "number": "1. item",
}  # fmt: skip

_KEPT = {"format", "mode", "basis", "agent_kind", "kind", "engine"}
_KEYED = {"by_family", "by_incident", "by_surface", "scenarios", "ci", "trial_seconds"}
_EVENT_WORDS = {"outcome", "layer", "call", "by"}


def record(value: Any, text: str, numbers: Iterator[int] | None = None, name: str = "") -> Any:
    """Return a copy of a saved shape with `text` in every free-text field; ids stay distinct."""
    numbers = count() if numbers is None else numbers
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return value.model_copy(
            update={f: record(getattr(value, f), text, numbers, f) for f in fields if f not in _KEPT}
        )
    if isinstance(value, Enum) or value is None:
        return value
    if isinstance(value, str):
        return text if name not in {"id", "scenario"} else f"{text}{next(numbers)}"
    if isinstance(value, tuple | list):
        return type(value)(record(v, text, numbers, name) for v in value)
    if isinstance(value, dict):
        keys = [f"{text}{i}" if name in _KEYED else key for i, key in enumerate(value)]
        return {key: record(v, text, numbers, name) for key, v in zip(keys, value.values(), strict=True)}
    return value


def transcript(events: list[Event], text: str) -> list[Event]:
    """Return a copy of a transcript with `text` in every string of its data."""
    return [{**event, "data": {k: _data(v, text, k) for k, v in event["data"].items()}} for event in events]


def _data(value: Any, text: str, key: str) -> Any:
    if isinstance(value, str):
        return value if key in _EVENT_WORDS else text
    if isinstance(value, list):
        return [_data(v, text, "") for v in value]
    if isinstance(value, dict):
        return {
            f"{text}{i}" if key in {"data", "arguments"} else k: _data(v, text, "")
            for i, (k, v) in enumerate(value.items())
        }
    return value
