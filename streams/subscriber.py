"""Delivers the events of all open responses of one API process over one Redis connection.

The scripts that append to a log also publish a copy of each event to the subscribers of the response. Copies
can be lost (pub/sub guarantees nothing); log entries cannot. A `LogCursor` therefore checks the event
numbers: after a gap, a reconnect, or two seconds without a copy it reads the log. A client neither misses an
event nor receives one twice.

To wake a client's thread for each event costs more than the event itself. A thread that only forwards events
therefore gives the subscriber a function that forwards them (`LogCursor.deliver_to`), and sleeps until there
is something else to do.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

import redis

from streams.events import Event, decode
from streams.log import StreamLost, read

logger = logging.getLogger("streams")

SILENCE_S = 2.0
"""After this many seconds without a copy, a cursor reads the log in case a copy was lost."""

WAKE = None
EventCopy = tuple[int, bytes] | None
"""The number of an event and its encoded form; `WAKE` (None) only wakes the thread that waits."""

Accept = Callable[[Event], bool]
"""Forwards an event without blocking; returns False to leave the event to `LogCursor.next`."""


class LogCursor:
    """A client's position in the log of one response.

    Used by one thread at a time; `wake`, `catch_up` and `on_event` may be called from other threads.
    """

    def __init__(self, subscriber: EventSubscriber, id: str) -> None:
        self.id = id
        self.number = 0
        """The number of the event that was returned or accepted last."""
        self._subscriber = subscriber
        self._copies: SimpleQueue[EventCopy] = SimpleQueue()
        self._pending: EventCopy = WAKE
        self._lock = threading.Lock()
        self._accept: Accept | None = None
        self._failure: Exception | None = None
        self._backlog: list[tuple[int, Event]] = []
        self._checked_at = time.monotonic()
        self._must_read_log = False

    def next(self, timeout_s: float) -> Event | None:
        """Return the next event; None when there was none within `timeout_s`, or when `wake` was called.

        Raises `StreamLost` when the log is gone.
        """
        if self._backlog:
            return self._advance(*self._backlog.pop())
        if self._must_read_log and (event := self._read_log()) is not None:
            return event
        try:
            copy = self._next_copy(timeout_s)
            while copy is not WAKE and copy[0] <= self.number:
                copy = self._next_copy(timeout_s)  # already read from the log
        except Empty:
            if time.monotonic() - self._checked_at < SILENCE_S:
                return None
            return self._read_log()
        if copy is WAKE:
            return None
        number, data = copy
        return self._advance(number, decode(data)) if number == self.number + 1 else self._read_log()

    def deliver_to(self, accept: Accept, timeout_s: float) -> None:
        """Let the subscriber's thread pass the next events to `accept`, for at most `timeout_s`.

        Returns as soon as `next` has to be called: for an event that was not accepted, a gap in the numbers,
        a silence, or a `wake`. `accept` is not called after the return. Raises what `accept` raised.
        """
        with self._lock:
            if self._backlog or self._must_read_log or self._pending is not WAKE or not self._copies.empty():
                return
            self._accept = accept
        silent_s = time.monotonic() - self._checked_at
        try:
            self._pending = self._copies.get(timeout=max(0.0, min(timeout_s, SILENCE_S - silent_s)))
        except Empty:
            pass
        finally:
            with self._lock:
                self._accept = None
        if self._failure is not None:
            raise self._failure

    def wake(self) -> None:
        """Make a waiting `next` or `deliver_to` return at once."""
        self._copies.put(WAKE)

    def on_event(self, number: int, data: bytes) -> None:
        """Called by the subscriber for each copy of an event of this response."""
        with self._lock:
            if self._accept is not None:
                if number <= self.number:
                    return
                if number == self.number + 1 and self._offer(self._accept, number, data):
                    return
            self._copies.put((number, data))

    def _offer(self, accept: Accept, number: int, data: bytes) -> bool:
        try:
            event = decode(data)
            if not accept(event):
                return False
        except Exception as error:
            self._failure = error
            return False
        self._advance(number, event)
        return True

    def catch_up(self) -> None:
        """Make the next call of `next` read the log first, and a waiting one return at once."""
        self._must_read_log = True
        self.wake()

    def close(self) -> None:
        """Unsubscribe from the response."""
        self._subscriber.unsubscribe(self)

    def _next_copy(self, timeout_s: float) -> EventCopy:
        if self._pending is not WAKE:
            pending, self._pending = self._pending, WAKE
            return pending
        return self._copies.get(timeout=min(timeout_s, SILENCE_S))

    def _advance(self, number: int, event: Event) -> Event:
        self.number, self._checked_at = number, time.monotonic()
        return event

    def _read_log(self) -> Event | None:
        self._must_read_log, self._checked_at = False, time.monotonic()
        try:
            events = list(read(self._subscriber.client, self._subscriber.prefix, self.id, self.number))
            exists = events or self._subscriber.client.exists(f"{{{self._subscriber.prefix}}}:job:{self.id}")
        except (redis.ConnectionError, redis.TimeoutError):
            return None  # Redis is unreachable: the request's own deadline bounds the wait
        if not exists:
            raise StreamLost(self.id)
        if not events:
            return None
        self._backlog = events[::-1]
        return self._advance(*self._backlog.pop())

    def __enter__(self) -> LogCursor:
        """Close the cursor at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the cursor."""
        self.close()


class EventSubscriber:
    """Receives copies of events for every open response of this API process over one Redis subscription.

    `client` runs short commands. `blocking_client` holds the subscription: RESP2, no read time-out.
    """

    def __init__(self, client: redis.Redis, blocking_client: redis.Redis, prefix: str) -> None:
        self.name = secrets.token_hex(8)
        self.client: Any = client
        self.prefix = prefix
        self._blocking_client: Any = blocking_client
        self._cursors: dict[str, tuple[LogCursor, ...]] = {}
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._receive, name="subscriber", daemon=True)

    def start(self) -> None:
        """Start the thread; returns when Redis has confirmed the subscription, after 2 s at the latest."""
        self._thread.start()
        self._ready.wait(timeout=2)

    def stop(self) -> None:
        """End the thread after its current read."""
        self._stopping = True

    def subscribe(self, id: str) -> LogCursor:
        """Return a cursor at the start of response `id`. Call it before a new response is admitted."""
        cursor = LogCursor(self, id)
        with self._lock:
            self._cursors[id] = (*self._cursors.get(id, ()), cursor)
        return cursor

    def unsubscribe(self, cursor: LogCursor) -> None:
        """Stop delivery to a cursor; called by `LogCursor.close`."""
        with self._lock:
            remaining = tuple(other for other in self._cursors.get(cursor.id, ()) if other is not cursor)
            if remaining:
                self._cursors[cursor.id] = remaining
            else:
                self._cursors.pop(cursor.id, None)

    def open_responses(self) -> int:
        """Return how many responses have at least one cursor."""
        return len(self._cursors)

    def _receive(self) -> None:
        channel = f"{{{self.prefix}}}:subscriber:{self.name}"
        unreachable = False
        while not self._stopping:
            try:
                pubsub = self._blocking_client.pubsub()
                pubsub.subscribe(channel)
                unreachable = False
                while True:
                    kind, _, content = pubsub.connection.read_response()
                    if kind == b"message":
                        self._deliver(content)
                    elif kind == b"subscribe":
                        self._ready.set()
                        self._all_catch_up()
            except (redis.ConnectionError, redis.TimeoutError, OSError):
                if not unreachable:
                    logger.warning(
                        "the shared store (Redis) is unreachable; subscribing again as soon as possible"
                    )
                unreachable = True
                time.sleep(0.2)
            except Exception:
                logger.exception("the subscriber failed; subscribing again")
                time.sleep(0.2)

    def _deliver(self, lines: bytes) -> None:
        for line in lines.split(b"\n"):
            id, number, data = line.split(b" ", 2)
            for cursor in self._cursors.get(id.decode(), ()):
                cursor.on_event(int(number), data)

    def _all_catch_up(self) -> None:
        with self._lock:
            cursors = [cursor for group in self._cursors.values() for cursor in group]
        for cursor in cursors:
            cursor.catch_up()
