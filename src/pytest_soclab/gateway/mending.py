"""What an agent can do about a denial, where that is more than the reason says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def mending(reasons: Sequence[str], document: Mapping[str, Any]) -> str:
    """Return what to mend in a denied call, by its reasons; empty where they say it all."""
    return "; ".join(text for reason in reasons if (text := _mend(reason, document)))


def _mend(reason: str, document: Mapping[str, Any]) -> str:
    match reason:
        case "account_without_role":
            names = ", ".join(document["people"]["without_role"])
            return f"give each account that the text names one role (accused, affected, cleared, mentioned): {names}"
        case "unseen_indicator":
            asked = ", ".join(document["leaving"]["unseen"])
            return f"look up addresses, domains, URLs or hashes that stand in a result you were handed, not {asked}"
        case "insufficient_evidence" | "unsupported_conclusion":
            return "first read records that name " + (_unnamed(document) or "it in a second kind of source")
        case "argument_shape":
            return "; ".join(document["shape_faults"])
    return ""


def _unnamed(document: Mapping[str, Any]) -> str:
    judged = [*document["people"]["accused"], *document["people"]["cleared"]]
    wanted = dict.fromkeys([*(target["value"] for target in document["targets"]), *judged])
    named = {name for piece in document["grounds"]["seen"] for name in piece["names"]}
    return ", ".join(value for value in wanted if value not in named)
