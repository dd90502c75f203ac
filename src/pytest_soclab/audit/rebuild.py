"""Reads a stored session back: checks its chains, rebuilds its report, gives out its recorded decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_soclab import __version__
from pytest_soclab.assurance.assemble import Facts, results_of
from pytest_soclab.assurance.gates import KNOWN_ANSWER, REACH, reach_gate
from pytest_soclab.assurance.gates import gates as gates_of
from pytest_soclab.assurance.ladder import Evidence, decide
from pytest_soclab.assurance.profile import Profile, load_profile
from pytest_soclab.assurance.units import Basis, rates, same_scenarios
from pytest_soclab.assurance.work import work_of
from pytest_soclab.audit.merge import Joined, merge
from pytest_soclab.base.errors import ArtifactError, UsageError, printable
from pytest_soclab.evidence import ledger, store
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.renderings import rendering_of
from pytest_soclab.evidence.results import RESULTS_FORMAT, Arm, Gate, GateStatus, Level, Results, Trial, Verdict, Work
from pytest_soclab.evidence.store import TranscriptFolder, load_results, transcripts_to_show
from pytest_soclab.judging import facts, judge
from pytest_soclab.judging.citations import Citations, citations
from pytest_soclab.policy.ablation import Record, record_of


@dataclass(frozen=True, slots=True)
class Verified:
    """What the check of a stored session found; `faults` is empty where everything holds."""

    trials: int
    events: int
    faults: tuple[str, ...]


def verify(folder: Path) -> Verified:
    """Recheck every chain of a session against the root hashes that its results name.

    Raises:
        ArtifactError: when there are no results to check against.
    """
    results = load_results(folder)
    if results.format != RESULTS_FORMAT:
        why = f"{results.format} counted otherwise than this version, which cannot show its rates and level"
        return Verified(0, 0, (f"{folder / store.RESULTS}: {why}; run the session again",))
    faults: list[str] = []
    events, level = 0, 0
    for trial in results.trials:
        checked = _checked(folder, trial)
        faults += [checked.fault] if checked.fault else []
        events += checked.events
        level = max(level, checked.level)
    faults += _strays(folder, results)
    faults += _log_faults(folder, results)
    faults += (f"{folder / store.RESULTS}: {fault}" for fault in _record_faults(results, level))
    if not faults:
        faults += _page_faults(folder, results)
    return Verified(len(results.trials), events, tuple(faults))


@dataclass(frozen=True, slots=True)
class _Checked:
    """One trial's transcript: what is wrong with it, its length, the authority that the agent had."""

    fault: str = ""
    events: int = 0
    level: int = 0


def _checked(folder: Path, trial: Trial) -> _Checked:
    path = folder / store.TRANSCRIPTS / f"{trial.id}.jsonl"
    if not trial.root_hash:
        return _Checked(f"{path}: a transcript of a trial that did not end" if path.exists() else "")
    try:
        events = read_transcript(path)
    except ArtifactError as error:
        return _Checked(str(error))
    fault = ledger.verify(events, trial.root_hash)
    first = events[0]["data"] if isinstance(events[0].get("data"), dict) else {}
    level = first.get("level")
    found = str(fault) if fault else _mismatch(trial, first, events)
    return _Checked(f"{path} {found}" if found else "", len(events), level if type(level) is int else 0)


def _mismatch(trial: Trial, first: Mapping[str, Any], events: list[Event]) -> str:
    """Compare what the results say of a trial with its transcript."""
    for name, expected in (("trial", trial.id), ("scenario", trial.scenario), ("variant", trial.variant)):
        if first.get(name) != expected:
            return f"event 0: found {name} {printable(str(first.get(name)))}, expected {expected}"
    try:
        broken = judge.breaches(events) if trial.arm is Arm.PROTECTED else ()
        cited = citations(events) if trial.arm is Arm.PROTECTED else Citations()
        look = _look(trial, events)
    except (KeyError, TypeError, ValueError, AttributeError):
        return "holds events that no session writes"
    if broken != trial.breaches:
        return f"breaks {', '.join(broken) or 'no gate'}, expected {', '.join(trial.breaches) or 'none'}"
    if cited != Citations(trial.granted_changes, trial.uncited):
        said = f"{trial.uncited} of {trial.granted_changes}"
        return f"has {cited.uncited} uncited of {cited.changes} changes, expected {said}"
    return look or _verdict_fault(trial, events[-1])


