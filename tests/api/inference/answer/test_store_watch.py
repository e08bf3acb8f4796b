"""The end of all waits while Redis refuses writes: if it lasts, in states in which no script writes."""

from __future__ import annotations

import asyncio

import pytest
from redis.exceptions import ConnectionError, OutOfMemoryError, ResponseError

from api.http.open_streams import OpenStreams
from api.inference.answer.response_readers import WholeReader
from api.inference.answer.store_watch import PATIENCE_S, StoreWatch
from config.settings import Settings
from store.scripts import redis_errors_translated
from streams.subscriber import EventSubscriber
from tests.support.api_fakes import FakeStore
from tests.support.recorded_client import RecordedClient

MISCONF = ResponseError("MISCONF Errors writing to the AOF file: No space left on device")


class Store:
    """A store whose writes raise an error, if there is one."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.tries = 0

    def write(self) -> None:
        self.tries += 1
        with redis_errors_translated():
            if self.error is not None:
                raise self.error


def ended_at(*looks: tuple[float, Exception | None]) -> tuple[float | None, int]:
    """The first look after which the wait of a client has ended, None if none, and the tries to write.

    A look has its time, and the error of the store at that time.
    """

    async def wait() -> tuple[float | None, int]:
        store, streams = Store(), OpenStreams(4, 15.0, several_tenants=False)
        watch = StoreWatch(streams, store.write)
        await watch.look(0.0)
        assert store.tries == 0, "no client waits"
        reader = WholeReader(RecordedClient(), Settings())
        reader.follow(EventSubscriber(FakeStore(), "fake"), "r1")
        with streams.hold(reader, "one"):
            for at, store.error in looks:
                await watch.look(at)
                if reader.done.done():
                    return at, store.tries
        return None, store.tries

    return asyncio.run(wait())


def test_a_wait_ends_when_the_store_has_refused_writes_for_long() -> None:
    late = 100 + PATIENCE_S
    assert ended_at((100, MISCONF), (late - 1, MISCONF), (late, MISCONF)) == (late, 3)


def test_a_wait_goes_on_when_the_store_takes_writes_between_two_refusals() -> None:
    assert ended_at((100, MISCONF), (110, None), (120, MISCONF), (120 + PATIENCE_S - 1, MISCONF))[0] is None


@pytest.mark.parametrize("error", [OutOfMemoryError("OOM"), ConnectionError("gone")], ids=["memory", "gone"])
def test_a_wait_goes_on_when_workers_may_write_all_the_same(error: Exception) -> None:
    assert ended_at((100, error), (100 + 2 * PATIENCE_S, error))[0] is None
