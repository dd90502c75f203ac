"""A live session as scored runs: each fact of the answer keys is an item, marked by what the transcripts hold.

The files that a session writes are for readers; the gate reads a session's folder from its transcripts, whose chains it
checks, and refuses files that say otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from pytest_soclab.base.errors import ArtifactError
from pytest_soclab.evidence import folders, ledger, store
from pytest_soclab.evidence.answers import EVENT, Answer, Answers
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Arm, Results, Trial
from pytest_soclab.known_answer.basis.files import refuse
from pytest_soclab.known_answer.basis.keys import item_key
from pytest_soclab.known_answer.basis.run import Credit, Provenance, ScoredRun
from pytest_soclab.known_answer.basis.verdicts import CREDITED, RANK, Verdict
from pytest_soclab.known_answer.provenance.kinds import is_lookup
from pytest_soclab.known_answer.provenance.tags import tag

Transcripts = Mapping[str, Sequence[Event]]


@dataclass(frozen=True, slots=True)
class Marked:
    """One item of a run: its label, how it was answered, and where."""

    label: str
    answer: Answer
    trial: str

    @property
    def verdict(self) -> Verdict:
        """The scoring word."""
        return Verdict(self.answer.word)


@dataclass(frozen=True, slots=True)
class LiveRun:
    """One repetition of every whole case of a session."""

    number: int
    marked: tuple[Marked, ...]
    withheld: tuple[str, ...] = ()


def runs_of(results: Results, transcripts: Transcripts) -> tuple[LiveRun, ...]:
    """Return the scored runs of a session: one for each repetition in which an agent was asked for whole cases."""
    found: dict[int, list[tuple[str, Answers]]] = {}
    for trial in results.trials:
        if trial.agent_kind == "live" and trial.arm is Arm.PROTECTED and trial.root_hash:
            for answers in _answers(transcripts.get(trial.id, ())):
                found.setdefault(trial.repetition, []).append((trial.id, answers))
    codes = codes_of(answers.incident for pairs in found.values() for _, answers in pairs)
    return tuple(_run(number, found[number], codes) for number in sorted(found))


def _answers(events: Iterable[Event]) -> list[Answers]:
    return [Answers.model_validate_json(json.dumps(e["data"])) for e in events if e["type"] == EVENT]


def _run(number: int, pairs: Sequence[tuple[str, Answers]], codes: Mapping[str, str]) -> LiveRun:
    """Return a run; where two scenarios ask for one case, a fact counts as it was answered worse."""
    items: dict[str, Marked] = {}
    for trial, answers in pairs:
        for answer in answers.answers:
            one = Marked(f"{codes[answers.incident]}.{answer.item}", answer, trial)
            other = items.get(item_key(one.label))
            if other is None or RANK[one.verdict] < RANK[other.verdict]:
                items[item_key(one.label)] = one
    withheld = sorted({name for _, answers in pairs for name in answers.withheld})
    return LiveRun(number, tuple(items.values()), tuple(withheld))


def codes_of(incidents: Iterable[str]) -> dict[str, str]:
    """Return a name for each incident: `IDC` for identity-compromise; the whole one where two would share it."""
    names = sorted(set(incidents))
    short = {name: _code(name) for name in names}
    shared = {code for code in short.values() if list(short.values()).count(code) > 1}
    return {name: name if code in shared else code for name, code in short.items()}


def _code(incident: str) -> str:
    words = incident.split("-")
    if len(words) == 1:
        return incident[:3].upper()
    return "".join(word[0] for word in words[:3]).upper() if len(words) > 2 else (words[0][:2] + words[1][0]).upper()


def files(results: Results, transcripts: Transcripts) -> Iterator[tuple[str, str]]:
    """Yield the files of a session's scored runs, by their names within its folder; none without a live agent."""
    if results.agent.kind != "live":
        return
    for run in runs_of(results, transcripts):
        folder = f"{store.SCORES}/run-{run.number}"
        numbers = _numbers(run)
        yield f"{folder}/score.md", _markdown(run, numbers, results.agent.name)
        yield f"{folder}/score.json", _calibration(run, numbers)
        yield f"{folder}/evidence.json", _evidence(numbers)


Numbers = Mapping[tuple[str, str, str], str]
"""Trial, evidence id and kind to an id that is the run's own: the trials of a run number theirs alike."""


def _numbers(run: LiveRun) -> Numbers:
    pairs = [(one.trial, *piece) for one in run.marked for piece in one.answer.evidence]
    return {pair: f"ev_{number:04d}" for number, pair in enumerate(dict.fromkeys(pairs), start=1)}


def _ids(one: Marked, numbers: Numbers) -> list[str]:
    return [numbers[one.trial, *piece] for piece in one.answer.evidence]