def _look(trial: Trial, events: list[Event]) -> str:
    """Compare what the level counts by, how a trial looks and what it is evidence for, with the transcript."""
    rendering = rendering_of(events)
    if (trial.inputs, trial.rendering) != (rendering.inputs, rendering.whole):
        return "looks otherwise than results.json says: other policy inputs, or other results handed out"
    made = set(facts.situations(events)) if trial.arm is Arm.PROTECTED else set()
    if not made.issuperset(trial.gates):
        return f"is no evidence for {', '.join(sorted(set(trial.gates) - made))}"
    return ""


def _verdict_fault(trial: Trial, last: Event) -> str:
    """Compare what the results say of a trial with what its last event says; a failed witness makes it inconclusive."""
    data = last.get("data") if last.get("type") == "trial_ended" else None
    if not isinstance(data, dict):
        return f"event {last.get('seq')}: found no end of the trial, expected trial_ended"
    told = Verdict.INCONCLUSIVE.value if trial.witness else data.get("verdict")
    pairs = (
        ("verdict", told, trial.verdict.value),
        ("delivered", data.get("delivered"), trial.delivered),
        ("stopped_by", data.get("stopped_by"), trial.stopped_by),
        ("breaches", data.get("breaches"), list(trial.breaches)),
    )
    for name, sealed, stored in pairs:
        if sealed != stored:
            return f"event {last['seq']}: found {name} {printable(str(sealed))}, results.json says {stored}"
    return ""


def _page_faults(folder: Path, results: Results) -> Iterator[str]:
    """Compare the pages that people read with what the record renders to, where this version wrote them."""
    from pytest_soclab.report import html, summary

    if results.timing.soclab != __version__:
        return
    pages = {
        store.REPORT: html.render(results, transcripts_to_show(folder, results)),
        store.SUMMARY: summary.render(results).partition("\n")[0],  # the rest may speak of an earlier session
    }
    for name, expected in pages.items():
        path = folder / name
        if not path.is_file():
            continue
        stored = path.read_text(encoding="utf-8", errors="replace")
        shown = html.without_previous(stored) if name == store.REPORT else stored.partition("\n")[0]
        if shown != expected:
            yield f"{path}: not what {store.RESULTS} says; `soclab report {folder}` writes it anew"


