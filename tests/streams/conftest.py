"""Subscribers on a platform without processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from config.settings import Settings
from streams.events import Event
from streams.subscriber import EventSubscriber, LogCursor
from tests.support.simulated_platform import SimulatedPlatform

MakeSubscriber = Callable[[], EventSubscriber]


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One worker, and model alpha with many slots."""
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=256)
    return platform


@pytest.fixture
def make_subscriber(client: redis.Redis, settings: Settings) -> Iterator[MakeSubscriber]:
    """Starts subscribers, as one per API process."""
    made: list[EventSubscriber] = []

    def make() -> EventSubscriber:
        subscriber = EventSubscriber(
            client, redis.Redis.from_url(settings.redis.url, protocol=2), settings.redis.prefix
        )
        subscriber.start()
        made.append(subscriber)
        return subscriber

    yield make
    for subscriber in made:
        subscriber.stop()
    client.client_kill_filter(_type="pubsub")


@pytest.fixture
def subscriber(make_subscriber: MakeSubscriber) -> EventSubscriber:
    return make_subscriber()


def events_of(cursor: LogCursor, count: int, timeout_s: float = 10) -> list[Event]:
    """Return the next `count` events; waits through wakes and silences as a client's thread does."""
    events: list[Event] = []
    for _ in range(count + 200):
        event = cursor.next(timeout_s / 200)
        events += [event] if event is not None else []
        if len(events) == count:
            return events
    raise AssertionError(f"{len(events)} of {count} events came")
