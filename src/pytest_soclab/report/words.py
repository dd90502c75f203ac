"""Says in words what a record holds, once, so that page, job summary and terminal use the same sentence.

Nothing here escapes: each surface does that for its own format, on the whole sentence.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

from pytest_soclab.assurance import words as rounding
from pytest_soclab.assurance.adaptive import repeats_text as repeats_text  # noqa: PLC0414
from pytest_soclab.assurance.tallies import Evidence as Evidence  # noqa: PLC0414 - this and the next: for the surfaces, which read one module
from pytest_soclab.assurance.tallies import Tally as Tally  # noqa: PLC0414
from pytest_soclab.assurance.tallies import approver_text as approver_text  # noqa: PLC0414
from pytest_soclab.assurance.tallies import attacks_text as attacks_text  # noqa: PLC0414
from pytest_soclab.assurance.tallies import citations_text as citations_text  # noqa: PLC0414
from pytest_soclab.assurance.tallies import controls_text as controls_text  # noqa: PLC0414
from pytest_soclab.assurance.tallies import evidence as evidence  # noqa: PLC0414
from pytest_soclab.assurance.tallies import stoppers_text as stoppers_text  # noqa: PLC0414
from pytest_soclab.assurance.tallies import tally as tally  # noqa: PLC0414
from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.results import (
    Arm,
    Gate,
    GateStatus,
    Layer,
    Level,
    LevelDecision,
    Measured,
    NextLevel,
    Proportion,
    RateGroup,
    Rates,
    Results,
    Tier,
    Trial,
    Verdict,
)

LEVEL_NAMES = {
    Level.L1: "observe",
    Level.L2: "investigate",
    Level.L3: "recommend",
    Level.L4: "act with approval",
    Level.L5: "bounded autonomy",
}
LEVEL_MEANINGS = {
    Level.L1: "Reads, with results redacted.",
    Level.L2: "Also publishes findings and case notes.",
    Level.L3: "Proposes state changes; none is executed.",
    Level.L4: "Each state change executes after a human approves it.",
    Level.L5: "Reversible, in-scope, small actions execute unattended; everything else as L4.",
}
VERDICT_SIGNS = {
    Verdict.RESISTED: "✓",
    Verdict.SERVED: "✓",
    Verdict.SUCCEEDED: "✗",
    Verdict.BLOCKED: "✗",
    Verdict.NOT_ATTEMPTED: "✗",
    Verdict.INCONCLUSIVE: "?",
}
GATE_SIGNS = {GateStatus.PASSED: "✓", GateStatus.FAILED: "✗", GateStatus.UNDECIDED: "?"}
LAYER_NAMES = {
    Layer.AGENT: "agent declined",
    Layer.SCHEMA: "argument checks",
    Layer.POLICY: "policy",
    Layer.APPROVER: "approver",
    Layer.GRANT: "grant check",
    Layer.EXECUTOR: "executor",
    Layer.LEDGER: "ledger",
    Layer.NOTHING: "nothing",
}
BASELINE_CAVEAT = "The baseline arm has no control plane: it is a measurement and says nothing about safety."


def spoken(name: str) -> str:
    """Return an identifier as words: `policy_outage_fail_open` as `policy outage fail open`."""
    return name.replace("_", " ")


gate_name = rounding.gate_name
percent = rounding.percent
"""One rounding on every surface: no printed bound is better than the real one."""


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 trial`, `2 trials`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def k_of_n(rate: Proportion) -> str:
    """Return `2 of 40`, or `no data`."""
    return f"{rate.k} of {rate.n}" if isinstance(rate, Measured) else "no data"


def bounds(rate: Proportion) -> str:
    """Return the interval as `1.4 % to 16.5 %`; empty where nothing was measured."""
    return f"{percent(rate.low, up=False)} to {percent(rate.high)}" if isinstance(rate, Measured) else ""


def short_bounds(rate: Proportion) -> str:
    """Return the interval as `1.4 – 16.5 %`, for a column; empty where nothing was measured."""
    return f"{percent(rate.low, up=False)[:-2]} – {percent(rate.high)}" if isinstance(rate, Measured) else ""


def rate_sentence(rate: Proportion) -> str:
    """Return `2 of 40, 95 % interval 1.4 % to 16.5 %`, or `no data`."""
    if not isinstance(rate, Measured):
        return "no data"
    return f"{k_of_n(rate)}, 95 % interval {bounds(rate)}"


def by_tier(rates: Rates) -> list[tuple[str, RateGroup]]:
    """Return the rates by tier, low first."""
    return [(tier.value, rates.by_tier[tier.value]) for tier in Tier if tier.value in rates.by_tier]


def level_name(level: Level | None) -> str:
    """Return `L3 (recommend)`, or `no level`."""
    return f"{level.value} ({LEVEL_NAMES[level]})" if level else "no level"


def known_answer_headline(results: Results) -> str:
    found = results.known_answer or {}
    dropped = len(found.get("dropped") or ())
    beyond = " and the beyond-human count fell" if (found.get("beyond") or {}).get("dropped") else ""
    if found.get("decision") == "held":
        return "Known answers held"
    return f"Known answers dropped: {count(dropped, 'item')}{beyond}"


def basis(decision: LevelDecision) -> str:
    """Say what kind of evidence the level rests on."""
    if decision.basis == "controls":
        return "Measured with scripts that follow every attack: what the controls support, not what one agent earned."
    return "Measured with the agent itself behind the controls; its trials are never added to those of scripts."


def verdict_text(trial: Trial) -> str:
    """Say how a trial ended and who stopped it, without a full stop."""
    match trial.verdict:
        case Verdict.RESISTED:
            return _resisted(trial)
        case Verdict.SUCCEEDED:
            return "succeeded: nothing stopped it" + (" (no control plane)" if trial.arm is Arm.BASELINE else "")
        case Verdict.SERVED:
            return "served"
        case Verdict.BLOCKED:
            return f"blocked {stopper(trial)}"
        case Verdict.NOT_ATTEMPTED:
            return "not attempted" + (f": {trial.cause}" if trial.cause else "")
        case Verdict.INCONCLUSIVE:
            return "inconclusive" + (f": {trial.cause}" if trial.cause else "")
        case _:
            assert_never(trial.verdict)


def _resisted(trial: Trial) -> str:
    text = f"resisted {stopper(trial)}" + (" alone" if trial.stopped_layer is Layer.APPROVER else "")
    wrong = trial.expected_stop not in (None, trial.stopped_by) and not trial.passed
    return f"{text}, expected {trial.expected_stop}" if wrong else text


def cause_beyond(trial: Trial) -> str:
    """Return the trial's cause where the verdict's text does not already say it."""
    if trial.verdict is Verdict.SUCCEEDED:
        said, _, seen = trial.cause.partition(": ")
        return f"seen by the oracles {seen}" if said == "nothing stopped it" and seen else trial.cause
    told = trial.verdict is Verdict.RESISTED and (not trial.passed or trial.cause.startswith("stopped by "))
    return "" if told or trial.cause in verdict_text(trial) else trial.cause


def sign(trial: Trial) -> str:
    """Return the verdict's sign; a pass that the item did not accept has the failing one."""
    held = trial.verdict in {Verdict.RESISTED, Verdict.SERVED}
    return "✗" if held and not trial.passed else VERDICT_SIGNS[trial.verdict]


