"""POST /v1/messages and POST /v1/messages/count_tokens."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.http.error_codes import GENERATION, TOKEN_COUNT
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.inference.count_tokens import count_tokens
from api.inference.exchange import generate
from api.inference.generation_headers import ANSWER_HEADERS, GENERATION_HEADERS
from api.inference.messages import dialect as anthropic_messages
from api.inference.messages.schema import (
    AnthropicError,
    CountTokensRequest,
    MessageObject,
    MessagesRequest,
    TokenCountObject,
)

routes = RouteGroup("anthropic", __name__)


@routes.endpoint(
    "/v1/messages",
    "POST",
    access=Access.INFERENCE,
    body=MessagesRequest,
    examples={
        "A question": {
            "model": "stoker-demo",
            "max_tokens": 64,
            "messages": [{"role": "user", "content": "What is Stoker?"}],
        },
        "A stream, with a system prompt": {
            "model": "stoker-demo",
            "max_tokens": 64,
            "system": "Answer in one sentence.",
            "messages": [{"role": "user", "content": "What is Stoker?"}],
            "stream": True,
        },
    },
    responses={200: MessageObject},
    streams=True,
    blocking=False,
    headers=ANSWER_HEADERS,
    errors=GENERATION,
    error_body=AnthropicError,
)
def create_message(body: dict[str, Any]) -> Response:
    """Answer a conversation, in Anthropic's form

    Generates the next message of a conversation. With `stream: true` the answer comes as the events of
    Anthropic's message streams; a failure after the first of them is sent as an `error` event. A client that
    disconnects ends the generation. Errors have Anthropic's form, with the platform's `code` and `param`.
    Every prompt is cached, by tenant; `cache_control` may name a cache tag.
    """
    return generate(anthropic_messages, body)


@routes.endpoint(
    "/v1/messages/count_tokens",
    "POST",
    access=Access.INFERENCE,
    body=CountTokensRequest,
    examples={
        "A question": {"model": "stoker-demo", "messages": [{"role": "user", "content": "What is Stoker?"}]}
    },
    responses={200: TokenCountObject},
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=TOKEN_COUNT,
    error_body=AnthropicError,
)
def count_message_tokens(body: dict[str, Any]) -> Response:
    """Count the tokens of a conversation

    The number of input tokens that the same request to `/v1/messages` has. The model counts, so it has to be
    loaded; nothing is generated, and the tokens count for no limit.
    """
    return count_tokens(anthropic_messages, body, lambda tokens: {"input_tokens": tokens})
