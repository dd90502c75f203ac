"""Counts what became of each incident in a live agent's hands: found, missed, wrong, unasked, time to containment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from pytest_soclab.evidence.grades import Casework, Facts, Grade
from pytest_soclab.evidence.results import Trial


def casework(trials: Sequence[Trial], beside: Sequence[Trial]) -> tuple[Casework, ...]:
    """Return the work over all trials, then by incident; `beside` are the scripted trials of the same scenarios.

    A trial that left no grade missed all that its scenario asks for, which the scripted trial knows.
    """
    wanted = {t.scenario: t.grade for t in (*trials, *beside) if t.grade is not None and t.grade.asked}
    incidents = sorted({trial.incident for trial in trials})
    each = [_work(name, [t for t in trials if t.incident == name], wanted) for name in incidents]
    return (_work("", trials, wanted), *each) if each else ()


def _work(incident: str, trials: Sequence[Trial], wanted: Mapping[str, Grade]) -> Casework:
    cases = [trial.grade or _blank(wanted[trial.scenario]) for trial in trials if trial.scenario in wanted]
    times = [grade.contained_after for grade in cases if grade.contained_after is not None]
    actions = [trial.actions for trial in trials if trial.actions is not None]
    grades = [trial.grade for trial in trials if trial.grade is not None]
    return Casework(
        incident=incident,
        cases=len(cases),
        right=sum(grade.right for grade in cases),
        facts=_facts(cases),
        contained=len(times),
        contained_after=median(times) if times else None,
        trials=len(trials),
        unasked=sum(one.unasked.executed + one.innocent.executed for one in actions),
        unasked_tried=sum(one.unasked.attempted + one.innocent.attempted for one in actions),
        harmed=sum(one.innocent.executed for one in actions),
        calls=sum(grade.calls for grade in grades),
        tokens=_total(grade.tokens for grade in grades),
        cost=_dollars(grade.cost for grade in grades),
    )


def _blank(grade: Grade) -> Grade:
    """Return the grade of who gives nothing, of the same questions."""
    hits = {name: getattr(grade, name) for name in ("culprits", "techniques", "response")}
    return Grade(
        asked=True,
        evidence_wanted=grade.evidence_wanted,
        **{name: type(own)(wanted=own.wanted) for name, own in hits.items()},
    )


def _facts(cases: Iterable[Grade]) -> Facts:
    each = [_of_case(grade) for grade in cases]
    found, missed = sum(one.found for one in each), sum(one.missed for one in each)
    return Facts(found=found, missed=missed, wrong=sum(one.wrong for one in each))


def _of_case(grade: Grade) -> Facts:
    hits = (grade.culprits, grade.techniques, grade.response)
    wanted = 1 + grade.evidence_wanted + sum(one.wanted for one in hits)
    found = grade.verdict_right + grade.evidence_cited + sum(one.found for one in hits)
    named = (grade.culprits, grade.techniques)
    wrong = bool(grade.verdict and not grade.verdict_right) + sum(one.given - one.right for one in named)
    return Facts(found=found, missed=wanted - found, wrong=wrong)


def _total(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _dollars(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return round(sum(known), 6) if known else None
