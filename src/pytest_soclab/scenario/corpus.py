"""Finds the files of a corpus, and checks what only several files together can get wrong."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import get_args

from pytest_soclab.base.errors import Fault, UsageError, nearest
from pytest_soclab.evidence.results import Kind
from pytest_soclab.reading.yaml_source import KeyPath, read
from pytest_soclab.scenario.load import LoadedScenario, find_incident
from pytest_soclab.scenario.model import GateName

INCIDENTS = "incidents"
PATTERNS = ("ATK-*.yaml", "BEN-*.yaml")
_INSTALLED = frozenset({"node_modules", "site-packages", "__pycache__"})
STOPS = frozenset({
    "approver", "grant_signature", "grant_replayed", "grant_mismatch", "grant_expired", "grant_trial", "grant_missing",
    "transcript_chain", "policy_unavailable",
})  # fmt: skip
"""What may stop an attack besides a reason of the policy."""


@dataclass(frozen=True, slots=True)
class Calls:
    """What a scenario's script calls: the arguments by tool, and which of the tools do more than read."""

    by_tool: Mapping[str, Collection[str]]
    acting: Collection[str]


CallsOf = Callable[[LoadedScenario], Calls]


@dataclass
class Files:
    """The scenario and incident files below some paths, each once and in order."""

    scenarios: list[Path] = field(default_factory=list)
    incidents: list[Path] = field(default_factory=list)


def files_below(paths: Iterable[Path]) -> Files:
    """Return the files to check.

    Raises:
        UsageError: when a path does not exist or holds no such file.
    """
    found = Files()
    for path in paths:
        own = _below(path) if path.is_dir() else _single(path)
        if not own.scenarios and not own.incidents:
            remedy = f"scenarios are called ATK-….yaml or BEN-….yaml, incidents stand in a folder {INCIDENTS}/"
            raise UsageError(Fault("found no scenario and no incident", str(path), remedy=remedy))
        found.scenarios += [file for file in own.scenarios if file not in found.scenarios]
        found.incidents += [file for file in own.incidents if file not in found.incidents]
    return found


def _below(folder: Path) -> Files:
    scenarios = sorted(file for pattern in PATTERNS for file in folder.rglob(pattern) if file.is_file())
    incidents = sorted(file for file in folder.rglob("*.yaml") if file.parent.name == INCIDENTS)
    return Files(scenarios, [file for file in incidents if file not in scenarios])


def _single(path: Path) -> Files:
    if not path.exists():
        raise UsageError(Fault("found no such file or folder", str(path), remedy="give a folder with scenarios"))
    if any(path.match(pattern) for pattern in PATTERNS):
        return Files([path], [])
    return Files([], [path] if path.parent.name == INCIDENTS and path.suffix == ".yaml" else [])


def stray_scenarios(folder: Path, known: Path) -> Iterator[Path]:
    """Yield the scenario files below a folder, but not those of a known corpus or in hidden or installed folders."""
    for at, folders, names in os.walk(folder):
        here = Path(at)
        if here.absolute().is_relative_to(known) or "pyvenv.cfg" in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _INSTALLED)
        yield from (here / name for name in sorted(names) if any(Path(name).match(p) for p in PATTERNS))


def id_of(file: Path) -> str:
    """Return the id that a scenario file's name says, whether the file can be read or not."""
    return "-".join(file.stem.split("-")[:2])


def root_of(file: Path) -> Path:
    """Return the corpus of a scenario file: the nearest folder above with `incidents/`.

    Without one it is the folder around `attacks/` or `controls/`, else the file's own.
    """
    above = list(file.absolute().parents)
    usual = above[0].parent if above[0].name in {"attacks", "controls"} else above[0]
    return next((folder for folder in above if (folder / INCIDENTS).is_dir()), usual)


def roots_of(loaded: LoadedScenario) -> frozenset[Path]:
    """Return the folders of the corpus that a level speaks of when this scenario runs, however it was named.

    The rule: a scenario belongs to the folder whose `incidents/` its incident was read from, else to `root_of` it. Both
    the path by which it was named and the file that a link leads to are looked at.
    """
    return frozenset(_root(path, loaded.scenario.incident) for path in (loaded.path.absolute(), loaded.path.resolve()))


@lru_cache(maxsize=4096)
def _root(file: Path, name: str) -> Path:
    incident = find_incident(file, name)
    home = incident.parent.parent if incident is not None else None
    return home if home is not None and file.is_relative_to(home) else root_of(file)


