"""Redis is away, full, or began anew: nothing is done by halves, and what was acknowledged stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from config.settings import RedisSettings, Settings
from scheduler import redis_clients as connections
from scheduler.errors import StorageFull, StorageUnavailable
from scheduler.job import Claim, Status
from tests.conftest import Server
from tests.support.simulated_platform import House


@pytest.fixture
def house(own_server: Server, settings: Settings) -> House:
    """One worker, model alpha with two slots, on a server of the test's own, with the platform's client."""
    here = replace(settings, redis=RedisSettings(own_server.url, settings.redis.prefix))
    house = House(connections.commands(here), here)
    house.register()
    house.load()
    return house


def calls(house: House) -> dict[str, Callable[[], object]]:
    """Every call that an API process or a worker may make, by name."""
    life = house.incarnations["w1"]
    return {
        "admit": house.admit,
        "cancel": lambda: house.ledger.cancel("resp_x", "acme"),
        "delete": lambda: house.ledger.delete("resp_x", "acme"),
        "lookup": lambda: house.ledger.lookup("resp_x", "acme"),
        "subscribe": lambda: house.ledger.subscribe("resp_x", "here"),
        "register": lambda: house.register("w9"),
        "drain": lambda: house.ledger.drain("w1", life),
        "deregister": lambda: house.ledger.deregister("w1", life, "bye"),
        "claim": lambda: house.claim("resp_x"),
        "heartbeat": lambda: house.ledger.heartbeat("w1", life),
        "write": lambda: house.say(Claim("resp_x", "1", "alpha#0", b""), 1, "a"),
        "held": lambda: house.ledger.held("alpha#0"),
        "ping": house.ledger.ping,
        "expire": house.ledger.expire,
        "scripts": house.ledger.scripts.load,
        "load": lambda: house.fleet.load("beta"),
        "unload": lambda: house.fleet.unload("alpha"),
        "rows": house.fleet.rows,
        "workers": house.fleet.workers,
        "operation": lambda: house.fleet.operation("load_x"),
        "missing": house.rescue.missing,
        "resume_pending": house.rescue.resume_pending,
        "replace_lost": house.rescue.replace_lost,
        "reload": lambda: house.rescue.reload("alpha"),
        "restart_load": house.fleet.restart_load,
        "starting": lambda: house.starting("alpha#0"),
        "progress": lambda: house.fleet.replica_progress("alpha#0", 0.5, "reading"),
        "up": lambda: house.up("alpha#0"),
        "down": lambda: house.crash("alpha#0"),
    }


def test_every_call_says_that_redis_is_away(house: House, own_server: Server) -> None:
    own_server.kill()
    every = calls(house)
    assert {name for name, call in every.items() if not says_away(call)} == set()


def says_away(call: Callable[[], object]) -> bool:
    try:
        call()
    except StorageUnavailable:
        return True
    return False


def test_a_restart_of_redis_loses_nothing_that_was_acknowledged(house: House, own_server: Server) -> None:
    said, waiting = house.admit(), [house.admit() for _ in range(3)][-1]
    claim = house.run(said)
    house.say(claim, 1, "before")
    own_server.kill()
    own_server.start()
    assert house.status(waiting) == "queued"
    assert house.say(claim, 2, "after") == {}
    house.release(claim)
    assert [event.text for event in house.log(said)[:2]] == ["before", "after"]  # type: ignore[attr-defined]
    assert house.end(said).status == "completed"
    assert house.status(waiting) == "queued"
    assert house.taken() == 2


def test_when_memory_is_full_nothing_is_admitted_and_everything_can_end(
    house: House, own_server: Server
) -> None:
    running, dispatched, waiting = house.admit(), house.admit(), house.admit()
    claim = house.run(running)
    house.say(claim, 1, "so far")
    keys = set(house.client.keys("*"))
    redis.Redis.from_url(own_server.url).config_set("maxmemory", "100kb")
    with pytest.raises(StorageFull):
        house.admit()
    with pytest.raises(StorageFull):
        house.claim(dispatched)
    with pytest.raises(StorageFull):
        house.say(claim, 2, "and on")
    with pytest.raises(StorageFull):
        house.ledger.ping()
    assert set(house.client.keys("*")) == keys, "a refusal leaves nothing behind"
    assert house.log(running) == house.log(running)[:1]
    assert house.ledger.heartbeat("w1", house.incarnations["w1"]).running == {running}
    house.release(claim, Status.FAILED, code="storage_full")
    assert house.end(running).code == "storage_full"
    assert house.ledger.cancel(waiting, "acme") is Status.CANCELLED
    house.live(130)
    assert house.end(dispatched).code == "queue_timeout"
    assert house.taken() == 0
    house.fleet.unload("alpha")
    redis.Redis.from_url(own_server.url).config_set("maxmemory", "0")
    house.register()
    house.load()
    assert house.run(house.admit())
