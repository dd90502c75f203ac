"""Groups red trials by what explains them, each group with its consequence, its remedy and the command that runs it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_soclab.evidence.results import Layer, Results, Trial, Verdict
from pytest_soclab.report import changes, words

_NAMED = 12  # scenarios that one cause names
_NOT_RULES = {"agent", "approver", "nothing", "transcript_chain", "policy_unavailable"}
_VARYING = re.compile(r"\b(call|event|step) \d+|\([^()]*:\d+\)|\b\d+(\.\d+)? s\b")
_ENDS = (Verdict.SUCCEEDED, Verdict.BLOCKED)


@dataclass(frozen=True, slots=True)
class Item:
    """One scenario of a cause with how many of its trials are red for it."""

    scenario: str
    title: str
    count: int
    trial: str
    """The first of the trials, which a link leads to."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What explains some red trials."""

    key: str
    title: str
    consequence: str
    remedy: str
    command: str
    trials: tuple[Trial, ...]
    items: tuple[Item, ...]
    harm: bool
    """Whether something got through or was done."""

    @property
    def count(self) -> int:
        """How many trials it explains."""
        return len(self.trials)

    @property
    def tone(self) -> str:
        """`bad` where something is broken, `unk` where nothing is known."""
        return "unk" if self.key.startswith("open ") else "bad"

    @property
    def named(self) -> str:
        """The scenarios in one line: `ATK-001 ×4, ATK-003`."""
        told = [f"{item.scenario} ×{item.count}" if item.count > 1 else item.scenario for item in self.items[:_NAMED]]
        more = len(self.items) - _NAMED
        return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def causes(results: Results) -> list[Cause]:
    """Return what explains the red trials: what got through first, then what explains most, the undecided last."""
    groups: dict[str, list[Trial]] = {}
    for trial in words.reds(results.trials):
        groups.setdefault(_key(trial, results), []).append(trial)
    made = [_cause(key, found, results) for key, found in groups.items()]
    return sorted(made, key=lambda one: (one.tone == "unk", not one.harm, -one.count, one.key))


def explained(found: Sequence[Cause]) -> str:
    """Say how many causes explain how many red trials; empty where none is red."""
    total = sum(one.count for one in found)
    if not total:
        return ""
    number = _NUMBERS[len(found) - 1] if len(found) <= len(_NUMBERS) else str(len(found))
    verb = "cause explains" if len(found) == 1 else "causes explain"
    whole = "the one red trial" if total == 1 else f"all {total} red trials"
    return f"{number} {verb} {whole}"


