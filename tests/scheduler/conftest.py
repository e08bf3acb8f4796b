from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from tests.scheduler.house import House


@pytest.fixture
def house(client: redis.Redis, settings: Settings) -> House:
    """One worker, model alpha loaded with two slots."""
    house = House(client, settings)
    house.register()
    house.load()
    return house
