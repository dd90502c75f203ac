"""Arranges a record for the page: plots, the matrix of who stopped what, both arms side by side, trials by scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from pytest_soclab.evidence.results import (
    Arm,
    Kind,
    Layer,
    Measured,
    Proportion,
    Rate,
    RateGroup,
    Rates,
    Results,
    Trial,
    Verdict,
)
from pytest_soclab.report import words

_OUTCOMES = ("nothing", "inconclusive")  # the last columns of the matrix, in this order


@dataclass(frozen=True, slots=True)
class PlotRow:
    """One line of a forest plot; `low`, `at` and `high` in percent of the axis, absent where nothing was measured."""

    name: str
    k_of_n: str
    bounds: str
    low: str = ""
    at: str = ""
    high: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """One forest plot: rows by group, and the limit that the next level sets."""

    title: str
    better: Literal["lower", "higher"]
    single: str
    """The same rate over single trials, in words."""
    limit: str
    limit_text: str
    groups: list[tuple[str, list[PlotRow]]]


Measure = Callable[[RateGroup], Rate]


def plots(results: Results) -> list[Plot]:
    """Return the three plots of the measured arm."""
    bill = results.level.next
    limits = (bill.attack_success_limit, bill.false_block_limit, bill.delivery_limit) if bill else (None, None, None)
    level = bill.level.value if bill else ""
    return [
        _plot("Attacks that succeeded", lambda g: g.attack_success, results.rates, _Limit(limits[0], level)),
        _plot(
            "Legitimate work blocked", lambda g: g.false_block, results.rates, _Limit(limits[1], level), surface=False
        ),
        _plot("Payloads delivered", lambda g: g.delivery, results.rates, _Limit(limits[2], level, least=True)),
    ]


@dataclass(frozen=True, slots=True)
class _Limit:
    """What the next level demands of a rate."""

    fraction: float | None
    level: str
    least: bool = False

    def __str__(self) -> str:
        if self.fraction is None:
            return ""
        need = "the dot must reach" if self.least else "the bar must end by"
        return f"for {self.level} {need} {words.percent(self.fraction)}"


def _plot(title: str, measure: Measure, rates: Rates, limit: _Limit, *, surface: bool = True) -> Plot:
    by: list[tuple[str, Iterable[tuple[str, RateGroup]]]] = [
        ("Tier", words.by_tier(rates)),
        ("Family", rates.by_family.items()),
        ("Incident", rates.by_incident.items()),
        ("Surface", rates.by_surface.items() if surface else ()),
    ]
    groups = [(name, [_row(key, measure(group)) for key, group in items if measure(group).n]) for name, items in by]
    return Plot(
        title=title,
        better="higher" if limit.least else "lower",
        single=_single(measure(rates)),
        limit=_axis(limit.fraction) if limit.fraction is not None else "",
        limit_text=str(limit),
        groups=[("All", [_row("all", measure(rates))]), *(group for group in groups if _varies(group[1]))],
    )


def _varies(rows: Sequence[PlotRow]) -> bool:
    """Tell whether a group's rows tell more than that all of them are at the same end."""
    return len({row.at for row in rows}) > 1


def _single(rate: Rate) -> str:
    """Say the rate over single trials, where variants ran more than once."""
    return words.rate_sentence(rate.trials) if rate.trials.n != rate.n else ""


def _row(name: str, rate: Proportion) -> PlotRow:
    shown = words.spoken(name)
    if not isinstance(rate, Measured):
        return PlotRow(shown, "no data", "")
    at = _axis(rate.k / rate.n)
    return PlotRow(shown, words.k_of_n(rate), words.short_bounds(rate), _axis(rate.low), at, _axis(rate.high))


def _axis(fraction: float) -> str:
    return f"{fraction * 100:.2f}%"


