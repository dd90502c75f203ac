"""Attacks on the transcript after the trial."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal

from pytest_soclab.evidence import ledger
from pytest_soclab.harness.bench import Bench, Step


class TamperTranscript(Step):
    """Changes a finished transcript: edits an event, drops one, swaps two, cuts the end, or rehashes a forged chain."""

    step: Literal["tamper_transcript"]
    how: Literal["edit", "drop", "reorder", "truncate", "rehash"]

    def perform(self, bench: Bench) -> None:
        """Change a copy of the transcript and let the verifier look at it; the baseline arm has no verifier."""
        genuine = bench.state.ledger
        if len(genuine.events) < 4:
            return
        forged = changed(genuine.events, self.how)
        fault = ledger.verify(forged, genuine.root_hash) if bench.gateway is not None else None
        if fault is not None:
            data = {"call": 0, "layer": "ledger", "reason": "transcript_chain", "detail": str(fault)}
            bench.state.log("refused", data)
        bench.log(self.step, f"{self.how}: {fault or 'nothing noticed'}", noticed=fault is not None, tampering=True)


def changed(events: Sequence[ledger.Event], how: str) -> list[ledger.Event]:
    """Return a copy of the events, changed in this way."""
    forged = copy.deepcopy(list(events))
    middle = len(forged) // 2
    match how:
        case "edit":
            forged[middle]["data"] = {**forged[middle]["data"], "note": "nothing happened here"}
        case "drop":
            del forged[middle]
        case "reorder":
            forged[middle], forged[middle - 1] = forged[middle - 1], forged[middle]
        case "truncate":
            forged = forged[:-1]
        case _:
            forged = _rehashed(forged, middle)
    return forged


def _rehashed(events: list[ledger.Event], middle: int) -> list[ledger.Event]:
    """Return a chain that is sound in itself but tells another story."""
    chain = ledger.Ledger()
    for event in events:
        data = {**event["data"], "note": "rewritten"} if event["seq"] == middle else event["data"]
        chain.append(event["type"], event["at"], data)
    return chain.events
