"""Gathers trial records from reports, asks assurance, calls the writers and raises the exit status."""

from __future__ import annotations

import gc
import os
import platform
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab import __version__
from pytest_soclab.assurance.assemble import Facts, results_of
from pytest_soclab.assurance.profile import load_profile
from pytest_soclab.assurance.units import WORST
from pytest_soclab.base import checkout, clock
from pytest_soclab.base.errors import ArtifactError, printable
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence import store
from pytest_soclab.evidence.results import AboveLevel, GateStatus, Level, PolicyInfo, Reach, Results, Timing, Trial
from pytest_soclab.evidence.store import Artifacts, transcripts_to_show
from pytest_soclab.session import command

_CI = ("GITHUB_REF_NAME", "GITHUB_SHA", "GITHUB_RUN_ID", "CI_COMMIT_REF_NAME", "CI_COMMIT_SHA", "CI_JOB_ID")


class Recorder:
    """One session's facts, from the first trial to the exit status; lives in the process that aggregates."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.profile, self.profile_digest = load_profile(settings.assurance_profile)
        self.facts = Facts(settings.mode, Level(settings.level), (*settings.command(), *command.words(config)))
        given = settings.artifacts != Settings().artifacts
        self.facts.withheld = settings.withhold
        self.artifacts = Artifacts((config.invocation_params.dir if given else config.rootpath) / settings.artifacts)
        self.started, self.start = clock.wall_time(), clock.monotonic()
        self.seconds: dict[str, float] = {}
        self.policies: set[str] = set()
        """Digests of the policies that decided in trials."""
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

    def add(self, payload: Mapping[str, Any], seconds: float) -> None:
        """Take in one finished trial and write it down; of a trial that was run again, the worst attempt stays."""
        if "reach" in payload:
            found = Reach.model_validate_json(_json(payload["reach"]))
            self.facts.reach[found.incident] = found
            return
        if "above" in payload:
            self.facts.above_tried |= {payload["above"]}
            return
        trial = Trial.model_validate(payload["trial"])
        earlier = self.facts.trials.get(trial.id)
        if earlier is not None and _badness(earlier) <= _badness(trial):
            return
        if earlier is not None:
            self.artifacts.forget(trial.id)
        self.facts.trials[trial.id] = trial
        self.facts.scenario_digests[trial.scenario] = payload["digest"]
        if payload["agent"] is not None and payload["agent"] not in self.facts.agents:
            self.facts.agents.append(dict(payload["agent"]))
        if payload.get("control"):
            self.facts.control_trials[trial.id] = Trial.model_validate_json(_json(payload["control"]))
        if payload.get("policy"):
            self.policies.add(payload["policy"])
        self.seconds[trial.id] = round(seconds, 6)
        self.artifacts.append(payload["trial"], payload["transcript"])
        self.config.hook.pytest_soclab_trial(trial=payload["trial"])

    def add_collection_error(self, text: str) -> None:
        """Take in a scenario file that could not be read."""
        self.facts.errors = (*self.facts.errors, printable(text))

    def add_census(self, census: Mapping[str, Any]) -> None:
        """Take in what a process selected; every worker of a session selects the same."""
        facts = self.facts
        facts.scenario_digests.update(census["digests"])
        facts.corpus_digest = facts.corpus_digest or census["corpus_digest"]
        facts.variants.update({name: tuple(variants) for name, variants in census.get("variants", {}).items()})
        facts.corpus = max(facts.corpus, census["corpus"])
        facts.above.update({one["trial"]: AboveLevel(**_named(one)) for one in census.get("above", ())})
        facts.incidents |= frozenset(census.get("incidents", ()))
        facts.repeat = max(facts.repeat, census.get("repeat", 1))
        if census.get("policy") and facts.policy is None:
            facts.policy = PolicyInfo.model_validate_json(_json(census["policy"]))
        facts.policy_changed = facts.policy_changed or str(census.get("policy_changed", ""))
        self.skeletons.update({item["id"]: self._needed(item) for item in census["selected"]})
        facts.known_selected |= frozenset(census.get("known_answer", ()))

    def _needed(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is needed of a selected trial's record: all of it only where the trial did not end."""
        ended = item["id"] in self.facts.trials
        return {name: item[name] for name in ("id", "scenario", "nodeid")} if ended else item

    def finish(self) -> Results:
        """Assemble the results, write every file and keep what fails the session."""
        from pytest_soclab.report import summary

        self._note_unfinished()
        self._note_other_policies()
        if self.facts.known_answer is not None and not (self.facts.trials or self.facts.errors):
            self.facts.mode = "known-answer"
        results = results_of(self.facts, self.profile, self.profile_digest, self._timing())
        self.results = results
        self.failures = [] if self.settings.report_only else failures(results, self.settings)
        if self.facts.policy_changed:
            self.failures.append(f"policy_changed: {self.facts.policy_changed}")
        if self.settings.withhold and results.agent.kind == "scripted" and results.trials:
            self.failures.append("--soclab-withhold took nothing away: no agent of yours ran")
        self.artifacts.write(store.RESULTS, store.results_parts(results))
        self._write_scores(results)
        previous = self.previous = self._previous()
        self.artifacts.write(store.SUMMARY, summary.render(results, previous))
        self._write_report(results, previous)
        self._job_summary(results, previous)
        self._sarif(results)
        return results

    def _note_other_policies(self) -> None:
        """A conftest that puts another engine in place measures another policy than the one that the results name."""
        own = self.facts.policy.digest if self.facts.policy else ""
        if own and self.policies - {own}:
            other = ", ".join(sorted(digest[:12] for digest in self.policies - {own}))
            remedy = "use --soclab-policies instead of overriding soclab_policy"
            self.facts.policy_changed = f"trials were decided by policy {other}, the session's is {own[:12]}; {remedy}"

    def found_anything(self) -> bool:
        """Tell whether there is anything to report: a trial, one that should have run, a fault, known answers."""
        wanted = any(item["nodeid"] not in self.skipped for item in self.skeletons.values())
        return bool(wanted or self.facts.trials or self.facts.errors or self.facts.known_answer or self.facts.reach)

    def unassessed(self) -> list[str]:
        """Keep and return what fails a session that assessed nothing: a required level is not there."""
        if self.settings.require_level and not self.settings.report_only:
            level = self.settings.require_level
            self.failures = [f"{level} is required, found no level: nothing was assessed; name the scenarios"]
        return self.failures

    def _note_unfinished(self) -> None:
        """List what was selected and never ended as inconclusive, with the cause, and count what was selected."""
        trials = self.facts.trials
        left_out = {n for n, item in self.skeletons.items() if item["nodeid"] in self.skipped and n not in trials}
        kept = {name: item for name, item in self.skeletons.items() if name not in left_out}
        self.facts.selected = len({item["scenario"] for item in kept.values()})
        kinds = {str(agent["kind"]) for agent in self.facts.agents}
        same = {"agent_kind": kinds.pop()} if len(kinds) == 1 else {}
        for name in kept.keys() - trials.keys():
            known = {**kept[name], "cause": self._why(kept[name]), **same}
            trials[name] = Trial.model_validate_json(_json(known))

    def _why(self, item: Mapping[str, Any]) -> str:
        """Return why a selected trial did not end."""
        if item["nodeid"] in self.crashed:
            return f"not run to its end: {self.crashed[item['nodeid']]}"
        return f"{item['cause']} ({self.ended})" if self.ended else str(item["cause"])

    def _write_report(self, results: Results, previous: Results | None) -> None:
        from pytest_soclab.report import html

        if self.artifacts.trouble:
            return
        collects = gc.isenabled()
        gc.disable()  # the page is made of many small parts; looking through all objects time and again is in vain
        try:
            page = html.render(results, transcripts_to_show(self.artifacts.folder, results), previous)
        finally:
            if collects:
                gc.enable()
        self.artifacts.write(store.REPORT, page)

    def _write_scores(self, results: Results) -> None:
        """Write what a live agent answered as scored runs that the known-answer gate reads."""
        if results.agent.kind != "live" or self.artifacts.trouble:
            return
        from pytest_soclab.known_answer.live import files

        for name, text in files(results, store.TranscriptFolder(self.artifacts.folder)):
            self.artifacts.write(name, text)

    def _previous(self) -> Results | None:
        if not self.settings.previous:
            return None
        try:
            return store.load_results(Path(self.settings.previous))
        except ArtifactError as error:
            self.failures.append(str(error))
            return None

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


def _badness(trial: Trial) -> tuple[int, bool, bool]:
    """Return how bad a trial ended, the worst first: pytest can run an item again until it pleases."""
    return WORST.index(trial.verdict), trial.passed, not trial.breaches


def _named(one: Mapping[str, str]) -> dict[str, Any]:
    return {"scenario": one["scenario"], "from_level": Level(one["from_level"])}


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
