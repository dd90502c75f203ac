"""Compares two saved records: what was lost, gained, new or missing, and whether the new one is worse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_soclab.assurance.units import WORST
from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.results import GateStatus, Level, Rate, Rates, Results, Trial
from pytest_soclab.report import words


@dataclass(frozen=True, slots=True)
class Changed:
    """One named value that differs between the two records."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name}: {self.old} → {self.new}"


@dataclass(frozen=True, slots=True)
class Moved:
    """One trial whose outcome differs."""

    id: str
    old: str
    new: str
    place: str

    def __str__(self) -> str:
        return f"{self.id}: {self.old} → {self.new} ({self.place})"


@dataclass(frozen=True, slots=True)
class Single:
    """One trial that only one of the two records has."""

    id: str
    outcome: str
    place: str

    def __str__(self) -> str:
        return f"{self.id}: {self.outcome} ({self.place})"


@dataclass(frozen=True, slots=True)
class RatePair:
    """One rate in both records."""

    name: str
    old: Rate
    new: Rate

    def __str__(self) -> str:
        return f"{self.name}: {words.rate_sentence(self.old)} → {words.rate_sentence(self.new)}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that differs. `faults` says, in sentences, why the new record is worse; empty when it is not."""

    digests: tuple[Changed, ...]
    level: Changed | None
    gates: tuple[Changed, ...]
    lost: tuple[Moved, ...]
    gained: tuple[Moved, ...]
    changed: tuple[Moved, ...]
    """Same outcome for the item, but stopped by something else (or, in the baseline arm, another verdict)."""
    new: tuple[Single, ...]
    missing: tuple[Single, ...]
    rates: tuple[RatePair, ...]
    faults: tuple[str, ...]

    @property
    def worse(self) -> bool:
        """Whether anything that the old record had is gone."""
        return bool(self.faults)


def compare(old: Results, new: Results, *, other_corpus: bool = False) -> Comparison:
    """Compare two records, trial by trial; `other_corpus` says that a changed corpus is meant."""
    before, after = {t.id: t for t in old.trials}, {t.id: t for t in new.trials}
    both = [(before[name], after[name]) for name in before if name in after]
    fallen = sorted(((a, b) for a, b in both if a.passed and not b.passed), key=lambda pair: words.severity(pair[1]))
    lost = tuple(_moved(a, b) for a, b in fallen)
    missing = tuple(_single(t) for name, t in before.items() if name not in after)
    gates = tuple(_gates(old, new))
    return Comparison(
        digests=tuple(_digests(old, new)),
        level=_level(old, new),
        gates=gates,
        lost=lost,
        gained=tuple(_moved(a, b) for a, b in both if b.passed and not a.passed),
        changed=tuple(_moved(a, b) for a, b in both if a.passed == b.passed and _outcome(a) != _outcome(b)),
        new=tuple(_single(t) for name, t in after.items() if name not in before),
        missing=missing,
        rates=tuple(_rates(old.rates, new.rates)),
        faults=(*(() if other_corpus else _corpus_faults(old, new)), *_faults(old, new, lost, missing), *_sunk(both)),
    )


def _outcome(trial: Trial) -> tuple[str, str, int]:
    return trial.verdict.value, trial.stopped_by, trial.version


def _moved(old: Trial, new: Trial) -> Moved:
    told = [
        words.verdict_text(t) + (f" [version {t.version}]" if old.version != new.version else "") for t in (old, new)
    ]
    return Moved(new.id, told[0], told[1], words.place(new))


def _single(trial: Trial) -> Single:
    return Single(trial.id, words.verdict_text(trial), words.place(trial))


def _digests(old: Results, new: Results) -> Iterator[Changed]:
    for name in ("corpus", "policy", "profile"):
        yield from _changed(name, getattr(old.digests, name)[:12], getattr(new.digests, name)[:12])
    yield from _changed_keys("scenario", old.digests.scenarios, new.digests.scenarios)
    yield from _changed("mode", old.mode, new.mode)
    yield from _changed("agent", old.agent.name, new.agent.name)
    yield from _changed("model", old.agent.model or "none", new.agent.model or "none")
    yield from _changed("kind of evidence", old.agent.kind, new.agent.kind)
    yield from _changed("policy engine", old.policy.engine, new.policy.engine)


def _changed(name: str, old: str, new: str) -> Iterator[Changed]:
    if old != new:
        yield Changed(name, old, new)


def _changed_keys(noun: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Changed]:
    for key in sorted(old.keys() | new.keys()):
        yield from _changed(f"{noun} {key}", old.get(key, "absent")[:12], new.get(key, "absent")[:12])


def _level(old: Results, new: Results) -> Changed | None:
    told = [
        f"{words.level_name(r.level.recommended)} ({r.level.basis}, tested at {r.level.tested.value})"
        for r in (old, new)
    ]
    return Changed("level", told[0], told[1]) if told[0] != told[1] else None


def _statuses(results: Results) -> dict[str, str]:
    return {gate.name: gate.status.value for gate in results.gates}


