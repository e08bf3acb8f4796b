"""Loads and unloads are told to the workers they concern, under the operation's id."""

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
from tasks.lifecycle import load, ring, unload
from tests.support.simulated_platform import SimulatedPlatform
from tests.tasks.sample import assert_is_the_sample
from tests.tasks.test_wake_up import only_what_matters


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
def test_each_worker_hears_of_its_replica(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings
) -> None:
    change = platform.fleet.load("alpha", LoadRequest(2))
    assert change.operation
    ring(change)
    for index, item in enumerate(change.assignments):
        (message,) = messages(client, settings, item.worker)
        assert message["headers"]["task"] == "stoker.load"
        assert message["headers"]["id"] == change.operation.id + (f".{index}" if index else "")
        assert arguments(message) == [item.replica]


@pytest.mark.usefixtures("platform_app")
def test_an_unload_is_told_the_same_way(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings
) -> None:
    (replica,) = platform.load()
    change = platform.fleet.unload("alpha")
    ring(change)
    (message,) = messages(client, settings, "w1")
    assert message["headers"]["task"] == "stoker.unload"
    assert arguments(message) == [replica]


@pytest.mark.usefixtures("platform_app")
def test_the_message_of_a_load_is_the_one_in_the_samples(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings
) -> None:
    change = platform.fleet.load("alpha")
    assert change.operation
    ring(change)
    (message,) = messages(client, settings, "w1")
    form = json.dumps({**only_what_matters(message), "body": arguments(message)}, indent=2) + "\n"
    form = form.replace(change.assignments[0].replica, "alpha#0.0").replace(change.operation.id, "load_0")
    assert_is_the_sample("load.json", form.encode())


@pytest.mark.usefixtures("platform_app")
def test_where_nothing_had_to_be_done_nobody_is_rung(
    platform: SimulatedPlatform, client: redis.Redis, settings: Settings
) -> None:
    platform.load()
    ring(platform.fleet.load("alpha"))
    ring(LoadOutcome("load", None))
    assert messages(client, settings, "w1") == messages(client, settings, "w2") == []


def test_a_broker_that_is_away_stops_no_load(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(load, "apply_async", away)
    with caplog.at_level(logging.WARNING, "tasks"):
        ring(platform.fleet.load("alpha", LoadRequest(2)))
    assert caplog.text.count("will find it") == 2


def test_the_tasks_ask_the_host(fake_host: Any) -> None:
    assert load.apply(("alpha#1.0",)).get() == "2 slots"
    assert unload.apply(("alpha#1.0",)).get() == "unloaded"
    assert fake_host.asked == [("load", "alpha#1.0"), ("unload", "alpha#1.0")]
