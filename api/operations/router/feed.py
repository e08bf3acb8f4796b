"""Sends the router's events to the clients of one API process: one follower of the models' feed for all.

Without a reader it follows nothing. A reader that does not take its events is disconnected: they cannot be
left out, and a client that connects again reads the list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from api.http import sse
from api.http.server.client_connection import ClientConnection
from api.operations.model_events import ModelFeed
from api.operations.model_snapshots import Snapshot
from api.operations.router.events import ALL_MODELS, EventSource, RouterEvent


class RouterReader:
    """A client that reads the events of the models that it `sees`. For the event loop's thread only."""

    def __init__(
        self,
        connection: ClientConnection,
        sees: Callable[[str], bool],
        keep_alive_s: float,
        is_running: Callable[[], bool],
    ) -> None:
        self._connection = connection
        self._sees = sees
        self._keep_alive_s = keep_alive_s
        self._is_running = is_running
        self._written_at = 0.0
        self._ended = asyncio.Event()

    async def read(self, feed: RouterFeed) -> None:
        """Send events until the client leaves or this process ends. Raises `StorageUnavailable` before."""
        self._connection.on_disconnect(self._ended.set)
        await feed.join(self)
        try:
            self._connection.begin(200, sse.HEADERS)
            self._write(sse.KEEP_ALIVE)  # a client learns that it misses no event from now on
            await self._ended.wait()
        finally:
            feed.leave(self)

    def send(self, events: list[RouterEvent]) -> None:
        """Send the events of the models that the client sees."""
        data = b"".join(
            event.data for event in events if event.model == ALL_MODELS or self._sees(event.model)
        )
        if data and self._connection.writable:
            self._write(data)
        elif data:
            self.abort()

    def abort(self) -> None:
        """Cut the connection."""
        self._connection.abort()
        self._ended.set()

    def sweep(self, now: float) -> None:
        """Send a keep-alive when one is due; end the stream with the process, or with the key."""
        if not self._is_running():
            self._connection.end()
            self._ended.set()
        elif self._written_at and now - self._written_at >= self._keep_alive_s and self._connection.writable:
            self._write(sse.KEEP_ALIVE)

    def _write(self, data: bytes) -> None:
        self._written_at = asyncio.get_running_loop().time()
        self._connection.write(data)


class RouterFeed:
    """Passes the events to all readers. For the event loop's thread only."""

    def __init__(self, feed: ModelFeed) -> None:
        self._feed = feed
        self._source = EventSource()
        self._readers: set[RouterReader] = set()

    async def join(self, reader: RouterReader) -> None:
        """Pass the events of later changes to the reader. Raises `StorageUnavailable`, and has not joined."""
        await self._feed.join(self)
        self._readers.add(reader)

    def leave(self, reader: RouterReader) -> None:
        """Pass nothing more to the reader."""
        self._readers.discard(reader)
        if not self._readers:
            self._feed.leave(self)

    def on_snapshot(self, snapshot: Snapshot) -> None:
        """Send the events of a snapshot."""
        self.send(self._source.events(snapshot.raw_changes, snapshot.operations))

    def send(self, events: list[RouterEvent]) -> None:
        """Send events to all readers that see their models."""
        if not events:
            return
        for reader in list(self._readers):
            reader.send(events)

    def abort(self) -> None:
        """Cut the connections of all readers: the models' feed has failed."""
        for reader in list(self._readers):
            reader.abort()
