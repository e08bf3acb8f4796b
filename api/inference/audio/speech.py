"""OpenAI's speech (OpenAI API reference, "Create speech"): a text that is spoken, as bytes or as events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.http import sse
from api.http.errors import InvalidRequest, body_of, error_from_end
from api.http.frames import Frame
from api.http.limit_headers import limit_headers
from api.http.server.client_connection import ClientConnection
from api.inference.audio.audio_stream import CONTENT, AudioReader
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata
from api.inference.dialects.measurements import measurements
from api.inference.dialects.output import has_failed
from api.services import AppServices
from generation.generation import Generation
from generation.media import SpeechTask
from streams.events import End, Event
from streams.media_events import MediaDelta

USAGE = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
"""Speech counts no tokens; the strict SDK refuses a last event without."""


class SpeechDialect:
    """Fulfils `Dialect`. Its answers are always streamed: the audio while it is made."""

    NAME = "speech"
    ID_PREFIX = "spc_"
    FRAMING: Framing = sse
    HAS_CANCELLED_STATUS = False

    error_body = staticmethod(body_of)
    limit_headers = staticmethod(limit_headers)

    def parse(self, body: dict[str, Any]) -> ParsedRequest:
        """Parse a body that fits `SpeechRequest`. Raises `InvalidRequest`."""
        voice = body.get("voice")
        if not isinstance(voice, str) or not voice:
            raise InvalidRequest("voice must be the name of a voice of the model", param="voice")
        form = body.get("response_format") or "mp3"
        task = SpeechTask(body["input"], voice, form, body.get("speed") or 1.0)
        echo = {"format": form, "events": body.get("stream_format") == "sse"}
        generation = Generation(model=body["model"], messages=(), media=task)
        return ParsedRequest(generation, echo, stream=True, conversation_param="input")

    def response_object(
        self,
        metadata: ResponseMetadata,
        events: Iterable[Event],
        pending: str = "",
    ) -> dict[str, Any]:
        """Fail: speech is always streamed."""
        raise NotImplementedError

    def stream_renderer(self, metadata: ResponseMetadata) -> SpeechRenderer:
        """Return a renderer for a stream."""
        return SpeechRenderer(metadata)

    def make_reader(self, connection: ClientConnection, services: AppServices, tenant: str) -> AudioReader:
        """Return the reader of an answer."""
        return AudioReader(connection, services, tenant)


class SpeechRenderer:
    """Renders parts of audio: as they are, or as OpenAI's speech events. Fulfils `FileRenderer`."""

    def __init__(self, metadata: ResponseMetadata) -> None:
        self.id = metadata.id
        self.format: str = metadata.echo["format"]
        self.has_events: bool = metadata.echo["events"]
        self._content = b""

    def take_content(self, content: bytes) -> None:
        """Take the part that the next `MediaDelta` adds: as base64, for events."""
        self._content = content

    def begin(self) -> list[Frame]:
        """Return nothing: there is no first event."""
        return []

    def render(self, event: Event) -> list[Frame]:
        """Return the frames of one event; a failed or cancelled end becomes an error frame."""
        if isinstance(event, MediaDelta):
            if not self.has_events:
                return [("", {CONTENT: self._content})]
            return [_frame("speech.audio.delta", audio=self._content.decode())]
        if isinstance(event, End) and self.has_events:
            if has_failed(event):
                return [("error", body_of(error_from_end(event)))]
            return [_frame("speech.audio.done", usage=USAGE, **measurements(event))]
        return []

    def render_text(self, text: str) -> bytes:  # noqa: ARG002 - speech has no event of text
        """Return nothing."""
        return b""


def _frame(type: str, **fields: Any) -> Frame:
    return type, {"type": type, **fields}


SPEECH = SpeechDialect()
