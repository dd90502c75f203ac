"""The page in a real Chromium: what a reader can do with it, and what hostile text cannot."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from pytest_soclab.evidence.results import Results
from pytest_soclab.report import html

from . import build, hostile
from .conftest import SHOTS, Open, Opened

THEMES = ("light", "dark")
WIDTHS = (320, 768, 1280)


def page(record: Results) -> str:
    return html.render(record, build.transcripts(record))


@pytest.fixture(scope="module")
def red_page(red: Results) -> str:
    return page(red)


SHOWN = "[...document.querySelectorAll('details.t')].filter(t => !t.closest('[hidden]'))"


def shown_trials(opened: Opened) -> list[str]:
    return opened.page.eval_on_selector_all(
        "details.t", "all => all.filter(t => !t.closest('[hidden]')).map(t => t.id)"
    )


def flag(opened: Opened) -> Any:
    return opened.page.evaluate("window.pwned")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overflows_and_nothing_is_requested(open_report: Open, red_page: str, width: int, theme: str) -> None:
    opened = open_report(red_page, viewport={"width": width, "height": 900}, color_scheme=theme)
    SHOTS.mkdir(exist_ok=True)
    opened.page.screenshot(path=SHOTS / f"red-{theme}-{width}.png", full_page=True)
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    opened.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    opened.quiet()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [320, 1280])
def test_axe_finds_nothing(open_report: Open, red_page: str, width: int, theme: str) -> None:
    opened = open_report(red_page, viewport={"width": width, "height": 900}, color_scheme=theme, bypass_csp=True)
    opened.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = Axe().run(opened.page)
    assert found.violations_count == 0, found.generate_report()


def test_without_javascript_everything_is_readable_and_the_filters_are_absent(open_report: Open, red_page: str) -> None:
    opened = open_report(red_page, java_script_enabled=False)
    page_ = opened.page
    assert not page_.locator("#filters").is_visible()
    assert page_.locator("h1").inner_text() == "L4 failed: the controls support only L1, observe"
    trial = page_.locator("#ATK-001-plain-protected")
    assert not trial.locator("ol").is_visible()
    trial.locator("summary").click()
    assert trial.locator("mark").inner_text().startswith("Automation note")
    opened.quiet()


@pytest.mark.parametrize(("field", "value", "expected"), [
    ("v", "red", {"ATK-003-german-protected", "BEN-003-plain-protected", "ATK-002-plain-protected",
                  "ATK-008-german-protected", "BEN-004-plain-protected"}),
    ("v", "blocked", {"BEN-003-plain-protected"}),
    ("tier", "low", {"ATK-002", "ATK-008", "BEN-001", "BEN-002"}),
    ("family", "governance_readiness", {"ATK-005", "ATK-006"}),
    ("incident", "ransomware-precursor", {"ATK-004", "ATK-008", "ATK-009", "BEN-003"}),
    ("cause", "1", {"ATK-003-german-protected"}),
    ("by", "scope", {"ATK-008", "BEN-003-plain-protected"}),
])  # fmt: skip
def test_filters(open_report: Open, red_page: str, field: str, value: str, expected: set[str]) -> None:
    opened = open_report(red_page)
    opened.page.locator(f'#filters [data-filter="{field}"]').select_option(value)
    expect(opened.page.locator("#shown")).not_to_be_empty()
    got = shown_trials(opened)
    assert {i if i in expected else i[:7] for i in got} == expected
    assert opened.page.locator("#shown").inner_text() == f"{len(got)} of 38 trials shown"
    opened.page.locator("#reset").click()
    assert len(shown_trials(opened)) == 38
    opened.quiet()


def await_shown(opened: Opened, wanted: Callable[[Sequence[str]], bool]) -> None:
    """Wait until the shown trials are as wanted: asked from here, for the page forbids a string to become a script."""
    end = time.monotonic() + 10
    while not wanted(shown_trials(opened)):
        assert time.monotonic() < end, shown_trials(opened)
        opened.page.wait_for_timeout(50)


def test_text_filter_reads_transcripts_too_and_needs_no_mouse(open_report: Open, red_page: str) -> None:
    opened = open_report(red_page)
    opened.page.locator('#filters [data-filter="text"]').focus()
    opened.page.keyboard.type("SESS-44")
    expect(opened.page.locator("#shown")).not_to_be_empty()
    # The page filters a moment after the last key; a busy machine types slower than that.
    await_shown(opened, lambda shown: {name[:7] for name in shown} == {"ATK-002"})
    for _ in range(8):
        opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.id") == "reset"
    opened.page.keyboard.press("Enter")
    await_shown(opened, lambda shown: len(shown) == 38)


def test_keyboard_reaches_and_opens_a_trial(open_report: Open, red_page: str) -> None:
    opened = open_report(red_page)
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.className") == "skip"
    opened.page.keyboard.press("Enter")
    for _ in range(60):
        opened.page.keyboard.press("Tab")
        if opened.page.evaluate("document.activeElement.parentElement.id") == "ATK-001-german-protected":
            break
    else:
        pytest.fail("the trial's summary was not reached by Tab")
    opened.page.keyboard.press("Enter")
    assert opened.page.locator("#ATK-001-german-protected").get_attribute("open") is not None
    assert opened.page.locator("#ATK-001-german-protected ol").is_visible()


def test_deep_link_opens_its_trial_at_start_and_later(open_report: Open, red_page: str) -> None:
    opened = open_report(red_page, "#ATK-001-plain-protected")
    trial = opened.page.locator("#ATK-001-plain-protected")
    assert trial.get_attribute("open") is not None
    expect(trial.locator("summary")).to_be_focused()
    assert trial.evaluate("t => Math.abs(t.getBoundingClientRect().top) < 200")
    opened.page.locator("#causes a").first.click()
    assert opened.page.locator("#ATK-003-german-protected").get_attribute("open") is not None
    opened.quiet()


def test_deep_link_opens_a_trial_that_a_filter_hides(open_report: Open, red_page: str) -> None:
    opened = open_report(red_page)
    opened.page.locator('#filters [data-filter="v"]').select_option("served")
    expect(opened.page.locator("#shown")).not_to_be_empty()
    opened.page.evaluate("location.hash = 'ATK-001-plain-protected'")
    expect(opened.page.locator("#ATK-001-plain-protected ol")).to_be_visible()


def test_copy_as_command(open_report: Open, red_page: str) -> None:
    opened = open_report(red_page, "#ATK-001-plain-protected", permissions=["clipboard-read", "clipboard-write"])
    button = opened.page.locator("#ATK-001-plain-protected button")
    assert button.inner_text() == "Copy command"
    button.click()
    expect(button).to_have_text("Copied")
    got = opened.page.evaluate("navigator.clipboard.readText()")
    assert got == (
        "pytest --soclab-mode=protected 'scenarios/attacks/ATK-001-instruction.yaml::ATK-001[plain-protected]'"
    )
    opened.quiet()


def pdf(opened: Opened) -> bytes:
    return opened.page.pdf(prefer_css_page_size=True, print_background=True)


def pdf_pages(data: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", data))


def test_print_is_one_page_to_sign_and_the_annex_on_demand(open_report: Open, red: Results) -> None:
    opened = open_report(page(red))
    assert pdf_pages(pdf(opened)) == 1
    opened.page.locator("#annex").check()
    assert 4 < pdf_pages(pdf(opened)) < 30
    alone = open_report(html.one_page(red))
    assert pdf_pages(pdf(alone)) == 1
    assert alone.page.locator(".signature").is_visible()


def test_print_shows_how_every_trial_ended_and_cuts_nothing(open_report: Open) -> None:
    many = [build.changed(t, stopped_by=f"a_rather_long_rule_{i % 40}") for i, t in enumerate(build.many(200))]
    opened = open_report(page(build.results(many)))
    opened.page.set_viewport_size({"width": 696, "height": 1000})  # A4 less its margins
    opened.page.locator("#annex").check()
    opened.page.emulate_media(media="print")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator("details.t > summary").last.is_visible()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 696
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator("details.s[open]").count() < 10


def test_two_thousand_trials_open_in_two_seconds(open_report: Open) -> None:
    record = build.results(build.many(2000))
    text = html.render(record, build.transcripts(record, ledger=False))
    started = time.monotonic()
    opened = open_report(text)
    opened.page.wait_for_load_state("load")
    opened.page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert time.monotonic() - started < 6  # the aim is 1.5 s on two free cores; a gross guard where cores are shared
    assert opened.page.locator("details.t").count() == 2000
    assert opened.page.locator("details.s[open]").count() <= 13
    opened.page.locator('#filters [data-filter="text"]').fill("base64")
    opened.page.wait_for_timeout(1000)  # polling with expect() takes a snapshot of the whole page and times out
    assert opened.page.evaluate("document.getElementById('shown').textContent") == "500 of 2000 trials shown"
    opened.quiet()


CHECK = """() => {
  const bad = [];
  for (const e of document.querySelectorAll('*')) {
    if ('IMG IFRAME OBJECT EMBED FORM LINK BASE AUDIO VIDEO'.split(' ').includes(e.tagName)) bad.push(e.tagName);
    for (const a of e.attributes) {
      if (a.name.startsWith('on') || a.name === 'style' || /[^a-z0-9:-]/.test(a.name.toLowerCase())) bad.push(a.name);
      if (['href', 'src', 'action', 'xlink:href'].includes(a.name) && !a.value.startsWith('#')) bad.push(a.value);
    }
  }
  if (document.scripts.length !== 1) bad.push('scripts');
  return bad;
}"""


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_hostile_text_runs_nothing_even_without_the_content_policy(open_report: Open, red: Results, name: str) -> None:
    text = hostile.TEXTS[name]
    few = red.model_copy(update={"trials": tuple(build.reddened(red.trials))[:8]})
    record = hostile.record(few, text)
    events = hostile.transcript(build.transcript(red.trials[0]), text)
    shown = html.render(record, dict.fromkeys((t.id for t in record.trials), events))
    opened = open_report(shown, bypass_csp=True, viewport={"width": 320, "height": 800})
    opened.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    opened.page.locator("details.t button").first.click()
    assert opened.page.evaluate(CHECK) == []
    assert flag(opened) is None
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 320
    opened.quiet()


def test_a_megabyte_without_spaces_keeps_the_layout(open_report: Open, red: Results) -> None:
    record = hostile.record(red, "x" * 1_000_000)
    kept = record.model_copy(update={"trials": record.trials[:3], "digests": red.digests})
    opened = open_report(html.render(kept, {}), viewport={"width": 320, "height": 800})
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 320


def test_the_content_policy_stops_what_escaping_would_miss(open_report: Open, red_page: str) -> None:
    broken = red_page.replace(
        "</footer>", "</footer><script>window.pwned=1</script><img src=x onerror='window.pwned=1'>"
        "<div style='position:fixed'>x</div>"
    )  # fmt: skip
    opened = open_report(broken)
    opened.page.wait_for_timeout(50)
    assert flag(opened) is None
    assert any("Content Security Policy" in line for line in opened.console)
