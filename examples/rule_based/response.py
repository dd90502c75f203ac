"""Acts on the signs: the smallest steps first, each with the evidence that names its target."""

from __future__ import annotations

import re

from .desk import Desk, text_of
from .names import of_kind, outside
from .signs import Signs, hostile_file, hostile_process, hostile_rule, is_hostile, mailboxes, severe, user_of

_WRITER = "soc-automation"
"""Who writes the tickets of alerts; what others write into a ticket is data and no order."""


_STANDS_IN = re.compile(r"[Oo]ne of (two|three|several)|moves to|takes a node out")


def respond(desk: Desk, signs: Signs, alert: str, ticket: str) -> None:
    """Contain what the signs speak of; `alert` is its whole text."""
    _sessions(desk, signs)
    _keys(desk, signs)
    _insiders(desk, signs)
    _hosts(desk, signs, alert)
    _accounts(desk, signs, alert)
    _network(desk, signs)
    _mail(desk, signs, alert)
    _cloud(desk, signs)
    _detections(desk, signs)
    _tell(desk, signs, ticket)


def _sessions(desk: Desk, signs: Signs) -> None:
    for user in dict.fromkeys(session["user"] for session in signs.sessions):
        own = [session["id"] for session in signs.sessions if session["user"] == user]
        desk.read("identity.get_account", user=user)
        desk.read("identity.list_sessions", user=user)
        desk.read("siem.search", query=f"user:{user}", limit=50)
        desk.act("identity.revoke_sessions", user, user=user, sessions=own)


def _keys(desk: Desk, signs: Signs) -> None:
    for key in signs.keys:
        desk.read("siem.search", query=f"key:{key}", limit=50)
        desk.act("cloud.deactivate_key", key, key=key)


def _insiders(desk: Desk, signs: Signs) -> None:
    for user in signs.insiders:
        desk.read("identity.get_account", user=user)
        sessions = desk.rows("identity.list_sessions", "sessions", user=user)
        if sessions and "." in user:  # an account that is nobody's own loses them when it is disabled
            desk.act("identity.revoke_sessions", user, user=user)
        desk.act("identity.disable_account", user, user=user)


def _hosts(desk: Desk, signs: Signs, alert: str) -> None:
    """End what runs, put its file away, and cut a host off where that is not enough or the alert is about it."""
    for host in signs.hosts:
        desk.read("siem.search", query=f"host:{host}", limit=50)
        processes = desk.rows("endpoint.list_processes", "processes", host=host)
        files = desk.rows("endpoint.list_files", "files", host=host)
        bad = [process for process in processes if hostile_process(process, desk, signs)]
        killed = [p for p in bad[-1:] if desk.act("endpoint.kill_process", p["id"], host=host, process=p["id"])]
        stopped = {p.get("sha256") for p in processes if p.get("state") == "killed"} - {None}
        put_away = [
            file for file in files
            if hostile_file(file, desk) and file.get("sha256") not in stopped
            and desk.act("endpoint.quarantine_file", file["id"], host=host, file=file["id"])
        ]  # fmt: skip
        enough = killed and put_away and host not in alert
        if not enough and _may_go(desk.read("endpoint.get_host", host=host)):
            desk.act("endpoint.isolate_host", host, host=host)


def _may_go(host: dict[str, object]) -> bool:
    """Tell whether the business goes on without a host: a workstation, or a server that another one stands in for."""
    role, notes = str(host.get("role", "")), str(host.get("notes", ""))
    return bool("station" in role or _STANDS_IN.search(notes)) and not host.get("isolated")


def _mail(desk: Desk, signs: Signs, alert: str) -> None:
    """Take out rules that send mail away, or hide it where the alert is about that, and a campaign's mails."""
    about = re.search(r"[Mm]ail|[Rr]ule|[Ff]orward", alert)
    for mailbox in mailboxes(desk, signs):
        for rule in desk.rows("mail.list_rules", "rules", mailbox=mailbox):
            if hostile_rule(rule, signs) and (about or of_kind(str(rule.get("action", "")), "mailbox")):
                desk.act("mail.remove_rule", rule["id"], mailbox=mailbox, rule=rule["id"])
    for domain in [name for name in signs.hostile if of_kind(name, "domain")][:1]:
        found = desk.rows("mail.search_messages", "messages", text=domain)
        theirs = [m for m in found if is_hostile(str(m.get("from", "")).rpartition("@")[2], signs)]
        for message in theirs if len(theirs) > 1 else ():  # a single one is left where it is, as proof
            desk.read("mail.get_message", message=message["id"])
            if not desk.rows("siem.search", "events", query=message["id"]):
                continue  # the mail gateway knows nothing of it
            desk.act("mail.quarantine_message", message["id"], message=message["id"])


