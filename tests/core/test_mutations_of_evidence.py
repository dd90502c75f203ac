"""Any byte or value of a stored session is changed, and the check names it: this is what a kept session rests on."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.audit.verify import verify
from pytest_soclab.base.errors import SoclabError

SLICE, WHOLE = 60, 1_000
Change = tuple[str, Callable[[bytes], bytes]]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small session with two attempts at a trial, a live agent and its scripted trials beside it."""
    home = tmp_path_factory.mktemp("mutated")
    make_session(home)
    (folder,) = (home / ".soclab" / "sessions").iterdir()
    assert verify(folder).faults == ()
    return folder


AGENT = """
import pytest
class Live:
    name = "live"; model = "model-1"; deterministic = False
    def investigate(self, case, soc):
        soc.call("siem.search", {"query": "user:alex.rivera source:helpdesk"})
        soc.call("identity.disable_account", {"user": "svc-backup"}, cites=["siem.search"])
@pytest.fixture
def soclab_agent():
    return Live()
"""


def make_session(home: Path) -> None:
    """Run a small corpus with a live agent in a process of its own."""
    import os
    import subprocess
    import sys

    from lab.conftest import ATTACK, CONTROL
    from pytest_soclab.base import resources

    for folder, name, text in (("attacks", "ATK-001-note.yaml", ATTACK), ("controls", "BEN-001-disable.yaml", CONTROL)):
        (home / "scenarios" / folder).mkdir(parents=True)
        (home / "scenarios" / folder / name).write_text(text)
    (home / "scenarios" / "incidents").mkdir()
    incident = resources.scenarios() / "incidents" / "identity-compromise.yaml"
    shutil.copy(incident, home / "scenarios" / "incidents")
    (home / "conftest.py").write_text(AGENT)
    variables = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "pytest_soclab.plugin"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "scenarios"]
    subprocess.run(command, cwd=home, env=variables, capture_output=True, check=False)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def changes(raw: bytes, chance: random.Random) -> Iterator[Change]:
    """Yield ways to change a file: a byte flipped, taken out or put in; a JSON value exchanged; its end cut off."""
    at = chance.randrange(len(raw))
    bit = 1 << chance.randrange(8)
    yield f"byte {at} flipped", lambda b: b[:at] + bytes([b[at] ^ bit]) + b[at + 1 :]
    yield f"byte {at} taken out", lambda b: b[:at] + b[at + 1 :]
    yield f"a blank put in at {at}", lambda b: b[:at] + b" " + b[at:]
    yield "the end cut off", lambda b: b[: max(0, at)]
    lines = raw.split(b"\n")
    number = chance.randrange(len(lines))
    yield f"line {number + 1} doubled", lambda b: b"\n".join([*lines[: number + 1], *lines[number:]])
    for value in (True, 1, "resisted", None):
        if (changed := exchanged(raw, chance, value)) is not None:
            yield f"a value made {value!r}", lambda b, text=changed: text


def exchanged(raw: bytes, chance: random.Random, value: object) -> bytes | None:
    """Return a JSON file or one line of it with one value exchanged, written as it was; None where it has none."""
    whole = raw.startswith(b"{\n")
    lines = [raw] if whole else raw.split(b"\n")
    number = chance.randrange(len(lines))
    try:
        document = json.loads(lines[number])
    except ValueError:
        return None
    places = list(leaves(document))
    if not places:
        return None
    holder, key = chance.choice(places)
    if holder[key] == value and type(holder[key]) is type(value):
        return None
    holder[key] = value
    form: dict[str, Any] = {"indent": 1} if whole else {"separators": (",", ":")}
    lines[number] = json.dumps(document, ensure_ascii=False, **form).encode() + (b"\n" if whole else b"")
    return b"\n".join(lines)


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        if isinstance(inner, dict | list):
            yield from leaves(inner)
        else:
            yield value, key


def unseen(folder: Path, number: int, seed: int) -> Iterator[str]:
    """Change the session that many times, a copy each, and yield what the check did not see."""
    chance = random.Random(seed)
    done = 0
    while done < number:
        path = chance.choice(files(folder))
        raw = path.read_bytes()
        found = list(changes(raw, chance))
        what, change = chance.choice(found)
        changed = change(raw)
        if changed == raw:
            continue
        done += 1
        path.write_bytes(changed)
        try:
            if not verify(folder).faults:
                yield f"{path.relative_to(folder)}: {what}"
        except SoclabError:
            pass  # named, too
        finally:
            path.write_bytes(raw)


def test_a_slice_of_all_changes_is_named(session: Path) -> None:
    assert list(unseen(session, SLICE, 1)) == []


@pytest.mark.slow
def test_a_thousand_changes_are_named(session: Path) -> None:
    assert list(unseen(session, WHOLE, 2)) == []


def test_every_file_of_a_session_can_be_missed(session: Path) -> None:
    for path in files(session):
        raw = path.read_bytes()
        path.unlink()
        try:
            told = " ".join(verify(session).faults)
        except SoclabError as error:
            told = str(error)
        path.write_bytes(raw)
        assert path.name in told, path


def test_the_property_sees_a_check_that_was_made_blind(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_soclab.audit import verify as module

    monkeypatch.setattr(module, "_page_faults", lambda *_: ())
    assert list(unseen(session, 200, 3))
