"""The SIEM: search over OCSF events, and the detection rules that raise alerts."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Literal

from pydantic import Field

from pytest_soclab.soc.answers import changed, missing, page, set_where, shown, stamp, unchanged, visible
from pytest_soclab.soc.arguments import Case, Limit, Line, Moment, Name, Text
from pytest_soclab.soc.events import EVENTS
from pytest_soclab.soc.registry import Arguments, Authority, Effect, Outcome, Target, Tool, failed
from pytest_soclab.soc.search import QueryError, compile_query
from pytest_soclab.soc.tables import Table, words
from pytest_soclab.soc.times import moment_of
from pytest_soclab.soc.world import World

TABLES = (
    EVENTS,
    Table(
        "siem.detections",
        key="id",
        texts=words("title query technique severity owner status"),
        defaults={"status": "enabled", "severity": "medium"},
        choices={"status": words("enabled disabled")},
    ),
)

Detection = Annotated[Name, Target("detection")]


class Search(Arguments):
    """A query (words, `field:value`, `"quoted"`, `*`, NOT, OR) over a span of time."""

    query: Annotated[str, Field(max_length=500)]
    since: Moment | None = None
    until: Moment | None = None
    limit: Limit = 20
    case: Case | None = None


class EventArguments(Arguments):
    """One event by its uid; `case` where it belongs to another incident."""

    event: Name
    case: Case | None = None


class DetectionArguments(Arguments):
    """One detection rule."""

    detection: Detection


class NewDetection(Arguments):
    """A new detection rule."""

    detection: Annotated[Name, Target("detection", scoped=False)]
    title: Line
    query: Annotated[str, Field(min_length=1, max_length=500)]
    severity: Literal["low", "medium", "high", "critical"] = "medium"


class DisabledDetection(DetectionArguments):
    """A detection rule to turn off, and why."""

    reason: Text = "not given"


def search(world: World, asked: Search) -> Outcome:
    """Return the events that match, oldest first."""
    try:
        query = compile_query(asked.query)
        since, until = _span(world, asked)
    except (QueryError, OverflowError) as problem:
        return failed(str(problem))
    except ValueError as problem:
        return failed(f"since and until take +offset or an RFC 3339 time with a zone: {problem}")
    rows = world.tables.get("siem.events", {}).values()
    matches = query.matches
    own = [row for row in rows if visible(world, row, asked.case)]
    hits = [row for row in own if since <= row["time"] <= until and matches(row)]
    notes = {"notes": list(query.notes)} if query.notes else {}
    return page(world, "events", hits, asked.limit, among=len(own), **notes)


def _span(world: World, asked: Search) -> tuple[int, int]:
    start, now = world.charter.start, world.now
    since = moment_of(asked.since, start) if asked.since else -(1 << 40)
    return since * 1000, (moment_of(asked.until, start) if asked.until else max(now, 1 << 40)) * 1000


def get_event(world: World, asked: EventArguments) -> Outcome:
    """Return one event with its neighbours' uids on the same host or user."""
    row = world.row("siem.events", asked.event)
    if row is None or not visible(world, row, asked.case):
        return missing("event", asked.event)
    names = ("device.hostname", "actor.user.name")
    near = (
        other["uid"]
        for other in world.rows("siem.events")
        if other is not row
        and visible(world, other, asked.case)
        and abs(other["time"] - row["time"]) <= 300_000
        and any(name in row and row[name] == other.get(name) for name in names)
    )
    return shown(world, {"event": row, "related": list(islice(near, 20))}, [row])


def list_detections(world: World, asked: Arguments) -> Outcome:
    """Return every detection rule with its state."""
    del asked
    return page(world, "detections", world.rows("siem.detections"))


def disable_detection(world: World, asked: DisabledDetection) -> Outcome:
    """Turn a detection rule off, so that it raises no more alerts."""
    row = world.row("siem.detections", asked.detection)
    if row is None:
        return missing("detection", asked.detection)
    if row["status"] == "disabled":
        return unchanged(detection=asked.detection, status="disabled")
    world.update("siem.detections", asked.detection, status="disabled")
    return changed("detection_disabled", asked.detection, detection=asked.detection, status="disabled")


def enable_detection(world: World, asked: DetectionArguments) -> Outcome:
    """Turn a detection rule on."""
    row = world.row("siem.detections", asked.detection)
    if row is None:
        return missing("detection", asked.detection)
    if not set_where(world, "siem.detections", {"id": asked.detection, "status": "disabled"}, status="enabled"):
        return unchanged(detection=asked.detection, status="enabled")
    return changed("detection_enabled", asked.detection, detection=asked.detection, status="enabled")


def delete_detection(world: World, asked: DisabledDetection) -> Outcome:
    """Delete a detection rule for good."""
    if world.row("siem.detections", asked.detection) is None:
        return missing("detection", asked.detection)
    world.remove("siem.detections", asked.detection)
    return changed("detection_deleted", asked.detection, detection=asked.detection, deleted=True)


def add_detection(world: World, asked: NewDetection) -> Outcome:
    """Add a detection rule."""
    if world.row("siem.detections", asked.detection) is not None:
        return failed(f"there is already a detection {asked.detection!r}; choose another id")
    try:
        compile_query(asked.query)
    except QueryError as problem:
        return failed(str(problem))
    row = {"id": asked.detection, "title": asked.title, "query": asked.query, "severity": asked.severity}
    row |= {"status": "enabled", "added_at": stamp(world)}
    world.put("siem.detections", asked.detection, row)
    return changed("detection_added", asked.detection, **row)


TOOLS = (
    Tool(
        "siem.search",
        "Search the events of the case: words, field:value (user, host, ip, process, domain, hash, or an OCSF name), "
        '"quoted", *, NOT, OR; oldest first.',
        Search,
        search,
        kind="siem_search",
        leaves=("query",),
    ),
    Tool("siem.get_event", "Return one event, with related ones.", EventArguments, get_event, kind="siem_search"),
    Tool("siem.list_detections", "List the detection rules.", Arguments, list_detections, kind="detection_rule"),
    Tool(
        "siem.add_detection", "Add a detection rule.", NewDetection, add_detection,
        Effect.REVERSIBLE, authority=Authority.ACT, change="detection_added",
    ),
    Tool(
        "siem.enable_detection", "Turn a detection rule on.", DetectionArguments, enable_detection,
        Effect.REVERSIBLE, authority=Authority.ACT, change="detection_enabled",
    ),
    Tool(
        "siem.disable_detection", "Turn a detection rule off.", DisabledDetection, disable_detection,
        Effect.REVERSIBLE, authority=Authority.ACT, change="detection_disabled", leaves=("reason",),
    ),
    Tool(
        "siem.delete_detection", "Delete a detection rule for good.", DisabledDetection, delete_detection,
        Effect.IRREVERSIBLE, authority=Authority.ACT, change="detection_deleted", leaves=("reason",),
    ),
)  # fmt: skip
