"""The pytest side of a session, step by step: what the hooks of `plugin.py` forward to once scenarios appear."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_soclab.assurance.profile import load_profile
from pytest_soclab.base.errors import SoclabError
from pytest_soclab.base.settings import Settings, settings_of, wants_gate
from pytest_soclab.evidence.folders import shown_folder
from pytest_soclab.evidence.session_log import KnownAnswers
from pytest_soclab.fronts.patience import leave_behind
from pytest_soclab.options import any_given, distributes, is_incident
from pytest_soclab.scenario import corpus
from pytest_soclab.session import given, leftovers, repeats, selection, state
from pytest_soclab.session.command import relative
from pytest_soclab.session.inventory import inventory, lost, selected
from pytest_soclab.session.items import ScenarioFile, ScenarioItem
from pytest_soclab.session.reach_items import ReachFile, ReachItem, collect_incident
from pytest_soclab.session.recorder import Recorder, red_trials
from pytest_soclab.session.reports import Reports
from pytest_soclab.session.resume import Resumed
from pytest_soclab.trials.lab import Extensions, Lab

if TYPE_CHECKING:
    from pytest_soclab.fronts.protocol import Agent

_MARKUP: dict[str, dict[str, bool]] = {
    "plain": {},
    "good": {"green": True},
    "bad": {"red": True},
    "warn": {"yellow": True},
    "bold": {"bold": True},
    "dim": {"light": True},
}


def activate(config: pytest.Config) -> None:
    """Prepare the process for scenarios; the lab itself is made when the first file is collected.

    Raises:
        pytest.UsageError: when an option or ini value is wrong.
    """
    if state.find(config):
        return
    corpus.forget()
    made: list[Lab] = []
    settings = _usage(lambda: repeats.planned(config, settings_of(config)))

    def lab() -> Lab:
        if not made:
            made.append(_usage(lambda: _lab(config, settings)))
        return made[0]

    known = {line.partition(":")[0] for line in state.MARKERS}
    marks: dict[str, pytest.MarkDecorator] = {}

    def mark(name: str) -> pytest.MarkDecorator:
        if name not in marks:
            if name not in known:
                config.addinivalue_line("markers", f"{name}: set by pytest-soclab from the scenario's file")
            marks[name] = getattr(pytest.mark, name)
        return marks[name]

    config.pluginmanager.register(Reports(config), "soclab-reports")
    recorder = None if state.is_worker(config) else _usage(lambda: Recorder(config, settings))
    resumed = lru_cache(lambda: _usage(lambda: _resumed(config, settings)))
    state.begin(config, state.Session(lab, mark, recorder, resumed=resumed))


def _resumed(config: pytest.Config, settings: Settings) -> Resumed | None:
    return Resumed.of(config.invocation_params.dir / settings.resume) if settings.resume else None


def prepare(config: pytest.Config) -> None:
    """Check the options before anything is collected, and add what they name to the session's arguments."""
    settings = _usage(lambda: settings_of(config))
    _usage(lambda: given.check(settings, Path(config.invocation_params.dir)))
    activate(config)
    if settings.bundled:
        selection.point_at_bundled(config)
    if _usage(lambda: wants_gate(settings)):
        from pytest_soclab.session import known_items

        gate = state.of(config).gate = _usage(lambda: known_items.gate_of(settings))
        state.of(config).pasted = _usage(lambda: known_items.take_pasted(config.args, gate))
    _usage(lambda: _brought(config, settings))  # what is wrong with it is said before anything is collected
    if (
        not state.is_worker(config)
        and distributes(config)
        and (settings.policies or settings.opa_url or settings.opa_binary)
    ):
        _usage(lambda: _try_policy(settings))


def _try_policy(settings: Settings) -> None:
    """Load a policy before pytest-xdist's workers do, which could only crash over it."""
    lab = Lab(settings)
    try:
        lab.engine()
    finally:
        lab.close()


def _usage(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except SoclabError as error:
        raise pytest.UsageError(*str(error).splitlines()) from None


def _end_usage(make: Callable[[], Any]) -> None:
    """End a session that has begun as a usage error does, where pytest would call one an internal error."""
    try:
        make()
    except SoclabError as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)


