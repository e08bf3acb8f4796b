"""Streams an answer: renders the events of its choices, and writes them to the client when they come."""

from __future__ import annotations

import asyncio
import logging
from asyncio import FIRST_COMPLETED
from collections import deque
from collections.abc import Sequence

from api.http import sse
from api.http.frames import Frame
from api.http.server.client_connection import NO_HEADERS, ClientConnection, Headers
from api.inference.answer.rendered_event import render_event
from api.inference.answer.response_readers import ChoiceReader, ResponseReader, end_of
from api.inference.dialects.base import Framing, StreamRenderer
from api.inference.dialects.choices import joined_end
from api.inference.dialects.measurements import MEASUREMENT_HEADERS, measurement_headers
from api.inference.dialects.output import has_failed
from config.settings import Settings
from streams.events import End, decode, is_end
from streams.log import StreamLost

logger = logging.getLogger("api")

LARGE_WRITE_BYTES = 16 * 1024
"""Small last frames go out in one write; the others one by one, when the client has read the one before."""


class StreamingReader(ResponseReader):
    """Writes events to the client when they come: those of one step in one write.

    `after`: only frames with a greater `sequence_number` are sent. `skip`: so many bytes of the frames are
    left out. While the connection accepts nothing more, the cursors are paused.
    """

    __slots__ = (
        "_after",
        "_clock",
        "_early",
        "_early_failure",
        "_ends",
        "_first",
        "_framing",
        "_keep_alive_s",
        "_last_frames",
        "_n",
        "_skip",
        "_trailer_names",
        "_written_at",
    )

    _choices: Sequence[StreamedChoice]

    def __init__(  # noqa: PLR0913 - what is sent, and what is left out
        self,
        connection: ClientConnection,
        settings: Settings,
        count: int = 1,
        *,
        n: int = 1,
        after: int = -1,
        skip: int = 0,
    ) -> None:
        super().__init__(connection, settings, count)
        self._n = n
        self._skip = skip
        self._ends: list[End] = []
        self._trailer_names: frozenset[str] = frozenset()
        self._first: asyncio.Future[None] | None = None
        self._after = after
        self._keep_alive_s = settings.api.keep_alive_s
        self._framing: Framing = sse
        self._early: list[tuple[StreamedChoice, list[bytes]]] = []  # what came before `begin`
        self._early_failure: Exception | None = None
        self._last_frames: deque[Frame] = deque()
        self._written_at = 0.0
        self._clock = asyncio.get_running_loop().time

    async def wait_for_output(self, timeout_s: float) -> None:
        """Wait, before `begin`, for the first event, a failure or the client's disconnect."""
        if not self._early and self._early_failure is None:
            self._first = asyncio.get_running_loop().create_future()
            await asyncio.wait((self._first, self.done), timeout=timeout_s, return_when=FIRST_COMPLETED)
            self._first = None

    @property
    def has_output(self) -> bool:
        """Whether an event of a choice has come before `begin`."""
        return bool(self._early)

    def early_end(self) -> End | None:
        """The end of the answer's only choice, if it has come before `begin`."""
        last = self._early[-1][1][-1] if self._early and len(self._choices) == 1 else b""
        end = decode(last) if is_end(last) else None
        return end if isinstance(end, End) else None

    def begin(
        self, renderers: Sequence[StreamRenderer], framing: Framing = sse, headers: Headers = NO_HEADERS
    ) -> None:
        """Begin the answer with a renderer for each choice, and with the events that have come already.

        `headers` are further fields of the head. What was measured and is not among them follows in trailers,
        if the client takes any.
        """
        self._framing = framing
        if self.connection.takes_trailers:
            names = [name for name in MEASUREMENT_HEADERS if name not in headers]
            self._trailer_names = frozenset(names)
            headers = {**headers, "Trailer": ", ".join(names)} if names else headers
        for choice, renderer in zip(self._choices, renderers, strict=True):
            choice.renderer = renderer
        self.connection.on_writable(self._on_writable)
        self.connection.begin(200, {**framing.HEADERS, **headers})
        # a stream that begins with nothing would look like a request without an answer; one that continues
        # within a line has the rest of the line first
        frames = [frame for renderer in renderers for frame in renderer.begin()]
        self._written_at = self._clock()
        if data := self._encode(frames):
            self.write_frames(data)
        elif not self._skip:  # else the rest of a line comes first
            self.write(framing.comment("ka"))
        early, self._early = self._early, []
        for choice, events in early:
            if not self.done.done():
                choice.deliver(events)
        if self._early_failure is not None and not self.done.done():
            self.fail(self._early_failure)

    def restart(self) -> None:
        """Close, and drop what has come, also what was kept for `begin`."""
        super().restart()
        self._early, self._ends = [], []

    def keep(self, choice: StreamedChoice, events: list[bytes]) -> None:
        """Keep events of a choice that come before `begin`."""
        if self._early and self._early[-1][0] is choice:
            self._early[-1][1].extend(events)
        else:
            self._early.append((choice, [*events]))
        self._end_wait()

    def _end_wait(self) -> None:
        if self._first is not None and not self._first.done():
            self._first.set_result(None)

    def end_choice(self, choice: ChoiceReader, data: bytes) -> None:
        """Write the end of a choice; end the stream after the last choice, or after one that failed."""
        assert isinstance(choice, StreamedChoice)  # noqa: S101 - see `_new_choice`
        assert choice.renderer is not None  # noqa: S101 - the stream has begun
        choice.close()
        self._unended -= 1
        end = decode(data)
        if isinstance(end, End):
            self._ends.append(end)
        frames = choice.renderer.render(end)
        if self._unended and not has_failed(end):
            self.write_frames(self._encode(frames))
        else:
            self._end(frames)

    def fail(self, error: Exception) -> None:
        """End the stream after an error, or keep the error for `begin`."""
        self.close()
        renderer = self._choices[0].renderer
        if renderer is None:
            self._early_failure = error
            self._end_wait()
        elif isinstance(error, StreamLost):
            self._end(renderer.render(end_of(error)))
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
        if self._after < 0:
            return render_event(renderer, self._framing, event)
        return self._encode(renderer.render(decode(event)))

    def write_frames(self, data: bytes) -> None:
        """Write encoded frames, but not what is to be skipped."""
        if self._skip:
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            data = data[skipped:]
        self.write(data)

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
                self.write_frames(data)
                data = b""
        if self._last_frames:
            return
        self.write_frames(data + self._framing.DONE)
        self.connection.end(self._trailers())
        self._finish()

    def _trailers(self) -> Headers:
        """What was measured and is not in the head, if the client takes trailers."""
        if not self._trailer_names or not self._ends:
            return NO_HEADERS
        last = self._ends[-1]
        measured = measurement_headers(last if self._unended else joined_end(self._ends, self._n))
        return {name: value for name, value in measured.items() if name in self._trailer_names}

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
            reader.write_frames(b"".join([reader.render(renderer, event) for event in events[:-1]]))
            reader.end_choice(self, events[-1])
        elif len(events) == 1:
            reader.write_frames(reader.render(renderer, events[0]))
        else:
            reader.write_frames(b"".join([reader.render(renderer, event) for event in events]))

    def deliver(self, events: list[bytes]) -> None:
        """Take events that were kept before the answer began."""
        try:
            self.on_events(events)
        except Exception as error:
            self.reader.fail(error)
