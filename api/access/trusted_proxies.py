"""The addresses whose `X-Tenant-ID` is believed: those of `tenancy.trusted_proxies`."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

MAX_CACHED_ADDRESSES = 4096


class TrustedProxies:
    """Whether an address belongs to one of the configured addresses and networks (CIDR)."""

    def __init__(self, networks: Sequence[str]) -> None:
        self._networks = [ipaddress.ip_network(network) for network in networks]
        self._is_trusted = lru_cache(MAX_CACHED_ADDRESSES)(self._is_listed)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._networks)

    def __contains__(self, address: str | None) -> bool:
        """Whether the address of a connection is one of them; False without an address."""
        return bool(self._networks) and address is not None and self._is_trusted(address)

    def everyone(self) -> bool:
        """Whether a whole address family is trusted, which makes every client a proxy."""
        return any(network.prefixlen == 0 for network in self._networks)

    def _is_listed(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])  # without the zone of a link-local one
        except ValueError:
            return False
        mapped = getattr(parsed, "ipv4_mapped", None)  # ::ffff:10.0.0.1, of a socket for both families
        return any((mapped or parsed) in network for network in self._networks)
