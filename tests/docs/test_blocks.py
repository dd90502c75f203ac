"""Every block of the README and of the pages is run, file by file and command by command, as a reader would."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from .blocks import Reader, blocks_of, missing_line

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ELSEWHERE = {
    "policy.md": "tests/policy/test_docs.py",
    "ci.md": "tests/report/test_ci_docs.py",
    "known-answer-gate.md": "tests/known_answer/test_docs.py",
    "writing-scenarios.md": "tests/scenario/test_docs.py",
}
"""Pages whose blocks have a test of their own, with more in it than running them."""
PAGES = sorted(p for p in DOCS.rglob("*.md") if str(p.relative_to(DOCS)) not in ELSEWHERE)
WITH_BLOCKS = [page for page in PAGES if any(True for _ in blocks_of(page.read_text(encoding="utf-8")))]
SETUP = "python3 -m venv .venv && .venv/bin/pip install -e "


def follow(page: Path, reader: Reader) -> None:
    for block in blocks_of(page.read_text(encoding="utf-8")):
        wrong = reader.follow(block)
        assert not wrong, f"{page.relative_to(ROOT)}:{block.line}: {wrong}"


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    follow(page, reader)
    assert reader.ran


@pytest.mark.parametrize(("name", "test"), ELSEWHERE.items())
def test_every_other_page_has_a_test_of_its_own(name: str, test: str) -> None:
    assert name in (ROOT / test).read_text(encoding="utf-8").replace('"docs" / "', "").replace('"', " ")


def readme() -> list[str]:
    return [
        b.text.strip() for b in blocks_of((ROOT / "README.md").read_text(encoding="utf-8")) if b.language == "shell"
    ]


def test_the_readme_has_one_command_for_the_lab_and_one_for_the_tests() -> None:
    lab, tests, gate = readme()
    assert lab == SETUP + ". && .venv/bin/pytest --soclab-mode=protected"
    assert tests == SETUP + "'.[test,docs]' && .venv/bin/pytest tests -n 2 --dist=worksteal -m \"not slow\""
    assert gate.startswith("soclab gate ")


def test_the_readme_names_the_opa_that_ci_builds() -> None:
    version = re.search(r"^OPA_VERSION=(\S+)", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    assert f"opa@v{version[1]}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_gate_command_of_the_readme_runs(tmp_path: Path) -> None:
    cases = tmp_path / "cases"
    shutil.copytree(ROOT / "tests/known_answer/cases", cases)
    (block,) = (b for b in blocks_of((ROOT / "README.md").read_text(encoding="utf-8")) if b.text.startswith("soclab "))
    reader = Reader(cases)
    wrong = reader.follow(block)
    assert wrong.startswith("exit 1"), wrong  # what the page says of a drop
    assert "K3.2" in reader.output


def test_the_agent_of_the_readme_is_measured(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = (b for b in blocks_of(text) if b.language == "python")
    reader = Reader(tmp_path)
    assert not reader.follow(block)
    command = re.search(r"run `(pytest -k ATK-001 [^`]+)`", text)
    assert command is not None
    run = next(blocks_of(f"```shell\n{command[1]}\n```"))
    assert not reader.follow(run), reader.output
    assert "ATK-001[plain-protected] PASSED" in reader.output


@pytest.mark.slow  # CI runs the same command once more
def test_the_readme_shows_what_the_lab_prints() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import build_docs
    finally:
        sys.path.pop(0)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert build_docs.with_output(text, build_docs.lab_output()) == text, "run python scripts/build_docs.py --readme"


@pytest.mark.parametrize(
    ("shown", "missing"),
    [("a\nb", ""), ("a\n…\nc", ""), ("b", ""), ("a\nc", "c"), ("c\n…\na", "a"), ("d", "d")],
)
def test_lines_are_looked_for_in_their_order(shown: str, missing: str) -> None:
    assert missing_line(shown, "a\nb\nc\n") == missing


def test_a_block_that_lies_is_noticed(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    lying = "```shell\necho yes\n```\n\n```text\nno\n```\n\n<!-- exit 1 -->\n```shell\ntrue\n```\n\n```mystery\n```\n"
    wrong = [reader.follow(block).splitlines()[:1] for block in blocks_of(lying)]
    assert wrong == [[], ["not printed: no"], ["exit 0, expected 1"], ["a block of mystery is neither a file nor run"]]
