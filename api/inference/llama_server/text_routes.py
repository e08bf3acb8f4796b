"""POST /tokenize, /detokenize and /apply-template."""

from __future__ import annotations

from functools import partial
from typing import Any

from flask import Response

from api.http.error_codes import GENERATION
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.inference.exchange import generate
from api.inference.generation_headers import GENERATION_HEADERS
from api.inference.llama_server.model_name import with_model
from api.inference.llama_server.text_dialect import APPLY_TEMPLATE, DETOKENIZE, TOKENIZE
from api.inference.llama_server.text_schema import (
    ApplyTemplateRequest,
    DetokenizeRequest,
    RenderedPrompt,
    TokenizeRequest,
    TokenList,
    TokenText,
)
from api.inference.resumable.schema import LlamaServerError

routes = RouteGroup("text", __name__)

route = partial(
    routes.endpoint,
    method="POST",
    access=Access.INFERENCE,
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=("not_supported", *GENERATION),
    error_body=LlamaServerError,
)


@route(
    "/tokenize",
    body=TokenizeRequest,
    examples={"A text": {"model": "stoker-demo", "content": "a red fox", "with_pieces": True}},
    responses={200: TokenList},
)
def tokenize(body: dict[str, Any]) -> Response:
    """Make tokens of a text

    By the model's own vocabulary. The request waits in the model's queue; its tokens count for no limit.
    """
    return generate(TOKENIZE, with_model(body))


@route(
    "/detokenize",
    body=DetokenizeRequest,
    examples={"Tokens": {"model": "stoker-demo", "tokens": [64, 65, 66]}},
    responses={200: TokenText},
)
def detokenize(body: dict[str, Any]) -> Response:
    """Make a text of tokens

    The request waits in the model's queue; its tokens count for no limit.
    """
    return generate(DETOKENIZE, with_model(body))


@route(
    "/apply-template",
    body=ApplyTemplateRequest,
    examples={
        "A question": {
            "model": "stoker-demo",
            "messages": [{"role": "user", "content": "What is Stoker?"}],
        }
    },
    responses={200: RenderedPrompt},
)
def apply_template(body: dict[str, Any]) -> Response:
    """Make a prompt of messages

    The text that the model would read, by its chat template. A control token that a message spells is text:
    the prompt has a mark within it. The request waits in the model's queue.
    """
    return generate(APPLY_TEMPLATE, with_model(body))
