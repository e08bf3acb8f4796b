"""Which addresses webhooks may be sent to: checked at each connect, after the name was resolved."""

from __future__ import annotations

import ipaddress
from typing import Any

from http_client.connector import Resolve, resolve_host

_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            # stand for an address of IPv4: NAT64, 6to4, Teredo, IPv4-compatible (RFC 6052, 3056, 4380, 4291)
            *("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96"),
            # site-local, and what else is no global unicast (RFC 3879, 4291)
            *("fec0::/10", "::/3", "4000::/2", "8000::/1"),
            # documentation (RFC 5737, 3849, 9637)
            *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
            # protocol assignments, benchmarking, ORCHID, anycast of 6to4 (RFC 6890, 2544, 5180, 7343, 7526)
            *("192.0.0.0/24", "198.18.0.0/15", "192.88.99.0/24", "2001::/23", "100::/64"),
        ),
    )
)
"""Networks of IANA's registries of special addresses, not all of which each version of `ipaddress` knows."""


def is_public(address: str) -> bool:
    """Whether an IP address, without a zone, is one of the internet."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        return is_public(str(ip.ipv4_mapped))
    if any(ip in network for network in _NOT_PUBLIC):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


async def resolve_public(host: str, port: int, resolve: Resolve = resolve_host) -> list[Any]:
    """The public addresses of a host, which may be an IP address in any spelling that the system knows.

    Raises `OSError` for a host that has none.
    """
    found = [address for address in await resolve(host, port) if _is_public_address(address)]
    if not found:
        raise OSError(None, f"{host} has no public address, and webhooks.allow_private is not set")
    return found


def _is_public_address(address: Any) -> bool:
    """Whether an address of `socket.getaddrinfo` is public; the zone of a link is left out."""
    try:
        return is_public(str(address[4][0]).partition("%")[0])
    except ValueError:
        return False
