"""An API process reads the secret and the epochs of the cache namespaces from Redis."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from api.namespace_reader import PERIOD_S
from api.services import AppServices, open_services
from config.settings import RedisSettings, Settings
from governance.cache_namespaces import raise_epoch, tenant_scope
from tests.conftest import ValkeyServer, free_port
from tests.support.waiting import wait_until

REQUEST = ("default", "demo", None)


@pytest.fixture
def settings(shared_server: ValkeyServer, tmp_path: Path) -> Settings:
    prefix = f"t{secrets.token_hex(4)}"
    return Settings(data_dir=tmp_path, redis=RedisSettings(shared_server.url, prefix))


@pytest.fixture
def processes(settings: Settings) -> Iterator[list[AppServices]]:
    """The services of two API processes."""
    started = [open_services(settings) for _ in range(2)]
    for services in started:
        services.start()
    yield started
    for services in started:
        services.stop()


def test_all_processes_have_the_same_namespaces_from_their_first_request_on(
    processes: list[AppServices],
) -> None:
    found = {services.cache_namespaces.of(*REQUEST) for services in processes}
    assert len(found) == 1
    assert None not in found


def test_a_raised_epoch_reaches_all_processes(
    processes: list[AppServices], settings: Settings, client: redis.Redis
) -> None:
    before = processes[0].cache_namespaces.of(*REQUEST)
    raise_epoch(client, settings.redis.prefix, tenant_scope("default"))
    namespaces = [services.cache_namespaces for services in processes]
    wait_until(lambda: all(one.of(*REQUEST) != before for one in namespaces), 10 * PERIOD_S)
    assert len({one.of(*REQUEST) for one in namespaces}) == 1


def test_a_process_without_redis_starts_and_has_no_namespaces_until_it_is_there(
    settings: Settings,
) -> None:
    services = open_services(replace(settings, redis=RedisSettings(f"redis://127.0.0.1:{free_port()}")))
    services.start()
    assert services.cache_namespaces.of(*REQUEST) is None
    services.stop()
