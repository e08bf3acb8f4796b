from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from config.settings import Settings
from streams.events import Event
from streams.subscriber import Inbox, Tail
from tests.support.simulated_platform import House

MakeInbox = Callable[[], Inbox]


@pytest.fixture
def house(client: redis.Redis, settings: Settings) -> House:
    """One worker, and model alpha with many slots."""
    house = House(client, settings)
    house.register()
    house.load(slots=256)
    return house


@pytest.fixture
def make_inbox(client: redis.Redis, settings: Settings) -> Iterator[MakeInbox]:
    """Starts inboxes, one for each process there would be."""
    made: list[Inbox] = []

    def make() -> Inbox:
        inbox = Inbox(client, redis.Redis.from_url(settings.redis.url, protocol=2), settings.redis.prefix)
        inbox.start()
        made.append(inbox)
        return inbox

    yield make
    for inbox in made:
        inbox.stop()
    client.client_kill_filter(_type="pubsub")


@pytest.fixture
def inbox(make_inbox: MakeInbox) -> Inbox:
    return make_inbox()


def events_of(tail: Tail, count: int, timeout_s: float = 10) -> list[Event]:
    """The next events; waits for them as a client would, through wakes and silence."""
    events: list[Event] = []
    for _ in range(count + 200):
        event = tail.next(timeout_s / 200)
        events += [event] if event is not None else []
        if len(events) == count:
            return events
    raise AssertionError(f"{len(events)} of {count} events came")
