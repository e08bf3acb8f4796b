"""Streams an answer whose events name files of its job: each is read in a thread before it is rendered."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from api.http.server.client_connection import ClientConnection
from api.inference.answer.streaming_reader import StreamedChoice, StreamingReader
from api.inference.dialects.base import StreamRenderer
from config.settings import Settings
from streams.events import decode
from streams.media_events import MEDIA_PREFIX, MediaDelta

ReadResult = Callable[[str, MediaDelta], bytes]
"""Reads what an event names, of the response with this id, in the form that its renderer takes.

Raises `OSError`, `ValueError`. For threads.
"""


class FileRenderer(StreamRenderer, Protocol):
    """Renders events, each `MediaDelta` after `take_content`."""

    id: str
    """The id of the response."""

    def take_content(self, content: bytes) -> None:
        """Take what the next `MediaDelta` names."""
        ...


class FileStreamingReader(StreamingReader):
    """A `StreamingReader` whose renderers are `FileRenderer`s."""

    __slots__ = ("read_result",)

    def __init__(
        self, connection: ClientConnection, settings: Settings, count: int = 1, *, read_result: ReadResult
    ) -> None:
        self.read_result = read_result
        super().__init__(connection, settings, count)

    def _new_choice(self) -> StreamedChoice:
        return FileChoice(self)

    def _on_writable(self) -> None:
        """Go on with what waits; the cursors follow when nothing does."""
        for choice in cast("Sequence[FileChoice]", self._choices):
            choice.deliver_waiting()
        self.resume_if_idle()

    def resume_if_idle(self) -> None:
        """Read on in the log, unless events wait for a file or for the client."""
        is_idle = not any(choice.is_waiting for choice in cast("Sequence[FileChoice]", self._choices))
        if is_idle and self.connection.writable and not self.done.done():
            super()._on_writable()


class FileChoice(StreamedChoice):
    """Delivers the events in their order; those behind a file wait until it is read."""

    __slots__ = ("_reading", "_waiting")

    reader: FileStreamingReader

    def __init__(self, reader: FileStreamingReader) -> None:
        super().__init__(reader)
        self._waiting: deque[bytes] = deque()
        self._reading: asyncio.Future[bytes] | None = None

    def on_events(self, events: list[bytes]) -> None:
        """Take the events; see `StreamedChoice.on_events`."""
        if self.renderer is None:
            self.reader.keep(self, events)
            return
        self._waiting.extend(events)
        self._advance()

    @property
    def is_waiting(self) -> bool:
        """Whether events wait for a file or for the client."""
        return bool(self._waiting)

    def deliver_waiting(self) -> None:
        """Deliver what waits: the client accepts more."""
        try:
            self._advance()
        except Exception as error:
            self.reader.fail(error)

    def _advance(self) -> None:
        """Deliver events until a file has to be read, or the client accepts nothing more."""
        while self._waiting and self._reading is None and self.reader.connection.writable:
            event = self._waiting[0]
            if event.startswith(MEDIA_PREFIX):
                self._read(event)
                return
            super().on_events([self._waiting.popleft()])

    def _read(self, event: bytes) -> None:
        delta, renderer = decode(event), self.renderer
        loop = asyncio.get_running_loop()
        self._reading = loop.run_in_executor(None, self.reader.read_result, renderer.id, delta)  # type: ignore
        self._reading.add_done_callback(self._on_read)

    def _on_read(self, reading: asyncio.Future[bytes]) -> None:
        self._reading = None
        if self.reader.done.done():
            return
        try:
            self.renderer.take_content(reading.result())  # type: ignore[union-attr]
            super().on_events([self._waiting.popleft()])
            self._advance()
            self.reader.resume_if_idle()
        except Exception as error:
            self.reader.fail(error)
