"""Ollama's /api/embed (Ollama API reference, "Generate Embeddings"): a vector for each input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.http import ndjson
from api.http.errors import InvalidRequest
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.http.ollama_errors import error_object
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata, StreamRenderer
from api.inference.dialects.measurements import UNMEASURED_CODE
from api.inference.dialects.vectors import Vector, input_tokens, vectors_of
from api.inference.ollama.dialect import NS_OF_MS, model_name
from generation.generation import Embedding, Generation
from streams.events import Event

NAME = "ollama_embed"
ID_PREFIX = "ollamaembed-"
FRAMING: Framing = ndjson
HAS_CANCELLED_STATUS = False

error_body = error_object
limit_headers = openai_limit_headers


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `OllamaEmbedRequest` and has an input. Raises `InvalidRequest`."""
    given = body["input"]
    inputs = (given,) if isinstance(given, str) else tuple(given)
    for index, text in enumerate(inputs):
        if not text:
            raise InvalidRequest("the input is empty", param=f"input[{index}]")
    dimensions = body.get("dimensions")
    generation = Generation(
        model=model_name(body["model"]),
        messages=(),
        allow_remote=bool(body.get("allow_remote")),
        embedding=Embedding(inputs, dimensions if dimensions and dimensions > 0 else None),
    )
    return ParsedRequest(generation, conversation_param="input")


def response_object(
    metadata: ResponseMetadata,
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - vectors have no status
) -> dict[str, Any]:
    """Return the vectors of a response that has ended; times are nanoseconds."""
    vectors, end = vectors_of(events)
    answer = {
        "model": metadata.model,
        "embeddings": [Vector(vector) for vector in vectors],
        "prompt_eval_count": input_tokens(end),
    }
    if end is not None and end.code != UNMEASURED_CODE:
        answer["total_duration"] = (end.queue_ms + end.run_ms) * NS_OF_MS
        answer["load_duration"] = end.queue_ms * NS_OF_MS
    return answer


def stream_renderer(metadata: ResponseMetadata) -> StreamRenderer:
    """Fail: vectors are never streamed."""
    raise NotImplementedError
