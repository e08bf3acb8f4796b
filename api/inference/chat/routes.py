"""POST /v1/chat/completions."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.http.error_codes import GENERATION
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatCompletion, ChatRequest
from api.inference.exchange import generate
from api.inference.generation_headers import ANSWER_HEADERS

routes = RouteGroup("chat", __name__, description="OpenAI's Chat Completions.")


@routes.endpoint(
    "/v1/chat/completions",
    "POST",
    access=Access.INFERENCE,
    body=ChatRequest,
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

    `reasoning_content`, in messages and deltas, holds the reasoning that precedes the answer.
    """
    return generate(chat, body)
