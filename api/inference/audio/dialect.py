"""OpenAI's Audio (OpenAI API reference, "Audio"): transcripts, whole or as a stream.

A failed stream ends with a frame `{"error": {...}}`, which OpenAI's SDK raises. How much is done goes out as
a comment, since the SDK refuses events that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from api.files.form import FormFile
from api.http import sse
from api.http.answers import TextAnswer
from api.http.errors import InvalidRequest, body_of, error_from_end
from api.http.frames import Frame
from api.http.limit_headers import limit_headers
from api.inference.audio.languages import language_code
from api.inference.audio.transcript import JSON_FORMATS, Transcript
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata
from api.inference.dialects.measurements import measurements
from api.inference.dialects.output import has_failed
from api.services import AppServices
from generation.generation import Generation
from generation.media import AudioTask
from streams.events import End, Event
from streams.media_events import SegmentDelta, WorkProgress

UPLOAD = "in-0"
"""The name of the recording in the folder of its job: it is the first file of the form."""


class AudioDialect:
    """Fulfils `Dialect` for one task: transcribe, or translate into English."""

    FRAMING: Framing = sse
    HAS_CANCELLED_STATUS = False

    error_body = staticmethod(body_of)
    limit_headers = staticmethod(limit_headers)

    def __init__(self, kind: Literal["transcribe", "translate"], name: str, id_prefix: str) -> None:
        self.kind: Literal["transcribe", "translate"] = kind
        self.NAME = name
        self.ID_PREFIX = id_prefix

    def parse(self, body: dict[str, Any]) -> ParsedRequest:
        """Parse a body that fits the schema, with the form's file as `file`. Raises `InvalidRequest`."""
        file: FormFile = body["file"]
        form = body.get("response_format") or "json"
        granularities = body.get("timestamp_granularities") or []
        stream = bool(body.get("stream"))
        if granularities and form != "verbose_json":
            raise InvalidRequest(
                "timestamp_granularities needs the response_format verbose_json",
                param="timestamp_granularities",
            )
        if stream and form not in ("json", "text"):
            raise InvalidRequest(
                "a stream has the response_format json or text: its events have no times",
                param="response_format",
            )
        language = body.get("language")
        task = AudioTask(
            self.kind,
            UPLOAD,
            file.content.size,
            language_code(language) if language else None,
            body.get("prompt") or None,
            body.get("temperature") or None,
            words="word" in granularities,
            skips_silence=body.get("vad_filter") is not False,
        )
        generation = Generation(model=body["model"], messages=(), media=task)
        echo = {"form": form, "granularities": granularities}
        return ParsedRequest(
            generation, echo, stream, conversation_param="file", answers_json=form in JSON_FORMATS
        )

    def response_object(
        self,
        metadata: ResponseMetadata,
        events: Iterable[Event],
        pending: str = "",  # noqa: ARG002 - a transcription has no status
    ) -> dict[str, Any]:
        """Return the words as JSON: those of the forms that are text, too."""
        form = metadata.echo["form"]
        answer = Transcript(events).answer(
            self.kind, form if form == "verbose_json" else "json", metadata.echo["granularities"]
        )
        assert isinstance(answer, dict)  # noqa: S101 - both forms are
        return answer

    async def whole_answer(
        self, _services: AppServices, _tenant: str, metadata: ResponseMetadata, events: list[Event]
    ) -> dict[str, Any] | TextAnswer:
        """Return the answer in the form that the request asks for."""
        return Transcript(events).answer(self.kind, metadata.echo["form"], metadata.echo["granularities"])

    def stream_renderer(self, metadata: ResponseMetadata) -> TranscriptRenderer:  # noqa: ARG002
        """Return a renderer for a stream."""
        return TranscriptRenderer()


class TranscriptRenderer:
    """Renders the segments of a recording as OpenAI's transcription events."""

    def __init__(self) -> None:
        self._text = ""

    def begin(self) -> list[Frame]:
        """Return nothing: there is no first event."""
        return []

    def render(self, event: Event) -> list[Frame]:
        """Return the frames of one event; a failed or cancelled end becomes an error frame."""
        if isinstance(event, SegmentDelta):
            delta = event.text if self._text else event.text.lstrip()
            self._text += delta
            return [_frame("transcript.text.delta", delta=delta)] if delta else []
        if isinstance(event, WorkProgress):
            return [(sse.COMMENT, {"progress": [event.done, event.total]})]
        if isinstance(event, End):
            if has_failed(event):
                return [("error", body_of(error_from_end(event)))]
            return [_frame("transcript.text.done", text=self._text.strip(), **measurements(event))]
        return []

    def render_text(self, text: str) -> bytes:  # noqa: ARG002 - a recording has no event of text alone
        """Return nothing."""
        return b""


def _frame(type: str, **fields: Any) -> Frame:
    return type, {"type": type, **fields}


TRANSCRIPTION = AudioDialect("transcribe", "transcriptions", "trs_")
TRANSLATION = AudioDialect("translate", "translations", "trl_")
