"""The bell that Redis rings is the message that Celery sends, and Celery hears it."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
import redis
from celery import Celery
from celery.contrib.testing.worker import start_worker

from config.settings import Settings
from tasks import worker_interface as host
from tasks.app import key_prefix, queues
from tasks.generate import GENERATE
from tasks.wake_up import PLACEHOLDER, wake_up_message
from tests.support.simulated_platform import SimulatedPlatform
from tests.tasks.sample import assert_is_the_sample


@pytest.fixture
def platform(client: redis.Redis, settings: Settings, app: Celery) -> SimulatedPlatform:
    """One worker whose bell is the real one, and model alpha with two slots."""
    platform = SimulatedPlatform(client, settings)
    ring = wake_up_message(app, settings, GENERATE, "w1")
    platform.incarnations["w1"] = platform.ledger.register("w1", ring.key, ring.message, "cpu")
    platform.load()
    return platform


def sent(client: redis.Redis, key: str) -> dict[str, Any]:
    (message,) = client.lrange(key, 0, -1)
    return json.loads(message)


def only_what_matters(message: dict[str, Any]) -> dict[str, Any]:
    """Without what Celery makes up for each message and nobody here reads."""
    properties = {**message["properties"], "delivery_tag": "any", "reply_to": "nobody"}
    return {**message, "headers": {**message["headers"], "origin": "any"}, "properties": properties}


def test_the_bell_is_what_celery_itself_sends(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings, app: Celery
) -> None:
    key = f"{key_prefix(settings)}w1"
    id = platform.admit()
    rung = sent(client, key)
    client.delete(key)
    app.send_task(GENERATE, task_id=id, queue="w1", ignore_result=True)
    by_celery = sent(client, key)
    assert only_what_matters(rung) == only_what_matters(by_celery)
    assert list(rung) == list(by_celery)
    assert list(rung["headers"]) == list(by_celery["headers"])
    assert rung["headers"]["id"] == rung["properties"]["correlation_id"] == id


def test_the_bell_is_the_one_in_the_samples(settings: Settings, app: Celery) -> None:
    ring = wake_up_message(app, settings, GENERATE, "w1")
    assert ring.message.count(PLACEHOLDER) == 4, "id, root_id, correlation_id, delivery_tag"
    form = json.dumps(only_what_matters(json.loads(ring.message)), indent=2) + "\n"
    assert_is_the_sample("bell.json", form.encode())


def test_a_bell_holds_an_id_and_nothing_of_the_request(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings
) -> None:
    platform.admit(tenant="acme", generation=b'{"messages":"a secret"}', echo=b'{"user":"somebody"}')
    (message,) = client.lrange(f"{key_prefix(settings)}w1", 0, -1)
    for word in (b"secret", b"somebody", b"acme", b"alpha"):
        assert word not in message


def test_a_consumer_of_celery_reads_the_bell(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings, app: Celery
) -> None:
    """Twice the same bell, too: they share a delivery tag, and both are acknowledged."""
    id = platform.admit()
    key = f"{key_prefix(settings)}w1"
    client.lpush(key, client.lindex(key, 0))
    heard = []

    def hear(body: Any, message: Any) -> None:
        heard.append((message.headers["id"], message.headers["task"], body))
        message.ack()

    with app.connection_for_read() as connection, connection.Consumer(queues("w1"), callbacks=[hear]):
        for _ in range(2):
            connection.drain_events(timeout=5)
    nothing = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    assert heard == [(id, GENERATE, [[], {}, nothing])] * 2
    assert client.llen(key) == 0
    assert client.hlen(f"{key_prefix(settings)}unacked") == 0


def test_a_worker_of_celery_runs_the_bells_that_redis_rings(
    platform: SimulatedPlatform, app: Celery, fake_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real worker with its threads pool; each end rings the next bell in the same call."""
    done = threading.Event()
    ran: list[str] = []

    def generate(id: str) -> str:
        platform.release(platform.run(id))
        ran.append(id)
        if len(ran) == 6:
            done.set()
        return "completed"

    monkeypatch.setattr(fake_host, "generate", generate)
    app.conf.task_queues = queues("w1")
    ids = [platform.admit() for _ in range(4)]
    with start_worker(app, pool="threads", concurrency=2, perform_ping_check=False, loglevel="error"):
        ids += [platform.admit() for _ in range(2)]
        assert done.wait(20)
    assert sorted(ran) == ids
    assert platform.slots_taken() == 0
    assert [platform.status(id) for id in ids] == ["completed"] * 6


def test_the_task_asks_its_host_to_run_the_job_of_its_own_id(fake_host: Any) -> None:
    from tasks.generate import generate

    assert generate.name == GENERATE
    assert generate.apply(task_id="resp_1").get() == "completed"
    assert fake_host.asked == [("generate", "resp_1")]


def test_outside_a_worker_there_is_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host._Place, "host", None)
    with pytest.raises(RuntimeError, match="stoker worker"):
        host.current()


def test_the_installed_host_is_the_current_one(fake_host: Any) -> None:
    host.install(fake_host)
    assert host.current() is fake_host
