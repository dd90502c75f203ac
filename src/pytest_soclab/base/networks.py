"""Reads addresses and networks in the one way that the whole package compares them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_MAPPED_BITS = 96  # `::ffff:0:0/96` holds the IPv4 addresses


@lru_cache(maxsize=4096)
def network_of(text: str) -> Network | None:
    """Return the network that a text names, an address as a network of one; None where it names none.

    Host bits are dropped, and an IPv4 address written as IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
    """
    try:
        network = ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    return _unmapped(network) if isinstance(network, ipaddress.IPv6Network) else network


def _unmapped(network: ipaddress.IPv6Network) -> Network:
    mapped = network.network_address.ipv4_mapped if network.prefixlen >= _MAPPED_BITS else None
    return network if mapped is None else ipaddress.IPv4Network((int(mapped), network.prefixlen - _MAPPED_BITS))


def covers(outer: Network | None, inner: Network | None) -> bool:
    """Tell whether every address of `inner` is one of `outer`; an IPv6 network covers IPv4 addresses as mapped ones."""
    match outer, inner:
        case ipaddress.IPv4Network(), ipaddress.IPv4Network():
            return inner.subnet_of(outer)
        case ipaddress.IPv6Network(), ipaddress.IPv6Network():
            return inner.subnet_of(outer)
        case ipaddress.IPv6Network(), ipaddress.IPv4Network():
            return _mapped(inner).subnet_of(outer)
        case _:
            return False


def _mapped(network: ipaddress.IPv4Network) -> ipaddress.IPv6Network:
    return ipaddress.IPv6Network(((0xFFFF << 32) | int(network.network_address), _MAPPED_BITS + network.prefixlen))


def covered(parts: Iterable[Network], whole: Network) -> bool:
    """Tell whether networks together cover another one, however it was cut."""
    own = list(parts)
    inside = [part for part in own if covers(whole, part)]
    if isinstance(whole, ipaddress.IPv4Network):
        four = ipaddress.collapse_addresses(part for part in inside if isinstance(part, ipaddress.IPv4Network))
        size = sum(part.num_addresses for part in four)
    else:
        six = ipaddress.collapse_addresses(part for part in inside if isinstance(part, ipaddress.IPv6Network))
        size = sum(part.num_addresses for part in six)
    return size == whole.num_addresses or any(covers(part, whole) for part in own)
