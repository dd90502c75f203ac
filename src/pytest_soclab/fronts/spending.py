"""What a model costs: tokens as the provider counts them, a library's dated prices, and limits that hold at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BYTES_PER_TOKEN = 4
"""A rough guess for answers that say nothing of their usage: nothing said is never nothing spent."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one request; `told` is False where they were guessed from the size."""

    input: int
    output: int
    told: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that may be spent, None for no limit; money in dollars, time in seconds."""

    cost: float | None = None
    tokens: float | None = None
    time: float | None = None


@dataclass(slots=True)
class Spending:
    """What was spent so far under some limits; `what` names whose limits they are."""

    limits: Limits
    what: str
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    unpriced: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, usage: Usage, model: str) -> None:
        """Count one request."""
        price = price_of(usage, model)
        with self._lock:
            self.tokens += usage.input + usage.output
            if price is None:
                self.unpriced.add(model)
            else:
                self.cost += price

    def over(self) -> str:
        """Return why nothing more may be spent, or an empty text."""
        limits = self.limits
        if limits.cost is not None and self.unpriced:
            return f"{min(self.unpriced)} has no known price, so --soclab-max-cost cannot hold; leave the limit out"
        if limits.cost is not None and self.cost >= limits.cost:
            return f"the {self.what} cost ${self.cost:.4f}, at most ${limits.cost:g} are allowed (--soclab-max-cost)"
        if limits.tokens is not None and self.tokens >= limits.tokens:
            return f"the {self.what} used {self.tokens} tokens, allowed are {limits.tokens:g} (--soclab-max-tokens)"
        if limits.time is not None and self.seconds >= limits.time:
            return f"the {self.what} took {self.seconds:.0f} s, at most {limits.time:g} are allowed (--soclab-max-time)"
        return ""


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """How models are reached in a session: where, what may be spent, what is recorded or replayed."""

    upstream: str | None
    session: Spending
    trial: Limits
    record: Path | None = None
    replay: Path | None = None


def price_of(usage: Usage, model: str) -> float | None:
    """Return dollars, None for a model without a known price."""
    try:
        from genai_prices import Usage as Counted
        from genai_prices import calc_price
    except ImportError:
        return None
    try:
        counted = Counted(input_tokens=usage.input, output_tokens=usage.output)
        return float(calc_price(counted, model).total_price)
    except (LookupError, ValueError):
        return None


def usage_of(body: bytes, asked: int) -> Usage:
    """Return the tokens that an answer says it used, streamed or whole; guessed from sizes where it says nothing."""
    found = [counts for document in documents(body) for counts in _counts(document)]
    if not found:
        return Usage(asked // BYTES_PER_TOKEN + 1, len(body) // BYTES_PER_TOKEN + 1, told=False)
    return Usage(max(i for i, _ in found), max(o for _, o in found))


def documents(body: bytes) -> Iterator[Any]:
    """Yield the JSON documents of an answer: the whole, or those of a stream of events."""
    text = body.decode("utf-8", "replace")
    lines = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
    for part in lines or [text]:
        try:
            yield json.loads(part)
        except (ValueError, RecursionError):  # `[DONE]`, or an answer that was cut
            continue


_NAMES = (
    ("prompt_tokens", "completion_tokens"),
    ("input_tokens", "output_tokens"),
    ("promptTokenCount", "candidatesTokenCount"),
)
_EXTRA = ("cache_creation_input_tokens", "cache_read_input_tokens"), ("thoughtsTokenCount",)


def _counts(document: Any) -> Iterator[tuple[int, int]]:
    """Yield the counts of one document, which stand at its top, in its `response` or in its `message`."""
    if not isinstance(document, Mapping):
        return
    for place in (document, document.get("response"), document.get("message")):
        usage = (place.get("usage") or place.get("usageMetadata")) if isinstance(place, Mapping) else None
        if isinstance(usage, Mapping):
            yield from _pair(usage)


def _pair(usage: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    for given, made in _NAMES:
        if given in usage or made in usage:
            more = [sum(_whole(usage.get(name)) for name in names) for names in _EXTRA]
            yield _whole(usage.get(given)) + more[0], _whole(usage.get(made)) + more[1]


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
