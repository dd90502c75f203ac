"""What the commands for people who write scenarios do: `lint`, `schema`, `new`. They return text and an exit status."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_soclab.base import resources
from pytest_soclab.base.errors import Fault, ScenarioError, UsageError, nearest
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.results import Arm, Kind, Level, Results
from pytest_soclab.fronts.scripted import Refuse
from pytest_soclab.judging import oracles
from pytest_soclab.judging.judge import deliveries
from pytest_soclab.policy.load import load_policy
from pytest_soclab.policy.model import DecisionInput
from pytest_soclab.scenario import corpus
from pytest_soclab.scenario.load import LoadedScenario, find_incident, load_scenario
from pytest_soclab.scenario.scaffold import scaffold
from pytest_soclab.scenario.schema import incident_schema, scenario_schema
from pytest_soclab.soc.registry import Effect
from pytest_soclab.soc.servers import tables
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.self_check import self_check
from pytest_soclab.trials.standards import shortcuts
from pytest_soclab.trials.trial import Setup, open_point, run, state_of
from pytest_soclab.trials.unit import Unit

CLEAN, FAULTY = 0, 1
OWN = Path("scenarios")
"""The corpus of the current folder."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command prints, and its exit status."""

    text: str
    status: int = CLEAN


@dataclass(frozen=True, slots=True)
class LintOptions:
    """What `soclab lint` is asked for; no path means ./scenarios where it exists, else the bundled corpus."""

    paths: Sequence[str] = ()
    policies: str | None = None
    witnesses: bool = True
    complete: bool = False


def lint(options: LintOptions) -> Said:
    """Check scenario and incident files, alone and together.

    Raises:
        UsageError: when a path holds nothing to check, or there is none and scenarios lie outside `./scenarios`.
        PolicyError: when the policy cannot be read.
    """
    roots = _roots(options.paths)
    linter = _Linter(Lab(Settings(policies=options.policies)), corpus.files_below(roots))
    try:
        faults = list(linter.faults(options.witnesses))
    finally:
        linter.lab.close()
    gates = linter.open_gates()
    if options.complete:
        faults += [_gate_fault(gate) for gate in gates]
    lines = [str(fault) for fault in sorted(faults, key=_place)]
    notes = [] if options.complete or not gates else [f"note: no attack is evidence for {', '.join(gates)}"]
    notes += linter.unread_notes()
    own = options.paths or roots != [resources.scenarios()]
    head = [] if own else [f"no folder {OWN}/ here: checked the bundled corpus, {roots[0]}"]
    return Said("\n".join([*head, *lines, *notes, linter.count(len(lines))]) + "\n", FAULTY if lines else CLEAN)


def _roots(paths: Sequence[str]) -> list[Path]:
    """Return what to check: the paths, else `./scenarios`, else the bundled corpus where no scenario lies around."""
    if paths:
        return [Path(path) for path in paths]
    if OWN.is_dir():
        return [OWN]
    stray = next(corpus.stray_scenarios(Path(), resources.scenarios()), None)
    if stray is not None:
        found = f"found scenarios here but no folder {OWN}/, and no path was given"
        raise UsageError(
            Fault(found, str(stray), remedy=f"name them: soclab lint {stray.parts[0] if stray.parent.name else '.'}")
        )
    return [resources.scenarios()]


def _place(fault: Fault) -> tuple[str, int, int]:
    return fault.path, fault.line, fault.column


def _gate_fault(gate: str) -> Fault:
    remedy = "write an attack whose `gates` name it; without one a session stays at L1"
    return Fault(f"found no attack that is evidence for the gate {gate}", expected="one at least", remedy=remedy)


