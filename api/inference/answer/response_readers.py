"""The ways in which a client follows a response: as a stream of events, or to its end for a whole answer.

All are readers of a log cursor (`streams.cursor.Reader`) that work in callbacks of the event loop: no thread
and no task is woken for an event. The request's coroutine waits for `done` only.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Protocol

from api.http import sse
from api.http.frames import Frame
from api.http.server.client_connection import ClientConnection
from api.inference.dialects.base import Framing, StreamRenderer
from config.settings import Settings
from streams.cursor import LogCursor
from streams.events import End, Event, decode, decode_all, is_end, text_of
from streams.log import StreamLost
from streams.subscriber import EventSubscriber

logger = logging.getLogger("api")

LARGE_WRITE_BYTES = 16 * 1024
"""Small last frames go out in one write; the others one by one, when the client has read the one before."""

# the end that a client gets when the log is gone, or the ledger has not ended the response in time
LOST = End(
    "failed",
    code="stream_lost",
    message="the platform can no longer follow this response, which may or may not have ended",
)


def longest_wait_s(settings: Settings) -> float:
    """The time within which the ledger ends every response."""
    bounded = settings.queue.timeout_ms + settings.lease.lease_ms
    return settings.limits.request_timeout_s + bounded / 1000 + 5


class Position(Protocol):
    """What a reader needs of its log cursor."""

    @property
    def id(self) -> str:
        """The response."""
        ...

    @property
    def number(self) -> int:
        """How many events were delivered."""
        ...

    def close(self) -> None:
        """See `LogCursor.close`."""
        ...

    def pause(self) -> None:
        """See `LogCursor.pause`."""
        ...

    def resume(self) -> None:
        """See `LogCursor.resume`."""
        ...

    def on_failure(self, error: Exception) -> None:
        """See `LogCursor.on_failure`."""
        ...


class ResponseReader:
    """Follows one response for one client. `done` is set at its end, or when the client disconnects."""

    __slots__ = ("_cursor", "_deadline", "connection", "disconnected", "done", "has_ended")

    def __init__(self, connection: ClientConnection, settings: Settings) -> None:
        loop = asyncio.get_running_loop()
        self.connection = connection
        self.disconnected = False
        self.has_ended = False
        """Whether the log's `End` has been read."""
        self.done: asyncio.Future[None] = loop.create_future()
        self._deadline = loop.time() + longest_wait_s(settings)
        self._cursor: Position | None = None
        connection.on_disconnect(self._on_disconnect)

    def follow(self, subscriber: EventSubscriber, id: str) -> LogCursor:
        """Follow a response, instead of one that was followed before."""
        self.close()
        self._cursor = cursor = subscriber.subscribe(id, self)
        return cursor

    def close(self) -> None:
        """Follow no response any more."""
        if self._cursor is not None:
            self._cursor.close()

    def sweep(self, now: float) -> None:
        """See `OpenStream.sweep`."""
        if now >= self._deadline and self._cursor is not None:
            self._cursor.on_failure(StreamLost(self._cursor.id))

    def on_events(self, events: list[bytes]) -> None:
        """See `Reader.on_events`."""
        raise NotImplementedError

    def on_failure(self, error: Exception) -> None:
        """See `Reader.on_failure`."""
        raise NotImplementedError

    def _finish(self) -> None:
        self.close()
        if not self.done.done():
            self.done.set_result(None)

    def _on_disconnect(self) -> None:
        if not self.done.done():
            self.disconnected = True
            self._finish()


class EndReader(ResponseReader):
    """Waits for the end of a response, or of its log, and keeps nothing."""

    __slots__ = ()

    def on_events(self, events: list[bytes]) -> None:
        """See `Reader.on_events`."""
        if is_end(events[-1]):
            self.has_ended = True
            self._finish()

    def on_failure(self, error: Exception) -> None:
        """See `Reader.on_failure`."""
        logger.info("the end of a response cannot be awaited: %s", error)
        self._finish()


class WholeReader(ResponseReader):
    """Collects the events of a response that is answered in one piece."""

    __slots__ = ("_entries", "_failure")

    def __init__(self, connection: ClientConnection, settings: Settings) -> None:
        super().__init__(connection, settings)
        self._entries: list[bytes] = []
        self._failure: Exception | None = None

    def events(self) -> list[Event]:
        """The events so far. After `done` the last one is an `End`. Raises what ended the reading."""
        if self._failure is None:
            return decode_all(self._entries)
        if isinstance(self._failure, StreamLost):
            return [*decode_all(self._entries), LOST]
        raise self._failure

    def on_events(self, events: list[bytes]) -> None:
        """See `Reader.on_events`."""
        self._entries += events
        if is_end(events[-1]):
            self.has_ended = True
            self._finish()

    def on_failure(self, error: Exception) -> None:
        """See `Reader.on_failure`."""
        self._failure = error
        self._finish()


