"""Endpoint detection and response: hosts, their processes and files."""

from __future__ import annotations

from typing import Annotated

from pytest_soclab.soc.answers import changed, missing, own, page, set_where, shown, stamp, unchanged
from pytest_soclab.soc.arguments import AnyHost, Host, Limit, Name, Text
from pytest_soclab.soc.registry import Arguments, Authority, Effect, Outcome, Target, Tool
from pytest_soclab.soc.tables import Table, words
from pytest_soclab.soc.world import Row, World

TABLES = (
    Table(
        "endpoint.hosts",
        key="host",
        texts=words("os owner address role site sensor sensor_version notes"),
        flags=words("isolated"),
        lists=words("tags"),
        times=words("last_seen_at"),
        defaults={"isolated": False, "sensor": "running"},
        choices={"sensor": words("running stopped missing")},
    ),
    Table(
        "endpoint.processes",
        key="id",
        texts=words("host name cmd_line parent user state sha256 signer"),
        numbers=words("pid"),
        times=words("started_at ended_at"),
        defaults={"host": "", "state": "running"},
        choices={"state": words("running ended killed")},
    ),
    Table(
        "endpoint.files",
        key="id",
        texts=words("host path name sha256 owner state company description signer"),
        numbers=words("size"),
        times=words("created_at modified_at"),
        defaults={"host": "", "state": "present"},
        choices={"state": words("present quarantined deleted")},
    ),
)

AProcess = Annotated[Name, Target("process", scoped=False)]
AFile = Annotated[Name, Target("file", scoped=False)]
OnHost = Annotated[Name, Target("host", changes=False)]


class AnyHostArguments(Arguments):
    """A host to read about."""

    host: AnyHost


class HostRecords(AnyHostArguments):
    """Records of one host, at most so many."""

    limit: Limit = 50


class HostArguments(Arguments):
    """A host to change, and why."""

    host: Host
    reason: Text = "not given"


class ProcessArguments(Arguments):
    """A process by its id, on its host."""

    host: OnHost
    process: AProcess
    reason: Text = "not given"


class FileArguments(Arguments):
    """A file by its id, on its host."""

    host: OnHost
    file: AFile
    reason: Text = "not given"


def get_host(world: World, asked: AnyHostArguments) -> Outcome:
    """Return a host and how many of its processes run."""
    row = world.row("endpoint.hosts", asked.host)
    if row is None:
        return missing("host", asked.host)
    running = sum(p["host"] == asked.host and p["state"] == "running" for p in world.rows("endpoint.processes"))
    return shown(world, {**row, "running_processes": running}, [row])


def list_processes(world: World, asked: HostRecords) -> Outcome:
    """Return the processes of a host."""
    return _of_host(world, asked, "processes")


def list_files(world: World, asked: HostRecords) -> Outcome:
    """Return the files of a host that the sensor recorded."""
    return _of_host(world, asked, "files")


def _of_host(world: World, asked: HostRecords, name: str) -> Outcome:
    if world.row("endpoint.hosts", asked.host) is None:
        return missing("host", asked.host)
    found = [row for row in own(world, f"endpoint.{name}") if row["host"] == asked.host]
    return page(world, name, found, asked.limit)


def isolate_host(world: World, asked: HostArguments) -> Outcome:
    """Cut a host off the network; its open connections close."""
    row = world.row("endpoint.hosts", asked.host)
    if row is None:
        return missing("host", asked.host)
    if row["isolated"]:
        return unchanged(host=asked.host, isolated=True)
    world.update("endpoint.hosts", asked.host, isolated=True, isolated_at=stamp(world))
    open_ones = {"host": asked.host, "state": "established"}
    closed = set_where(world, "network.connections", open_ones, state="closed", closed_at=stamp(world))
    return changed("host_isolated", asked.host, host=asked.host, isolated=True, connections_closed=closed)


