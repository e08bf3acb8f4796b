"""One client's wait for what a response says, and what happens when either side goes away."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from socket import socket
from typing import Protocol

from api.dialects.base import Frame, Rendering
from api.streaming import sse
from api.streaming.chunked_writer import ChunkedWriter
from api.streaming.disconnect_watcher import DisconnectWatcher
from config.settings import Settings
from scheduler.errors import StorageUnavailable
from scheduler.scripts import translate_redis_error
from streams.events import End, Event
from streams.log import StreamLost
from streams.subscriber import LogCursor

logger = logging.getLogger("api")

BURST = 64
"""Events gathered into one write; a client that is slow hears more at once."""

LOST = End(
    "failed",
    code="stream_lost",
    message="the platform lost sight of this response; it may have ended or not",
)


class ClientDisconnected(Exception):
    """Raised when the client has hung up, so that nobody is there to answer."""


class EventSink(Protocol):
    """Takes events as they come, in the subscriber's thread. `settle` is called from the client's own."""

    told_at: float
    """When the client was told something last, by `time.monotonic`; 0.0 before it was."""

    def take(self, event: Event) -> bool:
        """See `streams.subscriber.Accept`. Raises `OSError` when the client is gone."""
        ...

    def settle(self) -> None:
        """Finish what `take` could not without waiting. Raises `OSError` as well."""
        ...


class CollectingSink:
    """Keeps what comes for a client who wants it whole. Fulfils `Listener`."""

    told_at = 0.0

    def __init__(self) -> None:
        self.events: list[Event] = []

    def take(self, event: Event) -> bool:
        """See `Listener.take`."""
        if isinstance(event, End):
            return False
        self.events.append(event)
        return True

    def settle(self) -> None:
        """See `Listener.settle`."""


class StreamingSink:
    """Tells a client at once what comes. Fulfils `Listener`; `wake` is called when `settle` has to be."""

    def __init__(
        self, writer: ChunkedWriter, told: Callable[[Event], bytes], wake: Callable[[], None]
    ) -> None:
        self._outlet = writer
        self._told = told
        self._wake = wake
        self.told_at = 0.0

    def take(self, event: Event) -> bool:
        """See `Listener.take`."""
        if isinstance(event, End) or not self._outlet.free:
            return False
        if words := self._told(event):
            self.told_at = time.monotonic()
            self._outlet.write(words)
            if not self._outlet.free:
                self._wake()
        return True

    def settle(self) -> None:
        """See `Listener.settle`."""
        self._outlet.settle()


def longest_wait_s(settings: Settings) -> float:
    """After this long a response has ended, by the ledger's promise; to wait longer is in vain."""
    bounded = settings.queue.timeout_ms + settings.lease.lease_ms
    return settings.limits.request_timeout_s + bounded / 1000 + 5


class ResponseStream:
    """Reads a `LogCursor` for one client.

    `on_abandon` is called when it is closed before the response has ended, `on_close` when it is closed.
    """

    def __init__(
        self,
        cursor: LogCursor,
        settings: Settings,
        *,
        on_abandon: Callable[[], object] | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self._cursor = cursor
        self._keep_alive_s = settings.api.keep_alive_s
        self._deadline = time.monotonic() + longest_wait_s(settings)
        self._on_abandon, self._on_close = on_abandon, on_close
        self._gone = False
        self._ended = False  # its log has
        self._done = False  # we have, with or without it
        self._closed = False
        self._unwatch: Callable[[], None] | None = None

    def watch(self, disconnects: DisconnectWatcher, connection: socket | None) -> None:
        """Have the wait end when the client hangs up."""
        watch = disconnects.watch(connection, self._hang_up)
        self._unwatch = lambda: disconnects.forget(watch)

    def _hang_up(self) -> None:
        self._gone = True
        self._cursor.wake()

    def read(self, listener: EventSink | None = None) -> list[Event]:
        """What is said next, as far as it is there; [] after the client was told nothing for `keep_alive_s`.

        What `listener` takes meanwhile is not told here. Raises `ClientGone`.
        """
        silent_at = time.monotonic() + self._keep_alive_s
        while not self._gone:
            event = self._wait(min(silent_at, self._deadline) - time.monotonic(), listener)
            if self._gone:
                break
            if event is not None:
                return self._burst(event)
            now = time.monotonic()
            if now >= self._deadline:
                self._done = True
                return [LOST]
            if listener is not None:
                silent_at = max(silent_at, listener.told_at + self._keep_alive_s)
            if now >= silent_at:
                return []
        raise ClientDisconnected

    def _wait(self, timeout_s: float, listener: EventSink | None) -> Event | None:
        if listener is None:
            return self._next(timeout_s)
        try:
            self._cursor.deliver_to(listener.take, max(0.0, timeout_s))
            listener.settle()
        except OSError as error:
            raise ClientDisconnected from error
        return self._next(0.0)

    def _next(self, timeout_s: float) -> Event | None:
        try:
            return self._cursor.next(max(0.0, timeout_s))
        except StreamLost:
            return LOST
        except Exception as error:
            if isinstance(translate_redis_error(error), StorageUnavailable):
                return None  # Redis is away: the deadline bounds the wait
            raise

    def _burst(self, event: Event) -> list[Event]:
        events = [event]
        while not isinstance(event, End) and len(events) < BURST:
            following = self._next(0)
            if following is None:
                break
            events.append(event := following)
        self._done = isinstance(event, End)
        self._ended = self._done and event is not LOST
        return events

    def collect(self) -> list[Event]:
        """All of the response, its `End` last. Raises `ClientGone`."""
        gathering = CollectingSink()
        while not self._done:
            gathering.events += self.read(gathering)
        return gathering.events

    def stream(
        self, rendering: Rendering, after: int = -1, writer: ChunkedWriter | None = None
    ) -> Iterator[bytes]:
        """The response as server-sent events, those up to the `sequence_number` `after` left out.

        With an `outlet` most of it goes there. Ends quietly when the client is gone. A `sequence_number` is
        only looked at where some are left out.
        """

        def told(frames: list[Frame]) -> bytes:
            return sse.encode(sse.after(frames, after) if after >= 0 else frames)

        telling = None
        if writer is not None:
            telling = StreamingSink(writer, lambda event: told(rendering.tell(event)), self._cursor.wake)
        try:
            # an empty chunk would end an HTTP/1.1 body: where there is nothing to tell, a comment goes out
            yield told(rendering.begin()) or sse.KEEP_ALIVE
            while not self._done:
                frames = [frame for event in self.read(telling) for frame in rendering.tell(event)]
                words = told(frames) or sse.KEEP_ALIVE
                yield words + sse.DONE if self._done else words
        except ClientDisconnected:
            return
        finally:
            self.close()

    def close(self) -> None:
        """End the wait, in any case and once."""
        if self._closed:
            return
        self._closed = True
        if self._unwatch is not None:
            self._unwatch()
        self._cursor.close()
        try:
            if not self._ended and self._on_abandon is not None:
                self._on_abandon()
        except Exception:
            # Redis is away, perhaps: the ledger's own deadline ends what nobody reads
            logger.warning("could not cancel a response whose client is gone", exc_info=True)
        finally:
            if self._on_close is not None:
                self._on_close()
