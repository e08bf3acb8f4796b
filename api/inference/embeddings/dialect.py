"""OpenAI's Embeddings (OpenAI API reference, "Embeddings"): a vector for each input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.http import sse
from api.http.errors import InvalidRequest, body_of
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata, StreamRenderer
from api.inference.dialects.options import reject_field
from api.inference.dialects.request_fields import MAX_INPUTS
from api.inference.dialects.vectors import Vector, input_tokens, vectors_of
from generation.generation import Embedding, Generation
from streams.events import Event

NAME = "embeddings"
ID_PREFIX = "emb_"
FRAMING: Framing = sse
HAS_CANCELLED_STATUS = False

error_body = body_of
limit_headers = openai_limit_headers


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `EmbeddingsRequest`. Raises `InvalidRequest`."""
    reject_field(body, "lora")
    generation = Generation(
        model=body["model"],
        messages=(),
        allow_remote=bool(body.get("allow_remote")),
        embedding=Embedding(_inputs(body["input"]), body.get("dimensions")),
    )
    echo = {"encoding_format": body.get("encoding_format") or "float"}
    return ParsedRequest(generation, echo, conversation_param="input")


def _inputs(given: str | list[Any]) -> tuple[str | tuple[int, ...], ...]:
    """The inputs of a request: a text, tokens, or a list of texts or of tokens."""
    if isinstance(given, str):
        return (_input(given, "input"),)
    if given and isinstance(given[0], int):
        return (_input(given, "input"),)
    if len(given) > MAX_INPUTS:
        raise InvalidRequest(f"input must have at most {MAX_INPUTS} items", param="input")
    return tuple(_input(item, f"input[{index}]") for index, item in enumerate(given))


def _input(given: str | list[Any], param: str) -> str | tuple[int, ...]:
    if not given:
        raise InvalidRequest("the input is empty", param=param)
    if isinstance(given, str):
        return given
    if isinstance(given, int):
        raise InvalidRequest("the items of a list must be texts, tokens, or lists of tokens", param=param)
    return tuple(_token(item, f"{param}[{index}]") for index, item in enumerate(given))


def _token(given: object, param: str) -> int:
    if not isinstance(given, int):
        raise InvalidRequest("must be a token: the items of a list are of one kind", param=param)
    return given


def response_object(
    metadata: ResponseMetadata,
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - a list of vectors has no status
) -> dict[str, Any]:
    """Return the list of vectors of a response that has ended, in the order of the inputs."""
    as_base64 = metadata.echo["encoding_format"] == "base64"
    vectors, end = vectors_of(events)
    tokens = input_tokens(end)
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": vector.index, "embedding": Vector(vector, as_base64=as_base64)}
            for vector in vectors
        ],
        "model": metadata.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def stream_renderer(metadata: ResponseMetadata) -> StreamRenderer:
    """Fail: vectors are never streamed."""
    raise NotImplementedError
