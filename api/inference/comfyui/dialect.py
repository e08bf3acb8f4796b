"""Workflows as an API of ours: an object with the job's state and the URLs of its images, or events.

The events are `comfyui.prompt.created`, `.progress`, `.partial_image`, `.image`, and at the end `.completed`,
`.failed` or `.cancelled` with the whole object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from api.http import sse
from api.http.errors import body_of, error_from_end
from api.http.frames import Frame
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.http.server.client_connection import ClientConnection
from api.inference.answer.file_streaming import FileStreamingReader
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata
from api.inference.dialects.measurements import measurements
from api.inference.dialects.output import final_status
from api.inference.media.results import Results
from api.services import AppServices
from backends.comfyui.workflow_rules import FILE_INPUTS
from config.settings import Settings
from generation.generation import Generation
from generation.media import WorkflowTask
from streams.events import End, Event
from streams.media_events import MediaDelta, WorkProgress

NAME = "comfyui"
ID_PREFIX = "wf_"
FRAMING: Framing = sse
HAS_CANCELLED_STATUS = True
UrlOf = Callable[[str], str]

error_body = body_of
limit_headers = openai_limit_headers


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `WorkflowRequest`; `inputs` has the names of uploads by the names in the graph.

    `input_pixels` are those of the largest of them; `base` is the address that URLs of results begin with.
    """
    inputs: dict[str, str] = body.get("inputs") or {}
    graph = {node: _with_uploads(content, inputs) for node, content in body["prompt"].items()}
    task = WorkflowTask(
        graph,
        tuple(inputs.values()),
        body.get("partial_images") or 0,
        input_pixels=body.get("input_pixels", 0),
    )
    generation = Generation(model=body["model"], messages=(), media=task)
    return ParsedRequest(
        generation,
        {"base": body["base"]},
        stream=bool(body.get("stream")),
        store=True,
        background=bool(body.get("background")),
        conversation_param="prompt",
    )


def _with_uploads(content: Any, inputs: dict[str, str]) -> Any:
    """A node whose files are named as they are in the folder of the job."""
    values = content.get("inputs") if isinstance(content, dict) else None
    if not isinstance(values, dict):
        return content  # the rules refuse it
    renamed = {
        name: inputs[value]
        for name, value in values.items()
        if name in FILE_INPUTS and isinstance(value, str) and value in inputs
    }
    return {**content, "inputs": {**values, **renamed}} if renamed else content


def response_object(
    metadata: ResponseMetadata, events: Iterable[Event], pending: str = "in_progress"
) -> dict[str, Any]:
    """Return the object with images that have no URL: see `with_urls`."""
    return _object(metadata, events, pending, None)


def with_urls(
    services: AppServices, metadata: ResponseMetadata, events: Iterable[Event], pending: str = "in_progress"
) -> dict[str, Any]:
    """Return the object with the URLs of its images. Raises `StorageUnavailable`."""
    url_of = partial(services[Results].url, metadata.echo["base"], metadata.id)
    return _object(metadata, events, pending, url_of)


async def whole_answer(
    services: AppServices,
    tenant: str,  # noqa: ARG001 - the URLs name the job alone
    metadata: ResponseMetadata,
    events: list[Event],
) -> dict[str, Any]:
    """Return the object of a job whose log has these events, with URLs."""
    return with_urls(services, metadata, events)


def stream_renderer(metadata: ResponseMetadata) -> WorkflowRenderer:
    """Return a renderer for a stream."""
    return WorkflowRenderer(metadata)


def make_reader(
    connection: ClientConnection,
    services: AppServices,
    tenant: str,  # noqa: ARG001 - the URLs name the job alone
) -> FileStreamingReader:
    """Return the reader of a stream, which signs a URL for each image that an event names."""
    results = services[Results]
    return FileStreamingReader(
        connection, services[Settings], read_result=lambda id, delta: results.url("", id, delta.name).encode()
    )


class WorkflowRenderer:
    """Renders a job's events. Fulfils `FileRenderer`; the content of an image is its URL without a base."""

    def __init__(self, metadata: ResponseMetadata) -> None:
        self.id = metadata.id
        self._metadata = metadata
        self._base = metadata.echo["base"].rstrip("/")
        self._url = ""
        self._events: list[Event] = []
        self._urls: dict[str, str] = {}

    def take_content(self, content: bytes) -> None:
        """Take the URL of the image that the next `MediaDelta` names."""
        self._url = self._base + content.decode()

    def begin(self) -> list[Frame]:
        """Return the frame with the job as it is admitted."""
        return [_frame("created", prompt=response_object(self._metadata, [], "queued"))]

    def render(self, event: Event) -> list[Frame]:
        """Return the frame of one event."""
        if isinstance(event, WorkProgress):
            self._events = [kept for kept in self._events if not isinstance(kept, WorkProgress)]
            self._events.append(event)
            return [_frame("progress", progress={"done": event.done, "total": event.total})]
        if isinstance(event, MediaDelta):
            image = _image(event, self._url)
            if event.preview is not None:
                return [_frame("partial_image", partial_image_index=event.preview, image=image)]
            self._urls[event.name] = self._url
            self._events.append(event)
            return [_frame("image", image=image)]
        if isinstance(event, End):
            whole = _object(self._metadata, [*self._events, event], "", self._urls.__getitem__)
            return [_frame(whole["status"], prompt=whole, **measurements(event))]
        return []

    def render_text(self, text: str) -> bytes:  # noqa: ARG002 - an image has no event of text
        """Return nothing."""
        return b""


def _frame(name: str, **fields: Any) -> Frame:
    type = f"comfyui.prompt.{name}"
    return type, {"type": type, **fields}


def _object(
    metadata: ResponseMetadata, events: Iterable[Event], pending: str, url_of: UrlOf | None
) -> dict[str, Any]:
    images: list[dict[str, Any]] = []
    progress: WorkProgress | None = None
    end: End | None = None
    for event in events:
        if isinstance(event, MediaDelta) and event.preview is None:
            images.append(_image(event, None if url_of is None else url_of(event.name)))
        elif isinstance(event, WorkProgress):
            progress = event
        elif isinstance(event, End):
            end = event
    status = pending if end is None else final_status(end)
    failure = error_from_end(end) if end is not None and status == "failed" else None
    usage = end.usage if end is not None else None
    return {
        "id": metadata.id,
        "object": "comfyui.prompt",
        "created_at": metadata.created_at,
        "model": metadata.model,
        "status": status,
        "progress": None if progress is None else {"done": progress.done, "total": progress.total},
        "images": images,
        "usage": None if usage is None else {"images": usage.images, "pixel_steps": usage.pixel_steps},
        "error": None if failure is None else {"code": failure.code, "message": str(failure)},
    }


def _image(delta: MediaDelta, url: str | None) -> dict[str, Any]:
    return {
        "index": delta.index,
        "url": url,
        "content_type": delta.type,
        "bytes": delta.size,
        "width": delta.width,
        "height": delta.height,
        "cached": delta.cached,
    }