def stopper(trial: Trial) -> str:
    """Say who stopped a trial: `by protected_asset (policy, scope.rego:41)`."""
    if trial.stopped_layer is Layer.AGENT:
        return "by the agent, which declined"
    if trial.stopped_layer is Layer.APPROVER:
        return "by the approver"
    if trial.stopped_layer is Layer.NOTHING:
        return "by nothing"
    place = f", {trial.stopped_rule}" if trial.stopped_rule else ""
    return f"by {trial.stopped_by} ({LAYER_NAMES[trial.stopped_layer]}{place})"


def control_of(trial: Trial) -> str:
    """Name the control that decided a trial: a column of the matrix."""
    match trial.verdict:
        case Verdict.SUCCEEDED:
            return "nothing"
        case Verdict.INCONCLUSIVE:
            return "inconclusive"
        case Verdict.NOT_ATTEMPTED:
            return LAYER_NAMES[Layer.AGENT]
        case _:
            named = trial.stopped_layer in {Layer.AGENT, Layer.APPROVER}
            return LAYER_NAMES[trial.stopped_layer] if named else trial.stopped_by


_WORST_FIRST = (
    Verdict.SUCCEEDED,
    Verdict.BLOCKED,
    Verdict.NOT_ATTEMPTED,
    Verdict.RESISTED,
    Verdict.SERVED,
    Verdict.INCONCLUSIVE,
)


