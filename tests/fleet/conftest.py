from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from tests.support.simulated_platform import House


@pytest.fixture
def house(client: redis.Redis, settings: Settings) -> House:
    """Two workers, w1 and w2, and nothing loaded."""
    house = House(client, settings)
    house.register("w1")
    house.register("w2")
    return house
