"""Takes the README's picture of the report: `python scripts/readme_screenshot.py REPORT.html docs/report.png`.

The report is a file that a session wrote (`pytest --soclab-mode=protected`). Only its head is shown, so that the
picture stays readable; the date is the record's own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def main(argv: list[str]) -> int:
    """Take the picture and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path, help="a report.html")
    parser.add_argument("picture", type=Path, help="where the PNG goes")
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--height", type=int, default=1000)
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    options = parser.parse_args(argv)
    chromium = os.environ.get("SOCLAB_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        sys.stderr.write("no chromium found: install it, or name one in SOCLAB_CHROMIUM\n")
        return 2
    if not options.report.is_file():
        sys.stderr.write(f"{options.report}: no such report; run pytest --soclab-mode=protected first\n")
        return 2
    take(options, chromium)
    return 0


def take(options: argparse.Namespace, chromium: str) -> None:
    """Open the report without a network and photograph its head."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        context = browser.new_context(
            viewport={"width": options.width, "height": options.height}, color_scheme=options.theme, offline=True
        )
        page = context.new_page()
        page.goto(options.report.resolve().as_uri())
        options.picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=options.picture)
        browser.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
