"""The network: connections, DNS history and the block list of the gateways."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Annotated

from pytest_soclab.soc.answers import changed, own, page, stamp, unchanged
from pytest_soclab.soc.arguments import AnyHost, Limit, Name, Text
from pytest_soclab.soc.registry import Arguments, Authority, Effect, Outcome, Target, Tool, failed
from pytest_soclab.soc.tables import Table, words
from pytest_soclab.soc.world import World

TABLES = (
    Table(
        "network.connections",
        key="id",
        texts=words("host remote_address remote_name protocol direction process user state"),
        numbers=words("remote_port bytes_in bytes_out"),
        times=words("started_at closed_at"),
        defaults={"host": "", "remote_address": "", "state": "established", "protocol": "tcp"},
        choices={"state": words("established closed blocked")},
    ),
    Table(
        "network.dns",
        key="id",
        texts=words("host name type"),
        lists=words("answers"),
        times=words("first_at last_at"),
        numbers=words("count"),
        defaults={"host": "", "name": "", "type": "A", "answers": []},
    ),
    Table(
        "network.blocks",
        key="value",
        texts=words("kind reason by"),
        times=words("added_at"),
        defaults={"kind": "address"},
        choices={"kind": words("address domain")},
    ),
)


class Connections(Arguments):
    """Connections of a host, or with a remote address or name."""

    host: AnyHost | None = None
    remote: Annotated[Name, Target("address", scoped=False)] | None = None
    limit: Limit = 50


class DnsHistory(Arguments):
    """What a name resolved to, or what a host asked for."""

    name: Annotated[Name, Target("domain", scoped=False)] | None = None
    host: AnyHost | None = None
    limit: Limit = 50


class AddressArguments(Arguments):
    """An address, or a network such as 203.0.113.0/24."""

    address: Annotated[Name, Target("address")]
    reason: Text = "not given"


class DomainArguments(Arguments):
    """A domain name; names below it are meant too."""

    domain: Annotated[Name, Target("domain")]
    reason: Text = "not given"


def list_connections(world: World, asked: Connections) -> Outcome:
    """Return connections, oldest first."""
    every = list(own(world, "network.connections"))
    found = [
        row
        for row in every
        if asked.host in (None, row["host"])
        and asked.remote in (None, row["remote_address"], row.get("remote_name"))
    ]  # fmt: skip
    return page(world, "connections", found, asked.limit, among=0 if asked.host or asked.remote else len(every))


def dns_history(world: World, asked: DnsHistory) -> Outcome:
    """Return DNS answers seen, by name (those below it included) or by the host that asked."""
    if asked.name is None and asked.host is None:
        return failed("give a name or a host")
    every = list(own(world, "network.dns"))
    found = [
        row
        for row in every
        if asked.host in (None, row["host"]) and (asked.name is None or _below(row["name"], asked.name))
    ]
    return page(world, "answers", found, asked.limit)


def _below(name: str, domain: str) -> bool:
    low, parent = name.lower().rstrip("."), domain.lower().rstrip(".")
    return low == parent or low.endswith(f".{parent}")


def block_address(world: World, asked: AddressArguments) -> Outcome:
    """Block an address or a whole network; open connections with it are cut."""
    network = _network(asked.address)
    if network is None:
        return failed(f"{asked.address!r} is no IP address or network")
    if world.row("network.blocks", asked.address) is not None:
        return unchanged(address=asked.address, blocked=True)
    cut = [
        row["id"] for row in world.rows("network.connections") if _cuts(network, row["remote_address"], row["state"])
    ]
    for key in cut:
        world.update("network.connections", key, state="blocked", closed_at=stamp(world))
    _list(world, asked.address, "address", asked.reason)
    return changed("address_blocked", asked.address, address=asked.address, blocked=True, connections_cut=cut)


def unblock_address(world: World, asked: AddressArguments) -> Outcome:
    """Take an address or a network off the block list."""
    row = world.row("network.blocks", asked.address)
    if row is None or row["kind"] != "address":
        return unchanged(address=asked.address, blocked=False)
    world.remove("network.blocks", asked.address)
    return changed("address_unblocked", asked.address, address=asked.address, blocked=False)


def block_domain(world: World, asked: DomainArguments) -> Outcome:
    """Block a domain name and the names below it."""
    if not _is_domain(asked.domain):
        return failed(f"{asked.domain!r} is no domain name")
    if world.row("network.blocks", asked.domain) is not None:
        return unchanged(domain=asked.domain, blocked=True)
    _list(world, asked.domain, "domain", asked.reason)
    return changed("domain_blocked", asked.domain, domain=asked.domain, blocked=True)


def list_blocks(world: World, asked: Arguments) -> Outcome:
    """Return the block list."""
    del asked
    return page(world, "blocks", own(world, "network.blocks"))


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def _cuts(network: IPv4Network | IPv6Network, remote: str, state: str) -> bool:
    try:
        return state == "established" and ip_address(remote) in network
    except ValueError:
        return False


def _is_domain(text: str) -> bool:
    labels = text.rstrip(".").split(".")
    return len(text) <= 253 and all(0 < len(x) <= 63 and x.replace("-", "").replace("_", "").isalnum() for x in labels)


def _list(world: World, value: str, kind: str, reason: str) -> None:
    world.put("network.blocks", value, {"value": value, "kind": kind, "reason": reason, "added_at": stamp(world)})


_ACT = Authority.ACT
TOOLS = (
    Tool("network.list_connections", "List connections.", Connections, list_connections, kind="network_telemetry"),
    Tool("network.dns_history", "Return DNS answers seen.", DnsHistory, dns_history, kind="network_telemetry"),
    Tool("network.list_blocks", "Return the block list.", Arguments, list_blocks, kind="network_telemetry"),
    Tool(
        "network.block_address", "Block an address or network.", AddressArguments, block_address,
        Effect.REVERSIBLE, authority=_ACT, change="address_blocked", leaves=("reason",),
    ),
    Tool(
        "network.unblock_address", "Take an address off the block list.", AddressArguments, unblock_address,
        Effect.REVERSIBLE, authority=_ACT, change="address_unblocked", leaves=("reason",),
    ),
    Tool(
        "network.block_domain", "Block a domain name.", DomainArguments, block_domain,
        Effect.REVERSIBLE, authority=_ACT, change="domain_blocked", leaves=("reason",),
    ),
)  # fmt: skip
