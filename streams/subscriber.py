"""Delivers the events of all open responses of one API process, on its event loop.

The scripts that append to a log also publish a copy of each event to the subscribers of the response: one
message holds all that one call appended. `EventSubscriber.deliver` passes a message to the cursors of its
responses, so one step of an engine is one wake-up of the process, whatever the number of its clients.

Copies are lost only with the connection that they come over (`store/subscription.py`), so nothing reads
the log of a silent response. After a new subscription, all cursors compare their place with the ledger, and
those that are behind read their logs: a bounded number per round trip, so that neither Redis nor the loop is
held up. As a second safety, a sweep once a second compares cursors that were silent for `SILENCE_S`.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from store.redis_errors import is_transient
from streams.cursor import CursorState, LogCursor, Reader
from streams.log import Command, CommandConnection, entries_of, length_commands, page_command

logger = logging.getLogger("streams")

SILENCE_S = 30.0
"""A cursor without an event for this time is compared with the ledger."""

SWEEP_S = 1.0
CHECKS_PER_SWEEP = 500
CHECKS_PER_EXCHANGE = 200
"""The most cursors that one round trip compares with the ledger."""

PAGES_PER_EXCHANGE = 4
"""The most logs that one round trip reads a page of."""

RETRY_S = 0.2
"""The pause before a next try while Redis is unreachable or refuses the commands."""


class EventSubscriber:
    """Receives copies of events for every open response of this API process. Fulfils `CatchUp`.

    Used by the event loop's thread only. `connection` reads the logs.
    """

    def __init__(self, connection: CommandConnection, prefix: str) -> None:
        self.name = secrets.token_hex(8)
        self.channel = f"{{{prefix}}}:subscriber:{self.name}"
        self.prefix = prefix
        self.now = 0.0
        self._connection = connection
        self._cursors: dict[bytes, tuple[LogCursor, ...]] = {}
        self._to_read: deque[LogCursor] = deque()
        self._to_check: deque[LogCursor] = deque()
        self._catching_up: asyncio.Task[None] | None = None

    def subscribe(self, id: str, reader: Reader) -> LogCursor:
        """Return a cursor at the start of response `id`.

        For a new response, call it before the admission and `LogCursor.on_admitted` after it; for a response
        that may have events, call `Ledger.subscribe` and `LogCursor.catch_up` after it.
        """
        self.now = asyncio.get_running_loop().time()
        cursor = LogCursor(self, id, reader)
        key = id.encode()
        self._cursors[key] = (*self._cursors.get(key, ()), cursor)
        return cursor

    def open_responses(self) -> int:
        """Return how many responses have at least one cursor."""
        return len(self._cursors)

    async def run(self) -> None:
        """Sweep once a second, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_S)
            self.sweep(asyncio.get_running_loop().time())

    def sweep(self, now: float) -> None:
        """Compare some of the cursors that are silent with the ledger. `now` is the loop's clock."""
        self.now = now
        if self._to_check:
            return  # Redis is slow or unreachable
        silent = (
            cursor
            for group in self._cursors.values()
            for cursor in group
            if cursor.active_at <= now - SILENCE_S and cursor.state is CursorState.LIVE
        )
        for cursor in list(islice(silent, CHECKS_PER_SWEEP)):
            self.check(cursor)

    # ---- called by the subscription

    def deliver(self, message: bytes) -> None:
        """Pass on the copies in a published message: a line "<id> <number> <event>" each.

        Those of one response are adjacent lines; a cursor gets them together.
        """
        self.now = asyncio.get_running_loop().time()
        cursors = self._cursors
        previous, group, first, events = b"", tuple[LogCursor, ...](), 0, list[bytes]()
        try:
            for line in message.split(b"\n"):
                id, number, event = line.split(b" ", 2)
                if id == previous and int(number) == first + len(
                    events
                ):  # the next event of the same response
                    events.append(event)
                    continue
                for cursor in group:
                    cursor.on_copies(first, events)
                previous, group = id, cursors.get(id, ())
                first, events = int(number), [event]
            for cursor in group:
                cursor.on_copies(first, events)
        except ValueError:
            logger.exception("a message of the subscription is not valid (%d bytes)", len(message))
            self.catch_up_all()

    def catch_up_all(self) -> None:
        """Compare all cursors with the ledger: copies may have been lost."""
        self._to_check.clear()
        for group in self._cursors.values():
            for cursor in group:
                cursor.on_lost_copies()

    # ---- called by the cursors

    def read(self, cursor: LogCursor) -> None:
        """Read the next page of the log for a cursor, together with the other reads that are due."""
        self._to_read.append(cursor)
        self._start_catching_up()

    def check(self, cursor: LogCursor) -> None:
        """Ask for the number of the latest event of the cursor's response."""
        self._to_check.append(cursor)
        self._start_catching_up()

    def forget(self, cursor: LogCursor) -> None:
        """Deliver nothing more to the cursor."""
        key = cursor.id.encode()
        remaining = tuple(other for other in self._cursors.get(key, ()) if other is not cursor)
        if remaining:
            self._cursors[key] = remaining
        else:
            self._cursors.pop(key, None)

    # ---- catching up

    def _start_catching_up(self) -> None:
        if self._catching_up is None and (self._to_read or self._to_check):
            self._catching_up = asyncio.get_running_loop().create_task(self._catch_up())

    async def _catch_up(self) -> None:
        """Read logs and compare numbers until there is nothing to do."""
        try:
            while self._to_read or self._to_check:
                read = _take(self._to_read, PAGES_PER_EXCHANGE, CursorState.READING)
                checked = _take(self._to_check, CHECKS_PER_EXCHANGE, CursorState.LIVE)
                if not await self._exchange(read, checked):
                    self._to_read.extend(read)
                    self._to_check.extend(checked)
                    await asyncio.sleep(RETRY_S)
        finally:
            self._catching_up = None

    async def _exchange(self, read: list[LogCursor], checked: list[LogCursor]) -> bool:
        """Read and compare for these cursors in one round trip. Returns False if it must be repeated."""
        sizes = [cursor.before_page() for cursor in read]
        places = [cursor.before_check() for cursor in checked]  # copies may arrive before the replies
        commands: list[Command] = [
            page_command(self.prefix, cursor.id, cursor.number, size)
            for cursor, size in zip(read, sizes, strict=True)
        ]
        for cursor in checked:
            commands += length_commands(self.prefix, cursor.id)
        try:
            replies = await self._connection.exchange(commands)
        except Exception as error:
            if not is_transient(error):
                logger.warning("cannot read logs, will try again: %s: %s", type(error).__name__, error)
            return False
        if any(map(is_transient, replies)):
            return False
        self.now = asyncio.get_running_loop().time()
        for cursor, size, reply in zip(read, sizes, replies, strict=False):
            with _failing(cursor):
                cursor.on_page(entries_of(_accepted(reply)), size)
        states, lengths = replies[len(read) :: 2], replies[len(read) + 1 :: 2]
        for cursor, place, state, length in zip(checked, places, states, lengths, strict=True):
            with _failing(cursor):
                status, ended_us = _accepted(state)
                last = None if status is None else int(_accepted(length))
                cursor.on_last(last, place, has_ended=ended_us is not None)
        return True


def _accepted(reply: Any) -> Any:
    """The reply to a command. Raises its error when Redis has refused the command."""
    if isinstance(reply, Exception):
        raise reply
    return reply


@contextmanager
def _failing(cursor: LogCursor) -> Iterator[None]:
    """End the cursor with an error of the block, so that no other cursor waits for ever."""
    try:
        yield
    except Exception as error:
        cursor.on_failure(error)


def _take(waiting: deque[LogCursor], count: int, state: CursorState) -> list[LogCursor]:
    """Remove up to `count` cursors; those that are no longer in that state are dropped."""
    taken: list[LogCursor] = []
    while waiting and len(taken) < count:
        cursor = waiting.popleft()
        if cursor.state is state:
            taken.append(cursor)
    return taken
