"""Reports changes of the models to administrators' clients as server-sent events, so that they need not poll.

One feed per process reads a snapshot after each state change and every second, while there are followers; a
thread does that for all of them. Each follower sends its client what differs from what that client has. So a
client may connect at any time, and its values are at most a second old.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol, TypeVar

from api.http import sse
from api.http.server.client_connection import ClientConnection
from api.operations.model_snapshots import (
    MODEL,
    CurrentValue,
    Position,
    Snapshot,
    SnapshotReader,
    position_of,
    removals,
)
from store.errors import StokerError

logger = logging.getLogger("api")

Result = TypeVar("Result")

POLL_INTERVAL_S = 1.0
THREADS = 4
"""Threads that read snapshots: one for the feed while it has followers, the others for new followers."""


class Follower(Protocol):
    """What a feed passes snapshots to. Hashable by identity."""

    def on_snapshot(self, snapshot: Snapshot) -> None:
        """Take a snapshot."""
        ...

    def abort(self) -> None:
        """End: the feed has failed."""
        ...


class ModelFeed:
    """Passes a snapshot to all followers after each change. For the event loop's thread only."""

    def __init__(self, reader: SnapshotReader) -> None:
        self._reader = reader
        self._followers: set[Follower] = set()
        self._pending: frozenset[str] = frozenset()
        self._task: asyncio.Task[None] | None = None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="model-events")

    async def join(self, follower: Follower) -> None:
        """Pass snapshots to the follower from now on: all state changes that are later than this call.

        Raises `StorageUnavailable`, and has not joined then.
        """
        if self._task is None:
            last = await self._in_thread(self._reader.last)
            if self._task is None:
                self._followers.add(follower)  # before the task begins, which ends without a follower
                self._task = asyncio.get_running_loop().create_task(self._run(last))
        self._followers.add(follower)

    def leave(self, follower: Follower) -> None:
        """Pass nothing more to the follower."""
        self._followers.discard(follower)

    async def read(self, after: str | None) -> Snapshot:
        """A snapshot as it is now, with the state changes after that id. Raises `StorageUnavailable`."""
        snapshot = await self._in_thread(self._reader.read, after)
        self._pending |= snapshot.pending
        return snapshot

    def close(self) -> None:
        """End the threads after their current reads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, last: str) -> None:
        """Read while there are followers. After an error, the next read begins at the same place."""
        unreachable = False
        try:
            while self._followers:
                try:
                    asked = self._pending
                    snapshot = await self._in_thread(self._reader.read, last, POLL_INTERVAL_S, asked)
                except StokerError as error:
                    if not unreachable:
                        logger.warning("%s", error.message)
                    unreachable = True
                    await asyncio.sleep(POLL_INTERVAL_S)
                    continue
                unreachable, last = False, snapshot.last
                self._pending = (self._pending - asked) | snapshot.pending
                for follower in list(self._followers):
                    follower.on_snapshot(snapshot)
        except Exception:
            logger.exception("the feed of model events failed")
            for follower in list(self._followers):
                follower.abort()
        finally:
            self._task = None

    async def _in_thread(self, read: Callable[..., Result], *arguments: object) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, read, *arguments)


class ModelFollower:
    """Sends the events to one client.

    While the connection accepts nothing more, snapshots are dropped; then the follower reads one itself.
    """

    def __init__(
        self, connection: ClientConnection, keep_alive_s: float, is_running: Callable[[], bool]
    ) -> None:
        self.connection = connection
        self._keep_alive_s = keep_alive_s
        self._is_running = is_running
        self._written_at = 0.0
        self._read_at = 0.0
        self._position: Position = (0, 0)
        self._last = ""
        self._sent: dict[str, CurrentValue] = {}
        self._waiting: list[Snapshot] | None = []  # snapshots that come while this follower reads its own
        self._changed = asyncio.Event()
        self._is_behind = self._is_done = False

    async def follow(self, feed: ModelFeed, after: str | None) -> None:
        """Send events until the client disconnects or this process ends.

        `after` is the id of the last state change that the client has received; None begins with the current
        state. Raises `StorageUnavailable` before the answer has begun.
        """
        self.connection.on_disconnect(self._end)
        try:
            await feed.join(self)
            snapshot: Snapshot | None = await feed.read(after)
            self.connection.on_writable(self._changed.set)
            self.connection.begin(200, sse.HEADERS)
            while not self._is_done:
                if snapshot is not None:
                    self._catch_up(snapshot)
                await self._until_behind()
                if not self._is_done:
                    snapshot = await self._read_again(feed)
        finally:
            feed.leave(self)

    def on_snapshot(self, snapshot: Snapshot) -> None:
        """Send what the client does not have."""
        if self._waiting is not None:
            self._waiting.append(snapshot)
        elif self.connection.writable and not self._is_behind:
            self._send_shared(snapshot)
        else:
            self._is_behind = True

    def abort(self) -> None:
        """Cut the connection."""
        self.connection.abort()

    def sweep(self, now: float) -> None:
        """Send a keep-alive when one is due; end the stream once the feed has stopped."""
        if not self._is_running():
            self.connection.end()
            self._end()
        elif self._written_at and now - self._written_at >= self._keep_alive_s and self.connection.writable:
            self._write(sse.KEEP_ALIVE)

    def _catch_up(self, snapshot: Snapshot) -> None:
        self._read_at = time.monotonic()
        self._send(snapshot)
        waiting, self._waiting = self._waiting, None
        for shared in waiting or ():
            self._send_shared(shared)

    async def _until_behind(self) -> None:
        """Wait until snapshots have been dropped and the connection is writable again."""
        while not self._is_done and not (self._is_behind and self.connection.writable):
            self._changed.clear()
            await self._changed.wait()

    async def _read_again(self, feed: ModelFeed) -> Snapshot | None:
        self._is_behind, self._waiting = False, []
        try:
            return await feed.read(self._last)
        except StokerError:
            self._is_behind, self._waiting = True, None
            await asyncio.sleep(POLL_INTERVAL_S)
            return None

    def _send_shared(self, snapshot: Snapshot) -> None:
        """Send a snapshot of the feed. Values of one from before this follower's own do not replace those."""
        if snapshot.began_at < self._read_at:
            others = {key: value for key, value in snapshot.values.items() if not key.startswith(MODEL)}
            snapshot = replace(snapshot, values={**others, **self._sent})
        self._send(snapshot)

    def _send(self, snapshot: Snapshot) -> None:
        pieces = [event for position, event in snapshot.changes if position > self._position]
        pieces += removals(self._sent, snapshot.values)
        pieces += [value.event for key, value in snapshot.values.items() if self._is_new(key, value)]
        if not self._sent:
            pieces[-1] = sse.with_id(pieces[-1], snapshot.last)  # for a client that loses the connection now
        self._sent = snapshot.values
        if (position := position_of(snapshot.last)) > self._position:
            self._position, self._last = position, snapshot.last
        if pieces:
            self._write(b"".join(pieces))

    def _is_new(self, key: str, value: CurrentValue) -> bool:
        sent = self._sent.get(key)
        return sent is None or sent.compared != value.compared

    def _write(self, data: bytes) -> None:
        self._written_at = asyncio.get_running_loop().time()
        self.connection.write(data)

    def _end(self) -> None:
        self._is_done = True
        self._changed.set()


async def send_current(connection: ClientConnection, feed: ModelFeed, after: str | None) -> None:
    """Send the current state, after the state changes since the id `after`. Raises `StorageUnavailable`."""
    snapshot = await feed.read(after)
    connection.begin(200, sse.HEADERS)
    pieces = [event for _, event in snapshot.changes]
    pieces += [value.event for value in snapshot.values.values()]
    pieces[-1] = sse.with_id(pieces[-1], snapshot.last)
    connection.write(b"".join(pieces))
    connection.end()
