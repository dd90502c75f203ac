"""Draws the sessions of a home over time: level, attacks stopped, work done; one file without scripts or requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from pytest_soclab.evidence.results import Kind, Level, Results, Verdict
from pytest_soclab.report import html, sentences, stops, words

_STEP, _LEFT, _HEIGHT = 64, 44, 150
"""Pixels: between two sessions, left of the first one, and of one chart."""


@dataclass(frozen=True, slots=True)
class Past:
    """One stored session; `results` is None where there is nothing to believe, and `why` says why."""

    started: str
    folder: str
    root: str
    results: Results | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, `None` of them where nothing was measured."""

    k: int
    n: int

    @property
    def part(self) -> float | None:
        """Return the share between 0 and 1."""
        return self.k / self.n if self.n else None

    def __str__(self) -> str:
        return f"{self.k} of {self.n}" if self.n else "none ran"


@dataclass(frozen=True, slots=True)
class Row:
    """A session as the page shows it."""

    past: Past
    subject: str
    level: str
    rank: int | None
    attacks: Share
    work: Share


def row(past: Past) -> Row:
    """Return what the page says of a session; one without results it believes in nothing of."""
    results = past.results
    if results is None:
        return Row(past, "", "", None, Share(0, 0), Share(0, 0))
    level = results.level.recommended
    done = results.work.work_done if results.work is not None else None
    work = Share(done.k, done.n) if done is not None else _share(results, Kind.BENIGN, Verdict.SERVED)
    return Row(
        past, sentences.subject(results), sentences.name(level), level.rank if level else None,
        _share(results, Kind.ATTACK, Verdict.RESISTED), work,
    )  # fmt: skip


def _share(results: Results, kind: Kind, good: Verdict) -> Share:
    found = stops.wordings(words.measured_trials(results), kind)
    return Share(sum(all(trial.verdict is good for trial in own) for own in found), len(found))


@dataclass(frozen=True, slots=True)
class Dot:
    """One session in a chart: place in pixels, and what a reader is told there."""

    x: int
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Curve:
    """The sessions of one value: its dots, and the lines between neighbours that both have one."""

    name: str
    mark: str
    dots: tuple[Dot, ...]
    lines: tuple[str, ...]


def render(sessions: Sequence[Past]) -> str:
    """Return the page on sessions, the earliest first."""
    rows = [row(past) for past in sessions]
    css = html.asset("report.css")
    return html.environment().get_template("history.html.j2").render(
        rows=rows,
        css=Markup(css),  # noqa: S704  our own file, pinned by its hash
        csp=html.policy(css, ""),
        levels=[(level.value, _level_y(level.rank)) for level in Level],
        parts=[(f"{percent} %", _part_y(percent / 100)) for percent in (0, 50, 100)],
        ladder=_curve("Level", "level", rows, [_of_level(one) for one in rows]),
        shares=[
            _curve("Attacks stopped", "attacks", rows, [_of_share(one.attacks) for one in rows]),
            _curve("Work done", "work", rows, [_of_share(one.work) for one in rows]),
        ],
        width=_LEFT + _STEP * max(1, len(rows)),
        height=_HEIGHT,
        left=_LEFT,
        w=words,
    )  # fmt: skip


def _level_y(rank: int) -> float:
    return _HEIGHT - 20 - (rank - 1) * (_HEIGHT - 40) / 4


def _part_y(part: float) -> float:
    return _HEIGHT - 20 - part * (_HEIGHT - 40)


def _of_level(one: Row) -> tuple[float, str] | None:
    return (_level_y(one.rank), one.level) if one.rank else None


def _of_share(share: Share) -> tuple[float, str] | None:
    return (_part_y(share.part), str(share)) if share.part is not None else None


def _curve(name: str, mark: str, rows: Sequence[Row], values: Sequence[tuple[float, str] | None]) -> Curve:
    dots = [
        Dot(_LEFT + _STEP // 2 + _STEP * at, round(value[0], 1), f"{rows[at].past.started}: {name.lower()} {value[1]}")
        if value is not None
        else None
        for at, value in enumerate(values)
    ]
    return Curve(name, mark, tuple(dot for dot in dots if dot is not None), tuple(_lines(dots)))


def _lines(dots: Sequence[Dot | None]) -> Iterator[str]:
    """Yield the lines between neighbours; a session without a value leaves a gap."""
    for one, other in pairwise(dots):
        if one is not None and other is not None:
            yield f"M{one.x} {one.y}L{other.x} {other.y}"