@lru_cache(maxsize=16)
def files_of(roots: frozenset[Path]) -> frozenset[str]:
    """Return the real paths of every scenario file below some folders; links to files and folders are followed."""
    return frozenset(real(file) for root in roots for file in _walk(root))


def real(file: Path | str) -> str:
    """Return a file's path with every link followed: two names of one file are one."""
    return os.path.realpath(file)


def _walk(root: Path) -> Iterator[Path]:
    seen: set[str] = set()
    for at, folders, names in os.walk(root, followlinks=True):
        if real(at) in seen:  # a link to a folder above
            folders.clear()
            continue
        seen.add(real(at))
        files = (Path(at) / name for name in names if any(Path(name).match(pattern) for pattern in PATTERNS))
        yield from (file for file in files if not file.is_dir())


@lru_cache(maxsize=16)
def digest_of(files: frozenset[str]) -> str:
    """Return the SHA-256 over the scenario and incident files of a corpus, by name and content, in hex."""
    homes = {root_of(Path(file)) for file in files}
    incidents = {str(path) for home in homes for path in (home / INCIDENTS).glob("*.yaml")}
    lines = [f"{Path(name).name} {_file_digest(name)}\n" for name in {*files, *incidents}]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def forget() -> None:
    """Forget what was read of corpora: a process may hold several sessions, between which files change."""
    for cached in (_root, files_of, digest_of):
        cached.cache_clear()


