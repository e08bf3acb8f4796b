"""A process follows the changes of tenants and keys, also after Redis was unreachable."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from api.access import registry as registry_module
from api.access.access_store import AccessStore
from api.access.authority import authority_of
from api.access.caller import Caller
from api.access.identities import WITHOUT_KEY
from api.access.registry import AccessRegistry
from api.access.tenant_changes import TenantChanges
from config.settings import RedisSettings, Settings, Tenant
from governance.audit import AuditLog
from store.async_connection import AsyncConnection
from store.redis_connections import command_client
from tests.conftest import ValkeyServer
from tests.support.full_disk import refused_writes
from tests.support.waiting import scaled

OPERATOR = authority_of(Caller(Tenant("admin"), "normal", WITHOUT_KEY))


@pytest.fixture
def own_settings(settings: Settings, own_server: ValkeyServer) -> Settings:
    return replace(settings, redis=RedisSettings(own_server.url, "own"))


def registry_of(settings: Settings) -> tuple[AccessRegistry, TenantChanges]:
    """A registry of its own, and what changes the tenants in its store."""
    client = command_client(settings)
    store = AccessStore(
        client, settings.redis.prefix, AuditLog(client, settings.redis.prefix, settings.data_dir / "audit")
    )
    registry = AccessRegistry(settings, store)
    return registry, TenantChanges(settings, registry, store)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(scaled(20)):
        while not condition():
            await asyncio.sleep(0.01)


def test_a_process_follows_the_changes_of_another_one_again_when_redis_is_back(
    own_settings: Settings,
    own_server: ValkeyServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(registry_module, "POLL_S", 0.05)
    caplog.set_level(logging.WARNING)
    following, _ = registry_of(own_settings)
    _, other = registry_of(own_settings)

    async def follow() -> None:
        connection = AsyncConnection(own_settings)
        task = asyncio.create_task(following.run(connection))
        await asyncio.to_thread(other.add, OPERATOR, "first", {})
        await until(lambda: "first" in following.identities.tenants)

        own_server.kill()
        await until(lambda: "tenants and API keys cannot be read again and stay as they are" in caplog.text)
        assert "first" in following.identities.tenants
        own_server.start()
        await asyncio.to_thread(other.remove, OPERATOR, "first")
        await until(lambda: "first" not in following.identities.tenants)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await connection.close()

    asyncio.run(follow())
    assert caplog.text.count("tenants and API keys cannot be read again and stay as they are") == 1
    assert "Traceback" not in caplog.text


def test_uses_that_could_not_be_written_are_written_later(
    own_settings: Settings, own_server: ValkeyServer
) -> None:
    registry, _ = registry_of(replace(own_settings, tenants={"a": Tenant("a", api_keys_sha256=("0" * 64,))}))
    (key,) = registry.configured.api_keys()
    registry.used.add(key.id)
    own_server.kill()
    with pytest.raises(Exception, match="cannot be reached"):
        registry.write_uses()
    own_server.start()
    registry.write_uses()
    assert registry._store is not None
    assert registry._store.last_used([key.id]).keys() == {key.id}
    assert registry.used == set()


def test_keys_are_followed_and_a_refused_write_of_their_uses_is_logged_once_while_redis_refuses_writes(
    own_settings: Settings,
    own_server: ValkeyServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(registry_module, "POLL_S", 0.02)
    monkeypatch.setattr(registry_module, "USES_S", 0.02)
    caplog.set_level(logging.WARNING)
    registry, _ = registry_of(replace(own_settings, tenants={"a": Tenant("a", api_keys_sha256=("0" * 64,))}))
    (key,) = registry.configured.api_keys()
    registry.used.add(key.id)
    client = command_client(own_settings)
    tries = 0
    write = registry.write_uses

    def counted() -> None:
        nonlocal tries
        tries += 1
        write()

    monkeypatch.setattr(registry, "write_uses", counted)

    async def follow() -> None:
        connection = AsyncConnection(own_settings)
        with refused_writes(client, own_server.directory):
            task = asyncio.create_task(registry.run(connection))
            await until(lambda: tries > 3)
            assert registry.used == {key.id}
        await until(lambda: not registry.used)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await connection.close()

    asyncio.run(follow())
    assert caplog.text.count("the last uses of API keys are written later") == 1
    assert "cannot be read again" not in caplog.text


def test_keys_are_known_when_a_process_starts_while_redis_refuses_writes(
    own_settings: Settings, own_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_module, "POLL_S", 0.02)
    kept = replace(own_settings, tenants={"a": Tenant("a", keep_texts=True)})
    _, changes = registry_of(own_settings)
    changes.add(OPERATOR, "first", {})
    registry, _ = registry_of(kept)

    async def follow() -> None:
        connection = AsyncConnection(own_settings)
        with refused_writes(command_client(own_settings), own_server.directory):
            registry.read_if_possible()
            assert registry.is_complete
            assert "first" in registry.identities.tenants
        task = asyncio.create_task(registry.run(connection))
        await until(lambda: registry._allowed == ["a"])  # it is tried again
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await connection.close()

    asyncio.run(follow())
