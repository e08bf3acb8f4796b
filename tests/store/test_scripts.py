"""A call whose reply is lost is repeated; Redis' errors are translated; the reaper survives errors."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
import redis

from fleet.reaper import Reaper
from fleet.worker_registry import Expired
from store.errors import StorageUnavailable
from store.redis_connections import RedisConnections
from store.scripts import call_id
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import scaled


class LosesReplies:
    """Runs the commands, and then raises a connection error at every other call."""

    def __init__(self, redis_connections: RedisConnections) -> None:
        self._connections = redis_connections
        self._lose = False
        self.lost = 0

    def exchange(self, commands: Sequence[Sequence[Any]], within_s: float | None = None) -> list[Any]:
        replies = self._connections.exchange(commands, within_s)
        self._lose = not self._lose
        if self._lose:
            self.lost += 1
            raise redis.ConnectionError("the reply was lost")
        return replies


@pytest.fixture
def unlucky(platform: SimulatedPlatform) -> SimulatedPlatform:
    """A platform whose first reply to each call is lost."""
    for scripts in (platform.ledger.scripts, platform.fleet.scripts):
        scripts.load()
        scripts._connections = LosesReplies(scripts._connections)  # type: ignore[assignment]
    return platform


def test_a_request_survives_the_loss_of_every_first_reply(unlucky: SimulatedPlatform) -> None:
    id = unlucky.admit()
    claim = unlucky.run(id)
    unlucky.release(claim)
    assert unlucky.end(id).status == "completed"
    assert unlucky.field(id, "attempts") == "1"
    assert unlucky.slots_taken() == 0
    assert unlucky.ledger.scripts._connections.lost == 3  # type: ignore[attr-defined]


def test_a_load_survives_the_loss_of_every_first_reply(unlucky: SimulatedPlatform) -> None:
    outcome = unlucky.fleet.load("beta")
    assert outcome.operation
    (replica,) = [name.decode() for name in unlucky.client.smembers(f"{unlucky.prefix}replicas:beta")]
    assert unlucky.starting(replica) == "beta"
    assert unlucky.up(replica)
    assert unlucky.model("beta") == "loaded"
    unlucky.fleet.unload("beta")
    unlucky.stopped(replica)
    assert unlucky.model("beta") == "unloaded"


@pytest.mark.parametrize("lost", ["SCRIPT FLUSH", "FUNCTION FLUSH"])
def test_scripts_that_redis_lost_are_sent_again(platform: SimulatedPlatform, lost: str) -> None:
    for _ in range(2):
        platform.client.execute_command(lost)
        id = platform.admit()
        platform.client.execute_command(lost)
        claim = platform.run(id)
        platform.client.execute_command(lost)
        platform.release(claim)
        assert platform.end(id).status == "completed"


def test_call_ids_are_unique() -> None:
    assert len({call_id() for _ in range(1000)}) == 1000


class FailingRegistry:
    """A registry whose `expire` counts its calls and fails in several ways."""

    reap_ms = 1

    def __init__(self) -> None:
        self.calls = 0
        self.called_often = threading.Event()

    def expire(self, interval_us: int = 0) -> Expired:  # noqa: ARG002 - the signature of the registry
        self.calls += 1
        if self.calls == 6:
            self.called_often.set()
        if self.calls in {2, 3}:
            raise StorageUnavailable("unreachable")
        if self.calls == 4:
            raise ValueError("a bug")
        return Expired(0, more=False)


def test_the_reaper_survives_every_error_and_stops_on_request() -> None:
    registry = FailingRegistry()
    reaper = Reaper(registry)  # type: ignore[arg-type]
    reaper.start()
    assert registry.called_often.wait(scaled(10))
    reaper.stop()
    reaper._thread.join(scaled(10))
    assert not reaper._thread.is_alive()
