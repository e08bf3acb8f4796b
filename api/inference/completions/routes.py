"""POST /v1/completions."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.http.error_codes import GENERATION
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.inference.completions import dialect as completions
from api.inference.completions.schema import CompletionRequest, TextCompletion
from api.inference.exchange import generate
from api.inference.generation_headers import ANSWER_HEADERS

routes = RouteGroup("completions", __name__)


@routes.endpoint(
    "/v1/completions",
    "POST",
    access=Access.INFERENCE,
    body=CompletionRequest,
    examples={"A text": {"model": "stoker-demo", "prompt": "Stoker is", "max_tokens": 16}},
    responses={200: TextCompletion},
    streams=True,
    blocking=False,
    headers=ANSWER_HEADERS,
    errors=(*GENERATION, "prompt_unsupported"),
)
def create_completion(body: dict[str, Any]) -> Response:
    """Continue a text

    Continues `prompt` as it is, without a chat template: for base models, and for clients that write the
    template's text themselves. With `stream: true` the answer comes as `text_completion` objects with a piece
    of the text each; an error after the first of them is sent as `data: {"error": {...}}`.
    """
    return generate(completions, body)
