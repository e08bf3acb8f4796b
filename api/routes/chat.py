"""POST /v1/chat/completions."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.auth.access import Access
from api.dialects import chat
from api.openapi import RouteGroup
from api.routes.error_codes import GENERATION
from api.routes.parameters import GENERATION_HEADERS
from api.schemas.chat import ChatCompletion, ChatRequest
from api.streaming.choices import ChoicesExchange
from api.streaming.respond import generate

routes = RouteGroup("chat", __name__, description="OpenAI's Chat Completions.")


@routes.endpoint(
    "/v1/chat/completions",
    "POST",
    access=Access.INFERENCE,
    body=ChatRequest,
    responses={200: ChatCompletion},
    streams=True,
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=GENERATION,
)
def create_chat_completion(body: dict[str, Any]) -> Response:
    """Answer a conversation

    Generates the next message of a conversation. With `stream: true` the answer comes as
    `chat.completion.chunk` objects while the model generates; an error after the first of them is sent as
    `data: {"error": {...}}`. A client that disconnects ends the generation.

    `reasoning_content`, in messages and deltas, holds the reasoning that precedes the answer.
    """
    return generate(chat, body, ChoicesExchange)