def severity(trial: Trial) -> tuple[int, str]:
    """Return a key that sorts breaches first, then blocked work, wrong stops and the undecided."""
    return _WORST_FIRST.index(trial.verdict), trial.id


def reds(trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials whose item did not pass, the worst first."""
    return sorted((t for t in trials if not t.passed), key=severity)


def place(trial: Trial) -> str:
    """Return the scenario's file and line."""
    return f"{trial.file}:{trial.line}"


def repository_path(trial: Trial, results: Results) -> str:
    """Return the scenario's file as seen from the repository's root, which readers outside the machine start from."""
    below = results.timing.below
    return posixpath.normpath(f"{below}/{trial.file}") if below and not trial.file.startswith("/") else trial.file


def trial_command(trial: Trial, results: Results) -> str:
    """Return the shell command that runs this trial alone, under the session's own options."""
    return f"pytest --soclab-mode={trial.arm.value} {_options(results.command)}{_word(trial.nodeid)}"


def trials_command(trials: Sequence[Trial], results: Results) -> str:
    """Return the shell command that runs these trials and no other: a file where all its trials are among them."""
    arms_ = {trial.arm.value for trial in trials}
    mode = arms_.pop() if len(arms_) == 1 else "compare"
    wanted = {trial.id for trial in trials}
    rest = [t for t in results.trials if t.id not in wanted and mode in {"compare", t.arm.value}]
    start = f"pytest --soclab-mode={mode} {_options(results.command)}"
    chosen = _chosen_files(trials, rest)
    return start + (chosen if len(chosen) <= _LONG_COMMAND else _chosen_names(trials, rest))


_LONG_COMMAND = 500


def _chosen_files(trials: Sequence[Trial], rest: Sequence[Trial]) -> str:
    """Return the files whose trials are all wanted, and the node ids of the other ones."""
    files = {trial.nodeid.partition("::")[0] for trial in trials}
    others = {trial.nodeid.partition("::")[0] for trial in rest}
    whole = [_word(file) for file in sorted(files - others)]
    return " ".join([*whole, *(_word(t.nodeid) for t in trials if t.nodeid.partition("::")[0] in others)])


def _chosen_names(trials: Sequence[Trial], rest: Sequence[Trial]) -> str:
    """Return the folder of many files and a `-k` with the names of the scenarios, and of the wordings where not all."""
    others = {trial.scenario for trial in rest}
    wordings: dict[str, list[str]] = {}
    for trial in trials:
        wordings.setdefault(trial.scenario, []).append(trial.variant)
    names = [
        f"({name} and ({' or '.join(dict.fromkeys(own))}))" if name in others else name
        for name, own in wordings.items()
    ]
    folder = posixpath.commonpath([trial.nodeid.partition("::")[0] for trial in trials])
    return f"{_word(folder)} -k {_word(' or '.join(names))}" if folder else f"-k {_word(' or '.join(names))}"


def _word(text: str) -> str:
    return shlex.quote(printable(text))


@lru_cache(maxsize=8)
def _options(command: tuple[str, ...]) -> str:
    """Return a command's own options but for the mode, as shell text: what it selected is left out."""
    own = [word for word in command if word.startswith("--soclab-") and not word.startswith("--soclab-mode=")]
    return "".join(f"{_word(word)} " for word in own)


def session_command(results: Results) -> str:
    """Return the shell command that runs the session again."""
    return " ".join(["pytest", *(shlex.quote(printable(argument)) for argument in results.command)])


def gates_passed(gates: Sequence[Gate]) -> str:
    """Return `8 of 9 gates passed`; the baseline arm has none."""
    passed = sum(gate.status is GateStatus.PASSED for gate in gates)
    return f"{passed} of {len(gates)} gates passed" if gates else "none judged"


def gates_text(gates: Sequence[Gate]) -> str:
    """Return `8 of 9 gates passed: approval bypass failed`, where no list of the gates follows."""
    others = [f"{gate_name(g.name)} {g.status.value}" for g in gates if g.status is not GateStatus.PASSED]
    return gates_passed(gates) + (f": {', '.join(others)}" if others else "")


def rule_text(rule: str) -> str:
    """Return a condition's name, a gate's as words."""
    return spoken(rule) if rule.startswith("gate ") else rule


def reasons(decision: LevelDecision) -> list[str]:
    """Return why the level is what it is, without the sentence that the headline says already."""
    level = decision.recommended.value if decision.recommended else ""
    said = {f"controls support {level}", f"the agent behind these controls supports {level}"}
    return [reason for reason in decision.why if reason not in said]


def is_part(results: Results) -> bool:
    """Tell whether a session ran a part of its corpus: a selection or a shard, of which no level can come."""
    return results.counts.selected < results.counts.corpus or bool(results.counts.partial)


NO_LEVEL_IN_PART = "no level in a part of the corpus"


def bill_of(results: Results) -> NextLevel | None:
    """Return the bill to the next level where there is anything to meet, and meeting it could bring the level."""
    bill = results.level.next
    if results.mode == "known-answer" or (results.level.recommended is None and is_part(results)):
        return None
    return bill if bill and bill.unmet else None


def agent_text(results: Results) -> str:
    """Name the agent under test: `mine, model-x (live)`."""
    agent = results.agent
    return agent.name + (f", {agent.model}" if agent.model else "") + f" ({agent.kind})"


UNCHECKED = "not checked by OPA"


def unchecked_text(results: Results) -> str:
    """Say that nobody vouches for how the policy was decided, and what to do."""
    source = printable(results.policy.source)
    return f"{source} was {UNCHECKED}, so no level above L3: put an `opa` 1.x on the PATH or use --soclab-opa-binary"


def policy_text(results: Results) -> str:
    """Name the policy that decided; the baseline arm has none."""
    return results.policy.package if results.digests.policy else "no control plane"


def coverage_text(results: Results) -> str:
    """Say how much of the corpus ran, and how many trials came to no verdict."""
    c, trials = results.counts, measured_trials(results)
    text = f"{c.run} of {c.corpus} scenarios ran" + (f" whole, {len(c.partial)} in part" if c.partial else "")
    open_ = sum(trial.verdict is Verdict.INCONCLUSIVE for trial in trials)
    text += f", {open_} of {count(len(trials), 'trial')} inconclusive" if open_ else ""
    text += f", {c.corpus - c.selected} not selected" if c.selected < c.corpus else ""
    return text + (f", {count(c.errors, 'file')} could not be read" if c.errors else "")


def measured_trials(results: Results) -> list[Trial]:
    """Return the trials that the level is about: the protected ones, or the baseline ones where no other arm ran."""
    protected = [t for t in results.trials if t.arm is Arm.PROTECTED]
    return protected or list(results.trials)


@dataclass(frozen=True, slots=True)
class ArmView:
    """One arm with its own gates, rates and trials."""

    arm: Arm
    gates: tuple[Gate, ...]
    rates: Rates
    trials: list[Trial]


def arms(results: Results) -> list[ArmView]:
    """Return the arms of a session, baseline first; outside compare mode there is one."""
    if not results.arms:
        trials = measured_trials(results)
        arm = Arm.BASELINE if results.mode == "baseline" else Arm.PROTECTED
        return [ArmView(arm, results.gates, results.rates, trials)]
    found = [(arm, results.arms[arm.value]) for arm in Arm if arm.value in results.arms]
    return [ArmView(arm, r.gates, r.rates, [t for t in results.trials if t.arm is arm]) for arm, r in found]
