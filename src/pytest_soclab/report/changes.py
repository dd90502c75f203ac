"""The executed changes behind the control plane; those that hit an innocent or that nobody asked for come first."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_soclab.evidence.results import Action, ActionState, Arm, Consent, Results, Trial


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
        """The whole of it in one line."""
        who = "" if self.change.by == "agent" else " by the harness"
        return f"{self.what} of {self.change.target}{who}: {self.standing}, {self.how} ({self.trial.id})"


def executed(results: Results) -> list[Executed]:
    """Return the executed changes of the protected arm, notes left out that harm nobody; the worst come first."""
    own = [trial for trial in results.trials if trial.arm is Arm.PROTECTED]
    found = [Executed(trial, change) for trial in own for change in trial.changes if _counts(change)]
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
