"""Puts a session's facts together into `Results`: a pure function of what was gathered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_soclab.assurance.adaptive import Ceiling, ceiling, hopeful, report
from pytest_soclab.assurance.gates import gates, known_answer_gate, reach_gate
from pytest_soclab.assurance.ladder import Evidence, decide, lower
from pytest_soclab.assurance.profile import Profile
from pytest_soclab.assurance.units import Basis, distinct, rates, same_scenarios
from pytest_soclab.assurance.vouched import vouched
from pytest_soclab.assurance.work import work_of
from pytest_soclab.evidence.results import (
    AboveLevel,
    AgentInfo,
    Arm,
    ArmResult,
    Digests,
    Gate,
    GateStatus,
    Level,
    PolicyInfo,
    Reach,
    Results,
    ScenarioCount,
    Timing,
    Trial,
)
from pytest_soclab.judging.actions import counted

Mode = Literal["protected", "baseline", "compare", "known-answer"]


@dataclass
class Facts:
    """What a session gathered; trials by id, so that order and workers leave no trace."""

    mode: Mode
    level: Level
    command: tuple[str, ...]
    trials: dict[str, Trial] = field(default_factory=dict)
    agents: list[dict[str, Any]] = field(default_factory=list)
    policy: PolicyInfo | None = None
    corpus: int = 0
    selected: int = 0
    errors: tuple[str, ...] = ()
    scenario_digests: dict[str, str] = field(default_factory=dict)
    variants: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Every variant of each scenario of which one was selected: `-k plain` is no whole run."""
    repeat: int = 1
    """How often each unit was to be tried: choosing among repetitions is no whole run either."""
    adaptive: bool = False
    """Whether repeats that can change nothing are left out."""
    above: dict[str, AboveLevel] = field(default_factory=dict)
    """Attacks that count from a higher level on, by the trials in which they were to be tried."""
    above_tried: frozenset[str] = frozenset()
    """Those of the trials in which they did not succeed."""
    partial: frozenset[str] = frozenset()
    """Scenarios that are known to have run in part (a shard's)."""
    control_trials: dict[str, Trial] = field(default_factory=dict)
    """In a session with a live agent: the same protected trials with the scripted agent."""
    reach: dict[str, Reach] = field(default_factory=dict)
    """What became of every single call, by incident."""
    incidents: frozenset[str] = frozenset()
    """The incidents that the corpus brings: a level speaks of the reach of each."""
    known_answer: Mapping[str, Any] | None = None
    known_selected: frozenset[str] = frozenset()
    """Keys of the known-answer items that the session ran."""
    known_gate: Gate | None = None
    """The known-answer gate where it was decided before (a shard's)."""
    policy_changed: str = ""
    """Why the policy at the session's end is not the one that was loaded."""
    withheld: tuple[str, ...] = ()
    """What was taken from the agent, as the option says it: such a session is an arm to compare, without a level."""
    corpus_digest: str = ""
    digests: Digests | None = None
    """The digests where they are known before (a shard's)."""


