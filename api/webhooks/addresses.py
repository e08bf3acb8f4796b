"""Which addresses webhooks may be sent to: checked at each connect, after the name was resolved."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

_TRANSITIONS = tuple(
    map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96"))
)
"""Addresses that stand for one of IPv4: NAT64, 6to4, Teredo, IPv4-compatible (RFC 6052, 3056, 4380, 4291)."""


def is_public(address: str) -> bool:
    """Whether an IP address, without a zone, is one of the internet."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        if any(ip in network for network in _TRANSITIONS):
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def is_refused_literal(host: str) -> bool:
    """Whether a URL's host is an IP address that is not public. No resolver is asked for addresses."""
    try:
        return not is_public(host)
    except ValueError:
        return False


class PublicResolver(AbstractResolver):
    """Resolves names to public addresses only; a name without one cannot be connected to."""

    def __init__(self, resolver: AbstractResolver | None = None) -> None:
        self._resolver = resolver or ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """See `AbstractResolver.resolve`. Raises `OSError`."""
        found = await self._resolver.resolve(host, port, family)
        public = [result for result in found if _is_public_result(result)]
        if not public:
            raise OSError(None, f"{host} has no public address")
        return public

    async def close(self) -> None:
        """See `AbstractResolver.close`."""
        await self._resolver.close()


def _is_public_result(result: Any) -> bool:
    try:
        return is_public(str(result["host"]).partition("%")[0])
    except ValueError:
        return False
