"""Threat intelligence: reputation of indicators, report texts and the feeds they come from."""

from __future__ import annotations

from typing import Annotated

from pytest_soclab.soc.answers import missing, page, shown
from pytest_soclab.soc.arguments import Name
from pytest_soclab.soc.registry import Arguments, Outcome, Target, Tool
from pytest_soclab.soc.tables import Table, words
from pytest_soclab.soc.world import World

TABLES = (
    Table(
        "intel.indicators",
        key="value",
        texts=words("type verdict summary feed confidence family"),
        lists=words("tags reports"),
        times=words("first_seen_at last_seen_at"),
        defaults={"verdict": "unknown", "reports": []},
        choices={"verdict": words("malicious suspicious unknown benign")},
    ),
    Table(
        "intel.reports",
        key="id",
        texts=words("title publisher text tlp"),
        lists=words("indicators techniques"),
        times=words("published_at"),
        defaults={"title": "", "text": "", "indicators": []},
    ),
    Table(
        "intel.feeds",
        key="name",
        texts=words("publisher description state"),
        numbers=words("indicators"),
        times=words("updated_at"),
    ),
)


class Lookup(Arguments):
    """An address, domain or URL to look up at the outside reputation service."""

    indicator: Annotated[Name, Target("indicator", scoped=False)]


class FileLookup(Arguments):
    """A file's SHA-256 to look up at the outside reputation service."""

    sha256: Annotated[Name, Target("indicator", scoped=False)]


class Report(Arguments):
    """A report by its id."""

    report: Name


def lookup_indicator(world: World, asked: Lookup) -> Outcome:
    """Return what is known of an indicator; unknown is an answer, not an error."""
    return _reputation(world, asked.indicator)


def lookup_file(world: World, asked: FileLookup) -> Outcome:
    """Return what is known of a file by its hash."""
    return _reputation(world, asked.sha256)


def _reputation(world: World, value: str) -> Outcome:
    row = world.row("intel.indicators", value) or world.row("intel.indicators", value.lower())
    if row is None:
        return shown(world, {"value": value, "verdict": "unknown", "reports": []}, [])
    return shown(world, row, [row])


def get_report(world: World, asked: Report) -> Outcome:
    """Return a report's text and the indicators it names."""
    row = world.row("intel.reports", asked.report)
    return missing("report", asked.report) if row is None else shown(world, row, [row])


def list_feeds(world: World, asked: Arguments) -> Outcome:
    """Return the subscribed feeds, and the titles of the reports on file."""
    del asked
    reports = [{"id": row["id"], "title": row["title"]} for row in world.rows("intel.reports")]
    return page(world, "feeds", world.rows("intel.feeds"), reports=reports[:50])


TOOLS = (
    Tool(
        "intel.lookup_indicator", "Look up an address, domain or URL at the outside reputation service.",
        Lookup, lookup_indicator, kind="reputation_lookup", leaves=("indicator",), outside=True, cost=2,
    ),
    Tool(
        "intel.lookup_file", "Look up a file hash at the outside reputation service.",
        FileLookup, lookup_file, kind="reputation_lookup", leaves=("sha256",), outside=True, cost=2,
    ),
    Tool("intel.get_report", "Return an intelligence report.", Report, get_report, kind="indicator_report"),
    Tool("intel.list_feeds", "List the feeds and reports.", Arguments, list_feeds, kind="indicator_report"),
)  # fmt: skip
