"""Renders `report.html`: one self-contained file that makes no request and runs no text of others."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from pytest_soclab.base import resources
from pytest_soclab.base.clock import rfc3339
from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Arm, GateStatus, Kind, Level, Results, Trial
from pytest_soclab.report import causes, changes, compare, known, rungs, sentences, steps_html, stops, view, words
from pytest_soclab.report import sheet as sheet_
from pytest_soclab.report import work as work_
from pytest_soclab.report.courses import Courses

_LONGEST = 600  # characters of one text outside the timelines
_LIMIT, _LIMIT_PER_TRIAL = 300_000, 2_000  # bytes of the whole page
_PASSES = 3  # how often the timelines are cut shorter
_SPARE = 150_000  # bytes shared out among the timelines, of the 300 KB that a report may have beside 2 KB a trial
_TRIAL_BUDGET = 700  # bytes of a trial's timeline; with its head and foot that stays under 2 KB
_MOST = 24_000  # bytes of one timeline in a small session
_OPEN_UP_TO = 120  # trials: with more, scenarios start collapsed
_GATE_ORDER = (GateStatus.FAILED, GateStatus.UNDECIDED, GateStatus.PASSED)
_RED_OPEN, _RED_BUDGET = 12, 6_000  # red trials whose transcript starts open, and the bytes that each may have


def render(results: Results, transcripts: Mapping[str, Sequence[Event]], previous: Results | None = None) -> str:
    """Return the whole page; where it grows too large, its timelines are cut shorter.

    A trial without a transcript says so. With `previous`, one section says what changed since.
    """
    limit = _LIMIT + _LIMIT_PER_TRIAL * len(results.trials)
    share, text = 1.0, ""
    for _ in range(_PASSES):
        trials = _Trials(results, transcripts, share)
        text = _page(results, trials.scenarios(), previous)
        size = len(text.encode())
        if size <= limit:
            break
        room = limit - (size - trials.drawn)
        share *= max(0.1, 0.9 * room / max(1, trials.drawn))
    return text


def one_page(results: Results) -> str:
    """Return the first page alone, for a lead to sign."""
    return _page(results, [], None, sheet=True)


_SINCE = re.compile(
    r'<section id="since".*?</section><!-- /since -->\n|<li><a href="#since">Since</a></li>\n', re.DOTALL
)


def without_previous(page: str) -> str:
    """Return a page without what it says of an earlier session, whose record it does not hold."""
    return _SINCE.sub("", page)


def _page(results: Results, scenarios: list[dict[str, Any]], previous: Results | None, *, sheet: bool = False) -> str:
    css, script = asset("report.css"), asset("report.js")
    values = {**_head(results), **_evidence(results), **_since(results, previous)}
    pages = environment()
    return pages.get_template("report.html.j2").render(
        r=results,
        css=Markup(css),  # noqa: S704  our own file, pinned by its hash
        script=Markup(script),  # noqa: S704
        csp=policy(css, script),
        w=words,
        lab=results.mode != "known-answer",
        sheet=sheet,
        levels=list(Level),
        scenarios=scenarios,
        sections=[(anchor, label) for anchor, label, there in _SECTIONS if there == "" or values.get(there)],
        **values,
    )


_SECTIONS = (
    ("ladder", "Ladder", "ladder"),
    ("changes", "Changes", "classes"),
    ("reach", "Reach", "reach"),
    ("graded", "The work", "graded"),
    ("since", "Since", "since"),
    ("gates", "Gates", "gates"),
    ("rates", "Rates", "bars"),
    ("matrix", "Attack by control", "matrices"),
    ("work", "Legitimate work", "work"),
    ("arms", "Both arms", "pairs"),
    ("known", "Known answers", "known"),
    ("again", "Run it again", ""),
    ("trials", "Trials", "bars"),
)
"""Anchor, label, and the value without which the section is not there."""


def _head(results: Results) -> dict[str, Any]:
    """Return what the first page shows."""
    ladder = rungs.table(results)
    state = sentences.state(results)
    return {
        "headline": sentences.headline(results),
        "state": state,
        "sign": sentences.SIGNS[state],
        "badge": sentences.badge(results),
        "subject": sentences.subject(results),
        "lead": list(sentences.lead(results)),
        "not_covered": list(sentences.not_covered(results)),
        "causes": causes.causes(results),
        "red": words.reds(results.trials),
        "ladder": ladder,
        "steps": sheet_.steps(results, ladder),
        "bars": stops.bars(results),
        "figures": sheet_.figures(results),
        "bill": words.bill_of(results),
        "root": str(getattr(results.timing, "root", "")),
    }


def _evidence(results: Results) -> dict[str, Any]:
    """Return what stands behind the first page."""
    return {
        "plots": view.plots(results),
        "classes": changes.classes(results),
        "changed": changes.alike(changes.executed(results)),
        "reach": sheet_.reach(results),
        "reach_text": sheet_.reach_text(results),
        "graded": sheet_.graded(results),
        "casework": work_.rows(results),
        "casework_head": work_.HEAD,
        "casework_note": work_.NOTE,
        "matrices": view.matrices(results),
        "pairs": view.side_by_side(results),
        "work": view.legitimate(results),
        "gates": sorted(results.gates, key=lambda gate: _GATE_ORDER.index(gate.status)),
        "known": known.read(results.known_answer) if results.known_answer else None,
        "dropped": known.drops(results.known_answer),
        "evidence": words.evidence(words.measured_trials(results)),
        "gates_passed": sum(gate.status is GateStatus.PASSED for gate in results.gates),
        "stoppers": sorted({words.control_of(trial) for trial in results.trials}),
        "tools": sorted({change.tool for trial in results.trials for change in trial.changes}),
    }


def _since(results: Results, previous: Results | None) -> dict[str, Any]:
    found = compare.compare(previous, results) if previous is not None else None
    return {"since": found, "since_lines": [*found.faults, *compare.sentences(found)] if found else []}


@cache
def environment() -> Environment:
    """Return the templates: everything is escaped, and what is put out is made printable."""
    environment = Environment(
        loader=FileSystemLoader(resources.templates()),
        autoescape=True,
        optimized=False,  # which would cost more than it saves: a page is rendered once
        undefined=StrictUndefined,
        finalize=_finished,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["t"] = _isolated
    environment.filters["clip"] = _clip
    environment.filters["anchor"] = lambda text: quote(printable(text))
    return environment


@cache
def asset(name: str) -> str:
    """Return a file that stands beside the templates."""
    return (resources.templates() / name).read_text(encoding="utf-8")


def policy(css: str, script: str) -> str:
    """Return the content security policy of a page with exactly this style and this script."""
    pins = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{pins[0]}'; script-src 'sha256-{pins[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _finished(value: object) -> object:
    """Make every string that a template puts out printable, those in attributes included."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _clip(text: object, longest: int = _LONGEST) -> str:
    whole = str(text)
    left = len(whole) - longest
    return printable(whole[:longest]) + (f"… {left:,} more characters" if left > 0 else "")


