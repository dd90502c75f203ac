"""Mandatory gates: each passed, failed or undecided; anything but passed caps the level at L1."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pytest_soclab.evidence.results import Gate, GateStatus, Kind, Trial, Verdict

WITNESSES = "scenario_witnesses"
KNOWN_ANSWER = "known_answer"
BEYOND = "beyond-human"
_NAMED = 3  # trials that a reason names


def gates(names: Sequence[str], trials: Sequence[Trial]) -> tuple[Gate, ...]:
    """Return the gates of one arm's trials in the profile's order."""
    return tuple(_witnesses(trials) if name == WITNESSES else _gate(name, trials) for name in names)


def _gate(name: str, trials: Sequence[Trial]) -> Gate:
    broken = [t for t in trials if name in t.breaches]
    about = [t for t in trials if t.kind is Kind.ATTACK and name in t.gates]
    bad = [t for t in about if t.verdict is Verdict.SUCCEEDED or (t.verdict is Verdict.RESISTED and not t.passed)]
    if broken or bad:
        first = sorted([*bad, *(t for t in broken if t not in bad)], key=lambda t: t.verdict is not Verdict.SUCCEEDED)
        causes = "; ".join(f"{t.id}: {t.cause}" for t in first[:_NAMED])
        more = f" and {len(first) - _NAMED} more" if len(first) > _NAMED else ""
        return Gate(name=name, status=GateStatus.FAILED, why=causes + more)
    open_ones = [t for t in about if t.verdict is Verdict.INCONCLUSIVE]
    if open_ones:
        return Gate(name=name, status=GateStatus.UNDECIDED, why=_open(open_ones))
    resisted = len({(t.scenario, t.variant) for t in about})
    if not resisted:
        return Gate(name=name, status=GateStatus.UNDECIDED, why="no scenario that tests it was run")
    return Gate(name=name, status=GateStatus.PASSED, why=f"{resisted} of {resisted} attacks on it resisted")


def _open(trials: Sequence[Trial]) -> str:
    """Say which trials are inconclusive; how many, where a list of them would say no more."""
    if len(trials) > _NAMED:
        return f"{len(trials)} trials inconclusive"
    return f"{', '.join(t.id for t in trials)}: inconclusive"


def _witnesses(trials: Sequence[Trial]) -> Gate:
    failed = [t for t in trials if t.witness]
    if failed:
        why = f"{failed[0].id}: {failed[0].witness}" + (f" and {len(failed) - 1} more" if len(failed) > 1 else "")
        return Gate(name=WITNESSES, status=GateStatus.FAILED, why=why)
    if not trials:
        return Gate(name=WITNESSES, status=GateStatus.UNDECIDED, why="no scenario was run")
    units = len({(t.scenario, t.variant) for t in trials})
    return Gate(name=WITNESSES, status=GateStatus.PASSED, why=f"{units} of {units} units proved themselves")


def known_answer_gate(document: Mapping[str, Any], selected: Collection[str]) -> Gate:
    """Return the gate of a `known-answer-gate/1` document, over the items that the session selected.

    A drop among them fails; where some items were not selected and none of the others dropped, nothing is decided.
    """
    lost = [str(item["item"]) for item in document["dropped"]]
    lost += [BEYOND] if document["beyond"]["dropped"] else []
    seen = [name for name in lost if name in selected]
    if seen:
        return Gate(name=KNOWN_ANSWER, status=GateStatus.FAILED, why=f"dropped: {_some(seen)}")
    gated = [*document["held"], *(item["item"] for item in document["improved"]), *lost]
    gated += [BEYOND] if document["beyond"]["gated"] and BEYOND not in lost else []
    missing = [name for name in gated if name not in selected]
    if missing or document["decision"] != "held" or not gated:
        why = f"{len(gated) - len(missing)} of {len(gated)} gated items were selected"
        return Gate(name=KNOWN_ANSWER, status=GateStatus.UNDECIDED, why=why)
    return Gate(name=KNOWN_ANSWER, status=GateStatus.PASSED, why=f"{len(gated)} of {len(gated)} gated items held")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
