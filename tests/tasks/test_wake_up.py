"""The wake-up message that Redis pushes is the message that Celery sends, and Celery reads it."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
import redis
from celery import Celery
from celery.contrib.testing.worker import start_worker

from config.settings import Settings
from tasks import worker_interface
from tasks.app import key_prefix, queues
from tasks.definitions import GENERATE, generate
from tasks.wake_up import PLACEHOLDER, wake_up_message
from tests.support.simulated_platform import SimulatedPlatform
from tests.tasks.sample import assert_is_stored_sample


@pytest.fixture
def platform(client: redis.Redis, settings: Settings, app: Celery) -> SimulatedPlatform:
    """One worker with a real wake-up message, and model alpha with two slots."""
    platform = SimulatedPlatform(client, settings)
    wake_up = wake_up_message(app, settings, GENERATE, "w1")
    platform.incarnations["w1"] = platform.ledger.register("w1", wake_up.key, wake_up.message, "cpu")
    platform.load()
    return platform


def sent(client: redis.Redis, key: str) -> dict[str, Any]:
    (message,) = client.lrange(key, 0, -1)
    return json.loads(message)


def comparable(message: dict[str, Any]) -> dict[str, Any]:
    """The message without the values that Celery makes for each message and that nothing here reads."""
    properties = {**message["properties"], "delivery_tag": "any", "reply_to": "any"}
    return {**message, "headers": {**message["headers"], "origin": "any"}, "properties": properties}


def test_the_wake_up_message_is_the_message_that_celery_sends(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings, app: Celery
) -> None:
    key = f"{key_prefix(settings)}w1"
    id = platform.admit()
    pushed = sent(client, key)
    client.delete(key)
    app.send_task(GENERATE, task_id=id, queue="w1", ignore_result=True)
    by_celery = sent(client, key)
    assert comparable(pushed) == comparable(by_celery)
    assert list(pushed) == list(by_celery)
    assert list(pushed["headers"]) == list(by_celery["headers"])
    assert pushed["headers"]["id"] == pushed["properties"]["correlation_id"] == id


def test_the_wake_up_message_is_the_stored_sample(settings: Settings, app: Celery) -> None:
    wake_up = wake_up_message(app, settings, GENERATE, "w1")
    assert wake_up.message.count(PLACEHOLDER) == 4, "id, root_id, correlation_id, delivery_tag"
    form = json.dumps(comparable(json.loads(wake_up.message)), indent=2) + "\n"
    assert_is_stored_sample("wake_up.json", form.encode())


def test_a_wake_up_message_has_an_id_and_nothing_of_the_request(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings
) -> None:
    platform.admit(tenant="acme", generation=b'{"messages":"a secret"}', echo=b'{"user":"a_user"}')
    (message,) = client.lrange(f"{key_prefix(settings)}w1", 0, -1)
    for word in (b"secret", b"a_user", b"acme", b"alpha"):
        assert word not in message


def test_a_consumer_of_celery_reads_the_wake_up_message(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings, app: Celery
) -> None:
    """Also twice the same message: both have the same delivery tag, and both are acknowledged."""
    id = platform.admit()
    key = f"{key_prefix(settings)}w1"
    client.lpush(key, client.lindex(key, 0))
    received = []

    def receive(body: Any, message: Any) -> None:
        received.append((message.headers["id"], message.headers["task"], body))
        message.ack()

    with app.connection_for_read() as connection, connection.Consumer(queues("w1"), callbacks=[receive]):
        for _ in range(2):
            connection.drain_events(timeout=5)
    embedded = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    assert received == [(id, GENERATE, [[], {}, embedded])] * 2
    assert client.llen(key) == 0
    assert client.hlen(f"{key_prefix(settings)}unacked") == 0


def test_a_worker_of_celery_runs_the_jobs_of_the_wake_up_messages(
    platform: SimulatedPlatform, app: Celery, fake_worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real worker with its threads pool; the end of each job pushes the next message in the same call."""
    done = threading.Event()
    ran: list[str] = []

    def generate(id: str) -> str:
        platform.release(platform.run(id))
        ran.append(id)
        if len(ran) == 6:
            done.set()
        return "completed"

    monkeypatch.setattr(fake_worker, "generate", generate)
    app.conf.task_queues = queues("w1")
    ids = [platform.admit() for _ in range(4)]
    with start_worker(app, pool="threads", concurrency=2, perform_ping_check=False, loglevel="error"):
        ids += [platform.admit() for _ in range(2)]
        assert done.wait(20)
    assert sorted(ran) == ids
    assert platform.slots_taken() == 0
    assert [platform.status(id) for id in ids] == ["completed"] * 6


def test_the_task_runs_the_job_with_its_own_id(fake_worker: Any) -> None:
    assert generate.name == GENERATE
    assert generate.apply(task_id="resp_1").get() == "completed"
    assert fake_worker.calls == [("generate", "resp_1")]


def test_a_process_without_a_worker_runs_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_interface._Process, "worker", None)
    with pytest.raises(RuntimeError, match="stoker worker"):
        worker_interface.current_worker()


def test_the_current_worker_is_the_one_that_was_set(fake_worker: Any) -> None:
    worker_interface.set_current_worker(fake_worker)
    assert worker_interface.current_worker() is fake_worker
