"""A subscription receives what is published, and subscribes again after any loss of its connection."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import redis

from config.settings import RedisSettings, Settings
from store import subscription as module
from store.subscription import Subscription
from tests.conftest import ValkeyServer
from tests.support.freezing import freeze
from tests.support.loop_thread import LoopThread
from tests.support.waiting import scaled, wait_until


class Received:
    """What a subscription has reported."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.subscribed = 0

    def on_message(self, message: bytes) -> None:
        self.messages.append(message)

    def on_subscribed(self) -> None:
        self.subscribed += 1


Subscribe = Callable[[Settings], Received]


@pytest.fixture
def subscribe() -> Iterator[Subscribe]:
    """Starts subscriptions to the channel `c`."""
    thread = LoopThread()
    thread.start()

    def subscribe(settings: Settings) -> Received:
        received = Received()
        subscription = Subscription(settings, "c", received.on_message, received.on_subscribed)
        asyncio.run_coroutine_threadsafe(subscription.run(), thread.loop)
        return received

    yield subscribe
    thread.stop()


@pytest.fixture
def own_settings(own_server: ValkeyServer) -> Settings:
    return replace(Settings(), redis=RedisSettings(own_server.url, "t"))


def test_messages_arrive_in_order_and_unchanged(
    own_server: ValkeyServer, own_settings: Settings, subscribe: Subscribe
) -> None:
    received = subscribe(own_settings)
    wait_until(lambda: received.subscribed == 1)
    client = redis.Redis.from_url(own_server.url)
    sent = [b"", b"\x00\r\n\xff", b"x" * 1_000_000, *(b"%d" % number for number in range(1000))]
    for message in sent:
        client.publish("c", message)
    wait_until(lambda: len(received.messages) == len(sent))
    assert received.messages == sent


def test_a_lost_connection_is_replaced(
    own_server: ValkeyServer, own_settings: Settings, subscribe: Subscribe
) -> None:
    received = subscribe(own_settings)
    wait_until(lambda: received.subscribed == 1)
    client = redis.Redis.from_url(own_server.url)
    client.client_kill_filter(_type="pubsub")
    wait_until(lambda: received.subscribed == 2)
    client.publish("c", "after")
    wait_until(lambda: received.messages == [b"after"])


def test_a_server_that_is_silent_is_noticed_and_one_that_answers_is_kept(
    own_server: ValkeyServer,
    own_settings: Settings,
    subscribe: Subscribe,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(module, "PING_S", scaled(0.1))
    monkeypatch.setattr(module, "SILENCE_S", scaled(0.3))
    received = subscribe(own_settings)
    wait_until(lambda: received.subscribed == 1)
    time.sleep(scaled(1))  # the replies to PINGs keep it
    assert received.subscribed == 1
    assert own_server.process is not None
    freeze(own_server.process.pid)
    wait_until(lambda: "does not answer" in caplog.text)
    os.kill(own_server.process.pid, signal.SIGCONT)
    wait_until(lambda: received.subscribed == 2)


def test_an_outage_is_logged_once(
    own_server: ValkeyServer, own_settings: Settings, subscribe: Subscribe, caplog: pytest.LogCaptureFixture
) -> None:
    received = subscribe(own_settings)
    wait_until(lambda: received.subscribed == 1)
    own_server.kill()
    wait_until(lambda: "subscribing again" in caplog.text)
    time.sleep(3 * module.RETRY_S)
    own_server.start()
    wait_until(lambda: received.subscribed == 2)
    assert len([record for record in caplog.records if record.name == "scheduler"]) == 1


def test_an_error_of_a_receiver_does_not_end_the_subscription(
    own_server: ValkeyServer, own_settings: Settings, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Received, "on_message", lambda self, message: self.messages.append(1 // int(message)))
    received = subscribe(own_settings)
    wait_until(lambda: received.subscribed == 1)
    client = redis.Redis.from_url(own_server.url)
    client.publish("c", 0)
    client.publish("c", 1)
    wait_until(lambda: received.messages == [1])
    assert received.subscribed == 1
