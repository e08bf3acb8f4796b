"""Which addresses webhooks may be sent to."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from api.webhooks.addresses import PublicResolver, is_public, is_refused_literal


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:8.8.8.8"])
def test_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::7f00:1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
    ],
)
def test_address_within_a_network_is_not_public(address: str) -> None:
    assert not is_public(address)
    assert is_refused_literal(address)


def test_name_is_no_literal() -> None:
    assert not is_refused_literal("example.com")


class Answers:
    """A resolver with these answers."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = addresses

    async def resolve(self, host: str, port: int, _family: socket.AddressFamily) -> list[Any]:
        return [{"hostname": host, "host": address, "port": port} for address in self._addresses]

    async def close(self) -> None:
        pass


def test_resolver_leaves_out_addresses_that_are_not_public() -> None:
    resolver = PublicResolver(Answers("10.0.0.1", "8.8.8.8", "fe80::1%eth0"))  # type: ignore[arg-type]
    found = asyncio.run(resolver.resolve("host", 443))
    assert [result["host"] for result in found] == ["8.8.8.8"]


def test_resolver_fails_when_no_address_is_public() -> None:
    resolver = PublicResolver(Answers("127.0.0.1"))  # type: ignore[arg-type]
    with pytest.raises(OSError, match="no public address"):
        asyncio.run(resolver.resolve("host", 443))
