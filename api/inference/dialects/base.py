"""The interface of a dialect, and the dataclasses that it takes and returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from api.http.errors import error_from_end
from api.http.frames import Frame
from api.inference.dialects.attachments import PendingDocument, SealedSummary
from api.inference.dialects.output import final_status
from api.inference.dialects.service_tier import ServiceTier
from generation.generation import Generation
from scheduler.job import JobRow
from store.errors import StokerError
from store.limit_state import LimitState
from streams.events import End, Event, Usage


class Framing(Protocol):
    """The format of a stream, implemented by a module (`api.http.sse`, `api.http.ndjson`)."""

    HEADERS: dict[str, str]
    """The headers of the answer."""

    KEEP_ALIVE: bytes
    """What is written to a silent client; empty in a format without keep-alives."""

    DONE: bytes
    """What follows the last frame."""

    def comment(self, text: str) -> bytes:
        """A comment for the client; empty in a format without comments."""
        ...

    def encode(self, frames: Iterable[Frame]) -> bytes:
        """Return the bytes of the frames."""
        ...


LATEST_ITEM = ""
"""The parent of a request that names none: the latest item of its conversation."""

Prompt = str | tuple[int | str, ...]
"""A text, or tokens and texts."""


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A parsed request body.

    `echo` (plain JSON) is stored with the event log, so that any API process can render the response again.
    For the `param` of errors: `conversation_param` is the body's field with the conversation (`input` or
    `messages`), `image_params` are the paths of its images (`input[0].content[1]`), `audio_params` those of
    its recordings, `field_names` has the body's names of the fields of `Generation` and `Sampling` with other
    names there.

    `ignored_fields` are fields of `Generation` that have no effect with a model that lacks them; such a model
    refuses a request with others. `cache_tag` holds where the request has no `X-Cache-Tag`. `documents` are
    those whose text is not in the prompt yet, `summaries` those that are not decrypted yet. `n` answers are
    asked for, to each of `prompts` if there are any: see `api.inference.dialects.choices`. The conversation
    of `previous_response_id` is not in the prompt yet, nor are the items of `conversation_id`, which end with
    `conversation_parent` (None: there are none); `new_input` is the body's `input`, which joins them
    (`api.inference.conversations`); with `fits_attachments` images and files that the request cannot have are
    left out of all that. With `continues_last` the answer continues the last message of all that.
    `ignored_tools` are the types of the tools that the model is not offered. With `has_references` items of
    `new_input` stand for items of stored responses, which are not in the prompt yet. A request about a state
    has a choice for each of its `replicas`. An answer in one piece is a text unless it `answers_json`.
    """

    generation: Generation
    echo: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    store: bool = False
    background: bool = False
    conversation_param: str = "messages"
    image_params: tuple[str, ...] = ()
    audio_params: tuple[str, ...] = ()
    field_names: Mapping[str, str] = field(default_factory=dict)
    n: int = 1
    prompts: tuple[Prompt, ...] = ()
    ignored_fields: frozenset[str] = frozenset()
    cache_tag: str | None = None
    documents: tuple[PendingDocument, ...] = ()
    summaries: tuple[SealedSummary, ...] = ()
    service_tier: ServiceTier | None = None
    previous_response_id: str | None = None
    conversation_id: str | None = None
    conversation_parent: str | None = LATEST_ITEM
    fits_attachments: bool = False
    continues_last: bool = False
    new_input: str | list[dict[str, Any]] | None = None
    ignored_tools: tuple[str, ...] = ()
    has_references: bool = False
    replicas: tuple[str, ...] = ()
    answers_json: bool = True

    @property
    def choices(self) -> int:
        """How many answers it has together, each of which is a job."""
        return self.n * max(1, len(self.prompts), len(self.replicas))

    @property
    def is_streaming_or_waiting(self) -> bool:
        """Whether the client keeps the connection open until the response ends."""
        return self.stream or not self.background


@dataclass(frozen=True, slots=True)
class ResponseMetadata:
    """The fields of a response that are known before its first event. `created_at` is in Unix seconds."""

    id: str
    created_at: int
    model: str
    echo: Mapping[str, Any]


def encode_metadata(parsed: ParsedRequest, created_at: int, *, whole: bool = False) -> bytes:
    """The metadata that is stored with a job, to render its response again: creation time and echo.

    `whole`: the bytes of an answer in one piece can be read again.
    """
    return orjson.dumps({"at": created_at, "echo": parsed.echo, **({"whole": True} if whole else {})})


def decode_metadata(row: JobRow) -> ResponseMetadata:
    """The metadata of a response in the ledger, equal to the metadata of its first rendering."""
    stored: dict[str, Any] = orjson.loads(row.echo)
    return ResponseMetadata(row.id, stored.get("at", int(row.created_at)), row.model, stored.get("echo", {}))


def is_whole(row: JobRow) -> bool:
    """Whether a response that can be read again was answered in one piece."""
    return bool(orjson.loads(row.echo).get("whole"))


class StreamRenderer(Protocol):
    """Renders the frames of one response, event by event. Does no input or output."""

    def begin(self) -> list[Frame]:
        """Return the frames before the first event."""
        ...

    def render(self, event: Event) -> list[Frame]:
        """Return the frames of the next event of the log; those of an `End` are the last ones."""
        ...

    def render_text(self, text: str) -> bytes:
        """Return the encoded frames of a `TextDelta` that continues a message, as most events of a stream do.

        In some dialects also those of a text that opens the output.

        For any other text it returns b"" and has no effect: `render` has to be called.
        """
        ...


class Dialect(Protocol):
    """One client API, implemented by a module."""

    NAME: str
    """Its name in the ledger."""

    ID_PREFIX: str
    """The prefix of its response ids."""

    FRAMING: Framing
    """The format of its streams."""

    HAS_CANCELLED_STATUS: bool
    """Whether its response object has a status "cancelled"; without one, a cancelled response is an error."""

    def error_body(self, error: StokerError) -> dict[str, Any]:
        """Return the body of an error."""
        ...

    def limit_headers(self, limits: Iterable[LimitState]) -> dict[str, str]:
        """Return what the tenant has left of its limits, as headers."""
        ...

    def parse(self, body: dict[str, Any]) -> ParsedRequest:
        """Parse a body that fits the dialect's schema. Raises `InvalidRequest`."""
        ...

    def stream_renderer(self, metadata: ResponseMetadata) -> StreamRenderer:
        """Return a renderer for a stream of this response."""
        ...

    def response_object(
        self, metadata: ResponseMetadata, events: Iterable[Event], pending: str = "in_progress"
    ) -> dict[str, Any]:
        """Return the response as one JSON object; its status is `pending` if the events have no end yet."""
        ...


def failure_of(end: End, dialect: Dialect) -> StokerError | None:
    """The error that a response with this end is answered with as a whole; None if it has an object."""
    status = final_status(end)
    if status == "failed" or (status == "cancelled" and not dialect.HAS_CANCELLED_STATUS):
        return error_from_end(end)
    return None


class ChoicesDialect(Dialect, Protocol):
    """A dialect whose requests may ask for several choices."""

    def choice_renderers(self, choices: Sequence[ResponseMetadata], n: int) -> Sequence[StreamRenderer]:
        """Return a renderer for each choice of a stream; `n` neighbours answer one prompt.

        The one that renders the last end adds the frames that follow all choices, with the usage of all.
        """
        ...

    def choices_object(
        self, choices: Sequence[tuple[ResponseMetadata, Sequence[Event]]], usage: Usage
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Return the answer with all choices, whose metadata have one id, as one JSON value."""
        ...
