"""What each tool's result holds: the one source of tool descriptions and of the reference page.

The fields of records come from the declared tables; a record may leave out every field but its key.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_soclab.soc.tables import Table

EVENT = (
    "uid, time (ms), time_dt, class_name, activity_name, severity, status, message, metadata.product.name and, where "
    "they apply, actor.user.name, user.name, device.hostname, src_endpoint.ip, dst_endpoint.ip, process.name, "
    "process.cmd_line, process.pid, file.name, file.hashes.sha256, query.hostname, answers.rdata, "
    "http_request.url.url_string, email.from, email.to, email.message_uid, session.uid, resources.name, api.operation"
)
"""The flat OCSF names of an event."""
LISTS: Mapping[str, tuple[str, str]] = {
    "siem.list_detections": ("detections", "siem.detections"),
    "identity.list_sessions": ("sessions", "identity.sessions"),
    "endpoint.list_processes": ("processes", "endpoint.processes"),
    "endpoint.list_files": ("files", "endpoint.files"),
    "mail.list_rules": ("rules", "mail.rules"),
    "network.list_connections": ("connections", "network.connections"),
    "network.dns_history": ("answers", "network.dns"),
    "network.list_blocks": ("blocks", "network.blocks"),
    "cloud.list_keys": ("keys", "cloud.keys"),
    "cloud.get_key_activity": ("activity", "cloud.activity"),
    "cloud.list_instances": ("instances", "cloud.instances"),
    "cloud.list_buckets": ("buckets", "cloud.buckets"),
    "cases.list_tickets": ("tickets", "cases.tickets"),
    "malware.strings": ("strings", "malware.strings"),
    "malware.imports": ("imports", "malware.imports"),
    "memory.recall": ("notes", "memory.notes"),
}
"""Tools that answer with a page of records: the page's name, and the table of its records."""
RECORDS: Mapping[str, tuple[str, str]] = {
    "identity.get_account": ("identity.accounts", ""),
    "endpoint.get_host": ("endpoint.hosts", "running_processes"),
    "mail.get_message": ("mail.messages", ""),
    "cloud.describe_instance": ("cloud.instances", "tags: [{name, value}]"),
    "cloud.get_principal": ("cloud.principals", ""),
    "cases.get_ticket": ("cases.tickets", "incident, comments: [{id, ticket, author, at, text}]"),
    "intel.lookup_indicator": ("intel.indicators", ""),
    "intel.lookup_file": ("intel.indicators", ""),
    "intel.get_report": ("intel.reports", ""),
    "malware.static_facts": ("malware.samples", ""),
    "cases.create_ticket": ("cases.tickets", ""),
}
"""Tools that answer with one record: its table, and what stands beside its fields."""
OWN: Mapping[str, str] = {
    "siem.search": f"{{total, shown, events: [{{{EVENT}}}], notes: […]}}",
    "siem.get_event": "{event: {as siem.search has it}, related: [uid]}",
    "identity.list_group_members": "{name, description, owner, roles: […], members: [{user, enabled}]}",
    "mail.search_messages": "{total, shown, messages: [{id, mailbox, from, to, subject, sent_at, folder, state, "
    "attachments, direction}]}, without bodies and headers",
    "cloud.get_tags": "{resource, tags: [{name, value}]}",
    "cases.search_tickets": "{total, shown, tickets: [{as cases.list_tickets has it, and comments}]}",
    "intel.list_feeds": "{total, shown, feeds: [{name, description, indicators, publisher, state, updated_at}], "
    "reports: [{id, title}]}",
    "malware.list_samples": "{total, shown, samples: [{sha256, name}]}",
    "catalog.describe": "{tool, description, changed}",
    "siem.add_detection": "{id, title, query, severity, status, added_at}",
    "siem.enable_detection": "{detection, status}",
    "siem.disable_detection": "{detection, status}",
    "siem.delete_detection": "{detection, deleted}",
    "identity.disable_account": "{user, enabled, sessions_ended: [id]}",
    "identity.enable_account": "{user, enabled}",
    "identity.revoke_sessions": "{user, sessions_revoked: [id]}",
    "identity.reset_password": "{user, must_change_password}",
    "identity.remove_mfa": "{user, mfa_methods: […], removed: […]}",
    "endpoint.isolate_host": "{host, isolated, connections_closed: [id]}",
    "endpoint.release_host": "{host, isolated}",
    "endpoint.kill_process": "{process, host, state}",
    "endpoint.quarantine_file": "{file, host, state}",
    "endpoint.delete_file": "{file, host, state}",
    "endpoint.stop_sensor": "{host, sensor}",
    "mail.send_message": "{message, recipients: […]}",
    "mail.quarantine_message": "{message, state}",
    "mail.delete_message": "{message, state}",
    "mail.remove_rule": "{rule, mailbox, removed}",
    "network.block_address": "{address, blocked, connections_cut: [id]}",
    "network.unblock_address": "{address, blocked}",
    "network.block_domain": "{domain, blocked}",
    "cloud.deactivate_key": "{key, status}",
    "cloud.activate_key": "{key, status}",
    "cloud.delete_key": "{key, deleted}",
    "cloud.stop_instance": "{instance, state}",
    "cloud.terminate_instance": "{instance, state}",
    "cloud.block_public_access": "{bucket, public}",
    "cloud.attach_policy": "{principal, policies: […]}",
    "cloud.detach_policy": "{principal, policies: […]}",
    "cases.add_comment": "{id, ticket, author, at, text}",
    "cases.publish_finding": "{finding, case, verdict}",
    "cases.close_ticket": "{ticket, status, resolution, note, closed_at}",
    "cases.merge_tickets": "{ticket, status, merged_into}",
    "malware.submit_sample": "{sha256, service, submitted_at, verdict}",
}
"""Tools whose result is their own."""


def returns(tool: str, tables: Mapping[str, Table]) -> str:
    """Return what a tool's result holds, in the manner of JSON; empty where the tool is none of the SOC's."""
    if tool in LISTS:
        name, table = LISTS[tool]
        return f"{{total, shown, {name}: [{{{_fields(tables[table])}}}]}}"
    if tool in RECORDS:
        table, more = RECORDS[tool]
        return f"{{{_fields(tables[table])}{', ' if more else ''}{more}}}"
    return OWN.get(tool, "")


def _fields(table: Table) -> str:
    names = table.texts | table.numbers | table.flags | table.lists | table.maps | table.times
    return ", ".join([table.key, *sorted(names - {table.key})])