def results_of(facts: Facts, profile: Profile, profile_digest: str, timing: Timing) -> Results:
    """Return the finished record of a session."""
    trials = tuple(facts.trials[name] for name in sorted(facts.trials))
    agent, protected = _agent(facts), [t for t in trials if t.arm is Arm.PROTECTED]
    spent = ceiling_of(facts, profile) if facts.adaptive else None
    counts = _counts(facts, trials if facts.mode == "baseline" else protected, spent)
    control_trials = tuple(facts.control_trials[name] for name in sorted(facts.control_trials))
    basis: Basis = "agent" if agent.kind == "live" else "controls"
    same = same_scenarios(control_trials or protected)
    found = _gates(facts, profile, protected, control_trials)
    complete, coverage = _whole(facts, counts, trials)
    work = work_of(protected, control_trials, same) if basis == "agent" and protected else None
    evidence = Evidence(
        protected, found, complete, coverage, agent.deterministic, basis, same, counts.above_level, work, agent.subjects
    )
    level = vouched(decide(evidence, profile, facts.level), facts.policy, profile)
    controls = _controls(facts, profile, spent) if basis == "agent" else None
    arms = {arm.value: _arm(profile, trials, arm) for arm in Arm} if facts.mode == "compare" else None
    shown = protected if facts.mode != "baseline" else trials
    return Results(
        mode=facts.mode,
        level=lower(level, controls.level) if controls is not None and controls.level is not None else level,
        gates=found,
        rates=rates(shown, basis, None if facts.mode == "baseline" else same),
        work=work,
        distinct=distinct(shown),
        arms=arms,
        controls=controls,
        control_trials=control_trials,
        counts=counts,
        trials=trials,
        actions=counted(change for trial in protected for change in trial.changes),
        reach=tuple(facts.reach[name] for name in sorted(facts.reach)),
        known_answer=dict(facts.known_answer) if facts.known_answer is not None else None,
        agent=agent,
        policy=facts.policy or PolicyInfo(engine="embedded", source="none", digest="", package="soclab.gateway"),
        digests=facts.digests or _digests(facts, profile_digest),
        adaptive=report(spent, trials) if spent is not None else None,
        command=facts.command,
        timing=timing,
    )


def ceiling_of(facts: Facts, profile: Profile) -> Ceiling:
    """Return the highest level that the trials so far leave possible."""
    protected = [facts.trials[name] for name in sorted(facts.trials) if facts.trials[name].arm is Arm.PROTECTED]
    beside = [facts.control_trials[name] for name in sorted(facts.control_trials)]
    agent, same = _agent(facts), same_scenarios(beside or protected)
    live = agent.kind == "live"
    work = work_of(protected, beside, same) if live and protected else None
    found = _gates(facts, profile, protected, beside)
    own = Evidence(
        protected, hopeful(found), True, "", agent.deterministic,
        "agent" if live else "controls", same, (), work, agent.subjects,
    )  # fmt: skip
    alone = hopeful(gates(profile.gates, beside))
    controls = [Evidence(beside, alone, True, "", True, "controls")] if live else []
    undecided = tuple(gate.name for gate in found if gate.status is GateStatus.UNDECIDED)
    return ceiling([own, *controls], undecided, profile, facts.level, facts.repeat)


def _whole(facts: Facts, counts: ScenarioCount, trials: Sequence[Trial]) -> tuple[bool, str]:
    """Return whether all ran under one policy, and the sentence that says so."""
    if facts.policy_changed:
        return False, f"policy_changed: {facts.policy_changed}"
    if facts.withheld:
        return False, f"tools were withheld from the agent ({', '.join(facts.withheld)})"
    return _complete(counts), _coverage(counts, trials)


def _gates(facts: Facts, profile: Profile, trials: Sequence[Trial], beside: Sequence[Trial]) -> tuple[Gate, ...]:
    """Return the gates of a session: the profile's, reach's where the corpus brings incidents, the known answers'."""
    found = gates(profile.gates, trials, beside) if facts.mode in ("protected", "compare") else ()
    if facts.mode != "baseline" and (facts.reach or facts.incidents):
        found = (*found, reach_gate(facts.reach, facts.incidents))
    if facts.known_answer is not None:
        found = (*found, facts.known_gate or known_answer_gate(facts.known_answer, facts.known_selected))
    return found


def _controls(facts: Facts, profile: Profile, spent: Ceiling | None) -> ArmResult:
    """Return what the scripted trials say about the controls alone."""
    own = [facts.control_trials[name] for name in sorted(facts.control_trials)]
    counts = _counts(facts, own, spent)
    found = gates(profile.gates, own)
    complete, coverage = _complete(counts), _coverage(counts, own)
    evidence = Evidence(own, found, complete, coverage, True, "controls", None, counts.above_level)
    level = vouched(decide(evidence, profile, facts.level), facts.policy, profile)
    return ArmResult(level=level, gates=found, rates=rates(own))


def _arm(profile: Profile, trials: Sequence[Trial], arm: Arm) -> ArmResult:
    own = [trial for trial in trials if trial.arm is arm]
    return ArmResult(gates=gates(profile.gates, own) if arm is Arm.PROTECTED else (), rates=rates(own))


