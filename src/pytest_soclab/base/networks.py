"""Reads addresses and networks in one way: an IPv4 address mapped into IPv6 (`::ffff:192.0.2.1`) is that address."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_MAPPED_BITS = 96
"""The prefix of `::ffff:0:0/96`, below which the IPv4 addresses stand."""


@lru_cache(maxsize=4096)
def network_of(text: str) -> Network | None:
    """Return the network that a text writes, a single address being one of its own; None where it writes neither."""
    try:
        network = ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    if isinstance(network, ipaddress.IPv6Network) and network.prefixlen >= _MAPPED_BITS:
        mapped = network.network_address.ipv4_mapped
        return network if mapped is None else ipaddress.ip_network((mapped, network.prefixlen - _MAPPED_BITS))
    return network


def is_inside(inner: Network | None, outer: Network | None) -> bool:
    """Tell whether a network lies in another; of two kinds, or of None, none lies in the other."""
    if isinstance(inner, ipaddress.IPv4Network) and isinstance(outer, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(inner, ipaddress.IPv6Network) and isinstance(outer, ipaddress.IPv6Network):
        return inner.subnet_of(outer)
    return False
