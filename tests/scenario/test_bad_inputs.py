"""The folder `bad/` is the spec of our messages: one file for each fault, the expected text beside it.

After a message was changed on purpose, `SOCLAB_WRITE_EXPECTED=1 pytest tests/scenario/test_bad_inputs.py` writes the
texts anew; read the difference before it is committed.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.reading import yaml_core, yaml_source
from pytest_soclab.scenario.load import load_incident, load_scenario

from .support import ATTACK, BAD, CONTROL, faults, file_name, lab, load_text

FILES = sorted(BAD.glob("*.yaml"))
SHORT = 8  # longer lists of valid names depend on what tools and oracles exist


def shortened(message: str) -> str:
    """Return a message whose list of valid names is cut when it is long."""
    head, mark, names = message.partition("valid: ")
    return head + mark + (names if names.count(",") < SHORT else "…")


def messages(bad: Path, folder: Path) -> list[str]:
    copy = folder / file_name(bad)
    shutil.copy(bad, copy)
    return faults(copy, bad.name)


def test_there_are_many_bad_inputs() -> None:
    assert len(FILES) >= 130


@pytest.mark.parametrize("bad", FILES, ids=lambda path: path.stem)
def test_each_bad_input_is_refused_with_its_message(bad: Path, tmp_path: Path) -> None:
    found = "".join(f"{shortened(message)}\n" for message in messages(bad, tmp_path))
    expected = bad.with_suffix(".txt")
    if os.environ.get("SOCLAB_WRITE_EXPECTED"):
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")
    assert found, "the file loads"


def test_every_text_belongs_to_a_bad_input() -> None:
    assert {path.stem for path in BAD.glob("*.txt")} == {path.stem for path in FILES}


@pytest.mark.parametrize("bad", FILES, ids=lambda path: path.stem)
def test_each_message_has_one_form(bad: Path) -> None:
    form = re.compile(r"\S+\.yaml(:\d+:\d+)?( \S.*?)?: found \S.*")
    places = []
    for line in bad.with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        assert form.fullmatch(line), line
        assert line.isprintable()
        assert not re.search(r"pydantic|jinja|Input should|a dict|NoneType|<class|Traceback", line), line
        places.append(tuple(int(part) for part in line.split(" ")[0].rstrip(":").split(":")[1:]))
    assert places == sorted(places), "the faults are in the order of the file"


def test_unknown_names_list_the_nearest_and_all(tmp_path: Path) -> None:
    [message] = load_text(tmp_path, ATTACK.replace("call: siem.search", "call: siem.serch", 1))
    assert "did you mean 'siem.search'?" in message
    assert message.endswith(f"valid: {', '.join(sorted(lab().vocabulary.tools))}")


def pure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load as where ruamel's C scanner is not installed."""
    monkeypatch.setattr(yaml_source, "HAS_FAST", False)


@pytest.mark.parametrize("bad", FILES, ids=lambda path: path.stem)
def test_the_messages_are_the_same_without_the_c_scanner(
    bad: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pure(monkeypatch)
    expected = bad.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    found = [shortened(message) for message in messages(bad, tmp_path)]
    assert found == expected


@pytest.mark.parametrize("c_scanner", [True, False])
def test_valid_files_load_with_and_without_the_c_scanner(
    c_scanner: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not c_scanner:
        pure(monkeypatch)
    assert load_text(tmp_path, ATTACK) == []
    assert load_text(tmp_path, CONTROL, "BEN-001.yaml") == []


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    plain, windows = tmp_path / "a" / "ATK-001.yaml", tmp_path / "b" / "ATK-001.yaml"
    for path, data in ((plain, ATTACK.encode()), (windows, b"\xef\xbb\xbf" + ATTACK.replace("\n", "\r\n").encode())):
        path.parent.mkdir()
        path.write_bytes(data)
    one, two = (load_scenario(path, lab().vocabulary) for path in (plain, windows))
    assert (one.digest, one.scenario) == (two.digest, two.scenario)


@pytest.mark.parametrize("load", [load_scenario, load_incident])
def test_a_huge_file_is_refused_without_reading_it(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ATK-001.yaml"
    with path.open("wb") as stream:
        stream.truncate(1 << 34)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("the file is read"))
    with pytest.raises(
        yaml_source.ScenarioError, match=r"found 17179869184 bytes, expected at most \d+; split the file"
    ):
        load(path, lab().vocabulary)


@pytest.mark.parametrize("text", ["[" * 200_000, "{a: " * 100_000, "- " * 200_000, "? " * 200_000])
def test_deep_nesting_is_refused_and_not_recursed_into(text: str, tmp_path: Path) -> None:
    [message] = load_text(tmp_path, text)
    assert "found a value 33 levels deep, expected at most 32; flatten it" in message


def test_aliases_do_not_expand_without_bound(tmp_path: Path) -> None:
    lines = ["a0: &a0 [" + "x, " * 40_000 + "]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 6)]
    [message] = load_text(tmp_path, "\n".join(lines))
    assert "found more than 1000000 values" in message


@pytest.mark.parametrize(
    "text",
    [
        ATTACK + "".join(f"key{n}: 1\n" for n in range(20_000)),
        ATTACK.replace("agent:\n", "agent:\n" + "  - {call: siem.serch}\n" * 20_000),
        ATTACK.replace("given:\n  siem.events:\n", "given:\n  siem.events:\n" + "    - {message: x}\n" * 20_000),
        ATTACK.replace("tier: medium", "tier: " + "m" * 500_000),
        "id: ATK-001\n" * 20_000,
    ],
    ids=["keys", "steps", "rows", "text", "duplicates"],
)
def test_a_file_full_of_faults_is_answered_shortly(text: str, tmp_path: Path) -> None:
    found = load_text(tmp_path, text)
    assert 1 <= len(found) <= 3 * yaml_source.MAX_FAULTS
    assert all(len(message) < 2_000 for message in found)


@pytest.mark.parametrize("what", ["missing", "directory", "link to itself"])
def test_a_file_that_cannot_be_read_is_one_line(what: str, tmp_path: Path) -> None:
    path = tmp_path / "ATK-001.yaml"
    if what == "directory":
        path.mkdir()
    elif what == "link to itself":
        path.symlink_to(path)
    [message] = faults(path, "ATK-001.yaml")
    assert re.fullmatch(r"ATK-001.yaml: the file cannot be read \(.+\), expected a readable YAML file", message)


def test_places_are_looked_for_only_when_something_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    compose = yaml_core._Yaml.compose
    monkeypatch.setattr(yaml_core._Yaml, "compose", lambda self, text: asked.append(text) or compose(self, text))
    assert load_text(tmp_path, ATTACK) == []
    assert asked == []
    assert len(load_text(tmp_path, ATTACK.replace("tier: medium", "tier: none").replace("LLM01", "LLM99"))) == 2
    assert len(asked) == 1
