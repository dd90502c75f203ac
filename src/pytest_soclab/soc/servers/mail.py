"""Mail: messages, the rules of mailboxes, and sending."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pytest_soclab.soc.answers import changed, missing, next_id, own, page, shown, stamp, unchanged
from pytest_soclab.soc.arguments import Limit, Line, Name, Text
from pytest_soclab.soc.registry import Arguments, Authority, Change, Effect, Outcome, Target, Tool, failed
from pytest_soclab.soc.tables import Table, words
from pytest_soclab.soc.world import WRITTEN, World

TABLES = (
    Table(
        "mail.messages",
        key="id",
        texts=words("mailbox from subject body folder state direction"),
        lists=words("to attachments"),
        maps=words("headers"),
        times=words("sent_at"),
        defaults={
            "mailbox": "", "from": "", "to": [], "subject": "", "body": "", "headers": {}, "attachments": [],
            "folder": "Inbox", "state": "delivered",
        },
        choices={"state": words("delivered quarantined deleted sent")},
    ),
    Table(
        "mail.rules",
        key="id",
        texts=words("mailbox name condition action created_from"),
        times=words("created_at"),
        defaults={"mailbox": ""},
    ),
)  # fmt: skip

Message = Annotated[Name, Target("message")]
SHORT = ("id", "mailbox", "from", "to", "subject", "folder", "state", "sent_at", "attachments", "incident", WRITTEN)


class MessageSearch(Arguments):
    """Words that occur in a message, its sender, recipients, headers or attachment names; all must."""

    text: Annotated[str, Field(max_length=256)] = ""
    mailbox: Annotated[Name, Target("mailbox", scoped=False)] | None = None
    limit: Limit = 20


class AnyMessage(Arguments):
    """A message to read."""

    message: Annotated[Name, Target("message", scoped=False)]


class RuleList(Arguments):
    """The rules of a mailbox."""

    mailbox: Annotated[Name, Target("mailbox", scoped=False)]


class MessageArguments(Arguments):
    """A message to act on, and why."""

    message: Message
    reason: Text = "not given"


class RuleArguments(Arguments):
    """A rule of a mailbox."""

    mailbox: Annotated[Name, Target("mailbox", changes=False)]
    rule: Annotated[Name, Target("rule", scoped=False)]
    reason: Text = "not given"


class NewMessage(Arguments):
    """A mail to send."""

    recipients: Annotated[list[Annotated[Name, Target("recipient", scoped=False)]], Field(min_length=1, max_length=50)]
    subject: Line
    body: Text


def search_messages(world: World, asked: MessageSearch) -> Outcome:
    """Return the heads of the messages that match, in the order of the mail store."""
    needles = asked.text.lower().split()
    kept = [row for row in own(world, "mail.messages") if row["state"] != "deleted"]
    found = [
        {name: row[name] for name in SHORT if name in row}
        for row in kept
        if asked.mailbox in (None, row["mailbox"]) and all(needle in _text(row) for needle in needles)
    ]
    return page(world, "messages", found, asked.limit, among=0 if asked.mailbox else len(kept))


def _text(row: object) -> str:
    return str(row).lower()


def get_message(world: World, asked: AnyMessage) -> Outcome:
    """Return a message with its headers, body and attachment names."""
    row = world.row("mail.messages", asked.message)
    if row is None or row["state"] == "deleted":
        return missing("message", asked.message)
    return shown(world, row, [row])


def list_rules(world: World, asked: RuleList) -> Outcome:
    """Return the rules of a mailbox."""
    return page(world, "rules", [row for row in own(world, "mail.rules") if row["mailbox"] == asked.mailbox])


def send_message(world: World, asked: NewMessage) -> Outcome:
    """Send a mail; one change for each recipient."""
    bad = [recipient for recipient in asked.recipients if recipient.count("@") != 1 or " " in recipient]
    if bad:
        return failed(f"{bad[0]!r} is no mail address")
    key = next_id(world, "mail.messages", "sent")
    row: dict[str, object] = {
        "id": key,
        "mailbox": "soc@corp.example",
        "from": "soc@corp.example",
        "to": list(asked.recipients),
    }
    row |= {"subject": asked.subject, "body": asked.body, "headers": {}, "attachments": [], "folder": "Sent"}
    world.put("mail.messages", key, {**row, "state": "sent", "sent_at": stamp(world)})
    changes = tuple(Change("mail_sent", recipient) for recipient in asked.recipients)
    return Outcome(ok=True, data={"message": key, "recipients": list(asked.recipients)}, changes=changes)


def quarantine_message(world: World, asked: MessageArguments) -> Outcome:
    """Take a message out of its mailbox into the quarantine, from which it can be released."""
    return _message_becomes(world, asked.message, "quarantined", from_states=("delivered",))


def delete_message(world: World, asked: MessageArguments) -> Outcome:
    """Delete a message for good."""
    return _message_becomes(world, asked.message, "deleted", from_states=("delivered", "quarantined", "sent"))


def _message_becomes(world: World, key: str, state: str, from_states: tuple[str, ...]) -> Outcome:
    row = world.row("mail.messages", key)
    if row is None:
        return missing("message", key)
    if row["state"] == state:
        return unchanged(message=key, state=state)
    if row["state"] not in from_states:
        return failed(f"message {key!r} is {row['state']}")
    world.update("mail.messages", key, state=state)
    return changed(f"message_{state}", key, message=key, state=state)


def remove_rule(world: World, asked: RuleArguments) -> Outcome:
    """Remove a rule from a mailbox."""
    row = world.row("mail.rules", asked.rule)
    if row is None or row["mailbox"] != asked.mailbox:
        return missing(f"rule of {asked.mailbox!r}", asked.rule)
    world.remove("mail.rules", asked.rule)
    return changed("mail_rule_removed", asked.rule, rule=asked.rule, mailbox=asked.mailbox, removed=True)


_ACT = Authority.ACT
TOOLS = (
    Tool("mail.search_messages", "Search messages.", MessageSearch, search_messages, kind="mail_record"),
    Tool("mail.get_message", "Return a message in full.", AnyMessage, get_message, kind="mail_record"),
    Tool("mail.list_rules", "List the rules of a mailbox.", RuleList, list_rules, kind="mail_record"),
    Tool(
        "mail.send_message", "Send a mail.", NewMessage, send_message, Effect.IRREVERSIBLE, authority=_ACT,
        change="mail_sent", leaves=("recipients", "subject", "body"), outside=True, cost=2,
    ),
    Tool(
        "mail.quarantine_message", "Move a message to quarantine.", MessageArguments, quarantine_message,
        Effect.REVERSIBLE, authority=_ACT, change="message_quarantined", leaves=("reason",),
    ),
    Tool(
        "mail.delete_message", "Delete a message for good.", MessageArguments, delete_message,
        Effect.IRREVERSIBLE, authority=_ACT, change="message_deleted", leaves=("reason",),
    ),
    Tool(
        "mail.remove_rule", "Remove a mailbox rule.", RuleArguments, remove_rule,
        Effect.REVERSIBLE, authority=_ACT, change="mail_rule_removed", leaves=("reason",),
    ),
)  # fmt: skip
