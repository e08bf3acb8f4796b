"""Which addresses webhooks may be sent to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from api.webhooks.addresses import is_public, resolve_public
from http_client.connector import Resolve


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34",
        "2606:2800:220:1:248:1893:25c8:1946",
        "::ffff:8.8.8.8",
        "2001:4860:4860::8888",
        "2a00::1",
    ],
)
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
        "fec0::1",
        "feff::1",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "2001:db8::1",
        "3fff::1",
        "3fff:fff::1",
        "198.18.0.1",
        "192.0.0.9",
        "192.88.99.1",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "100::1",
        "5f00::1",
        "4000::1",
        "::ffff:192.0.2.1",
    ],
)
def test_address_within_a_network_is_not_public(address: str) -> None:
    assert not is_public(address)
    with pytest.raises(OSError, match="no public address"):
        asyncio.run(resolve_public(address, 443))


@pytest.mark.parametrize("spelling", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1"])
def test_private_address_is_not_resolved_in_another_spelling(spelling: str) -> None:
    with pytest.raises(OSError, match="no public address"):
        asyncio.run(resolve_public(spelling, 443))


def test_public_address_is_resolved_to_itself() -> None:
    found = asyncio.run(resolve_public("93.184.216.34", 443))
    assert [address[4] for address in found] == [("93.184.216.34", 443)]


def answers(*addresses: str) -> Resolve:
    """A resolver with these answers."""

    async def resolve(_host: str, port: int) -> list[Any]:
        return [(None, None, 0, "", (address, port)) for address in addresses]

    return resolve


def test_resolver_leaves_out_addresses_that_are_not_public() -> None:
    found = asyncio.run(resolve_public("host", 443, answers("10.0.0.1", "8.8.8.8", "fe80::1%eth0")))
    assert [address[4][0] for address in found] == ["8.8.8.8"]


def test_resolver_fails_when_no_address_is_public() -> None:
    with pytest.raises(OSError, match="no public address"):
        asyncio.run(resolve_public("host", 443, answers("127.0.0.1")))