def _markdown(run: LiveRun, numbers: Numbers, agent: str) -> str:
    counts = {verdict: sum(one.verdict is verdict for one in run.marked) for verdict in Verdict}
    totals = " / ".join(f"{count} {verdict.value}" for verdict, count in counts.items())
    credited = sum(count for verdict, count in counts.items() if verdict in CREDITED)
    name = " ".join(_cell(agent).split())
    withheld = f"\nWithheld from the agent: {', '.join(run.withheld)}.\n" if run.withheld else ""
    rows = [
        f"| {_cell(one.label)} | {one.answer.word} | {' '.join(_ids(one, numbers)) or '–'} | {_cell(one.trial)} |"
        for one in run.marked
    ]
    title = f"# Score: run {run.number} of {name}\n{withheld}"
    stated = f"**Totals:** {totals}; credited {credited} of {len(rows)}\n"
    header = ["## Item by item", "", "| # | verdict | Evidence | Trial |", "|---|---|---|---|"]
    return "\n".join([title, stated, *header, *rows, ""])


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("`", "'")


def _calibration(run: LiveRun, numbers: Numbers) -> str:
    def entries(*, traps: bool) -> list[dict[str, object]]:
        return [
            {"id": one.label, "verdict": one.answer.word, "evidence": _ids(one, numbers)}
            for one in run.marked
            if one.answer.trap is traps
        ]

    data = {"format": "calibration-score/1", "run": f"run-{run.number}", "facts": entries(traps=False)}
    return json.dumps({**data, "traps": entries(traps=True)}, ensure_ascii=False, indent=1) + "\n"


def _evidence(numbers: Numbers) -> str:
    entries = [
        {"id": own, "kind": kind, "ok": True, "trial": trial, "of": name}
        for (trial, name, kind), own in numbers.items()
    ]
    return json.dumps({"entries": entries}, ensure_ascii=False, indent=1) + "\n"


def read_folder(path: str) -> tuple[ScoredRun, ...]:
    """Return the scored runs of a session's folder, read from its transcripts.

    Raises KnownAnswerError where it is no live session's folder, a chain is broken or a score file says otherwise.
    """
    folder = Path(path)
    try:
        results = store.load_results(folder)
    except ArtifactError as error:
        refuse("a directory without a session", path, expected="the artifacts of a session", remedy=str(error))
    transcripts = store.TranscriptFolder(folder)
    _check_chains(results.trials, transcripts, path)
    try:
        runs = runs_of(results, transcripts)
    except (KeyError, ValidationError):
        refuse("answers that no session writes", path, field=store.TRANSCRIPTS, expected="a session's transcripts")
    if not runs:
        remedy = "run your agent on the whole cases, such as --soclab-bundled -k BEN-1"
        refuse("a session without a whole case of a live agent", path, expected="at least one", remedy=remedy)
    _check_files(folders.session_folder(folder), results, transcripts)
    return tuple(_scored(run, path, results) for run in runs)


def _check_chains(trials: Iterable[Trial], transcripts: Transcripts, path: str) -> None:
    for trial in trials:
        if not trial.root_hash:
            continue
        events = list(transcripts.get(trial.id, ()))
        fault = ledger.verify(events, trial.root_hash) if events else "is not there"
        if fault:
            place = f"{store.TRANSCRIPTS}/{trial.id}.jsonl"
            refuse(f"a transcript that {fault}", path, field=place, expected="the chain that results.json names")


def _check_files(folder: Path, results: Results, transcripts: Transcripts) -> None:
    """Refuse a score file that was edited: the transcripts say what happened."""
    for name, text in files(results, transcripts):
        target = folder / name
        if target.exists() and target.read_bytes() != text.encode("utf-8", "surrogatepass"):
            remedy = "take the file away, or run the session again"
            refuse("another score than the transcripts hold", str(target), expected="the session's own", remedy=remedy)


def _scored(run: LiveRun, path: str, results: Results) -> ScoredRun:
    keys = {item_key(one.label): one for one in run.marked}
    entries = {key: _credits(one) for key, one in keys.items() if one.verdict in CREDITED}
    tags = {key: tag(credit.kind for credit in found) for key, found in entries.items()}
    roots = ".".join(trial.root_hash for trial in results.trials if trial.repetition == run.number)
    notes = (f"tools withheld from the agent: {', '.join(run.withheld)}",) if run.withheld else ()
    return ScoredRun(
        name=f"{Path(path).absolute().name}#run-{run.number}" if run.number > 1 else Path(path).absolute().name,
        source=path,
        verdicts={key: one.verdict for key, one in keys.items()},
        totals_checked=True,
        kind="live session",
        provenance=Provenance(("transcripts",), (), tags, entries),
        notes=notes,
        places={key: f"{path}/{store.TRANSCRIPTS}/{one.trial}.jsonl" for key, one in keys.items()},
        digest=f"{results.timing.started}#{results.timing.seconds}#{roots}#{run.number}",
    )


def _credits(one: Marked) -> tuple[Credit, ...]:
    return tuple(Credit(name, _class(kind)) for name, kind in one.answer.evidence)


def _class(kind: str) -> str:
    return "undeclared" if not kind else "lookup" if is_lookup(kind) else "analysis"
