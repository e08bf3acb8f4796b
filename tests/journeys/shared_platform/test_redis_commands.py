"""How many Redis commands a request takes in all processes; tests/scheduler counts those of each script."""

from __future__ import annotations

import time

import pytest
import redis

from tests.support.platform import Platform

pytestmark = pytest.mark.journey

MOST = 40
REQUESTS = 200


def commands(client: redis.Redis) -> int:
    """How many commands the server has run, those inside scripts included."""
    return sum(int(row["calls"]) for row in client.info("commandstats").values())


def test_a_request_takes_few_redis_commands(shared: Platform) -> None:
    with shared.redis() as client:
        idle_began, before = time.monotonic(), commands(client)
        time.sleep(1.5)
        began, between = time.monotonic(), commands(client)
        for _ in range(REQUESTS):
            status, _ = shared.respond("stub", "/stub tokens=4", store=False)
            assert status == 200
        ended, after = time.monotonic(), commands(client)
    idle_per_s = (between - before) / (began - idle_began)
    assert (after - between - idle_per_s * (ended - began)) / REQUESTS <= MOST