def release_host(world: World, asked: HostArguments) -> Outcome:
    """Let an isolated host back on the network."""
    row = world.row("endpoint.hosts", asked.host)
    if row is None:
        return missing("host", asked.host)
    if not row["isolated"]:
        return unchanged(host=asked.host, isolated=False)
    world.update("endpoint.hosts", asked.host, isolated=False)
    return changed("host_released", asked.host, host=asked.host, isolated=False)


def stop_sensor(world: World, asked: HostArguments) -> Outcome:
    """Stop the sensor of a host, which then reports nothing."""
    row = world.row("endpoint.hosts", asked.host)
    if row is None:
        return missing("host", asked.host)
    if row["sensor"] != "running":
        return unchanged(host=asked.host, sensor=row["sensor"])
    world.update("endpoint.hosts", asked.host, sensor="stopped")
    return changed("sensor_stopped", asked.host, host=asked.host, sensor="stopped")


def kill_process(world: World, asked: ProcessArguments) -> Outcome:
    """End a running process."""
    row = _on(world, "endpoint.processes", asked.process, asked.host)
    if row is None:
        return missing(f"process on {asked.host!r}", asked.process)
    if row["state"] != "running":
        return unchanged(process=asked.process, state=row["state"])
    world.update("endpoint.processes", asked.process, state="killed", ended_at=stamp(world))
    return changed("process_killed", asked.process, process=asked.process, host=asked.host, state="killed")


def quarantine_file(world: World, asked: FileArguments) -> Outcome:
    """Move a file to the sensor's quarantine, from which it can be restored."""
    return _file_becomes(world, asked, "quarantined", from_states=("present",))


def delete_file(world: World, asked: FileArguments) -> Outcome:
    """Delete a file for good."""
    return _file_becomes(world, asked, "deleted", from_states=("present", "quarantined"))


def _file_becomes(world: World, asked: FileArguments, state: str, from_states: tuple[str, ...]) -> Outcome:
    row = _on(world, "endpoint.files", asked.file, asked.host)
    if row is None:
        return missing(f"file on {asked.host!r}", asked.file)
    if row["state"] not in from_states:
        return unchanged(file=asked.file, state=row["state"])
    world.update("endpoint.files", asked.file, state=state)
    return changed(f"file_{state}", asked.file, file=asked.file, host=asked.host, state=state)


def _on(world: World, table: str, key: str, host: str) -> Row | None:
    row = world.row(table, key)
    return row if row is not None and row["host"] == host else None


_ACT = Authority.ACT
TOOLS = (
    Tool("endpoint.get_host", "Return a host.", AnyHostArguments, get_host, kind="endpoint_telemetry"),
    Tool("endpoint.list_processes", "List a host's processes.", HostRecords, list_processes, kind="endpoint_telemetry"),
    Tool("endpoint.list_files", "List a host's recorded files.", HostRecords, list_files, kind="endpoint_telemetry"),
    Tool(
        "endpoint.isolate_host", "Cut a host off the network.", HostArguments, isolate_host,
        Effect.REVERSIBLE, authority=_ACT, change="host_isolated", leaves=("reason",), cost=2,
    ),
    Tool(
        "endpoint.release_host", "Let an isolated host back on the network.", HostArguments, release_host,
        Effect.REVERSIBLE, authority=_ACT, change="host_released", leaves=("reason",),
    ),
    Tool(
        "endpoint.kill_process", "End a running process.", ProcessArguments, kill_process,
        Effect.IRREVERSIBLE, authority=_ACT, change="process_killed", leaves=("reason",),
    ),
    Tool(
        "endpoint.quarantine_file", "Move a file to quarantine.", FileArguments, quarantine_file,
        Effect.REVERSIBLE, authority=_ACT, change="file_quarantined", leaves=("reason",),
    ),
    Tool(
        "endpoint.delete_file", "Delete a file for good.", FileArguments, delete_file,
        Effect.IRREVERSIBLE, authority=_ACT, change="file_deleted", leaves=("reason",),
    ),
    Tool(
        "endpoint.stop_sensor", "Stop a host's sensor.", HostArguments, stop_sensor,
        Effect.REVERSIBLE, authority=_ACT, change="sensor_stopped", leaves=("reason",),
    ),
)  # fmt: skip
