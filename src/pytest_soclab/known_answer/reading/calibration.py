"""The calibration score: a JSON file with facts, traps and absent entries."""

from __future__ import annotations

from typing import Any

from pytest_soclab.base.errors import quote
from pytest_soclab.known_answer.basis.faults import Faults
from pytest_soclab.known_answer.basis.files import read_json, refuse, shown, text_field
from pytest_soclab.known_answer.basis.keys import item_key
from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.basis.verdicts import ACCEPTED, Verdict, is_verdict, read_verdict
from pytest_soclab.known_answer.markdown.inline import inline_text

FORMAT = "calibration-score/1"
_GROUPS = ("facts", "traps", "absent")


def read_calibration(path: str, data: Any = None) -> ScoredRun:
    """Return the run of a calibration score; `data` is its JSON where it is read already.

    Raises KnownAnswerError naming file and field of everything that cannot be read.
    """
    data = read_json(path) if data is None else data
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = shown(data.get("format")) if isinstance(data, dict) else f"a JSON {type(data).__name__}"
        refuse(found, path, field="format", expected=quote(FORMAT), remedy="is this a calibration score?")
    name = text_field(data.get("run"), path, "run")
    verdicts: dict[str, Verdict | None] = {}
    faults = Faults(path)
    places: dict[str, str] = {}
    for group in _GROUPS:
        for index, entry in enumerate(_entries(data, group, path)):
            with faults.gather():
                key = _add(verdicts, entry, path, f"{group}[{index}]", trap=group == "traps")
                places[key] = f"{path} {group}[{index}]"
    faults.settle()
    if not verdicts:
        refuse("no fact, trap or absent entry", path, expected="at least one", remedy="is the score finished?")
    return ScoredRun(name, path, verdicts, kind="calibration score", places=places)


def _entries(data: dict[str, Any], group: str, path: str) -> list[Any]:
    entries = data.get(group, [])
    if not isinstance(entries, list):
        refuse(shown(entries), path, field=group, expected="a list of entries")
    return entries


def _add(verdicts: dict[str, Verdict | None], entry: Any, path: str, place: str, *, trap: bool) -> str:
    if not isinstance(entry, dict):
        refuse(shown(entry), path, field=place, expected='an object such as {"id": "F1", "verdict": "found"}')
    key = item_key(inline_text(text_field(entry.get("id"), path, f"{place}.id")))
    if not key:
        refuse(shown(entry["id"]), path, field=f"{place}.id", expected="an item label")
    if key in verdicts:
        refuse(f"item {quote(entry['id'])} twice", path, field=f"{place}.id", expected="every item once")
    verdicts[key] = _verdict(entry, path, place, trap=trap)
    return key


def _verdict(entry: dict[str, Any], path: str, place: str, *, trap: bool) -> Verdict | None:
    stored = entry.get("stored", True)
    if not isinstance(stored, bool):
        refuse(shown(stored), path, field=f"{place}.stored", expected="true or false")
    unstored = trap and not stored
    written = entry.get("verdict")
    if unstored and written is None:
        return None
    text = inline_text(written) if isinstance(written, str) else ""
    if not is_verdict(text):
        refuse(shown(written), path, field=f"{place}.verdict", expected=ACCEPTED)
    return None if unstored else read_verdict(text)
