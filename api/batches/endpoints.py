"""The endpoints whose requests may be lines of batches, with the dialect and the schema of each."""

from __future__ import annotations

from dataclasses import dataclass

from api.dialects import anthropic_messages, chat, completions, embeddings, responses
from api.dialects.base import Dialect
from api.schemas.anthropic_messages import MessagesRequest
from api.schemas.chat import ChatRequest
from api.schemas.completions import CompletionRequest
from api.schemas.embeddings import EmbeddingsRequest
from api.schemas.responses import ResponsesRequest
from api.schemas.strict_schema import StrictSchema


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How a line is parsed and its result rendered."""

    dialect: Dialect
    schema: type[StrictSchema]


OF_OPENAI = {
    "/v1/responses": Endpoint(responses, ResponsesRequest),
    "/v1/chat/completions": Endpoint(chat, ChatRequest),
    "/v1/completions": Endpoint(completions, CompletionRequest),
    "/v1/embeddings": Endpoint(embeddings, EmbeddingsRequest),
}
"""The endpoints of /v1/batches."""

MESSAGES_PATH = "/v1/messages"

ENDPOINTS = {**OF_OPENAI, MESSAGES_PATH: Endpoint(anthropic_messages, MessagesRequest)}