def _lab(config: pytest.Config, settings: Settings) -> Lab:
    hook = config.hook
    tools = [tool for group in hook.pytest_soclab_tools() for tool in group or ()]
    steps = [step for group in hook.pytest_soclab_harness_steps() for step in group or ()]
    plays = [play for group in hook.pytest_soclab_plays() for play in group or ()]
    _, profile = load_profile(settings.assurance_profile)
    extensions = Extensions(tuple(tools), tuple(steps), plays=tuple(plays))
    lab = Lab(settings, extensions, profile=profile, brought=_brought(config, settings))
    extra = [o for group in hook.pytest_soclab_oracles(registry=lab.registry) for o in group or ()]
    if extra:
        lab.add_oracles(extra)
    return lab


def _brought(config: pytest.Config, settings: Settings) -> Agent | None:
    if not settings.names_agent:
        return None
    from pytest_soclab.fronts.configured import brought

    return brought(settings, Path(config.invocation_params.dir))


def collect_file(path: Path, parent: pytest.Collector) -> ScenarioFile | ReachFile | None:
    """Return the collector of a scenario or incident file."""
    activate(parent.config)
    if is_incident(path):
        return collect_incident(path, parent)
    file: ScenarioFile = ScenarioFile.from_parent(parent, path=path)
    return file