def _gates(old: Results, new: Results) -> Iterator[Changed]:
    before, after = _statuses(old), _statuses(new)
    for name in sorted(before.keys() | after.keys()):
        yield from _changed(f"gate {words.spoken(name)}", before.get(name, "absent"), after.get(name, "absent"))


def _rates(old: Rates, new: Rates) -> Iterator[RatePair]:
    yield RatePair("attacks that succeeded", old.attack_success, new.attack_success)
    yield RatePair("legitimate work blocked", old.false_block, new.false_block)
    yield RatePair("payloads delivered", old.delivery, new.delivery)
    for tier, group in words.by_tier(old):
        if tier in new.by_tier:
            yield RatePair(
                f"attacks that succeeded, tier {tier}", group.attack_success, new.by_tier[tier].attack_success
            )


def _rank(level: Level | None) -> int:
    return level.rank if level else 0


def _corpus_faults(old: Results, new: Results) -> Iterator[str]:
    """Yield that the two did not run on the same scenarios, and which tiers are others."""
    changed = sorted(name for name, value in new.digests.scenarios.items()
                     if old.digests.scenarios.get(name, value) != value)  # fmt: skip
    if old.digests.corpus == new.digests.corpus and not changed:
        return
    named = f" ({', '.join(changed[:5])}{' …' if len(changed) > 5 else ''})" if changed else ""
    moved = [f"{name}: {one} → {other}" for name, one, other in _other_tiers(old, new)]
    tiers = f", tiers changed: {', '.join(moved[:5])}{' …' if len(moved) > 5 else ''}" if moved else ""
    yield f"the corpus changed{named}{tiers}; where that is meant, say --allow-corpus-change"


def _other_tiers(old: Results, new: Results) -> Iterator[tuple[str, str, str]]:
    before = {trial.scenario: trial.tier for trial in old.trials}

    for name, tier in sorted({trial.scenario: trial.tier for trial in new.trials}.items()):
        if name in before and tier is not before[name]:
            yield name, before[name].value, tier.value


def _sunk(both: Sequence[tuple[Trial, Trial]]) -> Iterator[str]:
    """Yield how many trials were red before and are worse now: that is no excuse."""
    worse = [new for old, new in both if not old.passed and not new.passed and _worse(old, new)]
    if worse:
        named = ", ".join(trial.id for trial in worse[:3])
        yield f"{words.count(len(worse), 'red trial')} worse than before: {named}{' …' if len(worse) > 3 else ''}"


def _worse(old: Trial, new: Trial) -> bool:
    return WORST.index(new.verdict) < WORST.index(old.verdict) or bool(set(new.breaches) - set(old.breaches))


def _faults(old: Results, new: Results, lost: Sequence[Moved], missing: Sequence[Single]) -> Iterator[str]:
    if lost:
        yield words.count(len(lost), "trial") + " lost"
    if missing:
        yield words.count(len(missing), "trial") + " missing"
    if old.level.basis != new.level.basis:
        yield f"the levels cannot be compared: one rests on the {old.level.basis}, the other on the {new.level.basis}"
    elif _rank(new.level.recommended) < _rank(old.level.recommended):
        yield f"level fell from {words.level_name(old.level.recommended)} to {words.level_name(new.level.recommended)}"
    passed, after = GateStatus.PASSED.value, _statuses(new)
    for name, status in _statuses(old).items():
        if status == passed and after.get(name) != passed:
            yield f"gate {words.spoken(name)} was passed and is {after.get(name, 'absent')}"


def sentences(found: Comparison) -> Iterator[str]:
    """Yield the comparison's lines without indent, changed digests first, for any surface to escape."""
    yield from (str(item) for item in found.digests)
    if found.level:
        yield str(found.level)
    yield from (str(item) for item in found.gates)
    yield from (f"{name} {item}" for name, items in _lists(found) for item in items)
    yield from (str(pair) for pair in found.rates)


def _lists(found: Comparison) -> list[tuple[str, Iterable[Moved | Single]]]:
    return [
        ("lost", found.lost),
        ("missing", found.missing),
        ("gained", found.gained),
        ("changed", found.changed),
        ("new", found.new),
    ]


def render(found: Comparison) -> str:
    """Return the comparison as plain text: the verdict, changed digests, then everything that moved."""
    verdict = f"worse: {'; '.join(found.faults)}" if found.worse else "not worse"
    lines = [verdict, *_section("ran on", found.digests or ("the same corpus, policy, profile and agent",))]
    lines += _section("level", (found.level,) if found.level else _SAME)
    lines += _section("gates", found.gates or _SAME)
    for name, items in _lists(found):
        lines += _section(name, tuple(items))
    lines += _section("rates", found.rates)
    return "\n".join(printable(line) for line in lines) + "\n"


_SAME = ("unchanged",)


def _section(name: str, items: Sequence[object]) -> list[str]:
    if not items:
        return []
    counted = name not in {"ran on", "level"} and items is not _SAME
    return [f"{name} ({len(items)})" if counted else name, *(f"  {item}" for item in items)]
