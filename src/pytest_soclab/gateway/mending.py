"""What an agent can do about a call that was denied or could not be served: field, expected, nearest; never a secret.

Names that are offered are the schema's, the registry's, or stand in results that the agent was handed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pytest_soclab.base.errors import nearest
from pytest_soclab.policy.model import UNAVAILABLE, PolicySource
from pytest_soclab.soc.registry import Registry, Tool

_OWN_TITLES = {"approver": "A human did not approve the call", UNAVAILABLE: "The policy gave no answer"}
"""What a denial means that no rule of the policy gives."""
_LONGEST_NAME = 128
_CLOSE = 0.6  # a name that is less alike is another name, and none that was meant


def titled(reasons: Sequence[str], source: PolicySource) -> str:
    """Return the reasons of a denial, each with what the policy calls it."""
    named = ((reason, source.title(reason) or _OWN_TITLES.get(reason, "")) for reason in reasons)
    return ", ".join(f"{reason} ({title})" if title else reason for reason, title in named)


def mending(reasons: Sequence[str], document: Mapping[str, Any], registry: Registry) -> str:
    """Return what to mend in a denied call, by its reasons; empty where they say it all."""
    found = (_malformed(reason, document, registry) or _unfounded(reason, document) for reason in reasons)
    return "; ".join(filter(None, found))


def _malformed(reason: str, document: Mapping[str, Any], registry: Registry) -> str:
    """Return what to mend in a call that no tool takes as it is."""
    name = document["tool"]["name"]
    match reason, registry.get(name):
        case "unknown_tool", None:
            return f"there is no tool {name!r}: {nearest(name, registry.tools)}"
        case "argument_schema", Tool() as tool:
            return "; ".join(_fields(tool, document))
        case "argument_shape", _:
            return "; ".join(document["shape_faults"])
    return ""


def _unfounded(reason: str, document: Mapping[str, Any]) -> str:
    """Return what to mend in a call that rests on too little, or leaves open whom it speaks of."""
    match reason:
        case "account_without_role":
            names = ", ".join(document["people"]["without_role"])
            return f"give each account that the text names one role (accused, affected, cleared, mentioned): {names}"
        case "unseen_indicator":
            asked = ", ".join(document["leaving"]["unseen"])
            return f"look up addresses, domains, URLs or hashes that stand in a result you were handed, not {asked}"
        case "insufficient_evidence" | "unsupported_conclusion":
            return "first read records that name " + (_unnamed(document) or "it in a second kind of source")
        case "unverified_evidence":
            return f"cite ids that stand in results you were handed, not {', '.join(document['unknown_evidence'])}"
    return ""


def _fields(tool: Tool, document: Mapping[str, Any]) -> Iterable[str]:
    """Yield what each wrong argument is expected to be, and which name or value is the nearest."""
    arguments: Mapping[str, Any] = document["arguments"]
    for fault in document["schema_faults"]:
        field = fault.partition(": ")[0]
        declared = tool.schema.get("properties", {}).get(field.partition(".")[0])
        if declared is None:
            yield f"there is no argument {field!r}: {nearest(field, tool.arguments.model_fields)}"
        elif "enum" in declared and isinstance(arguments.get(field), str):
            yield f"{field}: found {arguments[field]!r}; {nearest(arguments[field], declared['enum'])}"
        else:
            yield fault


def nearest_handed_out(tool: Tool | None, arguments: Mapping[str, Any], handed: Iterable[str]) -> str:
    """Return which name of those that the agent was handed may have been meant; empty where none is close."""
    values = {aim.value for aim in tool.aims(arguments)} if tool is not None else set()
    names = sorted({name for name in handed if len(name) <= _LONGEST_NAME and not set(name) & set(" \n\t")} - values)
    close = {value: get_close_matches(value, names, n=1, cutoff=_CLOSE) for value in sorted(values)}
    return "; ".join(f"{value!r} may be {found[0]!r}" for value, found in close.items() if found)


def _unnamed(document: Mapping[str, Any]) -> str:
    judged = [*document["people"]["accused"], *document["people"]["cleared"]]
    wanted = dict.fromkeys([*(target["value"] for target in document["targets"]), *judged])
    named = {name for piece in document["grounds"]["seen"] for name in piece["names"]}
    return ", ".join(value for value in wanted if value not in named)