def _counts(facts: Facts, trials: Sequence[Trial], spent: Ceiling | None = None) -> ScenarioCount:
    """Count the scenarios that ran whole, every variant of them, in the arm that the level speaks of."""
    tried = Counter((trial.scenario, trial.variant) for trial in trials)
    kinds = {trial.scenario: trial.kind for trial in trials}
    least = {name: spent.enough(kind) if spent is not None else facts.repeat for name, kind in kinds.items()}
    ended = {unit for unit, times in tried.items() if times >= least[unit[0]]}
    short = {trial.scenario for trial in trials if not trial.root_hash}
    partial = {name for name, variants in facts.variants.items() if any((name, v) not in ended for v in variants)}
    short |= (partial := partial | facts.partial)
    short |= {scenario for scenario, _ in tried.keys() - ended}
    above = {one.scenario for one in facts.above.values()}
    untried = {facts.above[name].scenario for name in facts.above.keys() - facts.above_tried - facts.trials.keys()}
    ran = {scenario for scenario, _ in ended} - short - above
    return ScenarioCount(
        corpus=facts.corpus + len(untried),
        selected=facts.selected,
        run=len(ran),
        errors=len(facts.errors),
        error_texts=tuple(sorted(facts.errors)),
        partial=tuple(sorted(partial)),
        above_level=_above_level(facts),
    )


def _above_level(facts: Facts) -> tuple[AboveLevel, ...]:
    """Return the attacks that were tried above their level and did not succeed, each once."""
    won = {trial.scenario for trial in facts.trials.values()}
    found = {one.scenario: one for one in facts.above.values() if one.scenario not in won}
    return tuple(found[name] for name in sorted(found))


def _complete(counts: ScenarioCount) -> bool:
    return counts.errors == 0 and counts.corpus > 0 and counts.run >= counts.corpus


def _coverage(counts: ScenarioCount, trials: Sequence[Trial]) -> str:
    begun = {trial.scenario for trial in trials} & set(counts.partial)
    part = f" whole, {len(begun)} in part" if begun else ""
    text = f"{counts.run} of {counts.corpus} scenarios ran{part}"
    return f"{text}, {counts.errors} could not be read" if counts.errors else text


def _agent(facts: Facts) -> AgentInfo:
    """Return the agent under test; where trials had several, their names and the more cautious facts."""
    unique = {tuple(sorted((k, str(v)) for k, v in agent.items())): agent for agent in facts.agents}
    agents = [unique[key] for key in sorted(unique)]
    if not agents:
        return AgentInfo(name="none", model=None, deterministic=False, kind="scripted")
    models = sorted({agent["model"] for agent in agents if agent["model"]})
    live = any(agent["kind"] == "live" for agent in agents)
    subjects = sorted({_subject(agent) for agent in agents if agent["kind"] == "live"})
    return AgentInfo(
        name=", ".join(sorted({agent["name"] for agent in agents})),
        model=", ".join(models) or None,
        deterministic=all(agent["deterministic"] for agent in agents) and (not live or _same_again(agents)),
        kind="live" if live else "scripted",
        subjects=tuple(subjects) if len(subjects) > 1 else (),
    )


def _subject(agent: Mapping[str, Any]) -> str:
    """Say who an agent is by all that tells one from another."""
    named = (("model", agent["model"]), *((name, agent.get(name)) for name in ("class", "version", "prompt")))
    return ", ".join([str(agent["name"]), *(f"{name} {value}" for name, value in named if value)])


def _same_again(agents: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a sample was tried twice, and gave the same proposals each time: a word for it is not enough."""
    answers = {agent.get("same_again") for agent in agents} - {None}
    return answers == {True}


def _digests(facts: Facts, profile_digest: str) -> Digests:
    scenarios = dict(sorted(facts.scenario_digests.items()))
    policy = facts.policy.digest if facts.policy else ""
    return Digests(corpus=facts.corpus_digest, policy=policy, profile=profile_digest, scenarios=scenarios)
