"""The text of a failing item: one readable line for each decisive event."""

from __future__ import annotations

from pytest_soclab.evidence.results import Layer, Trial, Verdict
from pytest_soclab.report import failure

from . import build


def lines(trial: Trial) -> list[str]:
    return failure.text(trial, build.transcript(trial)).splitlines()


def decided_by(trial: Trial, kind: str) -> Trial:
    """Return the trial with the last event of a type as the decisive one."""
    return build.changed(trial, decisive=([e["seq"] for e in build.transcript(trial) if e["type"] == kind][-1],))


def test_a_change_names_its_call_and_its_target() -> None:
    trial = build.changed(
        build.trials_of()[0], verdict=Verdict.SUCCEEDED, stopped_by="nothing", stopped_layer=Layer.NOTHING,
        passed=False, cause="nothing stopped it: account_disabled",
    )  # fmt: skip
    assert lines(decided_by(trial, "receipt")) == [
        "succeeded: nothing stopped it: account_disabled",
        "stopped by nobody",
        "  event 10: call 2 identity.disable_account user=svc-backup: changed the world: account_disabled svc-backup",
        f"{trial.file}:3 {trial.title}",
    ]


def test_a_denial_names_its_reasons() -> None:
    told = lines(decided_by(build.trials_of()[0], "decision"))
    assert told[2] == (
        "  event 7: call 2 identity.disable_account user=svc-backup: "
        "denied by policy: protected_asset (protected_asset.rego:41)"
    )


def test_the_approver_is_named_as_one() -> None:
    trial = next(t for t in build.trials_of() if t.stopped_layer is Layer.APPROVER)
    told = lines(decided_by(trial, "refused"))
    assert told[2].startswith("  event 9: call 2 endpoint.isolate_host host=fileserver-02: refused by the approver")


def test_nobody_stopped_what_is_inconclusive() -> None:
    trial = build.changed(
        build.trials_of()[0], verdict=Verdict.INCONCLUSIVE, stopped_by="nothing", stopped_layer=Layer.NOTHING,
        cause="the payload never reached the agent", decisive=(),
    )  # fmt: skip
    assert lines(trial) == ["inconclusive: the payload never reached the agent", f"{trial.file}:3 {trial.title}"]


def test_hostile_arguments_are_clipped_and_printable() -> None:
    trial = decided_by(build.trials_of()[0], "decision")
    events = build.transcript(trial)
    for event in events:
        if event["type"] == "proposal":
            event["data"]["arguments"] = {"user": "x" * 10_000 + "\x1b[31m", "other": ["\u202e"] * 500}
    told = failure.text(trial, events)
    assert len(told) < 1_000
    assert all(line.isprintable() for line in told.splitlines())
