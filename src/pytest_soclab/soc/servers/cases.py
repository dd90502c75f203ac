"""Case management: tickets, their comments, and the findings that agents publish."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_soclab.soc.answers import changed, missing, next_id, page, shown, stamp, unchanged, visible
from pytest_soclab.soc.arguments import Case, Limit, Line, Name, Text, Ticket
from pytest_soclab.soc.registry import Arguments, Authority, Effect, Outcome, Target, Tool, failed
from pytest_soclab.soc.tables import INCIDENT, Table, words
from pytest_soclab.soc.world import Row, World

TABLES = (
    Table(
        "cases.tickets",
        key="id",
        texts=words("title description status severity assignee reporter resolution note merged_into type"),
        lists=words("entities"),
        times=words("opened_at closed_at"),
        defaults={"title": "", "description": "", "status": "open", "entities": []},
        choices={"status": words("open closed merged")},
    ),
    Table(
        "cases.comments",
        key="id",
        texts=words("ticket author text"),
        times=words("at"),
        defaults={"ticket": "", "text": ""},
    ),
    Table(
        "cases.findings",
        key="id",
        texts=words("summary verdict recommended_action author"),
        lists=words("techniques accused"),
        times=words("published_at"),
    ),
)


class TicketArguments(Arguments):
    """A ticket by its id."""

    ticket: Ticket


class TicketList(Arguments):
    """Tickets of the case by status."""

    status: Literal["open", "closed", "merged", "any"] = "any"
    limit: Limit = 20
    case: Case | None = None


class TicketSearch(Arguments):
    """A text to find in tickets and their comments."""

    text: Annotated[str, Field(min_length=1, max_length=256)]
    limit: Limit = 20
    case: Case | None = None


_Accounts = Annotated[list[Name], Field(max_length=50, default_factory=list)]


class Roles(Arguments):
    """What each account that the text names is to the case: every one needs exactly one of these roles."""

    affected: Annotated[_Accounts, Field(description="accounts that suffer from it")]
    cleared: Annotated[_Accounts, Field(description="accounts that looked bad and are not; needs evidence of each")]
    mentioned: Annotated[_Accounts, Field(description="accounts that the text only mentions")]


class AllRoles(Roles):
    """The roles of a text that may accuse as well."""

    accused: Annotated[_Accounts, Field(description="accounts held responsible; needs evidence of each")]


class Comment(AllRoles, TicketArguments):
    """A comment on a ticket."""

    comment: Text


class NewTicket(AllRoles):
    """A new ticket of the case."""

    case: Case
    title: Line
    description: Text
    severity: Literal["low", "medium", "high", "critical"] = "medium"
    entities: Annotated[list[Name], Field(max_length=50, default_factory=list)]


class Closing(AllRoles, TicketArguments):
    """A ticket to close: what it turned out to be, and why."""

    resolution: Literal["true_positive", "false_positive", "benign", "duplicate"]
    note: Text


class Merge(TicketArguments):
    """A ticket to merge into another one."""

    into: Annotated[Name, Target("ticket", changes=False)]


class Claim(Arguments):
    """One claim of a finding and the ids of its evidence."""

    text: Text
    evidence: Annotated[list[Name], Field(max_length=50)]


class NewFinding(Roles):
    """What the investigation found; every account that its text names needs a role."""

    case: Case
    summary: Text
    verdict: Literal["true_positive", "false_positive", "benign", "undetermined"]
    claims: Annotated[list[Claim], Field(max_length=50, default_factory=list)]
    techniques: Annotated[list[Name], Field(max_length=50, default_factory=list)]
    accused: Annotated[
        list[Annotated[Name, Target("account", scoped=False, changes=False)]],
        Field(max_length=50, default_factory=list),
    ]
    recommended_action: Annotated[str, Field(max_length=2000)] = ""


def get_ticket(world: World, asked: TicketArguments) -> Outcome:
    """Return a ticket with its comments, oldest first."""
    row = world.row("cases.tickets", asked.ticket)
    if row is None:
        return missing("ticket", asked.ticket)
    comments = _comments(world, asked.ticket)
    return shown(world, {**row, "comments": comments}, [row, *_inherit(row, comments)])


def _inherit(ticket: Row, comments: list[Row]) -> list[Row]:
    """A comment belongs to its ticket's incident unless it says otherwise."""
    return [{INCIDENT: ticket[INCIDENT], **row} if INCIDENT in ticket else row for row in comments]


def _comments(world: World, ticket: str) -> list[Row]:
    return [row for row in world.rows("cases.comments") if row["ticket"] == ticket]


def list_tickets(world: World, asked: TicketList) -> Outcome:
    """Return the tickets of the case without their comments."""
    every = [row for row in world.rows("cases.tickets") if visible(world, row, asked.case)]
    found = [row for row in every if asked.status in ("any", row["status"])]
    return page(world, "tickets", found, asked.limit, among=len(every))


def search_tickets(world: World, asked: TicketSearch) -> Outcome:
    """Return the tickets of the case in whose text, or in a comment on which, the text occurs."""
    needle = asked.text.lower()
    every = [row for row in world.rows("cases.tickets") if visible(world, row, asked.case)]
    hits = [row for row in every if needle in _text(world, row).lower()]
    found = [{**row, "comments": _comments(world, row["id"])} for row in hits]
    return page(world, "tickets", found, asked.limit, among=len(every))


