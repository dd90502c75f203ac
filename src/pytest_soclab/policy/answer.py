"""Reads a policy's answer; whatever is not exactly of the agreed shape is no answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pytest_soclab.base.errors import PolicyUnavailable, nearest, quote
from pytest_soclab.policy.model import Decision, Obligation, PolicyOutcome

_KEYS = {"outcome", "reasons", "obligations"}


def parse_answer(answer: Any, names: Mapping[str, str] = MappingProxyType({})) -> Decision:
    """Return the decision that a policy's answer states; `names` gives its reasons the names that the corpus has.

    Raises:
        PolicyUnavailable: when a key is missing or unknown, a type is wrong, the outcome or an obligation is unknown,
            an allowance gives reasons, or a denial gives none or obliges.
    """
    fields = _fields(answer)
    outcome = _outcome(fields["outcome"])
    reasons, obligations = _names("reasons", fields["reasons"]), _names("obligations", fields["obligations"])
    if outcome is PolicyOutcome.ALLOW and reasons:
        raise _malformed(f"an allowance with reasons against it: {', '.join(map(quote, reasons))}")
    if outcome is PolicyOutcome.DENY and not reasons:
        raise _malformed("a denial without a reason")
    if outcome is PolicyOutcome.DENY and obligations:
        raise _malformed(f"a denial with obligations: {', '.join(map(quote, obligations))}")
    told = tuple(sorted({names.get(reason, reason) for reason in reasons}))
    return Decision(outcome, told, tuple(_obligation(name) for name in obligations))


def _malformed(found: str) -> PolicyUnavailable:
    return PolicyUnavailable(f"the policy's answer is malformed: {found}")


def _fields(answer: Any) -> Mapping[str, Any]:
    if not isinstance(answer, Mapping):
        raise _malformed(f"{quote(answer)} is no object")
    if set(answer) != _KEYS:
        found = ", ".join(quote(key) for key in sorted(answer, key=str)) or "none"
        raise _malformed(f"found the keys {found}, expected outcome, reasons, obligations")
    return answer


def _outcome(value: Any) -> PolicyOutcome:
    try:
        return PolicyOutcome(value)
    except ValueError:
        raise _malformed(f"found the outcome {quote(value)}, expected 'allow' or 'deny'") from None


def _names(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise _malformed(f"found {key} {quote(value)}, expected a list of names")
    return tuple(sorted(set(value)))


def _obligation(name: str) -> Obligation:
    try:
        return Obligation(name)
    except ValueError:
        raise _malformed(f"unknown obligation {quote(name)}; {nearest(name, [o.value for o in Obligation])}") from None
