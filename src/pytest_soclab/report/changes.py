"""The executed changes behind the control plane; those that hit an innocent or that nobody asked for come first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_soclab.evidence.results import Action, ActionCount, ActionState, Arm, Consent, Results, Trial

_TOLD = 8  # changes that one line of a trial names


@dataclass(frozen=True, slots=True)
class Executed:
    """One executed change with the trial in which it was made."""

    trial: Trial
    change: Action

    @property
    def standing(self) -> str:
        """Whether the change is right, unasked, or harm to somebody innocent."""
        if self.change.innocent:
            return f"harm to an innocent ({self.change.innocent})"
        return "endorsed" if self.change.endorsed else "unasked"

    @property
    def how(self) -> str:
        """Who consented to it."""
        return "approved" if self.change.consent is Consent.APPROVED else "unattended"

    @property
    def what(self) -> str:
        """The kind of change in words."""
        return self.change.kind.replace("_", " ")

    @property
    def sentence(self) -> str:
        """The whole of it in one line, but for the trial."""
        who = "" if self.change.by == "agent" else " by the harness"
        return f"{self.what} {self.change.target}{who}: {self.standing}, {self.how}"


@dataclass(frozen=True, slots=True)
class Alike:
    """Executed changes that differ in nothing but their trial."""

    what: str
    target: str
    standing: str
    how: str
    bad: bool
    endorsed: bool
    trials: tuple[str, ...]


def alike(found: Iterable[Executed]) -> list[Alike]:
    """Return executed changes, equal ones together, in the order of the first of them."""
    groups: dict[tuple[str, str, str, str], list[Executed]] = {}
    for one in found:
        by = "" if one.change.by == "agent" else " (harness)"
        groups.setdefault((one.what + by, one.change.target, one.standing, one.how), []).append(one)
    return [
        Alike(
            what,
            target,
            standing,
            how,
            bad=bool(own[0].change.innocent),
            endorsed=standing == "endorsed",
            trials=tuple(dict.fromkeys(x.trial.id for x in own)),
        )
        for (what, target, standing, how), own in groups.items()
    ]


def told(found: Sequence[Executed]) -> list[tuple[str, bool]]:
    """Return one line for each standing and consent with all that was changed so, and whether such a change is bad."""
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for one in found:
        who = "" if one.change.by == "agent" else " by the harness"
        bad = bool(one.change.innocent) or not one.change.endorsed
        groups.setdefault((one.standing, one.how, bad), []).append(f"{one.what} {one.change.target}{who}")
    return [
        (f"{standing}, {how}: {', '.join(names[:_TOLD])}" + _more(len(names) - _TOLD), bad)
        for (standing, how, bad), names in groups.items()
    ]


def _more(left: int) -> str:
    return f" and {left} more" if left > 0 else ""


def classes(results: Results) -> list[tuple[str, ActionCount, bool]]:
    """Return the three classes with their counts and whether such a change is bad; empty where none is known."""
    counted = results.actions
    if counted is None or not (counted.endorsed.all or counted.unasked.all or counted.innocent.all):
        return []
    return [
        ("hits somebody or something innocent", counted.innocent, True),
        ("nobody asked for", counted.unasked, False),
        ("the case asks for", counted.endorsed, False),
    ]


def executed(results: Results) -> list[Executed]:
    """Return the executed changes of the protected arm, notes left out that harm nobody; the worst come first."""
    return of(trial for trial in results.trials if trial.arm is Arm.PROTECTED)


def of(trials: Iterable[Trial]) -> list[Executed]:
    """Return the executed changes of some trials, the worst first."""
    found = [Executed(trial, change) for trial in trials for change in trial.changes if _counts(change)]
    return sorted(found, key=lambda one: (not one.change.innocent, one.change.endorsed))


def _counts(change: Action) -> bool:
    return change.state is ActionState.EXECUTED and (not change.note or bool(change.innocent))


def total(results: Results) -> str:
    """Return how many changes were executed, of which class, and how many were only tried; empty where none was."""
    counted = results.actions
    if counted is None or not (counted.endorsed.all or counted.unasked.all or counted.innocent.all):
        return ""
    classes = (counted.endorsed, counted.unasked, counted.innocent)
    number = sum(count.executed for count in classes)
    return (
        f"{number} executed, {sum(count.unattended for count in classes)} of them unattended: "
        f"{counted.innocent.executed} on an innocent, {counted.unasked.executed} unasked, "
        f"{counted.endorsed.executed} endorsed; stopped: {counted.innocent.attempted} on an innocent, "
        f"{counted.unasked.attempted} unasked"
    )


def harmful(results: Results) -> list[Executed]:
    """Return the executed changes that hit an innocent."""
    return [one for one in executed(results) if one.change.innocent]
