"""POST /v1/rerank, /v2/rerank for Cohere's newer clients, and /rerank for those of vLLM and Jina's server."""

from __future__ import annotations

from functools import partial
from typing import Any

from flask import Response

from api.http.error_codes import RERANK
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.inference.exchange import generate
from api.inference.generation_headers import GENERATION_HEADERS
from api.inference.llama_server.model_name import with_model
from api.inference.rerank import dialect as rerank
from api.inference.rerank.schema import RerankObject, RerankRequest

routes = RouteGroup("rerank", __name__)

route = partial(
    routes.endpoint,
    method="POST",
    access=Access.INFERENCE,
    body=RerankRequest,
    examples={
        "A question": {
            "model": "reranker",
            "query": "Which animals live in forests?",
            "documents": ["a red fox", "a blue whale"],
            "top_n": 1,
        }
    },
    responses={200: RerankObject},
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=RERANK,
)
"""Declares a route at a path; all of them take the same requests."""


@route("/v1/rerank")
def create_rerank(body: dict[str, Any]) -> Response:
    """Score documents

    How relevant each document is to a query, by a model that scores documents. The request waits in the
    model's queue, and its tokens count for the limits of the tenant.
    """
    return generate(rerank, with_model(body))


@route("/v2/rerank")
def create_rerank_v2(body: dict[str, Any]) -> Response:
    """Score documents, at the path of Cohere's newer API

    The same as `/v1/rerank`.
    """
    return generate(rerank, with_model(body))


@route("/rerank")
def create_rerank_at_root(body: dict[str, Any]) -> Response:
    """Score documents, at the path that clients of vLLM use

    The same as `/v1/rerank`.
    """
    return generate(rerank, with_model(body))