@dataclass
class _Linter:
    """One run of `lint`: every file is loaded once, whoever asks for it."""

    lab: Lab
    files: corpus.Files
    _loaded: dict[Path, LoadedScenario | ScenarioError] = field(default_factory=dict)

    def faults(self, witnesses: bool) -> Iterator[Fault]:
        """Yield everything that is wrong."""
        yield from self._file_faults()
        yield from corpus.duplicate_faults(self.asked, self.around)
        yield from corpus.stop_faults(self.asked, self._reasons())
        yield from corpus.repeat_faults(self.asked, resources.scenarios())
        yield from corpus.twin_faults(self.asked, self.around, self._calls, self.unread)
        if witnesses:
            for loaded in self.asked:
                yield from self._proof_faults(loaded)
                yield from self._shortcut_faults(loaded)

    def _file_faults(self) -> Iterator[Fault]:
        for path in self.files.scenarios:
            loaded = self._load(path)
            if isinstance(loaded, ScenarioError):
                yield from loaded.faults
        for path in dict.fromkeys([*self.files.incidents, *(loaded.incident_path for loaded in self.asked)]):
            try:
                self.lab.incident(path)
            except ScenarioError as error:
                yield from error.faults

    def _load(self, path: Path) -> LoadedScenario | ScenarioError:
        key = path.absolute()
        if key not in self._loaded:
            try:
                self._loaded[key] = load_scenario(key, self.lab.vocabulary, str(path))
            except ScenarioError as error:
                self._loaded[key] = error
        return self._loaded[key]

    @cached_property
    def asked(self) -> list[LoadedScenario]:
        """The scenarios to check that can be read."""
        return self._readable(self.files.scenarios)

    @cached_property
    def around(self) -> list[LoadedScenario]:
        """Every readable scenario of the corpora that the asked ones belong to."""
        return self._readable(self._all_files)

    @cached_property
    def _all_files(self) -> list[Path]:
        roots = dict.fromkeys(corpus.root_of(path) for path in self.files.scenarios)
        paths = [path for root in roots for pattern in corpus.PATTERNS for path in sorted(root.rglob(pattern))]
        return [*self.files.scenarios, *paths]

    @cached_property
    def unread(self) -> dict[str, Path]:
        """The files of those corpora that cannot be read, by the id in their name."""
        return {corpus.id_of(path): path for path in self._all_files if isinstance(self._load(path), ScenarioError)}

    def unread_notes(self) -> Iterator[str]:
        """Say which twins could not be looked at and have no fault in the list either."""
        told = {path.absolute() for path in self.files.scenarios}
        for loaded in self.asked:
            path = self.unread.get(loaded.scenario.twin or "")
            if path is not None and path.absolute() not in told:
                yield f"note: {loaded.shown}: its twin {loaded.scenario.twin} cannot be read, so it was not checked"

    def _readable(self, paths: Iterable[Path]) -> list[LoadedScenario]:
        loaded = {path.absolute(): self._load(path) for path in paths}
        return [one for one in loaded.values() if isinstance(one, LoadedScenario)]

    def _reasons(self) -> set[str]:
        return {rule.reason for rule in load_policy(self.lab.policy_path()).rules}

    def _units(self, loaded: LoadedScenario) -> Iterator[Unit]:
        """Yield the units of a scenario that can be rendered; the others are reported with the file's own faults."""
        for variant in loaded.scenario.variants:
            yield self.lab.unit(loaded, variant)

    def _calls(self, loaded: LoadedScenario) -> corpus.Calls:
        calls: dict[str, set[str]] = {}
        try:
            units = list(self._units(loaded))
        except ScenarioError:
            units = []
        for unit in units:
            shadows = {getattr(step, "name", ""): str(getattr(step, "like", "")) for step in unit.harness}
            for tool, arguments in [*((step.tool, step.arguments) for step in unit.script), *_harness_calls(unit)]:
                calls.setdefault(shadows.get(tool) or tool, set()).add(json.dumps(arguments, sort_keys=True))
        return corpus.Calls(calls, [name for name in calls if not self._reads(name)])

    def _reads(self, name: str) -> bool:
        tool = self.lab.registry.get(name)
        return tool is not None and tool.effect is Effect.READ

    def _proof_faults(self, loaded: LoadedScenario) -> Iterator[Fault]:
        level = _level_of(loaded)
        for variant in loaded.scenario.variants:
            try:
                unit = self.lab.unit(loaded, variant)
            except ScenarioError as error:
                yield from _at_variant(loaded, variant, error.faults)
                continue
            reason = self_check(unit, self.lab.engine() if unit.harness else None, level) or _unread(unit, level)
            if reason:
                found = f"found a variant that cannot prove itself: {reason}"
                yield corpus.fault_at(loaded, ("variants", variant), found)

    def _shortcut_faults(self, loaded: LoadedScenario) -> Iterator[Fault]:
        """Yield in what a scenario of the bundled corpus is easier than it says."""
        if corpus.root_of(loaded.path).resolve() != resources.scenarios().resolve():
            return
        for variant in list(loaded.scenario.variants)[:1]:
            for shortcut in shortcuts(self.lab.unit(loaded, variant), _level_of(loaded)):
                yield corpus.fault_at(loaded, *shortcut)

    def open_gates(self) -> list[str]:
        """Return the mandatory gates without an attack, where a whole corpus is checked."""
        whole = bool(self.around) and len(self.asked) == len(self.around) and not self.unread
        gates = {name: oracle.gate for name, oracle in self.lab.oracles.items()}
        return corpus.gates_without_attack(self.around, gates) if whole else []

    def count(self, faults: int) -> str:
        """Return the last line: what was checked and how much is wrong."""
        units = sum(len(loaded.scenario.variants) for loaded in self.asked)
        parts = (
            _counted(len(self.files.scenarios), "scenario"), _counted(units, "unit"),
            _counted(len(self.files.incidents), "incident"),
        )  # fmt: skip
        return f"{_counted(faults, 'fault') if faults else 'no fault'} in {', '.join(parts)}"


