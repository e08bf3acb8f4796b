"""Subscribers on an event loop, and a platform without processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

import pytest
import redis

from config.settings import Settings
from store.async_connection import AsyncConnection
from store.subscription import Subscription
from streams.cursor import LogCursor
from streams.events import Event, decode
from streams.subscriber import EventSubscriber
from tests.support.loop_thread import LoopThread
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import scaled, wait_until

Result = TypeVar("Result")
MakeProcess = Callable[[], "ApiProcess"]


class Collector:
    """A reader that keeps the events, and pauses its cursor at each call while `is_slow`."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.failures: list[Exception] = []
        self.is_slow = False
        self.cursor: LogCursor

    def on_events(self, events: list[bytes]) -> None:
        self.events += map(decode, events)
        if self.is_slow:
            self.cursor.pause()

    def on_failure(self, error: Exception) -> None:
        self.failures.append(error)

    def wait_for(self, count: int) -> list[Event]:
        """All events, when there are `count` of them."""
        wait_until(lambda: len(self.events) >= count, details=lambda: f"{len(self.events)} of {count} events")
        return self.events


class ApiProcess:
    """The part of an API process that delivers events: a subscriber on an event loop of its own."""

    def __init__(self, settings: Settings) -> None:
        self._thread = LoopThread()
        self._thread.start()
        self._tasks: list[Future[Any]] = []
        self.connection = AsyncConnection(settings)
        self.subscriber = EventSubscriber(self.connection, settings.redis.prefix)
        self.subscription = Subscription(
            settings, self.subscriber.channel, self.subscriber.deliver, self.subscriber.catch_up_all
        )

    def start(self) -> None:
        """Subscribe; returns at once."""
        self._tasks = [
            asyncio.run_coroutine_threadsafe(run(), self._thread.loop)
            for run in (self.subscription.run, self.subscriber.run)
        ]

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.run(self.connection.close())
        self._thread.stop()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._thread.loop).result(scaled(10))

    def call(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Call a function on the loop."""

        async def call() -> Result:
            return function(*arguments)

        return self.run(call())

    def subscribe(self, id: str) -> Collector:
        """A reader of a response."""
        reader = Collector()
        reader.cursor = self.call(self.subscriber.subscribe, id, reader)
        return reader

    def wait_until_subscribed(self) -> None:
        wait_until(lambda: self.subscription._is_subscribed)

    def wait_until_caught_up(self) -> None:
        wait_until(lambda: self.subscriber._catching_up is None)


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One worker, and model alpha with many slots."""
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=256)
    return platform


@pytest.fixture
def make_process(settings: Settings) -> Iterator[MakeProcess]:
    """Starts API processes, which have subscribed when they are returned."""
    made: list[ApiProcess] = []

    def make() -> ApiProcess:
        process = ApiProcess(settings)
        made.append(process)
        process.start()
        process.wait_until_subscribed()
        return process

    yield make
    for process in made:
        process.stop()


@pytest.fixture
def process(make_process: MakeProcess) -> ApiProcess:
    return make_process()
