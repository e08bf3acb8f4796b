"""OpenAI's Images (OpenAI API reference, "Images"): images in one piece, or with unfinished ones before.

A failed stream ends with a frame `{"error": {...}}`, which OpenAI's SDK raises. How much is done goes out as
a comment.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, Literal

from api.http import sse
from api.http.errors import InvalidRequest, body_of, error_from_end
from api.http.frames import Frame
from api.http.limit_headers import limit_headers
from api.http.server.client_connection import ClientConnection
from api.inference.answer.file_streaming import FileStreamingReader
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata
from api.inference.dialects.measurements import measurements
from api.inference.dialects.output import has_failed
from api.inference.images.image_answer import ImageAnswer
from api.inference.media.results import Results
from api.services import AppServices
from config.settings import Settings
from generation.generation import Generation
from generation.media import ImageTask
from streams.events import End, Event
from streams.media_events import MediaDelta, WorkProgress

USAGE = {
    "input_tokens": 0,
    "output_tokens": 0,
    "total_tokens": 0,
    "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
}
"""Images count no tokens; the strict SDK refuses an answer without."""


class ImagesDialect:
    """Fulfils `Dialect` for one route; `event` begins the names of its stream's events."""

    FRAMING: Framing = sse
    HAS_CANCELLED_STATUS = False

    error_body = staticmethod(body_of)
    limit_headers = staticmethod(limit_headers)

    def __init__(self, name: str, event: Literal["image_generation", "image_edit"]) -> None:
        self.NAME = name
        self.ID_PREFIX = "img_"
        self.event = event

    def parse(self, body: dict[str, Any]) -> ParsedRequest:
        """Parse a body that fits `ImageRequest`, for an edit with `images` and `mask`: names of uploads.

        `base` is the address that URLs of results begin with. Raises `InvalidRequest`.
        """
        size = body.get("size") or "auto"
        width, height = (0, 0) if size == "auto" else map(int, size.split("x"))
        form, stream = body.get("response_format") or "b64_json", bool(body.get("stream"))
        if stream and form == "url":
            raise InvalidRequest("a stream has the response_format b64_json", param="response_format")
        if stream and (body.get("n") or 1) > 1:
            raise InvalidRequest("a stream has one image: leave out n", param="n")
        task = ImageTask(
            body["prompt"],
            width,
            height,
            body.get("n") or 1,
            body.get("negative_prompt") or None,
            body.get("steps"),
            body.get("quality") or None,
            body.get("seed"),
            tuple(body.get("images") or ()),
            body.get("mask"),
            body.get("output_format") or "png",
            body.get("output_compression"),
            previews=(body.get("partial_images") or 0) if stream else 0,
        )
        echo = {"form": form, "format": task.format, "quality": task.quality or "auto", "base": body["base"]}
        generation = Generation(model=body["model"], messages=(), media=task)
        return ParsedRequest(generation, echo, stream, store=form == "url", conversation_param="prompt")

    def response_object(
        self,
        metadata: ResponseMetadata,
        events: Iterable[Event],
        pending: str = "",  # noqa: ARG002 - a list of images has no status
    ) -> dict[str, Any]:
        """Return the answer without its images: reading these takes a thread."""
        images = finished(events)
        size = f"{images[0].width}x{images[0].height}" if images else ""
        about = _about(metadata, size)
        if about["quality"] == "auto":  # OpenAI's object has none of that name, its events have
            del about["quality"]
        return {"created": metadata.created_at, "data": [], **about, "usage": USAGE}

    async def whole_answer(
        self, services: AppServices, tenant: str, metadata: ResponseMetadata, events: list[Event]
    ) -> dict[str, Any] | ImageAnswer:
        """Return the answer with its images, or their URLs."""
        answer, images, results = (
            self.response_object(metadata, events),
            finished(events),
            services[Results],
        )
        if metadata.echo["form"] == "url":
            urls = [results.url(metadata.echo["base"], metadata.id, image.name) for image in images]
            return {**answer, "data": [{"url": url} for url in urls]}
        paths = [results.path(tenant, metadata.id, image.name) for image in images]
        return ImageAnswer(answer, paths)

    def stream_renderer(self, metadata: ResponseMetadata) -> ImageRenderer:
        """Return a renderer for a stream."""
        return ImageRenderer(metadata, self.event)

    def make_reader(
        self, connection: ClientConnection, services: AppServices, tenant: str
    ) -> FileStreamingReader:
        """Return the reader of a stream, which reads each image that an event names."""
        results = services[Results]
        return FileStreamingReader(
            connection,
            services[Settings],
            read_result=lambda id, delta: base64.b64encode(results.read(tenant, id, delta.name)),
        )


class ImageRenderer:
    """Renders images as OpenAI's image events. Fulfils `FileRenderer`."""

    def __init__(self, metadata: ResponseMetadata, event: str) -> None:
        self.id = metadata.id
        self._metadata = metadata
        self._event = event
        self._content = b""
        self._finished: dict[str, Any] | None = None

    def take_content(self, content: bytes) -> None:
        """Take the image that the next `MediaDelta` names, as base64."""
        self._content = content

    def begin(self) -> list[Frame]:
        """Return nothing: there is no first event."""
        return []

    def render(self, event: Event) -> list[Frame]:
        """Return the frames of one event; a failed or cancelled end becomes an error frame."""
        if isinstance(event, MediaDelta):
            fields = self._fields(event)
            if event.preview is None:  # it goes out at the end, with what was measured
                self._finished = fields
                return []
            return [self._frame("partial_image", partial_image_index=event.preview, **fields)]
        if isinstance(event, WorkProgress):
            return [(sse.COMMENT, {"progress": [event.done, event.total]})]
        if isinstance(event, End):
            if has_failed(event) or self._finished is None:
                return [("error", body_of(error_from_end(event)))]
            return [self._frame("completed", **self._finished, usage=USAGE, **measurements(event))]
        return []

    def render_text(self, text: str) -> bytes:  # noqa: ARG002 - an image has no event of text
        """Return nothing."""
        return b""

    def _fields(self, event: MediaDelta) -> dict[str, Any]:
        return {
            "b64_json": self._content.decode(),
            "created_at": self._metadata.created_at,
            **_about(self._metadata, f"{event.width}x{event.height}"),
        }

    def _frame(self, name: str, **fields: Any) -> Frame:
        type = f"{self._event}.{name}"
        return type, {"type": type, **fields}


def finished(events: Iterable[Event]) -> list[MediaDelta]:
    """The finished images of a response, in their order."""
    images = [event for event in events if isinstance(event, MediaDelta) and event.preview is None]
    return sorted(images, key=lambda image: image.index)


def _about(metadata: ResponseMetadata, size: str) -> dict[str, Any]:
    echo = metadata.echo
    return {
        "background": "opaque",
        "output_format": echo["format"],
        "quality": echo["quality"] if echo["quality"] in ("low", "medium", "high") else "auto",
        "size": size,
    }


GENERATIONS = ImagesDialect("images", "image_generation")
EDITS = ImagesDialect("image_edits", "image_edit")
