"""Ollama's /api/embeddings (Ollama API reference, "Generate Embedding"): the older form, for one text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.http import ndjson
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.http.ollama_errors import error_object
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata, StreamRenderer
from api.inference.dialects.vectors import Vector, vectors_of
from api.inference.ollama.dialect import model_name
from generation.generation import Embedding, Generation
from streams.events import Event

NAME = "ollama_embeddings"
ID_PREFIX = "ollamaemb-"
FRAMING: Framing = ndjson
HAS_CANCELLED_STATUS = False

error_body = error_object
limit_headers = openai_limit_headers


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `OllamaEmbeddingsRequest` and has a prompt."""
    generation = Generation(
        model=model_name(body["model"]),
        messages=(),
        allow_remote=bool(body.get("allow_remote")),
        embedding=Embedding((body["prompt"],)),
    )
    return ParsedRequest(generation, conversation_param="prompt")


def response_object(
    metadata: ResponseMetadata,  # noqa: ARG001 - the answer is the vector alone
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - a vector has no status
) -> dict[str, Any]:
    """Return the vector of a response that has ended."""
    (vector,), _ = vectors_of(events)
    return {"embedding": Vector(vector)}


def stream_renderer(metadata: ResponseMetadata) -> StreamRenderer:
    """Fail: a vector is never streamed."""
    raise NotImplementedError
