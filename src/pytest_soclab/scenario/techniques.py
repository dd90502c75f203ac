"""The bundled lists of technique ids: MITRE ATLAS, and OWASP's top tens for LLM and for agentic applications."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from pytest_soclab.base import resources

ATLAS, OWASP_LLM, OWASP_AGENTIC = "atlas", "owasp_llm", "owasp_agentic"


@cache
def _lists() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    lists: Mapping[str, Mapping[str, Mapping[str, str]]] = json.loads(
        resources.data("techniques.json").read_text(encoding="utf-8")
    )
    return lists


@cache
def known(field: str) -> Mapping[str, str]:
    """Return the names by id that a scenario's field `atlas` or `owasp` may hold; read once."""
    lists = _lists()
    if field == ATLAS:
        return lists[ATLAS]["techniques"]
    return {**lists[OWASP_LLM]["techniques"], **lists[OWASP_AGENTIC]["techniques"]}


def near(field: str, name: str) -> str:
    """Return the known id that a well-formed unknown one may be a slip of, or an empty text.

    That is an id with two neighbouring digits swapped or one other digit, of the same technique and with the nearest
    number first; else the technique of a sub-technique that does not exist.
    """
    parent = name.rpartition(".")[0]

    def rank(other: str) -> tuple[bool, bool, int]:
        return other.rpartition(".")[0] != parent, sorted(other) != sorted(name), abs(_number(other) - _number(name))

    slips = [other for other in known(field) if _slip(name, other)]
    return min(slips, key=rank) if slips else parent if parent in known(field) else ""


def _number(identity: str) -> int:
    return int("".join(filter(str.isdigit, identity)))


def _slip(name: str, other: str) -> bool:
    """Tell whether one digit differs, or two neighbours stand in each other's place."""
    if len(name) != len(other):
        return False
    at = [place for place, (one, two) in enumerate(zip(name, other, strict=True)) if one != two]
    return len(at) == 1 or (len(at) == 2 and at[1] == at[0] + 1 and sorted(name) == sorted(other))


def edition(field: str) -> str:
    """Return which edition of the list is bundled, such as `MITRE ATLAS 2026.09`."""
    names = [ATLAS] if field == ATLAS else [OWASP_LLM, OWASP_AGENTIC]
    return " or ".join(f"{_lists()[name]['name']} {_lists()[name]['version']}" for name in names)