def _level_of(loaded: LoadedScenario) -> Level:
    return max(Level.L4, loaded.scenario.from_level, key=lambda level: level.rank)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _harness_calls(unit: Unit) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for step in unit.harness:
        call = getattr(step, "call", None)
        if isinstance(call, str):
            yield call, getattr(step, "args", {})


def _at_variant(loaded: LoadedScenario, variant: str, faults: Iterable[Fault]) -> Iterator[Fault]:
    for fault in faults:
        where = f"{fault.field}: {fault.found}" if fault.field else fault.found
        found = f"found rows or steps that do not fit once they are filled in: {where}"
        yield corpus.fault_at(loaded, ("variants", variant), found, fault.expected, fault.remedy)


def _unread(unit: Unit, level: Level) -> str:
    """Return why no agent that only reads is handed the payload, or an empty text."""
    if unit.scenario.kind is not Kind.ATTACK or unit.harness:
        return ""
    reader = Refuse(unit.script)
    state = state_of(unit, f"{unit.scenario.id}-{unit.variant}-lint", reader, unit.world(), level)
    outcome = run(Setup(unit, Arm.BASELINE, reader, open_point(state), b"no grants in this trial"))
    handed = deliveries(unit.payload, outcome.events)
    if all(text in handed for text in unit.payload):
        return ""
    return "no reading step of the script is handed the payload, so no other agent would be either"


SCHEMAS: Mapping[str, Callable[[Lab], dict[str, Any]]] = {
    "scenario": lambda lab: scenario_schema(lab.vocabulary, tables(), _described(lab.oracles)),
    "incident": lambda _lab: incident_schema(tables()),
    "results": lambda _lab: Results.model_json_schema(by_alias=True),
    "decision-input": lambda _lab: DecisionInput.model_json_schema(by_alias=True),
}
"""Every schema by name."""


def _described(known: Mapping[str, oracles.Oracle]) -> dict[str, str]:
    return {name: oracle.description for name, oracle in known.items()}


def schema(name: str) -> Said:
    """Return a JSON Schema as text."""
    return Said(json.dumps(SCHEMAS[name](Lab(Settings())), indent=2, ensure_ascii=False) + "\n")


def new(kind: str, identity: str | None, incident: str, folder: str | None) -> Said:
    """Write a scaffold with marked blanks; without a folder into `scenarios/attacks` or `scenarios/controls`.

    Raises:
        UsageError: when the id or the incident is wrong, or the file exists.
    """
    where = Path(folder) if folder else _home(kind)
    path = where / f"{_identity(kind, identity, where)}.yaml"
    taken = sorted(where.glob(f"{path.stem}*.yaml"))
    if taken:
        raise UsageError(Fault("found a file of this id", str(taken[0]), remedy="choose another --id"))
    if find_incident(path.absolute(), incident) is None:
        raise UsageError(Fault(f"found no incident {incident!r}", remedy=nearest(incident, _incidents(path))))
    try:
        where.mkdir(parents=True, exist_ok=True)
        path.write_text(scaffold(path.stem, incident), encoding="utf-8")
    except OSError as error:
        raise UsageError(Fault(f"the file cannot be written ({error.strerror})", str(path))) from None
    return Said(f"{path}\nReplace every FILL-IN-…, then run: soclab lint {path}\n{_bundled_note(path)}")


def _home(kind: str) -> Path:
    return OWN / ("attacks" if kind == "ATK" else "controls")


def _bundled_note(path: Path) -> str:
    """Return a note where the bundled corpus has this id too, and the file is not of that corpus."""
    bundled = resources.scenarios()
    same = next((file for pattern in corpus.PATTERNS for file in bundled.rglob(pattern) if _has_id(file, path)), None)
    if same is None or path.absolute().is_relative_to(bundled):
        return ""
    return f"note: the id {path.stem} is taken in the bundled corpus ({same.name}); another --id keeps results apart\n"


def _has_id(file: Path, path: Path) -> bool:
    return file.stem == path.stem or file.stem.startswith(f"{path.stem}-")


def _identity(kind: str, identity: str | None, where: Path) -> str:
    if identity is None:
        known = [path.name for root in (where, resources.scenarios()) for path in root.rglob(f"{kind}-*.yaml")]
        numbers = [int(found[1]) for name in known if (found := re.match(rf"{kind}-([0-9]{{3,4}})\b", name))]
        return f"{kind}-{max(numbers, default=0) + 1:03}"
    if not re.fullmatch(rf"{kind}-[0-9]{{3,4}}", identity):
        expected = f"{kind}- and three or four digits, such as {kind}-070"
        raise UsageError(Fault(f"found --id {identity!r}", expected=expected))
    return identity


def _incidents(path: Path) -> set[str]:
    folders = [corpus.root_of(path) / corpus.INCIDENTS, resources.scenarios() / corpus.INCIDENTS]
    return {file.stem for folder in folders for file in folder.glob("*.yaml")}
