"""A platform without processes, with two workers."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from tests.support.simulated_platform import SimulatedPlatform


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Two workers, w1 and w2, and no loaded model."""
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    platform.register("w2")
    return platform