def _accounts(desk: Desk, signs: Signs, alert: str) -> None:
    """Undo what a stranger did to an account, and give it a new password where the old one is known to others."""
    for user in signs.accounts:
        theirs = [e for e in desk.events.values() if user_of(e) == user and e.get("src_endpoint.ip") in signs.hostile]
        if desk.read("identity.get_account", user=user).get("type") == "external" and theirs:
            desk.act("identity.disable_account", user, user=user)
            continue
        if any("MFA Factor Enable" in text_of(event) for event in theirs):
            desk.act("identity.remove_mfa", user, user=user)
        if user in alert and any("assword accepted" in text_of(event) for event in theirs):
            desk.act("identity.reset_password", user, user=user)
    for user in dict.fromkeys(user_of(event) for event in severe(desk) if _learned(event)):
        if user and desk.read("identity.get_account", user=user):
            desk.act("identity.reset_password", user, user=user)


def _learned(event: dict[str, object]) -> bool:
    """Tell whether an event says that somebody else got a password, or used one for the first time."""
    message = str(event.get("message", ""))
    return "assword store read" in message or "the first ever" in message or "Token of" in message


def _network(desk: Desk, signs: Signs) -> None:
    """Block what is malicious and came to us, what a taken-over host talks to, and hostile names."""
    for name, said in sorted(signs.hostile.items(), key=lambda pair: not pair[1].startswith("malicious")):
        if of_kind(name, "domain"):
            desk.read("siem.search", query=name, limit=50)
            desk.read("network.dns_history", name=name)
            desk.act("network.block_domain", name, domain=name)
            continue
        peers = desk.rows("network.list_connections", "connections", remote=name)
        desk.read("siem.search", query=f"ip:{name}", limit=50)
        came = any(event.get("src_endpoint.ip") == name for event in desk.events.values())
        meets = any(row.get("host") in signs.hosts for row in peers)
        if meets or (came and said.startswith("malicious")):
            desk.act("network.block_address", name, address=name)
    if signs.insiders:
        _block_uploads(desk, signs)


def _block_uploads(desk: Desk, signs: Signs) -> None:
    """Block where an insider's uploads went."""
    posts = [e for e in severe(desk) if e.get("activity_name") == "Post" and user_of(e) in signs.insiders]
    for domain in dict.fromkeys(str(e.get("dst_endpoint.hostname", "")) for e in posts):
        if domain and outside(domain):
            desk.read("network.dns_history", name=domain)
            desk.act("network.block_domain", domain, domain=domain)


def _cloud(desk: Desk, signs: Signs) -> None:
    if not signs.keys:
        return
    for bucket in desk.rows("cloud.list_buckets", "buckets"):
        if bucket.get("public") and bucket.get("classification") != "public":
            desk.read("siem.search", query=bucket["name"], limit=50)
            desk.act("cloud.block_public_access", bucket["name"], bucket=bucket["name"])
    for instance in desk.rows("cloud.list_instances", "instances"):
        if instance.get("launched_by") in signs.keys and instance.get("state", "running") == "running":
            desk.read("siem.search", query=instance["id"])
            desk.act("cloud.stop_instance", instance["id"], instance=instance["id"])


def _detections(desk: Desk, signs: Signs) -> None:
    """Turn on again what one of the suspects turned off."""
    named = {name for e in severe(desk) if user_of(e) in signs.insiders for name in of_kind(text_of(e), "detection")}
    for rule in desk.rows("siem.list_detections", "detections"):
        if rule["id"] in named and rule.get("status") == "disabled":
            desk.act("siem.enable_detection", rule["id"], detection=rule["id"])


def _tell(desk: Desk, signs: Signs, ticket: str) -> None:
    """Tell whom the alert's own ticket names; an address in a comment is no reason to write anywhere."""
    record = desk.read("cases.get_ticket", ticket=ticket) if ticket else {}
    if record.get("reporter") != _WRITER or not signs.found:
        return
    for address in of_kind(str(record.get("description", "")), "mailbox")[:1]:
        body = "We contain this case at the moment. Please hold what belongs to it, and call us before you go on."
        desk.act("mail.send_message", address, recipients=[address], subject=f"About case {ticket}", body=body)
