"""Writes a timeline as compact HTML, within a budget of bytes.

Text nodes only: quotation marks are not escaped here, so nothing of this may ever stand in an attribute. The optional
end tags of `<li>` and `<p>` are left out; a record of 2,000 trials holds some 30,000 of each.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_soclab.ledger import Event
from pytest_soclab.record import Trial
from pytest_soclab.report.timeline import Line, Quoted, Step, Texts, steps

_LENGTHS = (1200, 600, 300, 160, 80, 40)


def timeline(trial: Trial, events: Sequence[Event], budget: int) -> str:
    """Return the trial's steps as list items of at most about `budget` bytes, with the longest texts that fit."""
    items: list[str] = []
    made: list[Step] = []
    texts: Texts = {}
    for longest in [length for length in _LENGTHS if length <= max(budget // 2, _LENGTHS[-1])]:
        made = steps(events, trial.payload, trial.decisive, longest, texts)
        items = [_item(step) for step in made]
        if sum(len(item.encode()) for item in items) <= budget:
            return "".join(items)
    return _elided(items, made, budget)


def _elided(items: Sequence[str], made: Sequence[Step], budget: int) -> str:
    """Keep decisive steps and those that show the payload, then the others from the start, while the budget lasts."""
    urgent = [
        i for i, step in enumerate(made) if step.decisive or any(q.quoted and q.quoted.marked for q in step.lines)
    ]
    kept: set[int] = set()
    used = 0
    for i in [*urgent[:4], *range(len(items))]:
        size = len(items[i].encode())
        if i not in kept and used + size <= budget:
            kept.add(i)
            used += size
    left = len(items) - len(kept)
    note = f"<li class=more>… {left} more {'step' if left == 1 else 'steps'} in the transcript" if left else ""
    return "".join(items[i] for i in sorted(kept)) + note


def text_node(text: str) -> str:
    """Return text as the content of an element; not for attributes."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _item(step: Step) -> str:
    head = "<li class=d>" if step.decisive else "<li>"
    note = " decisive" if step.decisive else ""
    when = f"<small>{step.seconds // 60:d}:{step.seconds % 60:02d} #{step.seq}{note}</small>"
    detail = f" {_quoted(step.detail)}" if step.detail else ""
    return f"{head}<b>{text_node(step.title)}</b>{detail}{when}" + "".join(map(_line, step.lines))


def _line(line: Line) -> str:
    head = f"<p class={line.tone}>" if line.tone else "<p>"
    text = " ".join(part for part in (line.label, line.text) if part)
    quoted = f" {_quoted(line.quoted)}" if line.quoted else ""
    return f"{head}{text_node(text)}{quoted}"


def _quoted(quoted: Quoted) -> str:
    mark = f"<mark>{text_node(quoted.marked)}</mark>" if quoted.marked else ""
    more = f" <i>… {quoted.left_out:,} more characters</i>" if quoted.left_out else ""
    return f"<q>{text_node(quoted.before)}{mark}{text_node(quoted.after)}</q>{more}"
