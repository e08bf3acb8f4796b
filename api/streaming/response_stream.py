"""Passes one response's events to one client, and ends when the response ends or the client disconnects."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from socket import socket
from typing import Protocol

from api.dialects.base import Frame, StreamRenderer
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
"""The most events in one write. A slow client gets several events per write."""

# the end that a client gets when the log is gone, or the ledger has not ended the response in time
LOST = End(
    "failed",
    code="stream_lost",
    message="the platform can no longer follow this response, which may have ended or not",
)


class ClientDisconnected(Exception):
    """Raised when the client has closed the connection."""


class EventSink(Protocol):
    """Accepts events as they come, in the subscriber's thread. The client's own thread calls `flush`."""

    last_written_at: float
    """When bytes were last written to the client, by `time.monotonic`; 0.0 before the first write."""

    def accept(self, event: Event) -> bool:
        """Process an event without blocking; False leaves it to `LogCursor.next`. Raises `OSError` when the
        client has disconnected.
        """
        ...

    def flush(self) -> None:
        """Complete the writes that `accept` could not complete; may block. Raises `OSError` like `accept`."""
        ...


class CollectingSink:
    """Collects the events of a response that is answered in one piece. Fulfils `EventSink`."""

    last_written_at = 0.0

    def __init__(self) -> None:
        self.events: list[Event] = []

    def accept(self, event: Event) -> bool:
        """See `EventSink.accept`."""
        if isinstance(event, End):
            return False
        self.events.append(event)
        return True

    def flush(self) -> None:
        """See `EventSink.flush`."""


class StreamingSink:
    """Writes each event to the client at once. Fulfils `EventSink`; calls `wake` when `flush` is needed."""

    def __init__(
        self, writer: ChunkedWriter, encode: Callable[[Event], bytes], wake: Callable[[], None]
    ) -> None:
        self._writer = writer
        self._encode = encode
        self._wake = wake
        self.last_written_at = 0.0

    def accept(self, event: Event) -> bool:
        """See `EventSink.accept`."""
        if isinstance(event, End) or not self._writer.is_flushed:
            return False
        if data := self._encode(event):
            self.last_written_at = time.monotonic()
            self._writer.write(data)
            if not self._writer.is_flushed:
                self._wake()
        return True

    def flush(self) -> None:
        """See `EventSink.flush`."""
        self._writer.flush()


def longest_wait_s(settings: Settings) -> float:
    """The time within which the ledger ends every response."""
    bounded = settings.queue.timeout_ms + settings.lease.lease_ms
    return settings.limits.request_timeout_s + bounded / 1000 + 5


class ResponseStream:
    """Reads a `LogCursor` for one client.

    Calls `on_abandon` when it is closed before the response has ended, and `on_close` when it is closed.
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
        self._disconnected = False
        self._ended = False  # the log has its `End`
        self._done = False  # this stream has returned an `End`: the log's, or LOST
        self._closed = False
        self._unwatch: Callable[[], None] | None = None

    def watch(self, disconnects: DisconnectWatcher, connection: socket | None) -> None:
        """End the wait when the client disconnects."""
        watch = disconnects.watch(connection, self._disconnect)
        self._unwatch = lambda: disconnects.forget(watch)

    def _disconnect(self) -> None:
        self._disconnected = True
        self._cursor.wake()

    def read(self, sink: EventSink | None = None) -> list[Event]:
        """The next events that are available; [] when nothing was written to the client for `keep_alive_s`.

        Events that `sink` accepts are not returned. Raises `ClientDisconnected` when the client has closed
        the connection.
        """
        keep_alive_at = time.monotonic() + self._keep_alive_s
        while not self._disconnected:
            event = self._wait(min(keep_alive_at, self._deadline) - time.monotonic(), sink)
            if self._disconnected:
                break
            if event is not None:
                return self._burst(event)
            now = time.monotonic()
            if now >= self._deadline:
                self._done = True
                return [LOST]
            if sink is not None:
                keep_alive_at = max(keep_alive_at, sink.last_written_at + self._keep_alive_s)
            if now >= keep_alive_at:
                return []
        raise ClientDisconnected

    def _wait(self, timeout_s: float, sink: EventSink | None) -> Event | None:
        if sink is None:
            return self._next(timeout_s)
        try:
            self._cursor.deliver_to(sink.accept, max(0.0, timeout_s))
            sink.flush()
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
                return None  # Redis is unreachable: the deadline bounds the wait
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
        """All events of the response, its `End` last. Raises `ClientDisconnected`."""
        sink = CollectingSink()
        while not self._done:
            sink.events += self.read(sink)
        return sink.events

    def stream(
        self, renderer: StreamRenderer, after: int = -1, writer: ChunkedWriter | None = None
    ) -> Iterator[bytes]:
        """The response as server-sent events, without those up to the `sequence_number` `after`.

        With a `writer`, most events are written there and not yielded. Ends without an error when the client
        disconnects. Sequence numbers are only compared when `after` is given.
        """

        def encode(frames: list[Frame]) -> bytes:
            return sse.encode(sse.after(frames, after) if after >= 0 else frames)

        sink = None
        if writer is not None:
            sink = StreamingSink(writer, lambda event: encode(renderer.render(event)), self._cursor.wake)
        try:
            # an empty chunk would end an HTTP/1.1 body: without frames, a comment is sent
            yield encode(renderer.begin()) or sse.KEEP_ALIVE
            while not self._done:
                frames = [frame for event in self.read(sink) for frame in renderer.render(event)]
                data = encode(frames) or sse.KEEP_ALIVE
                yield data + sse.DONE if self._done else data
        except ClientDisconnected:
            return
        finally:
            self.close()

    def close(self) -> None:
        """Stop reading. Only the first call has an effect."""
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
            # Redis may be unreachable: the ledger's own deadline ends a response without a reader
            logger.warning("could not cancel a response whose client is gone", exc_info=True)
        finally:
            if self._on_close is not None:
                self._on_close()
