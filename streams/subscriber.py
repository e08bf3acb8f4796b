"""One reader per API process hears for all its clients, over one connection.

The scripts that write a log also publish a copy to the subscribers that follow it. Copies can be lost (pub/sub
promises nothing); the log cannot. So a `LogCursor` counts: a gap in the numbers, a reconnect, or a silence sends
it back to the log, and a client can neither miss an event nor hear one twice.

To wake a client's thread for each event costs more than the event. So a thread that would only pass events on
lends the reader its way of doing so (`LogCursor.pass_on`), and sleeps until there is something else to do.
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

from streams.errors import StreamLost
from streams.events import Event, decode
from streams.log import read

logger = logging.getLogger("streams")

SILENCE_S = 2.0
"""After so long without a copy a cursor asks the log, in case one was lost."""

WAKE = None
Copy = tuple[int, bytes] | None

Take = Callable[[Event], bool]
"""Takes an event without waiting for anything or anybody; false to leave it to `next`."""


class LogCursor:
    """One client's place in one response's log. Not shared between threads, but `wake` is for others."""

    def __init__(self, subscriber: EventSubscriber, id: str) -> None:
        self.id = id
        self.number = 0
        """The number of the event that `next` returned last."""
        self._subscriber = subscriber
        self._copies: SimpleQueue[Copy] = SimpleQueue()
        self._kept: Copy = WAKE
        self._lock = threading.Lock()
        self._take_next: Take | None = None
        self._failure: Exception | None = None
        self._behind: list[tuple[int, Event]] = []
        self._asked_at = time.monotonic()
        self._look = False

    def next(self, timeout_s: float) -> Event | None:
        """The next event; None when there was none in that time, or `wake` was called.

        Raises `StreamLost` when the log is gone.
        """
        if self._behind:
            return self._take(*self._behind.pop())
        if self._look and (event := self._catch_up()) is not None:
            return event
        try:
            copy = self._next_copy(timeout_s)
            while copy is not WAKE and copy[0] <= self.number:
                copy = self._next_copy(timeout_s)  # heard already, from the log
        except Empty:
            if time.monotonic() - self._asked_at < SILENCE_S:
                return None
            return self._catch_up()
        if copy is WAKE:
            return None
        number, data = copy
        return self._take(number, decode(data)) if number == self.number + 1 else self._catch_up()

    def pass_on(self, take: Take, timeout_s: float) -> None:
        """Let the subscriber's thread hand the coming events to `take`, for that time at most.

        Returns when there is something for `next` to look at: an event that was not taken, a gap, a silence,
        a `wake`. From then on `take` is not called any more. Raises what `take` raised.
        """
        with self._lock:
            if self._behind or self._look or self._kept is not WAKE or not self._copies.empty():
                return
            self._take_next = take
        silent_s = time.monotonic() - self._asked_at
        try:
            self._kept = self._copies.get(timeout=max(0.0, min(timeout_s, SILENCE_S - silent_s)))
        except Empty:
            pass
        finally:
            with self._lock:
                self._take_next = None
        if self._failure is not None:
            raise self._failure

    def wake(self) -> None:
        """Make a waiting `next` or `pass_on` return at once."""
        self._copies.put(WAKE)

    def hear(self, number: int, data: bytes) -> None:
        """Called by the subscriber with a copy of an event."""
        with self._lock:
            if self._take_next is not None:
                if number <= self.number:
                    return
                if number == self.number + 1 and self._hand_over(self._take_next, number, data):
                    return
            self._copies.put((number, data))

    def _hand_over(self, take: Take, number: int, data: bytes) -> bool:
        try:
            event = decode(data)
            if not take(event):
                return False
        except Exception as error:
            self._failure = error
            return False
        self._take(number, event)
        return True

    def catch_up(self) -> None:
        """Have the next call of `next` look into the log first, and one that waits return."""
        self._look = True
        self.wake()

    def close(self) -> None:
        """Stop listening."""
        self._subscriber.forget(self)

    def _next_copy(self, timeout_s: float) -> Copy:
        if self._kept is not WAKE:
            kept, self._kept = self._kept, WAKE
            return kept
        return self._copies.get(timeout=min(timeout_s, SILENCE_S))

    def _take(self, number: int, event: Event) -> Event:
        self.number, self._asked_at = number, time.monotonic()
        return event

    def _catch_up(self) -> Event | None:
        self._look, self._asked_at = False, time.monotonic()
        try:
            events = list(read(self._subscriber.client, self._subscriber.prefix, self.id, self.number))
            known = events or self._subscriber.client.exists(f"{{{self._subscriber.prefix}}}:job:{self.id}")
        except (redis.ConnectionError, redis.TimeoutError):
            return None  # Redis is away: the request's own deadline bounds the wait
        if not known:
            raise StreamLost(self.id)
        if not events:
            return None
        self._behind = events[::-1]
        return self._take(*self._behind.pop())

    def __enter__(self) -> LogCursor:
        """Close at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


class EventSubscriber:
    """A process's one ear. `client` runs short commands; `listener` may block for ever and speaks RESP2."""

    def __init__(self, client: redis.Redis, listener: redis.Redis, prefix: str) -> None:
        self.name = secrets.token_hex(8)
        self.client: Any = client
        self.prefix = prefix
        self._listener: Any = listener
        self._cursors: dict[str, tuple[LogCursor, ...]] = {}
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._listen, name="subscriber", daemon=True)

    def start(self) -> None:
        """Begin to listen; returns when copies cannot be missed any more (or Redis is away)."""
        self._thread.start()
        self._ready.wait(timeout=2)

    def stop(self) -> None:
        """Stop listening."""
        self._stopping = True

    def follow(self, id: str) -> LogCursor:
        """A cursor for a response, from its first event. For a new one: before it is admitted."""
        cursor = LogCursor(self, id)
        with self._lock:
            self._cursors[id] = (*self._cursors.get(id, ()), cursor)
        return cursor

    def forget(self, cursor: LogCursor) -> None:
        """Called by a cursor that closes."""
        with self._lock:
            left = tuple(other for other in self._cursors.get(cursor.id, ()) if other is not cursor)
            if left:
                self._cursors[cursor.id] = left
            else:
                self._cursors.pop(cursor.id, None)

    def followers(self) -> int:
        """How many responses are being followed."""
        return len(self._cursors)

    def _listen(self) -> None:
        channel = f"{{{self.prefix}}}:subscriber:{self.name}"
        away = False
        while not self._stopping:
            try:
                pubsub = self._listener.pubsub()
                pubsub.subscribe(channel)
                away = False
                while True:
                    kind, _, content = pubsub.connection.read_response()
                    if kind == b"message":
                        self._deliver(content)
                    elif kind == b"subscribe":
                        self._ready.set()
                        self._all_catch_up()
            except (redis.ConnectionError, redis.TimeoutError, OSError):
                if not away:
                    logger.warning("the shared store (Redis) is away; listening again when it is back")
                away = True
                time.sleep(0.2)
            except Exception:
                logger.exception("the subscriber stumbled; listening again")
                time.sleep(0.2)

    def _deliver(self, lines: bytes) -> None:
        for line in lines.split(b"\n"):
            id, number, data = line.split(b" ", 2)
            for cursor in self._cursors.get(id.decode(), ()):
                cursor.hear(int(number), data)

    def _all_catch_up(self) -> None:
        with self._lock:
            cursors = [cursor for group in self._cursors.values() for cursor in group]
        for cursor in cursors:
            cursor.catch_up()
