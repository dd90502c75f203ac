"""Turns a transcript into the steps that a reader follows: one for each call, one for everything beside.

Pure and without markup: texts of others are escaped by the surface that shows them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.ledger import Event


class Quoted(NamedTuple):
    """A clipped piece of foreign text: what stands before the payload, the payload, what stands after it."""

    before: str
    marked: str = ""
    after: str = ""
    left_out: int = 0
    """How many characters of the whole text are not shown."""


class Text(NamedTuple):
    """A whole text of others; where the agent was handed the payload in it, its place."""

    whole: str
    at: int = -1
    size: int = 0

    def clip(self, longest: int) -> Quoted:
        """Return at most `longest` characters of it, the payload's window apart."""
        text, at, size = self
        if at < 0:
            return Quoted(printable(text[:longest]), "", "", max(0, len(text) - longest))
        shown = min(size, max(longest, 320))
        first, last = max(0, at - longest // 4), min(len(text), at + size + longest // 8)
        after = text[at + size : last] if shown == size else ""
        left_out = len(text) - (at - first) - shown - len(after)
        before = ("… " if first else "") + printable(text[first:at])
        return Quoted(before, printable(text[at : at + shown]), printable(after), left_out)


class Line(NamedTuple):
    """One thing that happened within a step: our words, then, where there is one, a text of others."""

    label: str
    text: str = ""
    quoted: Text | None = None
    tone: str = ""
    """`bad` for a change that was made or an error, `stop` for whatever stopped the call, else empty."""


@dataclass(slots=True)
class Step:
    """A call with all that came of it, or a single event beside the calls."""

    seq: int
    seconds: int
    """Simulated seconds since the trial started."""
    title: str
    detail: Text | None = None
    lines: list[Line] = field(default_factory=list)
    decisive: bool = False
    path: str = ""
    """How far it got on its way from the agent to the world, as the surface draws it."""


Titles = Mapping[str, str]


def steps(
    events: Sequence[Event], payload: Sequence[str], decisive: Sequence[int], titles: Titles | None = None
) -> list[Step]:
    """Return a transcript's steps in order, their texts whole: the surface that shows them clips them.

    `titles` holds what the policy calls each of its rules.
    """
    story = _Story(_number(events[0].get("at")) if events else 0, _Reader([p for p in payload if p], titles or {}))
    for event in events:
        data = event.get("data")
        story.add(event, data if isinstance(data, dict) else {}, event.get("seq") in decisive)
    return story.steps


_BARE = {"proposal": "proposed", "grant": "granted"}
"""What an event says that has no words of its own beside those of its call."""


def told(event: Event, longest: int) -> str:
    """Return what one event says, in one line, its texts clipped."""
    kind, data = str(event.get("type")), event.get("data")
    lines = _LINES.get(kind, _other)(data if isinstance(data, dict) else {}, _Reader(()))
    parts = [_said(line, longest) for line in lines]
    text = "; ".join(part for part in parts if part) or _BARE.get(kind, kind.replace("_", " ")[:40])
    return text.replace("refused by approver: approver", "refused by the approver")


def _said(line: Line, longest: int) -> str:
    quoted = line.quoted.clip(longest) if line.quoted else None
    shown = quoted.before + (f"… ({quoted.left_out:,} more characters)" if quoted.left_out else "") if quoted else ""
    return " ".join(part for part in (line.label, line.text, shown) if part)


@dataclass(slots=True)
class _Story:
    """The steps so far; events of the same call join its step."""

    start: int
    reader: _Reader
    steps: list[Step] = field(default_factory=list)
    calls: dict[str | int, Step] = field(default_factory=dict)

    def add(self, event: Event, data: Mapping[str, Any], decisive: bool) -> None:
        kind, call = str(event.get("type")), data.get("call")
        lines = list(_LINES.get(kind, _other)(data, self.reader))
        if kind == "trial_ended" and not lines:
            return
        known = self.calls.get(call) if isinstance(call, str | int) and kind in _JOINING else None
        step = known or self._begin(event, kind, data)
        step.lines += lines
        step.decisive = step.decisive or decisive
        marked = any(line.quoted is not None and line.quoted.size for line in lines)
        step.path = _path(step.path, kind, data, marked)

    def _begin(self, event: Event, kind: str, data: Mapping[str, Any]) -> Step:
        title, detail = _head(kind, data, self.reader)
        step = Step(_number(event.get("seq")), _number(event.get("at")) - self.start, title, detail)
        self.steps.append(step)
        call = data.get("call")
        if isinstance(call, str | int) and kind in _LINES:
            self.calls[call] = step
        return step


def _path(path: str, kind: str, data: Mapping[str, Any], marked: bool) -> str:  # noqa: PLR0911 - one a kind of event
    """Return how far a call got, once one more of its events is known."""
    match kind:
        case "decision" if data.get("outcome") == "deny":
            return "deny"
        case "approval":
            return "human" if data.get("outcome") == "approved" else "refuse"
        case "refused":
            return "refuse" if data.get("layer") == "approver" else "grant"
        case "receipt":
            return _executed(path, data)
        case "result" | "recommendation" if data.get("recorded") or kind == "recommendation":
            return "rec"
        case "result" if marked and path in {"", "read", "human"}:
            return "poison"
        case "result" if path == "" and data.get("ok"):
            return "read"
        case _:
            return path


def _executed(path: str, data: Mapping[str, Any]) -> str:
    if not data.get("changes"):
        return path or "read"
    if data.get("grant", "") is None:
        return "free"
    return "asked" if path == "human" else "unatt"


def _head(kind: str, data: Mapping[str, Any], reader: _Reader) -> tuple[str, Text | None]:
    if kind in {"proposal", "recommendation"}:
        return _word(data, "tool"), reader.quote(data.get("arguments"))
    return kind.replace("_", " ")[:40], None


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _word(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return printable(str(value)[:120]) if value not in (None, "") else ""


def _list(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return printable(", ".join(str(v)[:80] for v in value[:20])) if isinstance(value, list) else ""


_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns values into texts and finds the payload in what the agent was handed."""

    payload: Sequence[str]
    titles: Titles = field(default_factory=dict)

    def quote(self, value: Any) -> Text | None:
        """Return a value's text; None for nothing."""
        if value in (None, "", [], {}):
            return None
        return Text(value if isinstance(value, str) else _WRITER.encode(value))

    def read(self, value: Any) -> Text | None:
        """Return what the agent was handed, with the place of the payload in it."""
        text = self.quote(value)
        if text is None:
            return None
        for payload in self.payload:
            inside = payload if isinstance(value, str) else json.dumps(payload, ensure_ascii=False)[1:-1]
            at = text.whole.find(inside)
            if at >= 0:
                return Text(text.whole, at, len(inside))
        return text


def _started(data: Mapping[str, Any], reader: _Reader) -> Iterator[Line]:
    yield Line("goal:", quoted=reader.quote(data.get("goal")))


def _proposal(data: Mapping[str, Any], _: _Reader) -> Iterator[Line]:
    cites = _list(data, "cites")
    who = "proposed by the harness" if data.get("by") == "harness" else ""
    parts = [p for p in (who, f"cites {cites}" if cites else "") if p]
    if parts:
        yield Line(", ".join(parts))


def _decision(data: Mapping[str, Any], reader: _Reader) -> Iterator[Line]:
    rule = f" ({_word(data, 'rule')})" if _word(data, "rule") else ""
    if data.get("outcome") == "deny":
        text = _list(data, "reasons") + rule + _titled(data, reader.titles)
        yield Line(f"denied by {_word(data, 'layer')}:", text, reader.quote(data.get("cause")), "stop")
        return
    duties = _list(data, "obligations")
    yield Line("allowed, obliged to:" if duties else "allowed", duties)


def _titled(data: Mapping[str, Any], titles: Titles) -> str:
    """Return what the policy calls the rule that stands first, where it calls it anything."""
    reasons = data.get("reasons")
    first = reasons[0] if isinstance(reasons, list) and reasons and isinstance(reasons[0], str) else ""
    return f": {printable(titles[first][:120])}" if titles.get(first) else ""


def _approval(data: Mapping[str, Any], _: _Reader) -> Iterator[Line]:
    outcome = _word(data, "outcome")
    tone = "" if outcome == "approved" else "stop"
    yield Line(f"approver {outcome}:", _word(data, "approver"), tone=tone)


def _grant(_: Mapping[str, Any], __: _Reader) -> Iterator[Line]:
    yield from ()


def _receipt(data: Mapping[str, Any], reader: _Reader) -> Iterator[Line]:
    changes = data.get("changes")
    made = [c for c in changes if isinstance(c, dict)] if isinstance(changes, list) else []
    if data.get("grant", "") is None:
        yield Line("no control plane: executed without a grant")
    if made:
        told = ", ".join(f"{_word(c, 'kind')} {_word(c, 'target')}".strip() for c in made[:20])
        yield Line("changed the world:", told, tone="bad")
    if data.get("foreign"):
        yield Line("reached records of other incidents:", _list(data, "foreign"), tone="bad")
    if not data.get("ok"):
        yield Line("execution failed:", quoted=reader.quote(data.get("error")))


def _refused(data: Mapping[str, Any], reader: _Reader) -> Iterator[Line]:
    yield Line(f"refused by {_word(data, 'layer')}:", _word(data, "reason"), reader.quote(data.get("detail")), "stop")


def _result(data: Mapping[str, Any], reader: _Reader) -> Iterator[Line]:
    denied = _list(data, "denied")
    if data.get("recorded"):
        yield Line("recorded as a recommendation, not executed")
    elif denied:
        yield Line("was told: denied,", denied)
    elif data.get("ok"):
        yield Line("read", _word(data, "evidence"), reader.read(data.get("data")))
    else:
        yield Line("was told: error", "", reader.read(data.get("error")))


def _recommendation(_: Mapping[str, Any], __: _Reader) -> Iterator[Line]:
    yield Line("recommended: recorded, not executed")


def _finding(data: Mapping[str, Any], reader: _Reader) -> Iterator[Line]:
    yield Line("published:", _word(data, "verdict"), reader.quote(data.get("summary")))
    claims = data.get("claims")
    if isinstance(claims, list) and claims:
        yield Line(f"{len(claims)} claims" if len(claims) > 1 else "1 claim", "", reader.quote(claims))
    if data.get("recommended_action"):
        yield Line("recommends:", quoted=reader.quote(data.get("recommended_action")))


def _harness(data: Mapping[str, Any], reader: _Reader) -> Iterator[Line]:
    done = "performed" if data.get("performed") else "not performed"
    yield Line(_word(data, "step"), done, tone="bad" if data.get("performed") else "")
    if data.get("noticed"):
        what = "" if data["noticed"] is True else _word(data, "noticed")
        yield Line("noticed:" if what else "noticed", what, reader.quote(data.get("detail")), "stop")
    elif data.get("detail"):
        yield Line("detail:", quoted=reader.quote(data.get("detail")))


def _error(data: Mapping[str, Any], reader: _Reader) -> Iterator[Line]:
    yield Line("the agent failed:", quoted=reader.quote(data.get("error")), tone="bad")


def _ended(data: Mapping[str, Any], reader: _Reader) -> Iterator[Line]:
    if data.get("cause"):
        yield Line("cause:", quoted=reader.quote(data.get("cause")))


def _other(data: Mapping[str, Any], reader: _Reader) -> Iterator[Line]:
    yield Line("", quoted=reader.quote(dict(data)))


_LINES: dict[str, Callable[[Mapping[str, Any], _Reader], Iterator[Line]]] = {
    "trial_started": _started,
    "proposal": _proposal,
    "decision": _decision,
    "approval": _approval,
    "grant": _grant,
    "receipt": _receipt,
    "refused": _refused,
    "result": _result,
    "recommendation": _recommendation,
    "finding": _finding,
    "harness": _harness,
    "agent_error": _error,
    "trial_ended": _ended,
}
_JOINING = _LINES.keys() - {"proposal"}
"""Types that join the step of their call; a type that we do not know gets a step with its name."""
