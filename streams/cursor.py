"""A reader's position in the log of one response: each event once, in order, without a gap.

Copies of the events arrive through the subscriber, and may be lost, repeated or late; the log is the truth.
A cursor compares the events' numbers: an event that is the next one goes to the reader at once, an older one
is ignored, and for a later one the log is read.
"""

from __future__ import annotations

import enum
import logging
import sys
from typing import Protocol

from streams.events import is_end
from streams.log import PAGE, PAGE_BYTES, StreamLost

logger = logging.getLogger("streams")


class Reader(Protocol):
    """Takes the events of one response. Called in callbacks of the event loop, so its methods never block."""

    def on_events(self, events: list[bytes]) -> None:
        """Take the next events, one or more, in their encoded form. May pause or close the cursor."""
        ...

    def on_failure(self, error: Exception) -> None:
        """Called once, at last, when the log is gone (`StreamLost`) or when `on_events` raised an error."""
        ...


class CursorState(enum.IntEnum):
    """What a cursor does with a copy of an event."""

    LIVE = 0
    """It passes the next event on, and reads the log when there is a gap."""

    READING = 1
    """It reads the log and only remembers the numbers of copies."""

    PAUSED = 2
    """Its reader does not take events: it does nothing."""

    CLOSED = 3
    """It has ended."""


class CatchUp(Protocol):
    """Reads logs for cursors; `streams.subscriber.EventSubscriber` fulfils it."""

    now: float
    """The loop's clock at the latest message."""

    def read(self, cursor: LogCursor) -> None:
        """Pass the next page of the log to `LogCursor.on_page`, soon."""
        ...

    def check(self, cursor: LogCursor) -> None:
        """Pass the number of the response's latest event to `LogCursor.on_last`, soon.

        Like pages, it arrives in the order in which the ledger was asked.
        """
        ...

    def forget(self, cursor: LogCursor) -> None:
        """Deliver nothing more to the cursor."""
        ...


