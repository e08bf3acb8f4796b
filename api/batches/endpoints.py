"""The endpoints whose requests may be lines of batches, with the dialect and the schema of each."""

from __future__ import annotations

from dataclasses import dataclass

from api.http.strict_schema import StrictSchema
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.completions import dialect as completions
from api.inference.completions.schema import CompletionRequest
from api.inference.dialects.base import Dialect
from api.inference.embeddings import dialect as embeddings
from api.inference.embeddings.schema import EmbeddingsRequest
from api.inference.messages import dialect as anthropic_messages
from api.inference.messages.schema import MessagesRequest
from api.inference.responses import dialect as responses
from api.inference.responses.schema import ResponsesRequest


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