def add_known_answers(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add the known-answer gate's items before anything is deselected."""
    gate = state.of(session.config).gate
    if gate is not None:
        from pytest_soclab.session import known_items

        items.extend(known_items.make_items(session, gate, state.of(session.config).pasted))


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what the options leave out."""
    _usage(lambda: selection.select(config, items))


def check(session: pytest.Session) -> None:
    """Load the policy before any trial runs, and note what was selected.

    Raises:
        pytest.UsageError: when the policy is missing, does not compile, or the server does not answer.
    """
    own = [item for item in session.items if isinstance(item, ScenarioItem)]
    reached, lab = any(isinstance(item, ReachItem) for item in session.items), state.of(session.config).lab()
    guarded = reached or any(item.spec.arm.value == "protected" for item in own)
    if guarded and not session.config.option.collectonly:
        _usage(lab.engine)
    known = _known_answers(session.items) if state.of(session.config).gate else []
    state.of(session.config).selection = {**inventory(lab, session.items), "known_answer": known}
    if (own or known or reached) and not state.is_worker(session.config) and not _runs_nothing(session.config):
        _begin(session.config)


def _begin(config: pytest.Config) -> None:
    """Open the session's log with what is selected."""
    recorder = state.recorder_of(config)
    recorder.begin(state.of(config).lab().extensions.names)
    known = _selection(config)
    if known and not distributes(config):
        recorder.add_inventory({name: value for name, value in known.items() if name != "selected"})


def _known_answers(items: list[pytest.Item]) -> list[str]:
    from pytest_soclab.session.known_items import KnownAnswerItem

    return [item.key for item in items if isinstance(item, KnownAnswerItem)]


def record_collection(config: pytest.Config, report: pytest.CollectReport) -> None:
    """Take in a scenario file that could not be read, where this process aggregates."""
    if not state.is_worker(config):
        activate(config)
        state.recorder_of(config).add_collection_error(_collection_error(report))


def _collection_error(report: pytest.CollectReport) -> str:
    """Return one line about a file that could not be read: its first fault, and how many there are."""
    crash = getattr(report.longrepr, "reprcrash", None)
    faults = [line for line in str(crash.message if crash is not None else report.longrepr).splitlines() if line]
    if crash is not None or len(faults) < 2:
        return faults[0] if faults else f"{report.nodeid}: no reason was given"
    return f"{report.nodeid}: {len(faults)} faults, first: {faults[0].removeprefix(report.nodeid).lstrip(':')}"


def finish_worker(config: pytest.Config) -> None:
    """Send what this worker knows to the process that aggregates."""
    known = _selection(config)
    if known:
        config.workeroutput["soclab"] = {**known, "selected": list(known["selected"])}  # type: ignore[attr-defined]  # pytest-xdist adds it


def _selection(config: pytest.Config) -> dict[str, Any] | None:
    """Return what this process selected and by which policy it decided; None where collection did not finish."""
    own = state.of(config).selection
    if own is None:
        return None
    lab = state.of(config).lab()
    info = lab.policy_info()
    policy = info.model_dump(mode="json") if info else None
    rest = {name: value for name, value in own.items() if name != "items"}
    records = selected(own["items"])  # made at the end and one by one: many thousands fill much memory
    return {**rest, "selected": records, "policy": policy, "policy_changed": lab.policy_change()}


def expect(config: pytest.Config, nodeids: list[str]) -> None:
    """Note the node ids that workers are to run."""
    activate(config)
    recorder = state.recorder_of(config)
    recorder.expected.update(nodeids)
    if not _runs_nothing(config):
        _begin(config)


def _account_for_lost(config: pytest.Config, recorder: Recorder) -> None:
    """List the items of workers that died as inconclusive."""
    known = {str(item["nodeid"]) for item in recorder.skeletons.values()}
    known |= {trial.nodeid for trial in recorder.facts.trials.values()}
    for nodeid in sorted(recorder.expected - known - recorder.skipped):
        found = lost(state.of(config).lab(), config.rootpath, nodeid)
        if found is not None:
            recorder.add_inventory(found)


def worker_down(config: pytest.Config, output: Any) -> None:
    """Take in what a worker sent before it ended."""
    if output and output.get("soclab"):
        activate(config)
        state.recorder_of(config).add_inventory(output["soclab"])


def finish(session: pytest.Session) -> None:
    """Assemble the results where this process aggregates, and raise the exit status where a gate says so."""
    config = session.config
    if state.is_worker(config):
        finish_worker(config)
        return
    _end(session)
    state.of(config).status = int(session.exitstatus)


def _end(session: pytest.Session) -> None:
    config = session.config
    recorder = state.of(config).recorder
    if recorder is None:
        return
    if _runs_nothing(config):
        _refuse_absence(session, recorder, "nothing was run, only shown")
        return
    known = _selection(config)
    if known:
        recorder.add_inventory(known)
    _account_for_lost(config, recorder)
    gate = state.of(config).gate
    if gate is not None:
        recorder.note(KnownAnswers(document=gate.to_json()))
    if not recorder.found_anything():
        _refuse_absence(session, recorder, "nothing was assessed; name the scenarios")
        return
    recorder.ended = str(session.shouldfail or session.shouldstop or "")
    results = recorder.finish()
    if session.exitstatus != pytest.ExitCode.OK:
        return
    if not recorder.settings.report_only and (red := red_trials(results)):
        recorder.failures.append(red)
    _raise_status(session, recorder.failures)


def _raise_status(session: pytest.Session, failures: list[str]) -> None:
    if failures and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _refuse_absence(session: pytest.Session, recorder: Recorder, what: str) -> None:
    """Fail a session that is to show a level and assessed nothing: absence is never success."""
    wanted = recorder.settings.require_level
    if wanted is None or recorder.settings.report_only:
        return
    recorder.failures.append(f"{wanted} is required, found no level: {what}")
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _runs_nothing(config: pytest.Config) -> bool:
    """Tell whether pytest only shows what it would do: `--collect-only`, `--setup-only`, `--soclab-plan`."""
    shows = config.option.collectonly or config.option.soclab_plan
    return bool(shows or getattr(config.option, "setuponly", False))


def summarise(config: pytest.Config, reporter: pytest.TerminalReporter) -> None:
    """Write the terminal section."""
    from pytest_soclab.report import terminal

    recorder = state.of(config).recorder
    if recorder is None or not (recorder.results or recorder.failures):
        _point_at_bundled(config, reporter)
        return
    verbosity = config.get_verbosity()
    reporter.currentfspath = None  # else pytest ends its progress line again, below the section's head
    reporter.section("soclab", "=")
    if recorder.results is not None:
        width, previous = reporter._tw.fullwidth, recorder.previous
        for line in terminal.render(recorder.results, verbosity=verbosity, width=width, previous=previous):
            reporter.write_line(line.text, **_MARKUP[line.tone])
    for failure in recorder.failures:
        reporter.write_line(f"session failed: {failure}", red=True)
    if recorder.results is None:
        return
    trouble = recorder.artifacts.trouble
    where = shown_folder(recorder.artifacts.folder)
    reporter.write_line(trouble or f"report: {relative(where / 'report.html', config)}", yellow=bool(trouble))
    if not trouble:
        reporter.write_line(f"evidence root: {recorder.results.timing.root}")


def _point_at_bundled(config: pytest.Config, reporter: pytest.TerminalReporter) -> None:
    """Say where scenarios are when options of ours were given and nothing at all was collected."""
    if any_given(config) and not reporter._numcollected and not config.getoption("soclab_bundled"):
        reporter.write_line("no scenario was collected here; --soclab-bundled runs the corpus that the package brings")


def close(config: pytest.Config) -> None:
    """Release what the process's lab holds."""
    leave_behind()  # an agent that was given up may have begun more
    session = state.end(config)
    if session is not None:
        leftovers.watch(session.threads, lambda: session.status)
        session.lab().close()
