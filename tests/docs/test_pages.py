"""The generated parts are fresh, and the site builds strictly and loads nothing from a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from .blocks import clean_environment

ROOT = Path(__file__).resolve().parents[2]


def test_the_generated_parts_say_what_the_code_says() -> None:
    command = [sys.executable, "scripts/build_docs.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run python scripts/build_docs.py\n{done.stdout}{done.stderr}"


def test_every_generated_part_stands_in_a_page() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import build_docs
    finally:
        sys.path.pop(0)
    used = {m[2] for page in build_docs.pages() for m in build_docs.PART.finditer(page.read_text(encoding="utf-8"))}
    assert used == set(build_docs.PARTS)


def test_every_field_of_the_agents_interface_has_a_meaning() -> None:
    page = (ROOT / "docs/reference/agent.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split(" | ")] for line in page.splitlines() if line.startswith("| `")]
    assert rows
    assert [row for row in rows if row[-1] in {"", "|"}] == []


def build(folder: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Build the site; never with --quiet, which also hides the warnings from --strict."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    environment = {**clean_environment(), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = build(ROOT, target)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


class Loads(HTMLParser):
    """Takes down what a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "img", "iframe", "source"} or (tag == "link" and given.get("rel") == "stylesheet"):
            self.found.append(given.get("src") or given.get("href") or "")


def test_no_page_loads_anything_from_a_network(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert [url for url in loads.found if "//" in url] == [], page
    sheets = "".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import\s*)[\"']?https?:", sheets) == []


def test_a_broken_link_and_a_broken_anchor_fail_the_build(tmp_path: Path) -> None:
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    page = tmp_path / "docs/explanation/limitations.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n[a](gone.md) [b](level.md#gone)\n", encoding="utf-8")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert "'gone.md'" in done.stderr
    assert "'#gone'" in done.stderr


def links(path: Path) -> list[str]:
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    return [target for target in found if "://" not in target]


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "ARCHITECTURE.md"])
def test_the_links_of_the_pages_outside_the_site_lead_somewhere(name: str) -> None:
    assert [target for target in links(ROOT / name) if not (ROOT / target).exists()] == []