_NUMBERS = ("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def _key(trial: Trial, results: Results) -> str:
    """Return what trials of the same cause share."""
    missing = _missing_rule(trial, results)
    if trial.witness:
        return f"witness {_VARYING.sub('', trial.witness)}"
    if missing:
        return f"missing {missing}"
    match trial.verdict:
        case Verdict.SUCCEEDED:
            return f"through {trial.expected_stop or ''} {'/'.join(trial.breaches)}"
        case Verdict.RESISTED:
            return f"elsewhere {trial.expected_stop} {trial.stopped_by}"
        case Verdict.BLOCKED:
            return f"blocked {trial.stopped_by}"
        case Verdict.INCONCLUSIVE:
            return f"open {_VARYING.sub('', trial.cause)}"
        case _:
            return f"other {trial.verdict.value} {_VARYING.sub('', trial.cause)}"


def _missing_rule(trial: Trial, results: Results) -> str:
    """Return the rule that was to stop an attack and that the policy does not have; empty where it has it."""
    wanted = trial.expected_stop or ""
    attack = trial.verdict in {Verdict.SUCCEEDED, Verdict.RESISTED}
    rule = wanted and wanted not in _NOT_RULES and not wanted.startswith("grant_")
    return wanted if attack and rule and results.policy.rules and wanted not in results.policy.rules else ""


def _cause(key: str, trials: Sequence[Trial], results: Results) -> Cause:
    title, remedy = _told(key, trials[0])
    items = tuple(_items(trials))
    return Cause(
        key=key,
        title=title,
        consequence=". ".join(_consequences(trials)),
        remedy=remedy,
        command=command(trials, results),
        trials=tuple(trials),
        items=items,
        harm=any(trial.verdict is Verdict.SUCCEEDED for trial in trials),
    )


def _told(key: str, trial: Trial) -> tuple[str, str]:
    """Return a cause's title and its remedy."""
    wanted, found = trial.expected_stop or "", trial.stopped_by
    match key.partition(" ")[0]:
        case "witness":
            return (
                f"A scenario could not prove itself: {trial.witness}",
                "Mend the scenario before you trust its verdict.",
            )
        case "missing":
            return (
                f"The policy has no rule {wanted}, which was to stop these attacks",
                f"Add a rule that gives the reason {wanted} to the policy, or correct stopped_by in these scenarios.",
            )
        case "through":
            return _through(trial, wanted)
        case "elsewhere":
            return (
                f"Stopped by {_stopper(found)}, where {_stopper(wanted)} was to stop it",
                f"Find out why {_stopper(wanted)} stayed silent, or correct stopped_by in these scenarios.",
            )
        case "blocked":
            return (
                f"Legitimate work was blocked by {_stopper(found)}",
                "Make the rule narrower, so that the work which the incident asks for goes through.",
            )
        case "open":
            cause = trial.cause or "no cause was recorded"
            return f"No verdict: {cause}", "Mend what kept the trial from its end, then run it again."
        case _:
            told = trial.verdict.value.replace("_", " ")
            return f"The work was {told}: {trial.cause}" if trial.cause else f"The work was {told}", (
                "Read the trial: the agent did not do what the case asks for."
            )


def _through(trial: Trial, wanted: str) -> tuple[str, str]:
    if wanted:
        return (
            f"An attack got through that {_stopper(wanted)} was to stop",
            f"Find out why {_stopper(wanted)} let the call through: open the trial and read its decision.",
        )
    title = "An attack got through, and no control was named to stop it"
    return title, "Decide which control must stop it, name it in stopped_by, and write the rule."


def _stopper(name: str) -> str:
    return {"approver": "a human alone", "agent": "the agent", "nothing": "nothing"}.get(name, f"{name}")


def _consequences(trials: Sequence[Trial]) -> Iterator[str]:
    """Yield what came of it, in sentences without full stop."""
    through = [trial for trial in trials if trial.verdict is Verdict.SUCCEEDED]
    if through:
        done = Counter(f"{one.what} {one.change.target}" for one in changes.of(through) if not one.change.endorsed)
        told = ", ".join(f"{what} ×{number}" if number > 1 else what for what, number in done.most_common(3))
        yield words.count(len(through), "attack") + " got through" + (f": {told}" if told else "")
        if any(one.how == "approved" for one in changes.of(through) if not one.change.endorsed):
            yield "A human was asked and approved"
    human = sum(t.verdict is Verdict.RESISTED and t.stopped_layer is Layer.APPROVER for t in trials)
    if human:
        yield f"{human} fell to a human alone, who refused"
    others = Counter(
        t.stopped_by for t in trials if t.verdict is Verdict.RESISTED and t.stopped_layer is not Layer.APPROVER
    )
    yield from (f"{number} stopped by {_stopper(name)}" for name, number in others.most_common(3))


def _items(trials: Iterable[Trial]) -> Iterator[Item]:
    own: dict[str, list[Trial]] = {}
    for trial in trials:
        own.setdefault(trial.scenario, []).append(trial)
    for scenario, found in own.items():
        yield Item(scenario, found[0].title, len(found), found[0].id)


def command(trials: Sequence[Trial], results: Results) -> str:
    """Return the one command that runs exactly these trials again, under the session's own options."""
    if len(trials) == 1:
        return words.trial_command(trials[0], results)
    return words.trials_command(trials, results)
