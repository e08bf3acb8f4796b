"""Streams an answer whose events name files of its job: each is read in a thread before it is rendered."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from api.http.server.client_connection import ClientConnection
from api.inference.answer.streaming_reader import StreamedChoice, StreamingReader
from api.inference.dialects.base import StreamRenderer
from config.settings import Settings
from streams.events import decode
from streams.media_events import MEDIA_PREFIX, MediaDelta

ReadResult = Callable[[str, MediaDelta], bytes]
"""Reads what an event names, of the response with this id. Raises `OSError`, `ValueError`. For threads."""


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
        if self._reading is None:
            self._advance()

    def _advance(self) -> None:
        while self._waiting:
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
        except Exception as error:
            self.reader.fail(error)