class StreamingReader(ResponseReader):
    """Writes events to the client when they come: those of one step in one write.

    `after`: only frames with a greater `sequence_number` are sent. While the connection accepts nothing more,
    the cursor is paused.
    """

    __slots__ = (
        "_after",
        "_clock",
        "_early",
        "_early_failure",
        "_framing",
        "_keep_alive_s",
        "_last_frames",
        "_renderer",
        "_written_at",
    )

    def __init__(self, connection: ClientConnection, settings: Settings, after: int = -1) -> None:
        super().__init__(connection, settings)
        self._after = after
        self._keep_alive_s = settings.api.keep_alive_s
        self._renderer: StreamRenderer | None = None
        self._framing: Framing = sse
        self._early: list[bytes] = []  # what came before `begin`
        self._early_failure: Exception | None = None
        self._last_frames: deque[Frame] = deque()
        self._written_at = 0.0
        self._clock = asyncio.get_running_loop().time

    def begin(self, renderer: StreamRenderer, framing: Framing = sse) -> None:
        """Begin the answer, with the events that have come already."""
        self._renderer, self._framing = renderer, framing
        self.connection.on_writable(self._on_writable)
        self.connection.begin(200, framing.HEADERS)
        # a stream that begins with nothing would look like a request without an answer
        self._write(self._encode(renderer.begin()) or framing.KEEP_ALIVE)
        early, self._early = self._early, []
        try:
            if early:
                self.on_events(early)
        except Exception as error:
            self.on_failure(error)
        if self._early_failure is not None and not self.done.done():
            self.on_failure(self._early_failure)

    def on_events(self, events: list[bytes]) -> None:
        """See `Reader.on_events`."""
        renderer = self._renderer
        if renderer is None:
            self._early += events
            return
        if is_end(events[-1]):
            self.has_ended = True
            self._write(b"".join([self._render(renderer, event) for event in events[:-1]]))
            self._end(renderer.render(decode(events[-1])))
        elif len(events) == 1:
            self._write(self._render(renderer, events[0]))
        else:
            self._write(b"".join([self._render(renderer, event) for event in events]))

    def on_failure(self, error: Exception) -> None:
        """See `Reader.on_failure`."""
        if self._renderer is None:
            self._early_failure = error
        elif isinstance(error, StreamLost):
            self._end(self._renderer.render(LOST))
        else:
            logger.error("a stream cannot be continued", exc_info=error)
            self.connection.abort()
            self._finish()

    @property
    def is_silent(self) -> bool:
        """Whether the client waits for the first event."""
        return not self.done.done() and self._cursor is not None and self._cursor.number == 0

    def comment(self, text: str) -> None:
        """Write a comment, which clients ignore, if nothing else has been written since the begin."""
        if self.is_silent and self.connection.writable:
            self._write(self._framing.comment(text))

    def sweep(self, now: float) -> None:
        """See `OpenStream.sweep`."""
        if self._written_at and now - self._written_at >= self._keep_alive_s and self.connection.writable:
            self._write(self._framing.KEEP_ALIVE)
        super().sweep(now)

    def _end(self, frames: list[Frame]) -> None:
        self.close()
        self._last_frames.extend(sse.after(frames, self._after) if self._after >= 0 else frames)
        self._write_last_frames()

    def _write_last_frames(self) -> None:
        """Write what the client accepts of the last frames, of which several hold the whole text."""
        data = b""
        while self._last_frames and self.connection.writable:
            data += self._framing.encode([self._last_frames.popleft()])
            if len(data) >= LARGE_WRITE_BYTES:
                self._write(data)
                data = b""
        if self._last_frames:
            return
        self._write(data + self._framing.DONE)
        self.connection.end()
        self._finish()

    def _render(self, renderer: StreamRenderer, event: bytes) -> bytes:
        if self._after < 0 and (text := text_of(event)) and (frame := renderer.render_text(text)):
            return frame
        return self._encode(renderer.render(decode(event)))

    def _encode(self, frames: list[Frame]) -> bytes:
        return self._framing.encode(sse.after(frames, self._after) if self._after >= 0 else frames)

    def _write(self, data: bytes) -> None:
        if not data:
            return
        self._written_at = self._clock()
        connection = self.connection
        connection.write(data)
        if not connection.writable and self._cursor is not None:
            self._cursor.pause()

    def _on_writable(self) -> None:
        if self._last_frames:
            self._write_last_frames()
        elif self._cursor is not None:
            self._cursor.resume()
