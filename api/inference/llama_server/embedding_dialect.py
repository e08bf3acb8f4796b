"""POST /embedding: vectors in llama-server's own form, a list of inputs with a list of vectors each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.http import sse
from api.http.error_rendering import llama_server_body
from api.http.errors import InvalidRequest
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata, StreamRenderer
from api.inference.dialects.options import reject_field
from api.inference.dialects.vectors import Vector, vectors_of
from api.inference.embeddings import dialect as embeddings
from streams.events import Event

NAME = "llama_server.embedding"
ID_PREFIX = "emb_"
FRAMING: Framing = sse
HAS_CANCELLED_STATUS = False

LENGTH_ONE = 2
"""The norm of `embd_normalize` by which all engines scale their vectors."""

error_body = llama_server_body
limit_headers = openai_limit_headers


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `EmbeddingRequest`. Raises `InvalidRequest`."""
    reject_field(body, "embd_normalize", unless=(LENGTH_ONE,))
    given = body.get("input") if body.get("input") is not None else body.get("content")
    if given is None:
        raise InvalidRequest('"input" or "content" must be provided', param="input")
    return embeddings.parse({"model": body["model"], "input": given})


def response_object(
    metadata: ResponseMetadata,  # noqa: ARG001 - the list has no model and no id
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - a list of vectors has no status
) -> Any:
    """Return the list of vectors of a response that has ended, in the order of the inputs."""
    return [{"index": vector.index, "embedding": [Vector(vector)]} for vector in vectors_of(events)[0]]


def stream_renderer(metadata: ResponseMetadata) -> StreamRenderer:
    """Fail: vectors are never streamed."""
    raise NotImplementedError
