"""A real Chromium for the report's tests; without one they fail, they are never skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from . import build

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SHOTS = Path(__file__).parents[1] / "shots"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("SOCLAB_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.fail("no chromium found: apt-get install chromium, or name one in SOCLAB_CHROMIUM", pytrace=False)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


class Opened:
    """A page with what it said and asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.console: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def quiet(self) -> None:
        """Assert that the page said nothing and asked for nothing but itself."""
        assert self.console == []
        assert [url.split("#")[0] for url in self.requests] == [self.page.url.split("#")[0]]


Open = Callable[..., Opened]


@pytest.fixture
def open_report(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Return a function that writes a page and opens it: `open_report(text, fragment="", **context options)`."""
    contexts = []

    def opened(text: str, fragment: str = "", **options: Any) -> Opened:
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        made = Opened(context.new_page())
        made.page.goto(file.as_uri() + fragment)
        return made

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def clean() -> Any:
    return build.results()


@pytest.fixture(scope="session")
def red() -> Any:
    """Compare mode with every kind of trouble and a known-answer section."""
    from pytest_soclab.evidence.results import Arm, Level

    return build.results(
        build.reddened(build.trials_of(arms=(Arm.BASELINE, Arm.PROTECTED))),
        mode="compare",
        recommended=Level.L1,
        failed_gates=["unauthorized_state_change"],
        undecided_gates=["policy_outage_fail_open"],
        known_answer=build.known_answer(),
    )
