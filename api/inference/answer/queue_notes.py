"""Tells the clients of streams that wait in a queue where they stand, in comments of the stream.

A comment is a line that begins with a colon: every client ignores it that does not look for it, OpenAI's SDKs
as well. One task serves all streams of the process; it reads the order of each model's queue once.
"""

from __future__ import annotations

import logging

from api.http.polling import sleep_until_tick
from api.inference.answer.streaming_reader import StreamingReader
from api.inference.queue_orders import QueueOrders
from scheduler.queue_view import Place, QueueOrder
from store.errors import StokerError

logger = logging.getLogger("api")

INTERVAL_S = 3.0
MAX_PER_READ = 500
"""So many streams of a model get a comment with their place at a time."""


class QueueNotes:
    """The streams whose response has no event yet. For the event loop's thread only."""

    def __init__(self, orders: QueueOrders, interval_s: float = INTERVAL_S) -> None:
        self._orders = orders
        self._interval_s = interval_s
        self._silent: dict[StreamingReader, tuple[str, str]] = {}

    def watch(self, reader: StreamingReader, id: str, model: str) -> None:
        """Tell the reader's client where its response stands, until the response has an event."""
        self._silent[reader] = (model, id)

    def forget(self, reader: StreamingReader) -> None:
        """The stream has ended."""
        self._silent.pop(reader, None)

    async def run(self) -> None:
        """Write the comments, until cancelled."""
        while True:
            await sleep_until_tick(self._interval_s)
            try:
                await self.write()
            except StokerError as error:
                logger.info(
                    "the queues cannot be read; waiting clients get their comments later: %s", error.message
                )
            except Exception:
                logger.exception("the queue positions of waiting streams cannot be written")

    async def write(self) -> None:
        """Write a comment to each stream whose job waits now. Raises `StorageUnavailable`."""
        by_model: dict[str, dict[str, StreamingReader]] = {}
        for reader, (model, id) in list(self._silent.items()):
            if reader.is_silent:
                by_model.setdefault(model, {})[id] = reader
            else:
                del self._silent[reader]
        for model, readers in by_model.items():
            ids = list(readers)[:MAX_PER_READ]
            order, places = await self._orders.places(model, ids, max_age_s=0.0)
            for id, place in places.items():
                readers[id].comment(sentence(order, place))


def sentence(order: QueueOrder, place: Place) -> str:
    """The comment for a waiting client: `queue position 3 of 16, estimated wait 4 s, waiting for a slot`."""
    about = "about " if place.is_estimate else ""
    wait = "" if place.wait_ms is None else f", estimated wait {-(-place.wait_ms // 1000)} s"
    return (
        f"queue position {about}{place.position} of {max(order.depth, place.position)}{wait}, {order.reason}"
    )
