"""Says when two names mean one thing in a world, and what stands above a thing: the one place that resolves aliases.

An account is also its mail address, a host its full name and its address, an address every spelling of it. Above a
thing stand what it is part of: the network of an address, the domain of a name, the groups and the mail domain of an
account. Whatever changes what stands above changes the thing. A key, a session, a host or a rule belongs to an account.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_soclab.base.networks import Network, covered, covers, network_of
from pytest_soclab.soc.world import World

_OWNERS: Mapping[str, tuple[str, ...]] = {
    "identity.sessions": ("user",),
    "endpoint.hosts": ("owner",),
    "cloud.keys": ("principal",),
    "cloud.instances": ("owner", "launched_by"),
    "cloud.buckets": ("owner",),
    "mail.rules": ("mailbox",),
}
"""The fields that name whose a row's thing is."""


def folded(name: str) -> str:
    """Return a name in one case and one composition, without blanks or dots around it; look-alikes stay apart."""
    return unicodedata.normalize("NFKC", name).casefold().strip().rstrip(".")


@dataclass(frozen=True)
class Aliases:
    """The names, groups and owners of one world before anything is changed in it."""

    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Folded name to every folded name of the same thing."""
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Folded name of a group to its folded members."""
    owners: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Folded name of a thing to the folded names of whose it is."""
    people: Mapping[str, str] = field(default_factory=dict)
    """Folded name of an account to the name that its owner goes by; two accounts may have the same."""

    def of(self, name: str) -> frozenset[str]:
        """Return every folded name of the thing that a name means; an address in its one form."""
        known = folded(name)
        network = network_of(known)
        return self.names.get(known, frozenset({known})) | ({str(network)} if network else set())

    def same(self, one: str, other: str) -> bool:
        """Tell whether two names mean one thing."""
        return not self.of(one).isdisjoint(self.of(other))

    def reaches(self, target: str, thing: str) -> bool:
        """Tell whether a change of `target` is one of `thing`: the thing itself, or what it is part of."""
        names = self.of(thing)
        if not names.isdisjoint(self.of(target)) or not names.isdisjoint(self.members(target)):
            return True
        if any(_below(name, folded(target)) for name in names):
            return True
        outer = network_of(target)
        return outer is not None and any(covers(outer, network_of(name)) for name in names)

    def belongs(self, target: str, thing: str) -> bool:
        """Tell whether a change of `target` touches `thing` because the target is the thing's (its key, its host)."""
        names = self.of(thing)
        return any(not names.isdisjoint(self.of(owner)) for name in self.of(target) for owner in self.owned_by(name))

    def owned_by(self, name: str) -> frozenset[str]:
        """Return the folded names of whose a thing is."""
        return self.owners.get(folded(name), frozenset())

    def members(self, group: str) -> frozenset[str]:
        """Return every folded name of a group's members."""
        return frozenset(name for member in self.groups.get(folded(group), ()) for name in self.of(member))

    def slice_of(self, target: str, thing: str) -> bool:
        """Tell whether the target is a part of the thing, where that is a network, a group or a domain."""
        inner, outer = network_of(target), network_of(thing)
        if inner is not None and outer is not None:
            return covers(outer, inner)
        return not self.members(thing).isdisjoint(self.of(target)) or _below(folded(target), folded(thing))

    def whole(self, targets: Iterable[str], thing: str) -> bool:
        """Tell whether changes of several targets together are one of the whole thing: all slices, all members."""
        own = list(targets)
        if any(self.reaches(target, thing) for target in own):
            return True
        network = network_of(thing)
        if network is not None:
            return covered(_networks(own), network)
        group = self.groups.get(folded(thing))
        return bool(group) and all(any(self.same(target, member) for target in own) for member in group or ())


def _networks(names: Iterable[str]) -> list[Network]:
    return [network for name in names if (network := network_of(name)) is not None]


def _below(name: str, domain: str) -> bool:
    """Tell whether a host name or mail address is one of a domain; a word without a dot is no domain."""
    return "." in domain and network_of(domain) is None and name.endswith((f".{domain}", f"@{domain}"))


def aliases_of(world: World) -> Aliases:
    """Return the aliases of a world as its tables and its charter have them."""
    domains = [name for name in world.charter.internal_names if "." in name]
    sets = [_account(row, domains) for row in world.rows("identity.accounts")]
    sets += [_host(row, domains) for row in world.rows("endpoint.hosts")]
    return Aliases(
        {name: frozenset(names) for names in sets for name in names},
        {folded(row["name"]): frozenset(map(folded, row["members"])) for row in world.rows("identity.groups")},
        _owners(world),
        {folded(row["user"]): row["name"] for row in world.rows("identity.accounts") if row.get("name")},
    )


def _account(row: Mapping[str, object], domains: Iterable[str]) -> set[str]:
    user = str(row["user"])
    names = {user, *(f"{user}@{domain}" for domain in domains)}
    names |= {str(row["mail"])} if row.get("mail") else set()
    return set(map(folded, names))


def _host(row: Mapping[str, object], domains: Iterable[str]) -> set[str]:
    host = str(row["host"])
    names = {folded(host), *(folded(f"{host}.{domain}") for domain in domains)}
    network = network_of(str(row.get("address", "")))
    return names | ({str(network), str(network.network_address)} if network else set())


def _owners(world: World) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for table, fields in _OWNERS.items():
        for key, row in world.tables.get(table, {}).items():
            owners = {folded(str(row[name])) for name in fields if row.get(name)}
            found.setdefault(folded(key), set()).update(owners)
    return {name: frozenset(owners) for name, owners in found.items() if owners}
