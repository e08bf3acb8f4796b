"""Workers are notified of loads and unloads by tasks with the operation's id."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

import pytest
import redis
from kombu.exceptions import OperationalError

from config.settings import Settings
from fleet.load_request import LoadOutcome, LoadRequest
from tasks.app import control_queue, key_prefix
from tasks.definitions import load, notify_workers, unload
from tests.generation.sample import assert_is_stored_sample
from tests.support.simulated_platform import SimulatedPlatform


def comparable(message: dict[str, Any]) -> dict[str, Any]:
    """The message without the values that Celery makes for each message and that nothing here reads."""
    properties = {**message["properties"], "delivery_tag": "any", "reply_to": "any"}
    return {**message, "headers": {**message["headers"], "origin": "any"}, "properties": properties}


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    platform.register("w2")
    return platform


def messages(client: redis.Redis, settings: Settings, worker: str) -> list[dict[str, Any]]:
    raw = client.lrange(f"{key_prefix(settings)}{control_queue(worker)}", 0, -1)
    return [json.loads(message) for message in raw]


def arguments(message: dict[str, Any]) -> list[Any]:
    return json.loads(base64.b64decode(message["body"]))[0]


@pytest.mark.usefixtures("platform_app")
def test_each_worker_is_notified_of_its_replica(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings
) -> None:
    outcome = platform.fleet.load("alpha", LoadRequest(2))
    assert outcome.operation
    notify_workers(outcome)
    for index, item in enumerate(outcome.assignments):
        (message,) = messages(client, settings, item.worker)
        assert message["headers"]["task"] == "stoker.load"
        assert message["headers"]["id"] == outcome.operation.id + (f".{index}" if index else "")
        assert arguments(message) == [item.replica]


@pytest.mark.usefixtures("platform_app")
def test_the_worker_of_a_replica_is_notified_of_an_unload(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings
) -> None:
    (replica,) = platform.load()
    outcome = platform.fleet.unload("alpha")
    notify_workers(outcome)
    (message,) = messages(client, settings, "w1")
    assert message["headers"]["task"] == "stoker.unload"
    assert arguments(message) == [replica]


@pytest.mark.usefixtures("platform_app")
def test_the_message_of_a_load_is_the_stored_sample(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings
) -> None:
    outcome = platform.fleet.load("alpha")
    assert outcome.operation
    notify_workers(outcome)
    (message,) = messages(client, settings, "w1")
    form = json.dumps({**comparable(message), "body": arguments(message)}, indent=2) + "\n"
    form = form.replace(outcome.assignments[0].replica, "alpha#0.0").replace(outcome.operation.id, "load_0")
    assert_is_stored_sample("load.json", form.encode())


@pytest.mark.usefixtures("platform_app")
def test_no_worker_is_notified_if_nothing_has_to_be_done(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings
) -> None:
    platform.load()
    notify_workers(platform.fleet.load("alpha"))
    notify_workers(LoadOutcome("load", None))
    assert messages(client, settings, "w1") == messages(client, settings, "w2") == []


def test_a_load_begins_although_the_broker_is_unreachable(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unreachable(*_: Any, **__: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(load, "apply_async", unreachable)
    with caplog.at_level(logging.WARNING, "tasks"):
        notify_workers(platform.fleet.load("alpha", LoadRequest(2)))
    assert caplog.text.count("will find it") == 2


def test_the_tasks_call_the_worker_of_the_process(fake_worker: Any) -> None:
    assert load.apply(("alpha#1.0",)).get() == "2 slots"
    assert unload.apply(("alpha#1.0",)).get() == "unloaded"
    assert fake_worker.calls == [("load", "alpha#1.0"), ("unload", "alpha#1.0")]
