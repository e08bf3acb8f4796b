"""Sends audio while it is made: what its engine has added to the file, whenever it says so."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from api.http import sse
from api.http.answers import send_error
from api.http.errors import error_from_end
from api.http.frames import Frame
from api.http.server.client_connection import NO_HEADERS, ClientConnection, Headers
from api.inference.answer.file_streaming import FileRenderer, FileStreamingReader
from api.inference.answer.response_readers import ChoiceReader, end_of
from api.inference.answer.streaming_reader import StreamedChoice
from api.inference.dialects.base import Framing, StreamRenderer
from api.inference.dialects.measurements import measurement_headers
from api.inference.dialects.output import has_failed
from api.inference.media.results import TYPES, Results
from api.services import AppServices
from config.settings import Settings
from streams.events import End, decode, is_end
from streams.media_events import MEDIA_PREFIX, MediaDelta

CONTENT = "content"
"""The member of a frame's data with the bytes of audio."""


class AudioRenderer(FileRenderer, Protocol):
    """Renders parts of audio in a `format`: as they are, or as events with base64."""

    format: str
    has_events: bool


class AudioFraming:
    """Fulfils `Framing` for an answer that is the audio itself."""

    KEEP_ALIVE = DONE = b""

    def __init__(self, media_type: str) -> None:
        self.HEADERS = {"Content-Type": media_type, "Cache-Control": "no-store"}

    def comment(self, text: str) -> bytes:  # noqa: ARG002 - audio has no comments
        """Return nothing."""
        return b""

    def encode(self, frames: Iterable[Frame]) -> bytes:
        """Return the bytes of the frames."""
        return b"".join(cast("bytes", data[CONTENT]) for _, data in frames)


class AudioReader(FileStreamingReader):
    """Begins an answer that is audio with its first part: until then a failure has a status of its own.

    A failure after that closes the connection amid the answer. An answer with events begins at once: while
    the request waits its comments say where it stands, and a failure is an event.
    """

    __slots__ = ("_has_events", "_held", "_sent")

    def __init__(self, connection: ClientConnection, services: AppServices, tenant: str) -> None:
        results = services[Results]
        self._sent = 0
        self._has_events = False

        def read_next(id: str, delta: MediaDelta) -> bytes:
            start, self._sent = self._sent, delta.size
            content = results.read(tenant, id, delta.name, start, delta.size)
            return base64.b64encode(content) if self._has_events else content

        super().__init__(connection, services[Settings], read_result=read_next)
        self._held: tuple[Sequence[StreamRenderer], Framing, Headers] | None = None

    def begin(
        self, renderers: Sequence[StreamRenderer], framing: Framing = sse, headers: Headers = NO_HEADERS
    ) -> None:
        """Begin the answer: with events at once, as audio when a part of it, or the end, is there."""
        renderer = cast("AudioRenderer", renderers[0])
        self._has_events = renderer.has_events
        if renderer.has_events:
            super().begin(renderers, framing, headers)
            return
        self._held = renderers, AudioFraming(TYPES[renderer.format]), headers
        self._begin_if_due()

    def comment(self, text: str) -> None:
        """Write a comment into an answer with events; audio has none."""
        if self._has_events:
            super().comment(text)

    def keep(self, choice: StreamedChoice, events: list[bytes]) -> None:
        """Keep events that come before the begin."""
        super().keep(choice, events)
        self._begin_if_due()

    def restart(self) -> None:
        """Close, and drop what has come."""
        super().restart()
        self._sent = 0

    def end_choice(self, choice: ChoiceReader, data: bytes) -> None:
        """End the answer; one whose audio has failed midway closes the connection."""
        if has_failed(decode(data)) and not self._has_events:
            self._unended = 0
            self._cut()
        else:
            super().end_choice(choice, data)

    def fail(self, error: Exception) -> None:
        """End the answer with an error: as a status, if it has not begun."""
        if self._held is not None:
            self._refuse(end_of(error))
        elif self._choices[0].renderer is not None and not self._has_events:
            self._cut()
        else:
            super().fail(error)

    def _begin_if_due(self) -> None:
        held = self._held
        if held is None:
            return
        if self._early_failure is not None:
            self._refuse(end_of(self._early_failure))
            return
        events = [event for _, kept in self._early for event in kept]
        end = decode(events[-1]) if events and is_end(events[-1]) else None
        has_part = any(event.startswith(MEDIA_PREFIX) for event in events)
        if isinstance(end, End) and has_failed(end) and not has_part:
            self._unended = 0
            self._refuse(end)
        elif has_part or end is not None:
            self._held = None
            super().begin(*held)

    def _cut(self) -> None:
        """Close the connection: the audio is not whole."""
        self.connection.abort()
        self._finish()

    def _refuse(self, end: End) -> None:
        self._held = None
        self._early = []
        send_error(self.connection, error_from_end(end), measurement_headers(end))
        self._finish()