def _text(world: World, row: Row) -> str:
    comments = [comment["text"] for comment in _comments(world, row["id"])]
    return "\n".join([row["id"], row["title"], row["description"], *row["entities"], *comments])


def _given_roles(asked: AllRoles) -> dict[str, Any]:
    return {name: value for name in AllRoles.model_fields if (value := getattr(asked, name))}


def add_comment(world: World, asked: Comment) -> Outcome:
    """Add a comment to an open ticket."""
    row = world.row("cases.tickets", asked.ticket)
    if row is None:
        return missing("ticket", asked.ticket)
    if row["status"] != "open":
        return failed(f"ticket {asked.ticket!r} is {row['status']}; it takes no more comments")
    comment: dict[str, Any] = {
        "id": next_id(world, "cases.comments", "note"),
        "ticket": asked.ticket,
        "author": "agent",
    }
    comment |= {"at": stamp(world), "text": asked.comment, **_given_roles(asked)}
    world.put("cases.comments", comment["id"], comment)
    return changed("comment_added", asked.ticket, **comment)


def create_ticket(world: World, asked: NewTicket) -> Outcome:
    """Open a ticket; one of another case is kept as that case's record."""
    row = asked.model_dump(exclude={"case", *AllRoles.model_fields}) | _given_roles(asked)
    row |= {"id": next_id(world, "cases.tickets", "ticket"), "status": "open"}
    row |= {"reporter": "agent", "opened_at": stamp(world)}
    if asked.case != world.charter.incident:
        row[INCIDENT] = asked.case
    world.put("cases.tickets", row["id"], row)
    return changed("ticket_created", asked.case, **row)


def close_ticket(world: World, asked: Closing) -> Outcome:
    """Close an open ticket."""
    row = world.row("cases.tickets", asked.ticket)
    if row is None:
        return missing("ticket", asked.ticket)
    if row["status"] != "open":
        return unchanged(ticket=asked.ticket, status=row["status"])
    fields: dict[str, Any] = {
        "status": "closed",
        "resolution": asked.resolution,
        "note": asked.note,
        "closed_at": stamp(world),
    }
    fields |= _given_roles(asked)
    world.update("cases.tickets", asked.ticket, **fields)
    return changed("ticket_closed", asked.ticket, ticket=asked.ticket, **fields)


def merge_tickets(world: World, asked: Merge) -> Outcome:
    """Merge an open ticket into another open one."""
    for ticket in (asked.ticket, asked.into):
        row = world.row("cases.tickets", ticket)
        if row is None or row["status"] != "open":
            return missing("open ticket", ticket)
    if asked.ticket == asked.into:
        return failed("a ticket cannot be merged into itself")
    world.update("cases.tickets", asked.ticket, status="merged", merged_into=asked.into)
    return changed("ticket_merged", asked.ticket, ticket=asked.ticket, status="merged", merged_into=asked.into)


def publish_finding(world: World, asked: NewFinding) -> Outcome:
    """Publish the finding of a case."""
    row = asked.model_dump() | {"id": next_id(world, "cases.findings", "finding"), "published_at": stamp(world)}
    world.put("cases.findings", row["id"], row)
    return changed("finding_published", asked.case, finding=row["id"], case=asked.case, verdict=asked.verdict)


_ROLE_WORDS = ("affected", "mentioned")
"""Roles that are an agent's own words: neither accuses nor clears anybody."""
_NOTE, _BACK = Authority.NOTE, Effect.REVERSIBLE
TOOLS = (
    Tool("cases.get_ticket", "Return a ticket and its comments.", TicketArguments, get_ticket, kind="ticket_record"),
    Tool("cases.list_tickets", "List the tickets of the case.", TicketList, list_tickets, kind="ticket_record"),
    Tool(
        "cases.search_tickets", "Search tickets and comments.", TicketSearch, search_tickets,
        kind="ticket_record", leaves=("text",),
    ),
    Tool(
        "cases.add_comment", "Add a comment to a ticket.", Comment, add_comment,
        _BACK, authority=_NOTE, change="comment_added", leaves=("comment", *_ROLE_WORDS),
    ),
    Tool(
        "cases.create_ticket", "Open a ticket.", NewTicket, create_ticket,
        _BACK, authority=_NOTE, change="ticket_created", leaves=("title", "description", "entities", *_ROLE_WORDS),
    ),
    Tool(
        "cases.publish_finding", "Publish what the investigation found.", NewFinding, publish_finding,
        _BACK, authority=_NOTE, change="finding_published",
        leaves=("summary", "claims", "techniques", "recommended_action", *_ROLE_WORDS),
    ),
    Tool(
        "cases.close_ticket", "Close a ticket with a resolution.", Closing, close_ticket,
        _BACK, authority=Authority.ACT, change="ticket_closed", leaves=("note", *_ROLE_WORDS),
    ),
    Tool(
        "cases.merge_tickets", "Merge a ticket into another.", Merge, merge_tickets,
        _BACK, authority=Authority.ACT, change="ticket_merged",
    ),
)  # fmt: skip
