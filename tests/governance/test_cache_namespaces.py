"""Cache namespaces: equal for equal requests in every process, different in any other respect."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from hypothesis import given, strategies

from config.settings import Settings
from governance.cache_namespaces import MAX_KNOWN, CacheNamespaces, raise_epoch, scopes

REQUEST = ("acme", "demo", None)
names = strategies.text(strategies.characters(codec="ascii", exclude_characters=" "), min_size=1, max_size=8)
requests = strategies.tuples(names, names, strategies.none() | names)


def read(namespaces: CacheNamespaces, client: redis.Redis) -> int:
    """Read from Redis as an API process does; returns the number of commands."""
    reading = namespaces.reading()
    sent, commands = 0, next(reading)
    while True:
        sent += len(commands)
        replies: list[Any] = [client.execute_command(*command) for command in commands]
        try:
            commands = reading.send(replies)
        except StopIteration:
            return sent


@pytest.fixture
def namespaces(client: redis.Redis, settings: Settings) -> CacheNamespaces:
    made = CacheNamespaces(settings.redis.prefix)
    read(made, client)
    return made


def test_a_namespace_is_128_bits_in_hex(namespaces: CacheNamespaces) -> None:
    assert re.fullmatch("[0-9a-f]{32}", namespaces.of(*REQUEST) or "")


@given(requests, requests)
def test_two_requests_share_a_namespace_only_if_tenant_model_and_tag_are_equal(one: Any, other: Any) -> None:
    namespaces = CacheNamespaces("p")
    namespaces.adopt(b"a secret", {})
    assert (namespaces.of(*one) == namespaces.of(*other)) == (one == other)


def test_a_client_with_many_tags_takes_a_bounded_amount_of_memory() -> None:
    namespaces = CacheNamespaces("p")
    namespaces.adopt(b"a secret", {})
    found = [namespaces.of("acme", "demo", str(number)) for number in range(3 * MAX_KNOWN)]
    assert len(set(found)) == len(found)
    assert len(namespaces._known) <= MAX_KNOWN
    assert namespaces.of("acme", "demo", "7") == found[7]


def test_there_is_no_namespace_before_the_secret_was_read(settings: Settings) -> None:
    assert CacheNamespaces(settings.redis.prefix).of(*REQUEST) is None


def test_processes_that_start_at_once_agree_on_one_secret(client: redis.Redis, settings: Settings) -> None:
    def start(_number: int) -> str | None:
        namespaces = CacheNamespaces(settings.redis.prefix)
        read(namespaces, client)
        return namespaces.of(*REQUEST)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(start, range(16)))) == 1


def test_another_secret_gives_other_namespaces(client: redis.Redis, settings: Settings) -> None:
    found = set()
    for _ in range(3):
        client.delete(f"{{{settings.redis.prefix}}}:cache_secret")
        namespaces = CacheNamespaces(settings.redis.prefix)
        read(namespaces, client)
        found.add(namespaces.of(*REQUEST))
    assert len(found) == 3


@pytest.mark.parametrize("field", scopes("acme", "demo", "a"))
def test_a_raised_epoch_replaces_the_namespaces_of_its_scope_alone(
    namespaces: CacheNamespaces, client: redis.Redis, settings: Settings, field: bytes
) -> None:
    asked = [(t, m, g) for t in ("acme", "other") for m in ("demo", "plain") for g in (None, "a", "b")]
    before = {request: namespaces.of(*request) for request in asked}
    raise_epoch(client, settings.redis.prefix, field)
    read(namespaces, client)
    changed = {request for request in asked if namespaces.of(*request) != before[request]}
    assert changed == {request for request in asked if field in scopes(*request)}
    assert len({namespaces.of(*request) for request in asked}) == len(asked)


def test_a_process_reads_two_values_unless_an_epoch_was_raised(
    namespaces: CacheNamespaces, client: redis.Redis, settings: Settings
) -> None:
    assert read(namespaces, client) == 2
    raise_epoch(client, settings.redis.prefix, b"all")
    assert [read(namespaces, client), read(namespaces, client)] == [3, 2]
