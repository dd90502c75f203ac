"""Gathers trial records from reports, asks assurance, calls the writers and raises the exit status."""

from __future__ import annotations

import gc
import hashlib
import os
import platform
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab import __version__
from pytest_soclab.assurance.assemble import Facts
from pytest_soclab.assurance.gathered import Gathered
from pytest_soclab.assurance.profile import load_profile, profile_path
from pytest_soclab.base import checkout, clock
from pytest_soclab.base.errors import ArtifactError, printable
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence import folders, store
from pytest_soclab.evidence.results import GateStatus, Level, Results, Timing, Trial
from pytest_soclab.evidence.session_log import (
    Collected,
    Fact,
    FileFailed,
    InputKept,
    PolicyChanged,
    ReachTried,
    Selected,
    SessionEnded,
    SessionLog,
    SessionStarted,
    TrialEnded,
    TriedAbove,
    line_of,
)
from pytest_soclab.evidence.store import Artifacts, TranscriptFolder
from pytest_soclab.session import command

_CI = ("GITHUB_REF_NAME", "GITHUB_SHA", "GITHUB_RUN_ID", "CI_COMMIT_REF_NAME", "CI_COMMIT_SHA", "CI_JOB_ID")


class Recorder:
    """One session's facts, from the first trial to the exit status; lives in the process that aggregates.

    Whatever it learns goes into the session's log first, and into the results only from there.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.profile, self.profile_digest = load_profile(settings.assurance_profile)
        self.started, self.start = clock.wall_time(), clock.monotonic()
        given = settings.artifacts != Settings().artifacts
        base = config.invocation_params.dir if given else config.rootpath
        self.artifacts = Artifacts.of_home(base / settings.artifacts, self.started)
        self.first = SessionStarted(
            soclab=__version__, started=self.started, mode=settings.mode, level=Level(settings.level),
            command=(*settings.command(), *command.words(config)), profile=self.profile_digest,
            withheld=settings.withhold, adaptive=settings.adaptive,
        )  # fmt: skip
        self.gathered = Gathered.of(self.first)
        self.log = SessionLog()
        self.seconds: dict[str, float] = {}
        self.began = False
        """Whether pytest began to run a scenario."""
        self.expected: set[str] = set()
        """Node ids that workers are to run."""
        self.skeletons: dict[str, Mapping[str, Any]] = {}
        self.skipped: set[str] = set()
        """Node ids that a mark or a conftest left out before they began: not selected."""
        self.crashed: dict[str, str] = {}
        """Node ids over which a worker died, and what pytest-xdist said of it."""
        self.ended = ""
        """Why the session ended before its last item, in pytest's words."""
        self.results: Results | None = None
        self.previous: Results | None = None
        self.failures: list[str] = []
        self._kept: set[str] = set()
        self._seen: set[tuple[str, str]] = set()
        """Attempts by node id and number: a report that carries an earlier one again adds nothing."""

    @property
    def facts(self) -> Facts:
        """What is known so far."""
        return self.gathered.facts

    def begin(self, extensions: Sequence[str] = ()) -> None:
        """Open the session's folder and log, once."""
        if self._kept:
            return
        self.first = self.first.model_copy(update={"extensions": tuple(extensions)})
        self._log(self.first)
        self._keep(store.PROFILE, profile_path(self.settings.assurance_profile).read_bytes())

    def _log(self, fact: Fact) -> None:
        self.artifacts.add(store.LOG, self.log.append(fact))

    def note(self, fact: Fact) -> None:
        """Log a fact that is no trial's and take it in."""
        self.begin()
        self._log(fact)
        self.gathered.take(self.log.last())

    def _keep(self, name: str, raw: bytes) -> None:
        """Keep a copy of an input, once."""
        if name not in self._kept:
            self._kept.add(name)
            self._log(InputKept(path=name, sha256=self.artifacts.keep(name, raw)))

    def _keep_sources(self, sources: Mapping[str, str]) -> None:
        """Keep the files that a trial was made from; one that is gone by now is missed when the session is verified."""
        for name, path in sources.items():
            if name not in self._kept and Path(path).is_file():
                self._keep(name, Path(path).read_bytes())

    def add(self, payload: Mapping[str, Any], seconds: float) -> None:
        """Take in what an item's report carries: every attempt at its trial that is not known yet."""
        self.begin()
        if "reach" in payload:
            self.note(ReachTried.model_validate_json(_json({"reach": payload["reach"]})))
            return
        for attempt in payload["attempts"]:
            mark = (str(payload["nodeid"]), str(attempt["stamp"]))
            if mark not in self._seen:
                self._seen.add(mark)
                self._add(attempt, seconds)

    def _add(self, attempt: Mapping[str, Any], seconds: float) -> None:
        """Take in one attempt and write it down; of a trial that was run again, the worst stays."""
        if "above" in attempt:
            self.note(TriedAbove(trial=attempt["above"]))
            return
        trial = Trial.model_validate(attempt["trial"])
        control = Trial.model_validate_json(_json(attempt["control"])) if attempt.get("control") else None
        self._keep_sources(attempt["sources"])
        self.seconds[trial.id] = round(seconds, 6)
        if self._ended(attempt, trial, control):
            self.config.hook.pytest_soclab_trial(trial=attempt["trial"])

    def _ended(self, attempt: Mapping[str, Any], trial: Trial, control: Trial | None) -> bool:
        """Log an attempt with its files and tell whether it is the one that counts."""
        line, beside = (
            line_of(trial.model_dump(mode="json")),
            line_of(control.model_dump(mode="json")) if control else "",
        )
        number = self.gathered.attempts.get(trial.id, 0) + 1
        fact = TrialEnded(
            trial=trial.id, attempt=number, record=sha256(line), root=trial.root_hash, control=sha256(beside),
            scenario=trial.scenario, digest=attempt["digest"], agent=attempt["agent"],
            policy=attempt.get("policy", ""), key=attempt.get("key", ""), resumed=attempt.get("resumed", False),
            retries=attempt.get("retries", 0), retried=attempt.get("retried", False),
        )  # fmt: skip
        trial = Trial.model_validate_json(line.encode("utf-8", "surrogatepass"))  # as it will be read back
        before = self.gathered.counted.get(trial.id, 0)
        counts = self.gathered.take_trial(fact, trial, control)
        if counts and before:
            self.artifacts.put_aside(trial.id, before)
        if attempt["transcript"]:
            name = f"{store.TRANSCRIPTS}/{trial.id}" if counts else f"{store.ATTEMPTS}/{trial.id}.{number}"
            self.artifacts.write(f"{name}.jsonl", attempt["transcript"])
        if control is not None:
            self.artifacts.write(f"{store.CONTROLS}/{trial.id}.{number}.jsonl", attempt["control_transcript"])
            self.artifacts.add(store.CONTROL_TRIALS, beside)
        self.artifacts.add(store.TRIALS, line)
        self._log(fact)
        return counts

    def add_collection_error(self, text: str) -> None:
        """Take in a scenario file that could not be read."""
        self.note(FileFailed(text=printable(text)))

    def add_inventory(self, inventory: Mapping[str, Any]) -> None:
        """Take in what a process selected; every worker of a session selects the same."""
        fact = Collected.model_validate_json(_json(_collected(inventory)))
        if self.last_inventory != fact:
            self.last_inventory = fact
            self.note(fact)
        if inventory.get("policy_changed"):
            self.note(PolicyChanged(why=str(inventory["policy_changed"])))
        self.skeletons.update({item["id"]: self._needed(item) for item in inventory.get("selected", ())})

    last_inventory: Collected | None = None

    def _needed(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is needed of a selected trial's record: all of it only where the trial did not end."""
        ended = item["id"] in self.facts.trials
        return {name: item[name] for name in ("id", "scenario", "nodeid")} if ended else item

    def finish(self) -> Results:
        """End the log, assemble the results from it, write every file and keep what fails the session."""
        from pytest_soclab.report import summary

        self._note_unfinished()
        self._read_previous()
        timing = self._timing()
        self._log(SessionEnded(timing=timing))
        results = self.gathered.results(
            self.profile, self.profile_digest, timing.model_copy(update={"root": self.log.root})
        )
        self.results = results
        self.failures += [] if self.settings.report_only else failures(results, self.settings)
        if self.facts.policy_changed:
            self.failures.append(f"policy_changed: {self.facts.policy_changed}")
        if self.settings.withhold and results.agent.kind == "scripted" and results.trials:
            self.failures.append("--soclab-withhold took nothing away: no agent of yours ran")
        self.artifacts.write(store.RESULTS, store.results_parts(results))
        self.artifacts.write(store.SUMMARY, summary.render(results, self.previous))
        self._write_scores(results)
        self._write_report(results, self.previous)
        self.artifacts.settle(self.log.root, ran=self.began or self.facts.known_answer is not None)
        self._receipt()
        self._job_summary(results, self.previous)
        self._sarif(results)
        if self.settings.require_level and self.artifacts.trouble:
            self.failures.append(f"{self.settings.require_level} is required, and the evidence could not be written")
        return results

    def _receipt(self) -> None:
        """Tell `soclab run`, which waits outside of this process, where the finished session is."""
        target = os.environ.get(folders.RECEIPT)
        if target and not self.artifacts.trouble:
            Path(target).write_text(f"{self.artifacts.folder.absolute()}\n", encoding="utf-8")

    def found_anything(self) -> bool:
        """Tell whether there is anything to report: a trial, one that should have run, a fault, known answers."""
        wanted = any(item["nodeid"] not in self.skipped for item in self.skeletons.values())
        return bool(wanted or self.facts.trials or self.facts.errors or self.facts.known_answer or self.facts.reach)

    def _note_unfinished(self) -> None:
        """List what was selected and never ended as inconclusive, with the cause, and count what was selected."""
        trials = self.facts.trials
        left_out = {n for n, item in self.skeletons.items() if item["nodeid"] in self.skipped and n not in trials}
        kept = {name: item for name, item in self.skeletons.items() if name not in left_out}
        self.note(Selected(scenarios=tuple(sorted({item["scenario"] for item in kept.values()}))))
        kinds = {str(agent["kind"]) for agent in self.facts.agents}
        same = {"agent_kind": kinds.pop()} if len(kinds) == 1 else {}
        for name in sorted(kept.keys() - trials.keys()):
            known = {**kept[name], "cause": self._why(kept[name]), **same}
            trial = Trial.model_validate_json(_json(known))
            digest = self.facts.scenario_digests.get(trial.scenario, "")
            self._ended({"digest": digest, "agent": None, "transcript": ""}, trial, None)

    def _why(self, item: Mapping[str, Any]) -> str:
        """Return why a selected trial did not end."""
        if item["nodeid"] in self.crashed:
            return f"not run to its end: {self.crashed[item['nodeid']]}"
        return f"{item['cause']} ({self.ended})" if self.ended else str(item["cause"])

    def _read_previous(self) -> None:
        """Read the earlier results and keep a copy, for the summary speaks of them."""
        if not self.settings.previous:
            return
        path = Path(self.settings.previous)
        try:
            self.previous = store.load_results(path)
            self._keep(store.PREVIOUS, store.results_path(path).read_bytes())
        except (ArtifactError, OSError) as error:
            self.failures.append(str(error))

    def _write_report(self, results: Results, previous: Results | None) -> None:
        from pytest_soclab.report import html

        if self.artifacts.trouble:
            return
        collects = gc.isenabled()
        gc.disable()  # the page is made of many small parts; looking through all objects time and again is in vain
        try:
            page = html.render(results, TranscriptFolder(self.artifacts.folder), previous)
        finally:
            if collects:
                gc.enable()
        self.artifacts.write(store.REPORT, page)

    def _write_scores(self, results: Results) -> None:
        """Write what a live agent answered as scored runs that the known-answer gate reads."""
        if self.artifacts.trouble:
            return
        from pytest_soclab.known_answer.live import files

        for name, text in files(results, store.TranscriptFolder(self.artifacts.folder)):
            self.artifacts.write(name, text)

    def _job_summary(self, results: Results, previous: Results | None) -> None:
        target = self.settings.summary or os.environ.get("GITHUB_STEP_SUMMARY")
        if target:
            from pytest_soclab.report import summary

            path = Path(target)
            present = path.stat().st_size if path.is_file() else 0
            place = str(self.artifacts.folder / store.SUMMARY)
            self._outside(path, summary.appended(results, previous, present, place), "a")

    def _sarif(self, results: Results) -> None:
        if self.settings.sarif:
            from pytest_soclab.report import sarif

            self._outside(Path(self.settings.sarif), sarif.render(results), "w")

    def _outside(self, path: Path, text: str, mode: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open(mode, encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            self.artifacts.trouble = self.artifacts.trouble or f"cannot write {path}: {error.strerror}"

    def _timing(self) -> Timing:
        return Timing(
            started=self.started,
            seconds=round(clock.monotonic() - self.start, 3),
            host=socket.gethostname(),
            python=platform.python_version(),
            pytest=pytest.__version__,
            soclab=__version__,
            trial_seconds=dict(sorted(self.seconds.items())),
            below=checkout.below(self.config.rootpath),
            ci={name: printable(os.environ[name]) for name in _CI if os.environ.get(name)},
        )


def _collected(inventory: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a inventory says, without the records of the trials that were selected."""
    above = {one["trial"]: {"scenario": one["scenario"], "from_level": one["from_level"]} for one in inventory["above"]}
    names = ("corpus", "corpus_digest", "incidents", "repeat", "digests", "variants", "scenarios", "policy")
    kept = {name: inventory[name] for name in names if name in inventory}
    return {**kept, "above": above, "known_answers": list(inventory.get("known_answer", ()))}


def sha256(text: str) -> str:
    """Return the SHA-256 of a line in hex, an empty text for none."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""


def red_trials(results: Results) -> str:
    """Return a sentence that names the trials that did not pass, or an empty text.

    A session in which pytest counts nothing as failed may hold some: an item was run again or skipped as it began, a
    mark says that it is expected to fail, the session was ended early.
    """
    red = [trial.id for trial in results.trials if not trial.passed]
    more = f" and {len(red) - 5} more" if len(red) > 5 else ""
    return f"{len(red)} of {len(results.trials)} trials did not pass: {', '.join(red[:5])}{more}" if red else ""


def _json(value: Any) -> str:
    import json

    return json.dumps(value)


def failures(results: Results, settings: Settings) -> list[str]:
    """Return what fails a session whose items all passed: a failed gate, a level below the required one, no verdict."""
    found = [f"gate {g.name} failed: {g.why}" for g in results.gates if g.status is GateStatus.FAILED]
    recommended = results.level.recommended
    if settings.require_level:
        wanted = Level(settings.require_level)
        if recommended is None or recommended.rank < wanted.rank:
            have = recommended.value if recommended else results.level.why[0]
            found.append(f"{wanted.value} is required, found {have}")
    if results.trials and not any(trial.verdict.value != "inconclusive" for trial in results.trials):
        found.append("no trial came to a verdict")
    return found
