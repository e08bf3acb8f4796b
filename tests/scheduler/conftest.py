from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from tests.support.simulated_platform import House


@pytest.fixture
def empty_house(client: redis.Redis, settings: Settings) -> House:
    """Nothing registered, nothing loaded."""
    return House(client, settings)


@pytest.fixture
def house(empty_house: House) -> House:
    """One worker, model alpha loaded with two slots."""
    empty_house.register()
    empty_house.load()
    return empty_house
