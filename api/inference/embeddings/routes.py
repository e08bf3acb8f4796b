"""POST /v1/embeddings."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.http.error_codes import EMBEDDING
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.inference.embeddings import dialect as embeddings
from api.inference.embeddings.schema import EmbeddingsObject, EmbeddingsRequest
from api.inference.exchange import generate
from api.inference.generation_headers import GENERATION_HEADERS

routes = RouteGroup("embeddings", __name__)


@routes.endpoint(
    "/v1/embeddings",
    "POST",
    access=Access.INFERENCE,
    body=EmbeddingsRequest,
    examples={
        "A text": {"model": "embedder", "input": "a red fox"},
        "Several texts": {"model": "embedder", "input": ["a red fox", "a grey wolf"]},
    },
    responses={200: EmbeddingsObject},
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=EMBEDDING,
)
def create_embeddings(body: dict[str, Any]) -> Response:
    """Make vectors of texts

    A vector for each input, by a model that makes vectors. The request waits in the model's queue, and its
    tokens count for the limits of the tenant.
    """
    return generate(embeddings, body)
