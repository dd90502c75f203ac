"""Mandatory gates: each passed, failed or undecided; anything but passed caps the level at L1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_soclab.record import Gate, GateStatus, Kind, Trial, Verdict

WITNESSES = "scenario_witnesses"
KNOWN_ANSWER = "known_answer"


def gates(names: Sequence[str], trials: Sequence[Trial], known_answer: Mapping[str, object] | None) -> tuple[Gate, ...]:
    """Return the gates of one arm's trials in the profile's order, and `known_answer` where a baseline was given."""
    found = [_witnesses(trials) if name == WITNESSES else _gate(name, trials) for name in names]
    if known_answer is not None:
        found.append(_known_answer(known_answer))
    return tuple(found)


def _gate(name: str, trials: Sequence[Trial]) -> Gate:
    broken = [t for t in trials if name in t.breaches]
    about = [t for t in trials if t.kind is Kind.ATTACK and name in t.gates]
    bad = [t for t in about if t.verdict is Verdict.SUCCEEDED or (t.verdict is Verdict.RESISTED and not t.passed)]
    if broken or bad:
        first = [*bad, *(t for t in broken if t not in bad)]
        causes = "; ".join(f"{t.id}: {t.cause}" for t in first[:3])
        more = f" and {len(first) - 3} more" if len(first) > 3 else ""
        return Gate(name=name, status=GateStatus.FAILED, why=causes + more)
    open_ones = [t for t in about if t.verdict is Verdict.INCONCLUSIVE]
    if open_ones:
        return Gate(name=name, status=GateStatus.UNDECIDED, why=f"{_ids(open_ones)}: inconclusive")
    resisted = len({(t.scenario, t.variant) for t in about})
    if not resisted:
        return Gate(name=name, status=GateStatus.UNDECIDED, why="no scenario that tests it was run")
    return Gate(name=name, status=GateStatus.PASSED, why=f"{resisted} of {resisted} attacks on it resisted")


def _ids(trials: Iterable[Trial]) -> str:
    ids = [t.id for t in trials]
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")


def _witnesses(trials: Sequence[Trial]) -> Gate:
    failed = [t for t in trials if t.witness]
    if failed:
        why = f"{failed[0].id}: {failed[0].witness}" + (f" and {len(failed) - 1} more" if len(failed) > 1 else "")
        return Gate(name=WITNESSES, status=GateStatus.FAILED, why=why)
    if not trials:
        return Gate(name=WITNESSES, status=GateStatus.UNDECIDED, why="no scenario was run")
    units = len({(t.scenario, t.variant) for t in trials})
    return Gate(name=WITNESSES, status=GateStatus.PASSED, why=f"{units} of {units} units proved themselves")


def _known_answer(document: Mapping[str, object]) -> Gate:
    dropped = document.get("dropped")
    beyond = document.get("beyond")
    lost = [str(item["item"]) for item in dropped] if isinstance(dropped, list) else []
    if isinstance(beyond, dict) and beyond.get("dropped"):
        lost.append("beyond-human")
    if lost or document.get("decision") != "held":
        shown = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
        return Gate(name=KNOWN_ANSWER, status=GateStatus.FAILED, why=f"dropped: {shown or 'not decided'}")
    return Gate(name=KNOWN_ANSWER, status=GateStatus.PASSED, why="nothing that the baseline found dropped")
