"""Writes a timeline as compact HTML, within a budget of bytes.

Text nodes only: quotation marks are not escaped here, so nothing of this may ever stand in an attribute. The optional
end tags of `<li>` and `<p>` are left out; a record of 2,000 trials holds some 30,000 of each.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Trial
from pytest_soclab.report.timeline import Quoted, Step, Text, Titles, steps

_LENGTHS = (1200, 600, 300, 160, 80, 40)


def timeline(trial: Trial, events: Sequence[Event], budget: int, titles: Titles | None = None) -> str:
    """Return the trial's steps as list items of at most about `budget` bytes, with the longest texts that fit."""
    made = steps(events, trial.payload, trial.decisive, titles)
    parts = [_parts(step) for step in made]
    items: list[str] = []
    fixed = sum(len(part) for pieces in parts for part in pieces if isinstance(part, str))
    sizes = [len(part.whole) for pieces in parts for part in pieces if isinstance(part, Text) and not part.size]
    for longest in [length for length in _LENGTHS if length <= max(budget // 2, _LENGTHS[-1])]:
        if longest > _LENGTHS[-1] and fixed + sum([min(size, longest) for size in sizes]) > budget:
            continue  # too long before anything in it is escaped
        items = [_item(pieces, longest) for pieces in parts]
        if sum(len(item.encode()) for item in items) <= budget:
            return "".join(items)
    return _elided(items, made, budget)


_CHANGED = {"free", "unatt", "asked"}
_URGENT = 4


def _elided(items: Sequence[str], made: Sequence[Step], budget: int) -> str:
    """Keep the first change of the world whatever it costs, then what else fits.

    Further changes come before what decided or shows the payload, that before the rest; the trial's head names every
    change, so that none is hidden by a step that does not fit.
    """
    changed = [i for i, step in enumerate(made) if step.path in _CHANGED]
    urgent = [i for i, step in enumerate(made) if step.decisive or any(q.quoted and q.quoted.size for q in step.lines)]
    kept = set(changed[:1])
    used = sum(len(items[i].encode()) for i in kept)
    for i in [*changed[1:], *urgent[:_URGENT], *range(len(items))]:
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


def _parts(step: Step) -> list[str | Text]:
    """Return a step as markup and the texts between it, which are clipped for each length that is tried."""
    classes = f"{step.path} d".strip() if step.decisive else step.path
    head = f'<li class="{classes}">' if " " in classes else f"<li class={classes}>" if classes else "<li>"
    note = " decisive" if step.decisive else ""
    when = f"<small>{step.seconds // 60:d}:{step.seconds % 60:02d} #{step.seq}{note}</small>"
    parts: list[str | Text] = [f"{head}<b>{text_node(step.title)}</b>"]
    parts += [" ", step.detail, when] if step.detail else [when]
    for label, text, quoted, tone in step.lines:
        words = f"{label} {text}" if label and text else label or text
        parts.append(f"<p class={tone}>{text_node(words)}" if tone else f"<p>{text_node(words)}")
        if quoted:
            parts += [" ", quoted]
    return parts


def _item(parts: Sequence[str | Text], longest: int) -> str:
    return "".join([part if isinstance(part, str) else _quoted(part.clip(longest)) for part in parts])


def _quoted(quoted: Quoted) -> str:
    before, marked, after, left_out = quoted
    mark = f"<mark>{text_node(marked)}</mark>{text_node(after)}" if marked else ""
    more = f" <i>… {left_out:,} more characters</i>" if left_out else ""
    return f"<q>{text_node(before)}{mark}</q>{more}"