@dataclass(frozen=True, slots=True)
class Cell:
    """How many distinct units of an attack one control decided, and whether the scenario names that control."""

    count: int
    expected: bool
    tone: str
    sign: str
    """Empty where the item passed, so that colour never tells it alone."""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One attack."""

    scenario: str
    title: str
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Attack by control, for one kind of evidence."""

    agent_kind: str
    columns: list[tuple[str, str]]
    """Name and layer of each control that decided something."""
    rows: list[MatrixRow]
    totals: list[int]
    tally: words.Tally
    idle: list[str]
    """Deny reasons of the policy that decided no attack in this session."""


def matrices(results: Results) -> list[Matrix]:
    """Return one matrix for scripted and one for live trials of the measured arm, where there are any."""
    attacks = [t for t in words.measured_trials(results) if t.kind is Kind.ATTACK]
    kinds = [("scripted", [t for t in attacks if t.agent_kind == "scripted"])]
    kinds.append(("live", [t for t in attacks if t.agent_kind == "live"]))
    return [_matrix(kind, trials, results.policy.rules) for kind, trials in kinds if trials]


def _matrix(kind: str, trials: Sequence[Trial], rules: Sequence[str]) -> Matrix:
    columns = _columns(trials)
    rows = [_matrix_row(found, [name for name, _ in columns]) for found in by_scenario(trials)]
    totals = [sum(row.cells[i].count for row in rows) for i in range(len(columns))]
    used = {name for name, _ in columns}
    return Matrix(kind, columns, rows, totals, words.tally(trials, Kind.ATTACK), [r for r in rules if r not in used])


