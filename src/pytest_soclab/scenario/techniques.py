"""The bundled lists of technique ids: MITRE ATLAS, and OWASP's top tens for LLM and for agentic applications."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from pytest_soclab import resources

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


def edition(field: str) -> str:
    """Return which edition of the list is bundled, such as `MITRE ATLAS 2026.09`."""
    names = [ATLAS] if field == ATLAS else [OWASP_LLM, OWASP_AGENTIC]
    return " or ".join(f"{_lists()[name]['name']} {_lists()[name]['version']}" for name in names)
