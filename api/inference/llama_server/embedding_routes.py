"""POST /embedding, and /embeddings, which is the same; OpenAI's form is at /v1/embeddings."""

from __future__ import annotations

from functools import partial
from typing import Any

from flask import Response

from api.http.error_codes import EMBEDDING
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.inference.exchange import generate
from api.inference.generation_headers import GENERATION_HEADERS
from api.inference.llama_server import embedding_dialect
from api.inference.llama_server.embedding_schema import EmbeddingRequest, IndexedVectors
from api.inference.llama_server.model_name import with_model
from api.inference.resumable.schema import LlamaServerError

routes = RouteGroup("own_embeddings", __name__)

route = partial(
    routes.endpoint,
    method="POST",
    access=Access.INFERENCE,
    body=EmbeddingRequest,
    examples={"A text": {"model": "embedder", "content": "a red fox"}},
    responses={200: IndexedVectors(many=True)},
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=("not_supported", *EMBEDDING),
    error_body=LlamaServerError,
)


@route("/embedding")
def create_embedding(body: dict[str, Any]) -> Response:
    """Make vectors of texts, in llama-server's own form

    As `/v1/embeddings`, with another form of the answer.
    """
    return generate(embedding_dialect, with_model(body))


@route("/embeddings")
def create_own_embeddings(body: dict[str, Any]) -> Response:
    """Make vectors of texts, at llama-server's second path

    The same as `/embedding`.
    """
    return generate(embedding_dialect, with_model(body))