def _isolated(text: object, longest: int = _LONGEST) -> Markup:
    """Return foreign text that can neither reorder nor steer what stands around it."""
    return Markup(f"<bdi>{escape(_clip(text, longest))}</bdi>")  # noqa: S704  escaped here


class _Trials:
    """The trials by scenario, as the template shows them."""

    def __init__(self, results: Results, transcripts: Mapping[str, Sequence[Event]], share: float) -> None:
        self._trials = results.trials
        self._transcripts = transcripts
        self._arms = len({t.arm for t in results.trials}) > 1
        self._budget = int(share * min(_MOST, _TRIAL_BUDGET + _SPARE // max(1, len(results.trials))))
        self._open = {t.id for t in words.reds(results.trials)[:_RED_OPEN]}
        self._titles = results.policy.titles
        self._by_id = {trial.id: trial for trial in results.trials}
        self._siblings = sheet_.siblings(results) if self._arms else {}
        self._causes = {t.id: number for number, one in enumerate(causes.causes(results), 1) for t in one.trials}
        self._courses = Courses()
        self.drawn = 0
        """How many bytes the timelines take that were drawn so far."""

    def scenarios(self) -> list[dict[str, Any]]:
        """Return one entry for each scenario."""
        return [self._scenario(found) for found in view.by_scenario(self._trials)]

    def _scenario(self, trials: Sequence[Trial]) -> dict[str, Any]:
        first = trials[0]
        shown = len(self._trials) <= _OPEN_UP_TO or any(t.id in self._open for t in trials)
        return {
            "first": first,
            "open": shown,
            "outcome": self._outcome(trials),
            "facts": _facts(first),
            "red": sum(not t.passed for t in trials),
            "trials": [self._trial(t) for t in trials],
        }

    def _outcome(self, trials: Sequence[Trial]) -> str:
        arms = [(arm, [t for t in trials if t.arm is arm]) for arm in Arm]
        told = [(arm.value, view.outcomes(found)) for arm, found in arms if found]
        return "; ".join(f"{arm}: {text}" if self._arms else text for arm, text in told)

    def _trial(self, trial: Trial) -> dict[str, Any]:
        events = self._transcripts.get(trial.id, ())
        same = self._courses.same_as(trial, events)
        return {
            "t": trial,
            "name": view.variant_name(trial, self._arms),
            "tone": view.tone(trial),
            "open": trial.id in self._open,
            "started": rfc3339(events[0]["at"]) if events and isinstance(events[0].get("at"), int) else "",
            "timeline": Markup() if same else self._steps(trial, events),
            "by": words.control_of(trial),
            "tools": " ".join(dict.fromkeys(change.tool for change in trial.changes)),
            "cause": self._causes.get(trial.id, 0),
            "same": same,
            "changes": changes.told(changes.of([trial])),
            "sibling": self._by_id.get(self._siblings.get(trial.id, "")),
        }

    def _steps(self, trial: Trial, events: Sequence[Event]) -> Markup:
        budget = max(self._budget, _RED_BUDGET) if trial.id in self._open else self._budget
        text = steps_html.timeline(trial, events, budget, self._titles)
        self.drawn += len(text.encode())
        return Markup(text)  # noqa: S704  escaped there


def _facts(trial: Trial) -> list[str]:
    """Return what all trials of a scenario share."""
    twin = [f"twin {trial.twin}"] if trial.twin else []
    return [
        f"{trial.tier.value} tier",
        words.spoken(trial.family.value),
        trial.incident,
        *([] if trial.kind is Kind.BENIGN else [trial.surface]),
        *trial.atlas,
        *trial.owasp,
        *twin,
    ]
