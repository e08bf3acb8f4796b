"""An API process reads the secret and the epochs of the cache namespaces from Redis."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from api.inference.namespace_reader import PERIOD_S
from api.services import AppServices
from api.wiring import make_services
from config.settings import RedisSettings, Settings
from fleet.fleet import Fleet
from fleet.flush import FlushScope
from governance.cache_namespaces import CacheNamespaces, raise_epoch, tenant_scope
from streams.subscriber import EventSubscriber
from tests.conftest import ValkeyServer, free_port
from tests.support.waiting import wait_until
from tests.support.wsgi_answers import start_services

REQUEST = ("default", "demo", None)


@pytest.fixture
def settings(shared_server: ValkeyServer, tmp_path: Path) -> Settings:
    prefix = f"t{secrets.token_hex(4)}"
    return Settings(data_dir=tmp_path, redis=RedisSettings(shared_server.url, prefix))


@pytest.fixture
def processes(settings: Settings) -> Iterator[list[AppServices]]:
    """The services of two API processes."""
    started = [make_services(settings) for _ in range(2)]
    for services in started:
        start_services(services)
    yield started
    for services in started:
        services.stop()


def test_all_processes_have_the_same_namespaces_from_their_first_request_on(
    processes: list[AppServices],
) -> None:
    found = {services[CacheNamespaces].of(*REQUEST) for services in processes}
    assert len(found) == 1
    assert None not in found


def test_a_raised_epoch_reaches_all_processes(
    processes: list[AppServices], settings: Settings, client: redis.Redis
) -> None:
    before = processes[0][CacheNamespaces].of(*REQUEST)
    raise_epoch(client, settings.redis.prefix, tenant_scope("default"))
    namespaces = [services[CacheNamespaces] for services in processes]
    wait_until(lambda: all(one.of(*REQUEST) != before for one in namespaces), 10 * PERIOD_S)
    assert len({one.of(*REQUEST) for one in namespaces}) == 1


def test_a_process_without_redis_starts_and_has_no_namespaces_until_it_is_there(
    settings: Settings,
) -> None:
    services = make_services(replace(settings, redis=RedisSettings(f"redis://127.0.0.1:{free_port()}")))
    start_services(services)
    assert services[CacheNamespaces].of(*REQUEST) is None
    services.stop()


def test_a_process_reports_the_version_of_the_epochs_that_it_uses(
    processes: list[AppServices], settings: Settings, client: redis.Redis
) -> None:
    key = f"{{{settings.redis.prefix}}}:epoch_readers"
    another = make_services(settings)
    start_services(another)
    assert client.hexists(key, another[EventSubscriber].name)
    another.stop()

    def versions() -> list[bytes]:
        return [value.split()[0] for value in client.hvals(key)]

    wait_until(lambda: versions() == [b"0", b"0"], 10 * PERIOD_S)
    raise_epoch(client, settings.redis.prefix, b"all")
    wait_until(lambda: versions() == [b"1", b"1"], 10 * PERIOD_S)
    assert {name.decode() for name in client.hkeys(key)} == {each[EventSubscriber].name for each in processes}


def test_a_flush_wakes_a_process_that_would_read_much_later(
    settings: Settings, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.inference.namespace_reader.PERIOD_S", 3600.0)
    services = make_services(settings)
    start_services(services)
    before = services[CacheNamespaces].as_read(*REQUEST)
    channel = services[EventSubscriber].channel
    wait_until(lambda: client.pubsub_numsub(channel) == [(channel.encode(), 1)])
    services[Fleet].flush(FlushScope())
    wait_until(lambda: services[CacheNamespaces].as_read(*REQUEST) != before)
    prefix = f"{{{settings.redis.prefix}}}:"
    raised = client.hget(f"{prefix}cache_epochs", "@version")

    def reported() -> bytes:
        return client.hget(f"{prefix}epoch_readers", services[EventSubscriber].name).split()[0]

    wait_until(lambda: reported() == raised)
    services.stop()


def test_epochs_that_cannot_be_read_are_read_again(settings: Settings, client: redis.Redis) -> None:
    """Redis refuses the script as long as the key has another type."""
    key = f"{{{settings.redis.prefix}}}:cache_epochs"
    client.set(key, "no hash")
    services = make_services(settings)
    start_services(services)
    assert services[CacheNamespaces].of(*REQUEST) is None
    client.delete(key)
    wait_until(lambda: services[CacheNamespaces].of(*REQUEST) is not None)
    services.stop()


def test_processes_that_start_at_once_agree_on_one_secret(settings: Settings) -> None:
    def start(_number: int) -> str | None:
        services = make_services(settings)
        services.preparations[0]()
        return services[CacheNamespaces].of(*REQUEST)

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(start, range(16)))
    assert len(found) == 1
    assert None not in found
