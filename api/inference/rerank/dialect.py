"""Rerank: a score for each document, in the form that Jina and Cohere share.

Sources: Jina AI, "Reranker API"; Cohere API reference, "Rerank".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.http import sse
from api.http.errors import InvalidRequest, body_of
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata, StreamRenderer
from api.inference.dialects.vectors import input_tokens, vectors_of
from generation.generation import Embedding, Generation
from streams.events import Event

NAME = "rerank"
ID_PREFIX = "rerank_"
FRAMING: Framing = sse
HAS_CANCELLED_STATUS = False

error_body = body_of
limit_headers = openai_limit_headers


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `RerankRequest`. Raises `InvalidRequest`."""
    documents = tuple(
        _document(document, f"documents[{at}]") for at, document in enumerate(body["documents"])
    )
    generation = Generation(
        model=body["model"],
        messages=(),
        allow_remote=bool(body.get("allow_remote")),
        embedding=Embedding(documents, query=body["query"]),
    )
    echo: dict[str, Any] = {"top_n": body.get("top_n")}
    if body.get("return_documents"):
        echo["documents"] = documents
    return ParsedRequest(generation, echo, conversation_param="documents")


def _document(given: str | dict[str, Any], param: str) -> str:
    text = given if isinstance(given, str) else given["text"]
    if not text:
        raise InvalidRequest("the document is empty", param=param)
    return str(text)


def response_object(
    metadata: ResponseMetadata,
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - a list of scores has no status
) -> dict[str, Any]:
    """Return the scores of a response that has ended, the highest first; of equal ones the first document."""
    vectors, end = vectors_of(events)
    scores = [(vector.index, vector.numbers[0]) for vector in vectors]
    scores.sort(key=lambda scored: -scored[1])
    documents = metadata.echo.get("documents")
    results: list[dict[str, Any]] = [
        {"index": index, "relevance_score": score} for index, score in scores[: metadata.echo["top_n"]]
    ]
    if documents is not None:
        for result in results:
            result["document"] = {"text": documents[result["index"]]}
    tokens = input_tokens(end)
    return {
        "id": metadata.id,
        "object": "list",
        "model": metadata.model,
        "results": results,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def stream_renderer(metadata: ResponseMetadata) -> StreamRenderer:
    """Fail: scores are never streamed."""
    raise NotImplementedError