def read_transcript(path: Path) -> list[Event]:
    """Read one transcript.

    Raises:
        ArtifactError: when it cannot be read or a line is no event.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror}), expected a transcript") from None
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{path}: byte {error.start} is not UTF-8, expected a transcript") from None
    events: list[Event] = []
    for number, line in enumerate(text.split("\n")[:-1] or [text], 1):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            raise ArtifactError(f"{path}:{number}: found no JSON object, expected event {number - 1}")
        events.append(event)
    return events


def _strays(folder: Path, results: Results) -> Iterator[str]:
    known = {trial.id for trial in results.trials}
    for name in TranscriptFolder(folder):
        if name not in known:
            yield f"{folder / store.TRANSCRIPTS / name}.jsonl: a transcript that the results do not name"


def _log_faults(folder: Path, results: Results) -> Iterator[str]:
    """Compare the lines that were appended as trials ended with the final results."""
    path = folder / store.TRIALS
    expected = {trial.id: trial for trial in results.trials}
    seen: set[str] = set()
    lines = path.read_bytes().splitlines() if path.is_file() else []
    for number, line in enumerate(lines, 1):
        try:
            trial = Trial.model_validate_json(line)
        except ValueError:
            yield f"{path}:{number}: found no trial record"
            continue
        seen.add(trial.id)
        if trial.id not in expected:
            yield f"{path}:{number}: {printable(trial.id)} is not in results.json"
        elif trial != expected[trial.id]:
            yield f"{path}:{number}: {trial.id} differs from results.json"
    for name in sorted({trial.id for trial in results.trials if trial.root_hash} - seen):
        yield f"{path}: no line for {name}"


def _record_faults(results: Results, level: int) -> Iterator[str]:
    """Compare what the results say in sum with what their trials say, and the level with the evidence for it.

    `level` is the highest authority that an agent had in any of the transcripts.
    """
    protected = [trial for trial in results.trials if trial.arm is Arm.PROTECTED]
    same = same_scenarios(results.control_trials or protected)
    expected = rates(results.trials) if results.mode == "baseline" else rates(protected, results.level.basis, same)
    if results.rates != expected:
        yield "the rates are not those of its trials"
    if results.work != _work(results, protected):
        yield "the graded work is not that of its trials"
    profile = _profile_of(results.level.profile, results.digests.profile, results.command)
    if profile is None:
        yield f"the assurance profile {printable(results.level.profile)} is not here, so that nothing shows the level"
        return
    stored = tuple(gate for gate in results.gates if gate.name not in (KNOWN_ANSWER, REACH))
    if results.mode not in ("known-answer", "baseline") and stored != gates_of(
        profile.gates, protected, results.control_trials
    ):
        yield "the gates are not those of its trials"
    if not _reach_holds(results):
        yield "the gate reach is not that of its incidents"
    kinds = {trial.agent_kind for trial in protected if trial.root_hash}
    if results.level.basis != ("agent" if "live" in kinds else "controls"):
        yield f"found the basis {results.level.basis}, which is not that of its trials"
    supported, said = _supported(results, protected, profile), results.level.recommended
    if said is not None and (supported is None or said.rank > supported.rank):
        yield f"found the level {said.value}, expected at most {supported.value if supported else 'none'}"
    elif said is not None and said.rank > level:
        yield f"found the level {said.value}, and no transcript of a trial with that authority"


def _reach_holds(results: Results) -> bool:
    """Tell whether the gate is that of the calls tried; an incident may be left open, as none was tried of it."""
    said = next((gate for gate in results.gates if gate.name == REACH), None)
    own = reach_gate({one.incident: one for one in results.reach}, ())
    if said is None:
        return not results.reach
    return said == own or (said.status is GateStatus.UNDECIDED and own.status is not GateStatus.FAILED)


def _work(results: Results, protected: Sequence[Trial]) -> Work | None:
    if results.level.basis != "agent" or not protected:
        return None
    return work_of(protected, results.control_trials, same_scenarios(results.control_trials or protected))


def _supported(results: Results, protected: Sequence[Trial], profile: Profile) -> Level | None:
    """Return the level that the stored trials support; beside a live agent, at most what the controls alone do."""
    short = {trial.scenario for trial in protected if not trial.root_hash} | set(results.counts.partial)
    ran = len({trial.scenario for trial in protected} - short)
    whole = not results.counts.errors and 0 < results.counts.corpus <= min(ran, results.counts.run)

    same, above = same_scenarios(results.control_trials or protected), results.counts.above_level

    def decided(trials: Sequence[Trial], gates: Sequence[Gate], sure: bool, basis: Basis) -> Level | None:
        work = _work(results, trials) if basis == "agent" else None
        evidence = Evidence(trials, gates, whole, "", sure, basis, same, above, work, results.agent.subjects)
        return decide(evidence, profile, results.level.tested).recommended

    supported = decided(protected, results.gates, results.agent.deterministic, results.level.basis)
    if results.level.basis == "controls" or supported is None:
        return supported
    controls = decided(results.control_trials, gates_of(profile.gates, results.control_trials), True, "controls")
    return controls and min(supported, controls, key=lambda level: level.rank)


def _profile_of(label: str, digest: str, command: Sequence[str]) -> Profile | None:
    """Return the assurance profile of a stored session: the file that its command names, or a bundled one."""
    named = [word.partition("=")[2] for word in command if word.startswith("--soclab-assurance-profile=")]
    for name in (*named, label.partition("/")[0]):
        try:
            profile, found = load_profile(name)
        except UsageError:
            continue
        if found == digest:
            return profile
    return None


def rebuild(folder: Path, previous: Results | None = None) -> list[Path]:
    """Write `report.html` and `summary.md` of a stored session anew and return their paths."""
    return write_report(folder, load_results(folder), previous)


def write_report(folder: Path, results: Results, previous: Results | None = None) -> list[Path]:
    """Render a record and the folder's transcripts into the folder.

    Raises:
        ArtifactError: when a file cannot be written.
    """
    from pytest_soclab.report import html, summary

    out = store.Artifacts(folder, fresh=False)
    out.write(store.REPORT, html.render(results, transcripts_to_show(folder, results), previous))
    out.write(store.SUMMARY, summary.render(results, previous))
    if out.trouble:
        raise ArtifactError(out.trouble)
    return [folder / store.REPORT, folder / store.SUMMARY]


def decisions(folder: Path) -> list[Record]:
    """Return every decision that a session's transcripts hold, in the order of its trials."""
    results = load_results(folder)
    transcripts = TranscriptFolder(folder)
    return [
        record_of(trial.id, event["data"], trial.expected_stop or "")
        for trial in results.trials
        for event in transcripts.get(trial.id, [])
        if event["type"] == "decision"
    ]


