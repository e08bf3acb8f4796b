"""Requests about the state of a conversation, and their answers, in llama-server's form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from api.http import sse
from api.http.error_rendering import llama_server_body
from api.http.errors import InvalidRequest
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata, StreamRenderer
from generation.generation import Generation, StateRequest, conversation_hash
from generation.state_names import is_valid_name
from streams.events import Event, TextDelta, Usage

NAME = "llama_server_state"
ID_PREFIX = "state_"
FRAMING: Framing = sse
HAS_CANCELLED_STATUS = False
INVALID_NAME = "Invalid filename"
"""llama-server's own sentence."""

error_body = llama_server_body
limit_headers = openai_limit_headers


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `StateBody`, with its `model`, and with `action` and `slot` of the route.

    Raises `InvalidRequest`.
    """
    action, name = body["action"], body.get("filename")
    if (name is None and action != "erase") or (name is not None and not is_valid_name(name)):
        raise InvalidRequest(INVALID_NAME, param="filename")
    conversation = body.get("conversation_id")
    label = None if conversation is None else conversation_hash(conversation)
    generation = Generation(body["model"], (), state=StateRequest(action, body["slot"], name, label))
    echo = {"id_slot": body["slot"], **({} if name is None else {"filename": name})}
    return ParsedRequest(generation, echo, conversation_param="filename")


def response_object(
    metadata: ResponseMetadata,
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - it has no status
) -> dict[str, Any]:
    """Return what the worker has done."""
    done = "".join(event.text for event in events if isinstance(event, TextDelta))
    return {**metadata.echo, **orjson.loads(done)}


def choices_object(
    choices: Sequence[tuple[ResponseMetadata, Sequence[Event]]],
    usage: Usage,  # noqa: ARG001 - no tokens are computed
) -> dict[str, Any]:
    """Return what was done in several replicas: the same in each, but for the tokens that were erased."""
    done = [response_object(metadata, events) for metadata, events in choices]
    if "n_erased" in done[0]:
        done[0]["n_erased"] = sum(one["n_erased"] for one in done)
    return done[0]


def stream_renderer(metadata: ResponseMetadata) -> StreamRenderer:
    """Fail: what was done is never streamed."""
    raise NotImplementedError
