"""The events of a transcript, typed: what a stored file is read into, so that no reader has to expect anything else.

Hashing stays on the plain JSON; `entry_of` is the one way from there to here and `plain` the one way back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ConfigDict, JsonValue, StrictBool, StrictInt, StrictStr, ValidationError

from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.answers import EVENT, Answers
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Saved
from pytest_soclab.evidence.terms import Verdict

TRANSCRIPT_FORMAT = "soclab-transcript/2"
Texts = tuple[StrictStr, ...]


class TrialStarted(Saved):
    """The first event: what is tried, on whom, and by which rules and version."""

    format: Literal["soclab-transcript/2"]
    soclab: StrictStr
    policy: StrictStr
    """SHA-256 of the policy that decides, empty without a control plane."""
    profile: StrictStr
    """SHA-256 of the assurance profile of the session, empty where there is none."""
    subject: StrictStr
    """SHA-256 over who the agent is, as the session knows it."""
    trial: StrictStr
    scenario: StrictStr
    version: StrictInt
    variant: StrictStr
    arm: Literal["baseline", "protected"]
    level: StrictInt
    agent: StrictStr
    model: StrictStr
    incident: StrictStr
    alert: dict[StrictStr, JsonValue]
    goal: StrictStr


class Proposal(Saved):
    """A call that was proposed."""

    call: StrictInt
    tool: StrictStr
    arguments: dict[StrictStr, JsonValue]
    cites: Texts
    by: Literal["agent", "harness"]


class Decision(Saved):
    """What the policy decided, and on what."""

    call: StrictInt
    outcome: Literal["allow", "deny"]
    layer: StrictStr
    reasons: Texts
    obligations: Texts
    rule: StrictStr
    cause: StrictStr
    input: dict[StrictStr, JsonValue]


class Approval(Saved):
    """What the approver answered."""

    call: StrictInt
    approver: StrictStr
    outcome: StrictStr


class Grant(Saved):
    """A grant that was issued; the token itself stands nowhere."""

    call: StrictInt
    grant: StrictStr
    proposal_hash: StrictStr
    expires: StrictInt


class Refused(Saved):
    """A call that was stopped after the decision, or an attack on the log that was noticed."""

    call: StrictInt
    layer: StrictStr
    reason: StrictStr
    detail: StrictStr


class ChangeMade(Saved):
    """One change of the world."""

    kind: StrictStr
    target: StrictStr


class Receipt(Saved):
    """An execution, and what it changed."""

    call: StrictInt
    tool: StrictStr
    grant: StrictStr | None
    by: Literal["agent", "harness"]
    ok: StrictBool
    changes: tuple[ChangeMade, ...]
    foreign: Texts
    error: StrictStr


class Result(Saved):
    """What the agent was handed."""

    call: StrictInt
    tool: StrictStr
    evidence: StrictStr | None
    ok: StrictBool
    data: JsonValue
    error: StrictStr
    denied: Texts
    recorded: StrictBool


class Recommendation(Saved):
    """A call that was written down and not executed."""

    call: StrictInt
    tool: StrictStr
    arguments: dict[StrictStr, JsonValue]


class Harness(Saved):
    """A step of the harness; a plugin's step may say more."""

    model_config = ConfigDict(frozen=True, extra="allow")

    step: StrictStr
    performed: StrictBool
    noticed: StrictBool
    tampering: StrictBool
    detail: StrictStr


class Annex(Saved):
    """What an agent outside of the process left beside its calls."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Answered(Answers):
    """How a live agent answered each fact of the incident's answer key."""


class AgentError(Saved):
    """Why the agent's work did not end well."""

    error: StrictStr


class TrialEnded(Saved):
    """The last event: the verdict, so that the chain holds it."""

    cause: StrictStr
    verdict: Verdict
    delivered: StrictBool
    stopped_by: StrictStr
    breaches: Texts


Fact = (
    TrialStarted
    | Proposal
    | Decision
    | Approval
    | Grant
    | Refused
    | Receipt
    | Result
    | Recommendation
    | Harness
    | Annex
    | Answered
    | AgentError
    | TrialEnded
)
KINDS: Mapping[str, type[Fact]] = {
    "trial_started": TrialStarted,
    "proposal": Proposal,
    "decision": Decision,
    "approval": Approval,
    "grant": Grant,
    "refused": Refused,
    "receipt": Receipt,
    "result": Result,
    "recommendation": Recommendation,
    "harness": Harness,
    "annex": Annex,
    EVENT: Answered,
    "agent_error": AgentError,
    "trial_ended": TrialEnded,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One event of a transcript: its number, its simulated time, what happened."""

    seq: int
    at: int
    fact: Fact


class EventFault(Exception):  # noqa: N818 - a finding, not an error
    """An event that no session writes: which one, and what is wrong with it."""


def entry_of(event: Event) -> Entry:
    """Return an event of a chain that holds, typed.

    Raises:
        EventFault: when it is none that a session writes.
    """
    kind = KINDS.get(str(event.get("type")))
    seq, at = event.get("seq"), event.get("at")
    if kind is None or type(seq) is not int or type(at) is not int:
        raise EventFault(f"event {seq}: found the type {printable(str(event.get('type')))}, which no session writes")
    try:
        return Entry(seq, at, kind.model_validate(event["data"]))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise EventFault(printable(f"event {seq}: {event['type']} {place}: {first['msg']}")) from None


def entries_of(events: Iterable[Event]) -> list[Entry]:
    """Return a whole transcript, typed: it starts as a trial does, and ends as one.

    Raises:
        EventFault: at the first event that is out of place.
    """
    entries = [entry_of(event) for event in events]
    if not entries or not isinstance(entries[0].fact, TrialStarted):
        raise EventFault("event 0: found no start of a trial, expected trial_started")
    if not isinstance(entries[-1].fact, TrialEnded):
        raise EventFault(f"event {entries[-1].seq}: found no end of the trial, expected trial_ended")
    for entry in entries[1:-1]:
        if isinstance(entry.fact, TrialStarted | TrialEnded):
            raise EventFault(f"event {entry.seq}: found a second start or end, expected one trial")
    return entries


def plain(fact: Fact) -> dict[str, Any]:
    """Return a fact as the plain JSON that is hashed."""
    return fact.model_dump(mode="json")
