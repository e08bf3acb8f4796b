"""The API over fakes, with conversations in a Redis that runs."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from api.inference.conversations.store import ConversationStore
from api.services import AppServices
from config.settings import RedisSettings, Settings
from store.async_connection import AsyncConnection
from tests.api.conftest import make_services, tenants
from tests.conftest import ValkeyServer
from tests.support.api_fakes import Fakes
from tests.support.waiting import scaled
from tests.support.wsgi_answers import start_services


@pytest.fixture
def settings(settings: Settings, shared_server: ValkeyServer) -> Settings:
    redis = RedisSettings(shared_server.url, f"t{secrets.token_hex(4)}")
    return replace(settings, redis=redis, tenants=tenants())


@pytest.fixture
def services(settings: Settings, fakes: Fakes) -> Iterator[AppServices]:
    services = make_services(settings, fakes)
    connection = AsyncConnection(settings)
    services[ConversationStore] = ConversationStore(connection, connection, settings)
    start_services(services)
    yield services
    on_loop(services, connection.close())
    services.stop()


def on_loop(services: AppServices, coroutine: Any) -> Any:
    """Run a coroutine on the loop of the services."""
    import asyncio

    return asyncio.run_coroutine_threadsafe(coroutine, services.loop).result(scaled(10))