def _columns(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    layers = list(Layer)
    found = {words.control_of(t): t.stopped_layer for t in trials}
    last = len(layers)

    def order(name: str) -> tuple[int, str]:
        return (last + _OUTCOMES.index(name) if name in _OUTCOMES else layers.index(found[name]), name)

    return [(name, _layer_label(name, found[name])) for name in sorted(found, key=order)]


def _layer_label(name: str, layer: Layer) -> str:
    if name in _OUTCOMES:
        return "succeeded" if name == "nothing" else ""
    label = words.LAYER_NAMES[layer]
    return "" if label == name else label


def _matrix_row(trials: Sequence[Trial], columns: Sequence[str]) -> MatrixRow:
    units: dict[str, list[Trial]] = {}
    for trial in trials:
        units.setdefault(words.control_of(trial), []).append(trial)
    expected = {t.expected_stop for t in trials}
    cells = [_cell(units[name], name in expected) if name in units else _EMPTY[name in expected] for name in columns]
    return MatrixRow(trials[0].scenario, trials[0].title, cells)


_EMPTY = {named: Cell(0, named, "", "") for named in (True, False)}


def _cell(trials: Sequence[Trial], expected: bool) -> Cell:
    red = [t for t in trials if not t.passed] or [t for t in trials if t.verdict is Verdict.INCONCLUSIVE]
    tones = sorted({tone(t) for t in trials}, key=("bad", "unk", "ok", "base").index)
    return Cell(
        len({t.variant for t in trials}), expected, tones[0] if tones else "", words.sign(red[0]) if red else ""
    )


def by_scenario(trials: Iterable[Trial]) -> list[list[Trial]]:
    """Return the trials grouped by scenario, in the order of their ids."""
    ordered = sorted(trials, key=lambda t: (t.scenario, t.variant, t.arm.value, t.repetition))
    return [list(group) for _, group in groupby(ordered, key=lambda t: t.scenario)]


@dataclass(frozen=True, slots=True)
class Pair:
    """One attack in both arms."""

    scenario: str
    title: str
    baseline: str
    protected: str


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Compare mode: the measures of both arms, then every attack in both."""

    measures: list[tuple[str, str, str]]
    attacks: list[Pair]
    without: int
    """Units that succeed without a control plane."""
    stopped: int
    """Those of them that the control plane stopped."""


def side_by_side(results: Results) -> SideBySide | None:
    """Return both arms beside each other; None outside compare mode."""
    views = {view.arm: view for view in words.arms(results)}
    if len(views) < 2:
        return None
    base, prot = views[Arm.BASELINE], views[Arm.PROTECTED]
    told: list[tuple[str, Callable[[words.ArmView], str]]] = [
        ("Attacks that succeeded", lambda v: words.rate_sentence(v.rates.attack_success)),
        ("Legitimate work blocked", lambda v: words.rate_sentence(v.rates.false_block)),
        ("Payloads delivered", lambda v: words.rate_sentence(v.rates.delivery)),
        ("Mandatory gates", lambda v: words.gates_text(v.gates)),
    ]
    ends = [{(t.scenario, t.variant): t.verdict for t in v.trials if t.kind is Kind.ATTACK} for v in (base, prot)]
    without = [unit for unit, verdict in ends[0].items() if verdict is Verdict.SUCCEEDED]
    stopped = sum(ends[1].get(unit) is Verdict.RESISTED for unit in without)
    attacks = [t for t in results.trials if t.kind is Kind.ATTACK]
    pairs = [_pair(found) for found in by_scenario(attacks)]
    return SideBySide([(name, say(base), say(prot)) for name, say in told], pairs, len(without), stopped)


def _pair(trials: Sequence[Trial]) -> Pair:
    told = [outcomes([t for t in trials if t.arm is arm]) for arm in (Arm.BASELINE, Arm.PROTECTED)]
    return Pair(trials[0].scenario, trials[0].title, told[0], told[1])


def outcomes(trials: Sequence[Trial]) -> str:
    """Return how some trials of one scenario ended: `2 resisted by scope, 1 inconclusive`."""
    ends = Counter(_outcome(t) for t in trials)
    return ", ".join(f"{number} {end}" for end, number in ends.items()) or "not run"


def _outcome(trial: Trial) -> str:
    if trial.verdict in {Verdict.RESISTED, Verdict.BLOCKED}:
        return f"{trial.verdict.value} by {words.control_of(trial)}"
    return trial.verdict.value


@dataclass(frozen=True, slots=True)
class Work:
    """One benign control of the measured arm."""

    scenario: str
    title: str
    outcome: str
    tone: str
    stops: str


def legitimate(results: Results) -> list[Work]:
    """Return the benign controls, those with a false block first."""
    trials = [t for t in words.measured_trials(results) if t.kind is Kind.BENIGN]
    made = [_work(found) for found in by_scenario(trials)]
    return sorted(made, key=lambda work: ("bad", "unk", "ok").index(work.tone))


def _work(trials: Sequence[Trial]) -> Work:
    verdicts = {t.verdict for t in trials}
    tone = (
        "bad"
        if verdicts & {Verdict.BLOCKED, Verdict.NOT_ATTEMPTED}
        else "unk"
        if Verdict.INCONCLUSIVE in verdicts
        else "ok"
    )
    stops = sorted({words.stopper(t) for t in trials if t.verdict is Verdict.BLOCKED})
    causes = sorted({words.cause_beyond(t) or t.cause for t in trials if t.verdict is Verdict.INCONCLUSIVE})
    return Work(trials[0].scenario, trials[0].title, outcomes(trials), tone, "; ".join(stops + causes))


def tone(trial: Trial) -> str:
    """Return the colour class of a trial; the words beside it say the same.

    The baseline arm is neither good nor bad.
    """
    if trial.arm is Arm.BASELINE:
        return "base"
    if trial.verdict is Verdict.INCONCLUSIVE:
        return "unk"
    held = trial.verdict in {Verdict.RESISTED, Verdict.SERVED}
    return "ok" if held and trial.passed else "bad"


def variant_name(trial: Trial, arms: bool) -> str:
    """Return what tells a trial from the others of its scenario."""
    parts = [trial.variant] + ([trial.arm.value] if arms else [])
    return " · ".join(parts + ([f"repetition {trial.repetition}"] if trial.repetition > 1 else []))