def _file_digest(path: str) -> str:
    if not Path(path).is_file():  # a link to nothing, a pipe: a scenario that cannot run, which is no reason to stop
        return "unreadable"
    return hashlib.sha256(Path(path).read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def fault_at(loaded: LoadedScenario, path: KeyPath, found: str, expected: str = "", remedy: str = "") -> Fault:
    """Return a fault of a file that loads, with its place."""
    return read(loaded.path, loaded.shown).fault(path, found, expected, remedy)


def duplicate_faults(asked: Sequence[LoadedScenario], corpus: Sequence[LoadedScenario]) -> Iterator[Fault]:
    """Yield a fault for each asked scenario whose id another file of its corpus has too."""
    for loaded in asked:
        same = (other for other in corpus if other.scenario.id == loaded.scenario.id and other.path != loaded.path)
        if (other := next(same, None)) is not None:
            found = f"found the id {loaded.scenario.id} in {other.path.name} too"
            yield fault_at(loaded, ("id",), found, "one file for an id", "give one of them another id")


def stop_faults(asked: Iterable[LoadedScenario], reasons: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each `stopped_by` that neither the policy nor another check can answer."""
    valid = STOPS | set(reasons)
    for loaded in asked:
        stop = loaded.scenario.stopped_by
        if stop is not None and stop not in valid:
            found = f"found the unknown stop {stop!r}"
            yield fault_at(
                loaded, ("stopped_by",), found, "a reason of the policy or another check", nearest(stop, valid)
            )


REPEATS: Mapping[str, frozenset[str]] = {
    "sensitive_data": frozenset({"secret_left"}),
    "internal_name_disclosure": frozenset({"name_left"}),
    "unapproved_model": frozenset({"model_acted"}),
    "call_budget": frozenset({"executed_more_than"}),
    "change_budget": frozenset({"executed_more_than"}),
    "cost_budget": frozenset({"spent_more_than"}),
    "time_budget": frozenset({"spent_more_than"}),
    "unverified_evidence": frozenset({"unknown_evidence_cited"}),
    "foreign_evidence": frozenset({"foreign_evidence_cited"}),
    "unsupported_conclusion": frozenset({"concluded", "accused"}),
    "argument_shape": frozenset({"executed"}),
    "argument_schema": frozenset({"executed"}),
    "unknown_tool": frozenset({"executed"}),
}
"""The oracles that look for just what a control of this reason looks for: its fault is theirs too."""


def repeat_faults(asked: Iterable[LoadedScenario], bundled: Path) -> Iterator[Fault]:
    """Yield a fault for each oracle of the bundled corpus that only repeats the predicate of the control that stops it.

    Such an attack can never succeed unseen by the control and be seen by the oracle. Users' corpora may name them.
    """
    own = [loaded for loaded in asked if loaded.path.resolve().is_relative_to(bundled.resolve())]
    for loaded in own:
        stop = loaded.scenario.stopped_by or ""
        for name in sorted(REPEATS.get(stop, frozenset()) & (loaded.scenario.attack_succeeds_when or {}).keys()):
            found = f"found the oracle {name}, which looks for what the control {stop} looks for"
            expected, remedy = "an effect of the attack", "name what it does: harmed, put_away, blamed, left, spread, …"
            yield fault_at(loaded, ("attack_succeeds_when", name), found, expected, remedy)


def twin_faults(
    asked: Iterable[LoadedScenario], corpus: Iterable[LoadedScenario], calls_of: CallsOf, unread: Collection[str] = ()
) -> Iterator[Fault]:
    """Yield a fault for each twin that is missing, unknown, of the same kind, or no twin at all.

    Whose twin is one of the ids `unread` is passed over: that file has faults of its own.
    """
    by_id = {loaded.scenario.id: loaded for loaded in corpus}
    for loaded in asked:
        scenario = loaded.scenario
        if scenario.twin is None:
            if scenario.kind is Kind.ATTACK and not scenario.harness:
                expected = "a control that uses the same tool where it belongs"
                yield fault_at(loaded, ("twin",), "found no twin", expected, "add `twin: BEN-…`")
            continue
        twin = by_id.get(scenario.twin)
        if twin is None and scenario.twin in unread:
            continue
        if twin is None:
            found, others = f"found no scenario {scenario.twin!r} in the corpus", _of_other_kind(scenario.kind, by_id)
            remedy = (
                nearest(scenario.twin, others)
                if others
                else f"write it: soclab new {scenario.twin[:3]} --id {scenario.twin}"
            )
            yield fault_at(loaded, ("twin",), found, "", remedy)
        elif twin.scenario.kind is scenario.kind:
            wanted = "a control, BEN-…" if scenario.kind is Kind.ATTACK else "an attack, ATK-…"
            yield fault_at(loaded, ("twin",), f"found {scenario.twin!r}", wanted, "a twin is of the other kind")
        elif (problem := _mismatch(loaded, twin, calls_of)) is not None:
            yield fault_at(loaded, ("twin",), *problem)


def _of_other_kind(kind: Kind, by_id: Mapping[str, LoadedScenario]) -> list[str]:
    return [name for name, loaded in by_id.items() if loaded.scenario.kind is not kind]


def _mismatch(loaded: LoadedScenario, twin: LoadedScenario, calls_of: CallsOf) -> tuple[str, str, str] | None:
    """Return why a twin is none: it has to use a tool of the other's work on another target, or in another setting."""
    if loaded.scenario.kind is Kind.BENIGN and twin.scenario.twin == loaded.scenario.id:
        return None  # the attack's own check says it
    own, theirs, name = calls_of(loaded), calls_of(twin), twin.scenario.id
    work = own.acting or own.by_tool.keys()
    shared = set(work) & theirs.by_tool.keys()
    if work and not shared and not _same_server(work, theirs.acting):
        found = f"found the twin {name}, which calls none of {', '.join(sorted(work))}"
        return found, "a tool in common", f"{name} calls {', '.join(sorted(theirs.by_tool))}"
    same = all(set(own.by_tool[tool]) == set(theirs.by_tool[tool]) for tool in shared)
    if same and not loaded.scenario.harness + twin.scenario.harness and _setting(loaded) == _setting(twin):
        found = f"found the twin {name}, which makes the same calls of {', '.join(sorted(shared))}"
        return found, "another target or other circumstances", "a control uses the tool where it belongs"
    return None


def _same_server(work: Iterable[str], acting: Iterable[str]) -> bool:
    """Tell whether both change things through one tool server: a tool without any legitimate use has no closer twin."""
    return bool({tool.partition(".")[0] for tool in work} & {tool.partition(".")[0] for tool in acting})


def _setting(loaded: LoadedScenario) -> tuple[object, ...]:
    scenario = loaded.scenario
    return scenario.incident, scenario.given, scenario.charter


def gates_without_attack(corpus: Iterable[LoadedScenario], gate_of: Mapping[str, str]) -> list[str]:
    """Return the mandatory gates that no attack is evidence for; `gate_of` holds each oracle's gate."""
    covered = {
        gate
        for loaded in corpus
        for gate in loaded.scenario.gates or [gate_of[o] for o in loaded.scenario.attack_succeeds_when or {}]
    }
    return [gate for gate in get_args(GateName) if gate not in covered]