def merge_folders(folders: Sequence[Path], out: Path) -> Results:
    """Join the stored shards of one session in a new folder, with level and report decided anew.

    Raises:
        ArtifactError: when a shard cannot be read, or the folder exists with something in it or cannot be written.
        UsageError: when the shards are not of one session, or a trial is in two.
    """
    if out.exists() and any(out.iterdir()):
        raise ArtifactError(f"{out}: found files, expected a new or empty folder; name another with -o")
    faults = [fault for folder in folders for fault in verify(folder).faults]
    if faults:
        raise ArtifactError(*faults)
    shards = [load_results(folder) for folder in folders]
    results = merge(shards, lambda joined: _decide(joined, shards))
    written = store.Artifacts(out)
    for folder, shard in zip(folders, shards, strict=True):
        transcripts = TranscriptFolder(folder)
        for trial in shard.trials:
            if trial.root_hash:
                written.append(trial.model_dump(mode="json"), transcripts.text(trial.id))
    written.write(store.RESULTS, store.results_parts(results))
    if written.trouble:
        raise ArtifactError(written.trouble)
    write_report(out, results)
    return results


def _decide(joined: Joined, shards: Sequence[Results]) -> Results:
    profile = _profile_of(joined.profile, joined.digests.profile, joined.command)
    if profile is None:
        raise ArtifactError(f"the assurance profile {joined.profile} is not the one that the shards were measured with")
    gates = (gate for shard in shards for gate in shard.gates if gate.name == KNOWN_ANSWER)
    agent = {**joined.agent.model_dump(mode="json"), "same_again": joined.agent.deterministic}
    facts = Facts(
        mode=shards[0].mode, level=joined.tested, command=joined.command, trials={t.id: t for t in joined.trials},
        agents=[agent], policy=joined.policy, corpus=joined.counts.corpus, selected=joined.counts.selected,
        errors=joined.counts.error_texts, known_answer=joined.known_answer, known_gate=next(gates, None),
        digests=joined.digests,
        control_trials={t.id: t for shard in shards for t in shard.control_trials},
        above={one.scenario: one for shard in shards for one in shard.counts.above_level},
        above_tried=frozenset(one.scenario for shard in shards for one in shard.counts.above_level),
        reach={one.incident: one for shard in shards for one in shard.reach},
        incidents=frozenset(one.incident for shard in shards for one in shard.reach) | _open(shards),
        partial=frozenset(name for shard in shards for name in shard.counts.partial),
    )  # fmt: skip
    return results_of(facts, profile, joined.digests.profile, joined.timing)


def _open(shards: Sequence[Results]) -> frozenset[str]:
    """Return the incidents that the gate `reach` of a shard names as not tried; others may have tried them."""
    gates = (gate for shard in shards for gate in shard.gates if gate.name == REACH)
    whys = [gate.why for gate in gates if gate.status is GateStatus.UNDECIDED]
    names = {trial.incident for shard in shards for trial in shard.trials}
    return frozenset(name for name in names if any(name in why or why.endswith(" more") for why in whys))