class LogCursor:
    """The position of one reader; made by `EventSubscriber.subscribe`. For the event loop's thread only."""

    __slots__ = (
        "_catch_up",
        "_is_admitted",
        "_last",
        "_newest_copy",
        "_page_size",
        "_reader",
        "active_at",
        "id",
        "number",
        "state",
    )

    def __init__(self, catch_up: CatchUp, id: str, reader: Reader) -> None:
        self.id = id
        self.number = 0
        """The number of the event that was delivered last."""
        self.state = CursorState.LIVE
        self.active_at = catch_up.now
        """When an event was delivered last, or the log's latest number was compared (the loop's clock)."""
        self._catch_up = catch_up
        self._reader = reader
        self._is_admitted = False
        self._newest_copy = 0
        self._last = 0
        """The number of the latest event that the ledger is known to have."""
        self._page_size = PAGE

    # ---- called by the reader

    def on_admitted(self) -> None:
        """Called after the admission: from now on, a response without a record in the ledger is lost."""
        self._is_admitted = True

    def catch_up(self) -> None:
        """Read the log of an existing response from the cursor's place on, and then take copies again."""
        self._is_admitted = True
        if self.state is CursorState.LIVE:
            self._read()

    def pause(self) -> None:
        """Deliver nothing until `resume`. Nothing is kept: the log has the events."""
        if self.state is not CursorState.CLOSED:
            self.state = CursorState.PAUSED

    def resume(self) -> None:
        """Continue after `pause`, with the log."""
        if self.state is CursorState.PAUSED:
            self._read()

    def close(self) -> None:
        """End the delivery."""
        if self.state is not CursorState.CLOSED:
            self.state = CursorState.CLOSED
            self._catch_up.forget(self)

    # ---- called by the subscriber

    def on_copies(self, number: int, events: list[bytes]) -> None:
        """Take copies of consecutive events of this response, the first of which has that number."""
        if number == self.number + 1 and self.state is CursorState.LIVE:
            self._deliver(events)
            return
        last = number + len(events) - 1
        if last <= self.number:
            if is_end(events[-1]) and self.state in (CursorState.LIVE, CursorState.READING):
                self.on_failure(StreamLost(self.id))  # an end that is not new to the reader: see `on_last`
            return
        if number <= self.number and self.state is CursorState.LIVE:
            self._deliver(events[self.number + 1 - number :])
        else:
            self._newest_copy = max(self._newest_copy, last)
            self.catch_up()

    def before_page(self) -> int:
        """Called before a page of the log is read. Returns how many entries to read.

        A copy that was published before the page is read is in the page; only later ones count as newer.
        """
        self._newest_copy = 0
        return self._page_size

    def on_page(self, entries: list[tuple[int, bytes]], page_size: int) -> None:
        """Take a page of the log: the entries after this cursor's place, at most `page_size`.

        Of large events, those beyond PAGE_BYTES are left for the next page: the reader may want to pause.
        """
        if self.state is not CursorState.READING:
            return
        if not entries and self._last > self.number:
            self.on_failure(StreamLost(self.id))  # the ledger has counted events that the log does not have
            return
        new = [event for number, event in entries if number > self.number]
        is_last = len(entries) < page_size
        if new:
            size = sum(map(len, new))
            self._page_size = max(1, min(PAGE, PAGE_BYTES * len(new) // size))
            if size > PAGE_BYTES:
                count = _fitting(new)
                is_last = is_last and count == len(new)
                del new[count:]
            self._deliver(new)
            if self.state is not CursorState.READING:
                return  # the reader has paused or closed the cursor
        if not is_last or self._newest_copy > self.number:
            self._read()
            return
        self.state = CursorState.LIVE
        if not entries:
            self._catch_up.check(self)  # no log, or none yet?

    def on_lost_copies(self) -> None:
        """Called when copies of events may have been lost."""
        if self.state is CursorState.LIVE:
            self._catch_up.check(self)
        else:
            self._newest_copy = sys.maxsize  # a page that is being read may be older than the lost copies

    def before_check(self) -> int | None:
        """Called before the ledger is asked for the latest number. Returns the number of this cursor.

        None while the admission of the response is under way: the ledger may not have its record yet.
        """
        return self.number if self._is_admitted or self.number else None

    def on_last(self, last: int | None, place: int | None, has_ended: bool = False) -> None:
        """Take the number of the response's latest event; None when the ledger has no record of the response.

        `place` is what `before_check` returned when the ledger was asked. A ledger that is behind it has lost
        events that the reader has, and others may take their numbers. So has one whose terminal event has a
        number that the reader has passed: the reader closes its cursor at the end.
        """
        self.active_at = self._catch_up.now
        if place is None:
            if last is None:
                return  # the response was admitted later: the copies of all its events arrive
            place = 0
        if last is None or last < place or (has_ended and last == place):
            self.on_failure(StreamLost(self.id))
            return
        self._last = last
        if last > self.number:
            self.catch_up()

    def on_failure(self, error: Exception) -> None:
        """End with an error, which the reader gets."""
        if self.state is not CursorState.CLOSED:
            self.close()
            try:
                self._reader.on_failure(error)
            except Exception:
                logger.exception("a reader of a response failed", extra={"response_id": self.id})

    def _read(self) -> None:
        self.state = CursorState.READING
        self._catch_up.read(self)

    def _deliver(self, events: list[bytes]) -> None:
        self.number += len(events)
        self.active_at = self._catch_up.now
        try:
            self._reader.on_events(events)
        except Exception as error:
            self.on_failure(error)


def _fitting(events: list[bytes]) -> int:
    """How many of the events have at most PAGE_BYTES together; the first one in any case."""
    size = 0
    for count, event in enumerate(events):
        size += len(event)
        if size > PAGE_BYTES:
            return max(1, count)
    return len(events)
