"""POST /v1/chat/completions and POST /v1/chat/completions/input_tokens."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.http.error_codes import GENERATION, TOKEN_COUNT
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatCompletion, ChatRequest
from api.inference.count_tokens import count_tokens
from api.inference.exchange import generate
from api.inference.generation_headers import ANSWER_HEADERS, GENERATION_HEADERS
from api.inference.llama_server.model_name import with_model
from api.inference.responses.schema import InputTokensObject

routes = RouteGroup("chat", __name__)


@routes.endpoint(
    "/v1/chat/completions",
    "POST",
    access=Access.INFERENCE,
    body=ChatRequest,
    examples={
        "A question": {"model": "stoker-demo", "messages": [{"role": "user", "content": "What is Stoker?"}]},
        "A stream, with a system message": {
            "model": "stoker-demo",
            "messages": [
                {"role": "system", "content": "Answer in one sentence."},
                {"role": "user", "content": "What is Stoker?"},
            ],
            "max_tokens": 64,
            "stream": True,
        },
        "An answer that fits a schema": {
            "model": "stoker-demo",
            "messages": [{"role": "user", "content": "A city in Norway?"}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "city",
                    "schema": {
                        "type": "object",
                        "properties": {"city": {"type": "string"}},
                        "required": ["city"],
                    },
                },
            },
        },
    },
    responses={200: ChatCompletion},
    streams=True,
    blocking=False,
    headers=ANSWER_HEADERS,
    errors=GENERATION,
)
def create_chat_completion(body: dict[str, Any]) -> Response:
    """Answer a conversation

    Generates the next message of a conversation. With `stream: true` the answer comes as
    `chat.completion.chunk` objects while the model generates; an error after the first of them is sent as
    `data: {"error": {...}}`. A client that disconnects ends the generation.

    `reasoning_content`, in messages and deltas, holds the reasoning that precedes the answer. An answer to a
    request with a field that only llama-server knows (`return_progress`, `reasoning_format`, ...) has its
    `timings`, too.
    """
    return generate(chat, with_model(body))


@routes.endpoint(
    "/v1/chat/completions/input_tokens",
    "POST",
    access=Access.INFERENCE,
    body=ChatRequest,
    examples={
        "A question": {"model": "stoker-demo", "messages": [{"role": "user", "content": "What is Stoker?"}]}
    },
    responses={200: InputTokensObject},
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=TOKEN_COUNT,
)
def count_chat_input_tokens(body: dict[str, Any]) -> Response:
    """Count the input tokens of a conversation

    The number of input tokens that the same request to `/v1/chat/completions` has, as in llama-server. The
    model counts, so it has to be loaded; nothing is generated, and the tokens count for no limit.
    """
    return count_tokens(
        chat, with_model(body), lambda tokens: {"object": "response.input_tokens", "input_tokens": tokens}
    )
