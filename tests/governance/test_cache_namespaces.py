"""Cache namespaces: equal for equal requests in every process, different in any other respect."""

from __future__ import annotations

import hmac
import re
from typing import Any

import orjson
import pytest
import redis
from hypothesis import given, strategies

from config.settings import Settings
from fleet.flush import ALIVE_US
from governance.cache_namespaces import (
    MAX_KNOWN,
    TRUSTED_S,
    CacheNamespaces,
    raise_epoch,
    read_all,
    scopes,
    tenant_scope,
)

REQUEST = ("acme", "demo", None)
names = strategies.text(strategies.characters(codec="ascii", exclude_characters=" "), min_size=1, max_size=8)
optional = strategies.none() | names
requests = strategies.tuples(names, names, optional, optional, optional)


def read(namespaces: CacheNamespaces, client: redis.Redis, settings: Settings) -> None:
    """Read the epochs from Redis, under a fixed secret."""
    _, epochs = read_all(client, settings.redis.prefix)
    namespaces.adopt(b"a secret", epochs)


@pytest.fixture
def namespaces(client: redis.Redis, settings: Settings) -> CacheNamespaces:
    made = CacheNamespaces()
    read(made, client, settings)
    return made


def test_a_namespace_is_128_bits_in_hex(namespaces: CacheNamespaces) -> None:
    assert re.fullmatch("[0-9a-f]{32}", namespaces.of(*REQUEST) or "")


@given(requests, requests)
def test_two_requests_share_a_namespace_only_if_tenant_model_tag_and_lora_are_equal(
    one: Any, other: Any
) -> None:
    namespaces = CacheNamespaces()
    namespaces.adopt(b"a secret", {})
    assert (namespaces.of(*one) == namespaces.of(*other)) == (one == other)


def test_namespace_without_lora_is_that_of_older_processes() -> None:
    """Else a request that waits during an update of the platform would lose its cached prefix."""
    namespaces = CacheNamespaces()
    namespaces.adopt(b"a secret", {})
    data = orjson.dumps(["acme", "demo", None, None, "0", "0", "0"])
    assert namespaces.of(*REQUEST) == hmac.digest(b"a secret", data, "sha256").hex()[:32]


def test_the_name_of_an_unknown_tenant_has_namespaces_and_an_epoch_of_its_own(
    namespaces: CacheNamespaces, client: redis.Redis, settings: Settings
) -> None:
    asked = [("default", "demo", tag, name) for tag in (None, "a") for name in (None, "ghost", "shade")]
    before = {request: namespaces.of(*request) for request in asked}
    assert len(set(before.values())) == len(asked)
    for field in (tenant_scope("ghost"), tenant_scope("default")):
        raise_epoch(client, settings.redis.prefix, field)
        read(namespaces, client, settings)
        changed = {request for request in asked if namespaces.of(*request) != before[request]}
        assert changed == {request for request in asked if field in scopes(*request)}
        before = {request: namespaces.of(*request) for request in asked}
    assert len(changed) == len(asked)


def test_a_client_with_many_tags_takes_a_bounded_amount_of_memory() -> None:
    namespaces = CacheNamespaces()
    namespaces.adopt(b"a secret", {})
    found = [namespaces.of("acme", "demo", str(number)) for number in range(3 * MAX_KNOWN)]
    assert len(set(found)) == len(found)
    assert len(namespaces._known) <= MAX_KNOWN
    assert namespaces.of("acme", "demo", "7") == found[7]


def test_there_is_no_namespace_before_the_secret_was_read() -> None:
    assert CacheNamespaces().of(*REQUEST) is None
    assert CacheNamespaces().as_read(*REQUEST) is None


def test_a_process_that_cannot_read_the_epochs_any_more_names_no_namespace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A flush waits for such a process longer than it trusts what it read."""
    namespaces = CacheNamespaces()
    now = 1000.0
    monkeypatch.setattr("governance.cache_namespaces.time.monotonic", lambda: now)
    namespaces.adopt(b"a secret", {})
    now += TRUSTED_S
    assert namespaces.of(*REQUEST) is not None
    now += 0.001
    assert namespaces.of(*REQUEST) is None
    assert namespaces.as_read(*REQUEST) is not None
    namespaces.confirm(b"a secret", now)
    assert namespaces.of(*REQUEST) is not None
    assert TRUSTED_S * 1e6 < ALIVE_US


def test_another_secret_gives_other_namespaces() -> None:
    found = set()
    for secret in (b"one", b"two", b"three"):
        namespaces = CacheNamespaces()
        namespaces.adopt(secret, {})
        found.add(namespaces.of(*REQUEST))
    assert len(found) == 3


@pytest.mark.parametrize("field", scopes("acme", "demo", "a"))
def test_a_raised_epoch_replaces_the_namespaces_of_its_scope_alone(
    namespaces: CacheNamespaces, client: redis.Redis, settings: Settings, field: bytes
) -> None:
    asked = [(t, m, g) for t in ("acme", "other") for m in ("demo", "plain") for g in (None, "a", "b")]
    before = {request: namespaces.of(*request) for request in asked}
    raise_epoch(client, settings.redis.prefix, field)
    read(namespaces, client, settings)
    changed = {request for request in asked if namespaces.of(*request) != before[request]}
    assert changed == {request for request in asked if field in scopes(*request)}
    assert len({namespaces.of(*request) for request in asked}) == len(asked)
