"""What the commands about sessions do: list them, show one again, say why trials are red, run one and miss its end."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_soclab.base.errors import ArtifactError, SoclabError, printable
from pytest_soclab.evidence import folders, store
from pytest_soclab.evidence.session_log import TrialEnded, read_log

if TYPE_CHECKING:
    from pytest_soclab.report.history import Past


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))


def history(options: argparse.Namespace) -> int:
    """List the sessions of a home, the latest last."""
    home = Path(options.home)
    found = folders.sessions_of(home)
    if not found:
        raise ArtifactError(f"{home / folders.SESSIONS}: found no session; run pytest first, or name another home")
    if options.html:
        return _page(found, Path(options.html))
    _say(_HEAD, *(_line(folder) for folder in found), _FOOT)
    return 0


_ROW = "{:<26} {:<10} {:<9} {:<4} {:<13} {:<24} {:<11} {:<13} {}"
_HEAD = _ROW.format("started", "state", "level", "red", "mode", "subject", "scenarios", "root", "folder")
_FOOT = "As each record says it; `soclab verify DIR` checks one against its evidence, `--html` checks all."


def _page(sessions: list[Path], target: Path) -> int:
    from pytest_soclab.cli.stored import write_page
    from pytest_soclab.report import history as pages

    return write_page(pages.render([_past(folder) for folder in sessions]), target)


def _past(folder: Path) -> Past:
    """Return a session as far as its own evidence bears it out."""
    from pytest_soclab.audit.verify import verify
    from pytest_soclab.report.history import Past

    try:
        log = read_log(folder / store.LOG)
        started, root = log.start.started if log.start else "unknown", log.root
    except ArtifactError:
        return Past("unknown", folder.name, "", None, "no log of this version")
    if not log.finished:
        return Past(started, folder.name, root, None, "running" if folders.is_running(folder) else "it did not end")
    try:
        fault = next(iter(verify(folder).faults), "")
        results = None if fault else store.load_results(folder)
    except SoclabError as error:
        fault, results = str(error).splitlines()[0], None
    return Past(started, folder.name, root, results, f"does not hold: {fault}" if fault else "")


def _line(folder: Path) -> str:
    """Return one session as a line of the table that `_HEAD` heads."""
    from pytest_soclab.report import sentences

    try:
        log = read_log(folder / store.LOG)
    except ArtifactError:
        return f"{folder.name}: no log of this version"
    ended = len({fact.trial for fact in log.facts if isinstance(fact, TrialEnded)})
    started = log.start.started if log.start else "unknown"
    if not log.finished:
        state = "running" if folders.is_running(folder) else "did not end"
        return f"{started:<26} {state}, {ended} trials so far  {folder}"
    try:
        results = store.load_results(folder)
    except SoclabError:
        return f"{started:<26} no results.json; `soclab report {folder}` writes it  {folder}"
    level = results.level.recommended.value if results.level.recommended else "no level"
    subject = results.agent.name if results.agent.kind == "live" else "the controls"
    red = sum(not trial.passed for trial in (*results.trials, *results.control_trials))
    ran = f"{results.counts.run} of {results.counts.corpus}"
    state = sentences.state(results).value
    return _ROW.format(started, state, level, red, results.mode, subject[:24], ran, log.root[:12], folder)


def show(options: argparse.Namespace) -> int:
    """Print a session's terminal section again, as it follows from its evidence."""
    from pytest_soclab.audit.verify import sound
    from pytest_soclab.report import terminal

    found = sound(Path(options.folder))
    assert found.results is not None, "a session that is sound has results"
    _say(*(line.text for line in terminal.render(found.results, verbosity=int(options.verbose))))
    _say(f"evidence root: {found.session.log.root}")
    return 0


def diagnose(options: argparse.Namespace) -> int:
    """Print for each red trial what was proposed beside what was expected."""
    from pytest_soclab.audit.diagnose import diagnose as lines

    _say(*lines(Path(options.folder)))
    return 0


def run(options: argparse.Namespace) -> int:
    """Run pytest as a child and fail where it left no finished session that holds.

    An agent in pytest's own process can end it with status 0 before anything is judged; only a parent can miss the end.
    """
    arguments = options.arguments[1:] if options.arguments[:1] == ["--"] else options.arguments
    with tempfile.TemporaryDirectory() as place:
        receipt = Path(place) / "finished"
        child = [sys.executable, "-m", "pytest", *arguments]
        status = subprocess.run(  # noqa: S603 - pytest, with what the user wrote
            child, env={**os.environ, folders.RECEIPT: str(receipt)}, check=False
        ).returncode
        fault = _missing(receipt)
    if fault:
        sys.stderr.write(f"soclab run: {printable(fault)}\n")
        return status if status > 0 else 1
    return status if status >= 0 else 128 - status


def _missing(receipt: Path) -> str:
    """Return why there is no finished session that holds, or an empty text."""
    from pytest_soclab.audit.verify import verify

    if not receipt.is_file():
        return "pytest left no finished session: it was ended before, or ran no scenario"
    folder = Path(receipt.read_text(encoding="utf-8").strip())
    try:
        return next(iter(verify(folder).faults), "")
    except SoclabError as error:
        return str(error).splitlines()[0]
