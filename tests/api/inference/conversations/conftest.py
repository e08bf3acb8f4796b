"""The API over fakes, with conversations in a Redis that runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from api.inference.conversations.store import ConversationStore
from api.services import AppServices
from config.settings import Settings
from store.async_connection import AsyncConnection
from tests.api.conftest import make_services
from tests.support.api_fakes import Fakes
from tests.support.waiting import scaled
from tests.support.wsgi_answers import start_services


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return shared_settings


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
