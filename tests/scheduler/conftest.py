"""Platforms without processes: an empty one, and one with a worker and a loaded model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import redis

from config.settings import RestartSettings, Settings
from tests.support.closing_server import ClosingServer
from tests.support.simulated_platform import SimulatedPlatform


@pytest.fixture
def empty_platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """A platform without workers and without loaded models."""
    return SimulatedPlatform(client, settings)


@pytest.fixture
def platform(empty_platform: SimulatedPlatform) -> SimulatedPlatform:
    """One worker, model alpha loaded with two slots."""
    empty_platform.register()
    empty_platform.load()
    return empty_platform


@pytest.fixture
def closing_server() -> Iterator[ClosingServer]:
    """A server that closes every connection at once."""
    server = ClosingServer()
    yield server
    server.close()


@pytest.fixture
def without_restarts(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """The same as `platform`, but a crashed model waits for an operator."""
    platform = SimulatedPlatform(client, replace(settings, restart=RestartSettings(max_restarts=0)))
    platform.register()
    platform.load()
    return platform
