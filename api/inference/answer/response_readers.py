"""The ways in which a client follows an answer: as a stream of events, or to its end for a whole answer.

An answer has one choice or several, and each choice is a response with a log of its own. All readers work in
callbacks of the event loop: no thread and no task is woken for an event. The request's coroutine waits for
`done` only.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence

from api.http import sse
from api.http.frames import Frame
from api.http.server.client_connection import ClientConnection
from api.inference.dialects.base import Framing, StreamRenderer
from api.inference.dialects.output import has_failed
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


class ResponseReader:
    """Follows the responses of one answer's choices for one client.

    `done` is set at the end of the last choice, or of the first that fails, or when the client disconnects.
    """

    __slots__ = ("_choices", "_deadline", "_unended", "connection", "disconnected", "done")

    def __init__(self, connection: ClientConnection, settings: Settings, count: int = 1) -> None:
        loop = asyncio.get_running_loop()
        self.connection = connection
        self.disconnected = False
        self.done: asyncio.Future[None] = loop.create_future()
        self._choices: Sequence[ChoiceReader] = [self._new_choice() for _ in range(count)]
        self._unended = count
        self._deadline = loop.time() + longest_wait_s(settings)
        connection.on_disconnect(self._on_disconnect)

    @property
    def has_ended(self) -> bool:
        """Whether the `End` of each log has been read."""
        return not self._unended

    def follow(self, subscriber: EventSubscriber, id: str, choice: int = 0) -> LogCursor:
        """Follow a response as that choice, instead of one that was followed before."""
        reader = self._choices[choice]
        reader.close()
        reader.cursor = cursor = subscriber.subscribe(id, reader)
        return cursor

    def close(self) -> None:
        """Follow no response any more."""
        for choice in self._choices:
            choice.close()

    def restart(self) -> None:
        """Close, and drop what has come: other responses are followed from now on."""
        self.close()
        self._unended = len(self._choices)
        if self.done.done() and not self.disconnected:
            self.done = asyncio.get_running_loop().create_future()

    def sweep(self, now: float) -> None:
        """End the wait at its deadline."""
        if now < self._deadline:
            return
        for choice in self._choices:
            if choice.cursor is not None:
                choice.cursor.on_failure(StreamLost(choice.cursor.id))

    def end_choice(self, choice: ChoiceReader, data: bytes) -> None:
        """Take the encoded `End` of a choice."""
        choice.close()
        self._unended -= 1
        if not self._unended or has_failed(decode(data)):
            self._finish()

    def fail(self, error: Exception) -> None:
        """End with an error, for which no choice can be followed any more."""
        raise NotImplementedError

    def _new_choice(self) -> ChoiceReader:
        return ChoiceReader(self)

    def _finish(self) -> None:
        self.close()
        if not self.done.done():
            self.done.set_result(None)

    def _on_disconnect(self) -> None:
        if not self.done.done():
            self.disconnected = True
            self._finish()


class ChoiceReader:
    """Waits for the end of one choice, and keeps nothing. Fulfils `streams.cursor.Reader`."""

    __slots__ = ("cursor", "reader")

    def __init__(self, reader: ResponseReader) -> None:
        self.reader = reader
        self.cursor: LogCursor | None = None

    def close(self) -> None:
        """Follow the response no more."""
        if self.cursor is not None:
            self.cursor.close()

    def on_events(self, events: list[bytes]) -> None:
        """End the choice at its terminal event."""
        if is_end(events[-1]):
            self.reader.end_choice(self, events[-1])

    def on_failure(self, error: Exception) -> None:
        """Pass the failure to the reader of all choices."""
        self.reader.fail(error)


class EndReader(ResponseReader):
    """Waits for the end of a response, or of its log."""

    __slots__ = ()

    def fail(self, error: Exception) -> None:
        """Log the error, and finish."""
        logger.info("the end of a response cannot be awaited: %s", error)
        self._finish()


class CollectedChoice(ChoiceReader):
    """Collects the events of one choice."""

    __slots__ = ("entries",)

    def __init__(self, reader: ResponseReader) -> None:
        super().__init__(reader)
        self.entries: list[bytes] = []

    def on_events(self, events: list[bytes]) -> None:
        """Collect the events."""
        self.entries += events
        super().on_events(events)


class WholeReader(ResponseReader):
    """Collects the events of an answer in one piece."""

    __slots__ = ("_failure",)

    _choices: Sequence[CollectedChoice]

    def __init__(self, connection: ClientConnection, settings: Settings, count: int = 1) -> None:
        super().__init__(connection, settings, count)
        self._failure: Exception | None = None

    def logs(self) -> list[list[Event]]:
        """The events of each choice so far. Raises what ended the reading.

        After `done` either the last event of each is an `End`, or that of one which has failed.
        """
        logs = [decode_all(choice.entries) for choice in self._choices]
        if isinstance(self._failure, StreamLost):
            logs[0].append(LOST)
        elif self._failure is not None:
            raise self._failure
        return logs

    def restart(self) -> None:
        """Close, and drop the events that have come."""
        super().restart()
        for choice in self._choices:
            choice.entries = []

    def fail(self, error: Exception) -> None:
        """Keep the error, and finish; `logs` raises it."""
        self._failure = error
        self._finish()

    def _new_choice(self) -> CollectedChoice:
        return CollectedChoice(self)


class StreamingReader(ResponseReader):
    """Writes events to the client when they come: those of one step in one write.

    `after`: only frames with a greater `sequence_number` are sent. While the connection accepts nothing more,
    the cursors are paused.
    """

    __slots__ = (
        "_after",
        "_clock",
        "_early",
        "_early_failure",
        "_framing",
        "_keep_alive_s",
        "_last_frames",
        "_written_at",
    )

    _choices: Sequence[StreamedChoice]

    def __init__(
        self, connection: ClientConnection, settings: Settings, count: int = 1, *, after: int = -1
    ) -> None:
        super().__init__(connection, settings, count)
        self._after = after
        self._keep_alive_s = settings.api.keep_alive_s
        self._framing: Framing = sse
        self._early: list[tuple[StreamedChoice, list[bytes]]] = []  # what came before `begin`
        self._early_failure: Exception | None = None
        self._last_frames: deque[Frame] = deque()
        self._written_at = 0.0
        self._clock = asyncio.get_running_loop().time

    def begin(self, renderers: Sequence[StreamRenderer], framing: Framing = sse) -> None:
        """Begin the answer with a renderer for each choice, and with the events that have come already."""
        self._framing = framing
        for choice, renderer in zip(self._choices, renderers, strict=True):
            choice.renderer = renderer
        self.connection.on_writable(self._on_writable)
        self.connection.begin(200, framing.HEADERS)
        # a stream that begins with nothing would look like a request without an answer
        frames = [frame for renderer in renderers for frame in renderer.begin()]
        self.write(self._encode(frames) or framing.KEEP_ALIVE)
        early, self._early = self._early, []
        for choice, events in early:
            if not self.done.done():
                choice.deliver(events)
        if self._early_failure is not None and not self.done.done():
            self.fail(self._early_failure)

    def restart(self) -> None:
        """Close, and drop what has come, also what was kept for `begin`."""
        super().restart()
        self._early = []

    def keep(self, choice: StreamedChoice, events: list[bytes]) -> None:
        """Keep events of a choice that come before `begin`."""
        if self._early and self._early[-1][0] is choice:
            self._early[-1][1].extend(events)
        else:
            self._early.append((choice, [*events]))

    def end_choice(self, choice: ChoiceReader, data: bytes) -> None:
        """Write the end of a choice; end the stream after the last choice, or after one that failed."""
        assert isinstance(choice, StreamedChoice)  # noqa: S101 - see `_new_choice`
        assert choice.renderer is not None  # noqa: S101 - the stream has begun
        choice.close()
        self._unended -= 1
        end = decode(data)
        frames = choice.renderer.render(end)
        if self._unended and not has_failed(end):
            self.write(self._encode(frames))
        else:
            self._end(frames)

    def fail(self, error: Exception) -> None:
        """End the stream after an error, or keep the error for `begin`."""
        self.close()
        renderer = self._choices[0].renderer
        if renderer is None:
            self._early_failure = error
        elif isinstance(error, StreamLost):
            self._end(renderer.render(LOST))
        else:
            logger.error("a stream cannot be continued", exc_info=error)
            self.connection.abort()
            self._finish()

    @property
    def is_silent(self) -> bool:
        """Whether the client waits for the first event."""
        if self.done.done():
            return False
        cursors = [choice.cursor for choice in self._choices if choice.cursor is not None]
        return bool(cursors) and not any(cursor.number for cursor in cursors)

    def comment(self, text: str) -> None:
        """Write a comment, which clients ignore, if nothing else has been written since the begin."""
        if self.is_silent and self.connection.writable:
            self.write(self._framing.comment(text))

    def sweep(self, now: float) -> None:
        """Send a keep-alive when one is due, or end the wait at its deadline."""
        if self._written_at and now - self._written_at >= self._keep_alive_s and self.connection.writable:
            self.write(self._framing.KEEP_ALIVE)
        super().sweep(now)

    def render(self, renderer: StreamRenderer, event: bytes) -> bytes:
        """The encoded frames of an encoded event."""
        if self._after < 0 and (text := text_of(event)) and (frame := renderer.render_text(text)):
            return frame
        return self._encode(renderer.render(decode(event)))

    def write(self, data: bytes) -> None:
        """Write to the client, and pause the cursors when it accepts nothing more."""
        if not data:
            return
        self._written_at = self._clock()
        connection = self.connection
        connection.write(data)
        if not connection.writable:
            for choice in self._choices:
                if choice.cursor is not None:
                    choice.cursor.pause()

    def _new_choice(self) -> StreamedChoice:
        return StreamedChoice(self)

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
                self.write(data)
                data = b""
        if self._last_frames:
            return
        self.write(data + self._framing.DONE)
        self.connection.end()
        self._finish()

    def _encode(self, frames: list[Frame]) -> bytes:
        return self._framing.encode(sse.after(frames, self._after) if self._after >= 0 else frames)

    def _on_writable(self) -> None:
        if self._last_frames:
            self._write_last_frames()
            return
        for choice in self._choices:
            if choice.cursor is not None:
                choice.cursor.resume()


class StreamedChoice(ChoiceReader):
    """Renders the events of one choice of a stream."""

    __slots__ = ("renderer",)

    reader: StreamingReader

    def __init__(self, reader: StreamingReader) -> None:
        super().__init__(reader)
        self.renderer: StreamRenderer | None = None

    def on_events(self, events: list[bytes]) -> None:
        """Render and write the events, or keep them until the answer begins."""
        reader, renderer = self.reader, self.renderer
        if renderer is None:
            reader.keep(self, events)
        elif is_end(events[-1]):
            reader.write(b"".join([reader.render(renderer, event) for event in events[:-1]]))
            reader.end_choice(self, events[-1])
        elif len(events) == 1:
            reader.write(reader.render(renderer, events[0]))
        else:
            reader.write(b"".join([reader.render(renderer, event) for event in events]))

    def deliver(self, events: list[bytes]) -> None:
        """Take events that were kept before the answer began."""
        try:
            self.on_events(events)
        except Exception as error:
            self.reader.fail(error)
