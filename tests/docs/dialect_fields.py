"""What becomes of each field of a request: honoured, ignored or refused, for docs/fields.md.

The fields of a request are those of our schema and those of the vendor's SDK, where it declares them. A field
of the SDK that the schema lacks is tried: the dialect refuses it, or it is ignored as any unknown field. A
body that belongs to no dialect has only its schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, get_args, get_type_hints

from anthropic.types import message_create_params
from anthropic.types.messages import batch_create_params as message_batch_create_params
from marshmallow import fields
from openai.types import batch_create_params, completion_create_params, embedding_create_params
from openai.types.chat import completion_create_params as chat_create_params
from openai.types.conversations import (
    conversation_create_params,
    conversation_update_params,
    item_create_params,
)
from openai.types.responses import response_compact_params, response_create_params

from api.batches.message_schema import MessageBatchRequest
from api.batches.schema import BatchRequest
from api.http.errors import InvalidRequest
from api.http.strict_fields import ListField, NestedField, TaggedUnionField, UnionField
from api.http.strict_schema import StrictSchema
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.completions import dialect as completions
from api.inference.completions.schema import CompletionRequest
from api.inference.conversations.schema import ConversationChange, NewConversation, NewConversationItems
from api.inference.embeddings import dialect as embeddings
from api.inference.embeddings.schema import EmbeddingsRequest
from api.inference.messages import dialect as anthropic_messages
from api.inference.messages.schema import MessagesRequest
from api.inference.ollama import chat as ollama_chat
from api.inference.ollama import embed as ollama_embed
from api.inference.ollama import embeddings as ollama_embeddings
from api.inference.ollama import generate as ollama_generate
from api.inference.ollama.schema import (
    OllamaChatRequest,
    OllamaEmbeddingsRequest,
    OllamaEmbedRequest,
    OllamaGenerateRequest,
)
from api.inference.rerank import dialect as rerank
from api.inference.rerank.schema import RerankRequest
from api.inference.responses import compaction
from api.inference.responses import dialect as responses
from api.inference.responses.schema import CompactRequest, ResponsesRequest
from tests.docs.page import Row, Table

OLLAMA_OPTIONS = (
    *("num_ctx", "num_keep", "num_batch", "num_gpu", "main_gpu", "num_thread", "use_mmap", "typical_p"),
    *("repeat_last_n", "penalize_newline", "mirostat", "mirostat_tau", "mirostat_eta", "tfs_z"),
)
OLLAMA_FIELDS = (
    *("truncate", "shift", "logprobs", "top_logprobs"),
    *(f"options.{name}" for name in OLLAMA_OPTIONS),
)
"""What Ollama's API reference has ("Generate a completion", "Parameters"), and the schemas may lack."""

RERANK_FIELDS = (
    *("rank_fields", "max_chunks_per_doc", "max_tokens_per_doc", "priority"),
    *("truncation", "return_embeddings"),
)
"""What the references of Cohere ("Rerank") and Jina ("Reranker API") have, and the schema may lack."""

WITHIN: Mapping[str, dict[str, Any]] = {
    "thinking": {"type": "adaptive"},
    "cache_control": {"type": "ephemeral"},
}
"""What an object of a request has in any case, for the fields that it may have besides."""

MESSAGES = [{"role": "user", "content": "Hi."}]
DIALECTS: Mapping[str, tuple[ModuleType, type[StrictSchema], Any, dict[str, Any]]] = {
    "responses": (
        responses,
        ResponsesRequest,
        response_create_params.ResponseCreateParams,
        {"model": "demo", "input": "Hi."},
    ),
    "compact": (
        compaction,
        CompactRequest,
        response_compact_params.ResponseCompactParams,
        {"model": "demo", "input": "Hi."},
    ),
    "chat": (
        chat,
        ChatRequest,
        chat_create_params.CompletionCreateParams,
        {"model": "demo", "messages": MESSAGES},
    ),
    "completions": (
        completions,
        CompletionRequest,
        completion_create_params.CompletionCreateParams,
        {"model": "demo", "prompt": "Hi"},
    ),
    "embeddings": (
        embeddings,
        EmbeddingsRequest,
        embedding_create_params.EmbeddingCreateParams,
        {"model": "demo", "input": "Hi"},
    ),
    "rerank": (
        rerank,
        RerankRequest,
        RERANK_FIELDS,
        {"model": "demo", "query": "Hi", "documents": ["Hi"]},
    ),
    "Ollama's embed": (
        ollama_embed,
        OllamaEmbedRequest,
        (),
        {"model": "demo", "input": "Hi"},
    ),
    "Ollama's embeddings": (
        ollama_embeddings,
        OllamaEmbeddingsRequest,
        (),
        {"model": "demo", "prompt": "Hi"},
    ),
    "Ollama's chat": (
        ollama_chat,
        OllamaChatRequest,
        OLLAMA_FIELDS,
        {"model": "demo", "messages": MESSAGES},
    ),
    "Ollama's generate": (
        ollama_generate,
        OllamaGenerateRequest,
        OLLAMA_FIELDS,
        {"model": "demo", "prompt": "Hi"},
    ),
    "messages": (
        anthropic_messages,
        MessagesRequest,
        message_create_params.MessageCreateParams,
        {"model": "demo", "max_tokens": 1, "messages": MESSAGES},
    ),
}
BODIES: Mapping[str, tuple[type[StrictSchema], Any]] = {
    "batches": (BatchRequest, batch_create_params.BatchCreateParams),
    "message batches": (MessageBatchRequest, message_batch_create_params.BatchCreateParams),
    "conversations": (NewConversation, conversation_create_params.ConversationCreateParams),
    "changes of conversations": (
        ConversationChange,
        conversation_update_params.ConversationUpdateParams,
    ),
    "items of conversations": (NewConversationItems, item_create_params.ItemCreateParams),
}
"""The bodies that no dialect parses."""

QUERY_PARAMETERS = frozenset(("include",))
"""What the SDKs declare beside the fields of a body."""


@cache
def field_tables() -> dict[str, Table]:
    """A table for each dialect and each other body, by the name in its comment."""
    rows = {name: _rows(*dialect) for name, dialect in DIALECTS.items()}
    rows |= {name: _rows(None, schema, params, {}) for name, (schema, params) in BODIES.items()}
    return {
        f"fields of {name}": Table(("field", "", "meaning"), sorted(found, key=lambda row: row[0]))
        for name, found in rows.items()
    }


def _rows(
    dialect: ModuleType | None, schema: type[StrictSchema], params: Any, smallest: dict[str, Any]
) -> Iterator[Row]:
    known = set()
    for name, field in schema().fields.items():
        for row in _of_field(name, field):
            if dialect is None and "](" in row[0]:
                continue  # the items of a conversation are those of a response's input
            known.add(row[0])
            yield row
    nested = {name for name, field in schema().fields.items() if isinstance(field, NestedField)}
    for name in sorted(_declared(params, nested) - QUERY_PARAMETERS):
        if f"`{name}`" not in known and dialect is None:
            yield f"`{name}`", "refused" if schema.closed else "ignored", ""
        elif f"`{name}`" not in known:
            first, _, second = name.partition(".")
            body = {**smallest, first: {**WITHIN.get(first, {}), second: "?"} if second else "?"}
            yield f"`{name}`", "refused" if _refuses(dialect, body) else "ignored", ""


def _declared(params: Any, nested: set[str]) -> set[str]:
    """The names that an SDK declares, or a list of them; those in the objects `nested` by their paths."""
    if isinstance(params, tuple):
        return set(params)
    found = set()
    for one in get_args(params) or (params,):
        for name, declared in get_type_hints(one).items():
            found.add(name)
            if name in nested:
                found |= {f"{name}.{inner}" for inner in _names_in(declared) if inner != "type"}
    return found


def _names_in(declared: Any) -> set[str]:
    """The fields of an object, and of all objects of a union."""
    if hasattr(declared, "__required_keys__"):  # a TypedDict, also one of typing_extensions
        return set(get_type_hints(declared))
    return {name for one in get_args(declared) for name in _names_in(one)}


def _refuses(dialect: ModuleType, body: dict[str, Any]) -> bool:
    try:
        dialect.parse(body)
    except InvalidRequest:
        return True
    return False


def _of_field(path: str, field: fields.Field[Any]) -> Iterator[Row]:
    """The rows of a field and of the fields in it."""
    meaning = str(field.metadata["description"])
    if not path.endswith(".type"):
        yield f"`{path}`", _treatment(field, meaning), meaning
    for name, schema in _inner(field):
        if "[].[]" not in path:
            for key, one in schema().fields.items():
                yield from _of_field(f"{path}{name}.{key}", one)


def _inner(field: Any) -> Iterator[tuple[str, type[StrictSchema]]]:
    """The schemas in a field, each with the step of the path that leads to it."""
    if isinstance(field, NestedField):
        yield "", field.schema.__class__
    elif isinstance(field, TaggedUnionField):
        for tag, schema in field.schemas.items():
            yield f"({tag})" if len(field.schemas) > 1 else "", schema
    elif isinstance(field, ListField):
        for name, schema in _inner(field.inner):
            yield f"[]{name}", schema
    elif isinstance(field, UnionField):
        for option in field.options:
            yield from _inner(option)


def _treatment(field: fields.Field[Any], meaning: str) -> str:
    for beginning, treatment in (("Ignored", "ignored"), ("Repeated", "repeated")):
        if meaning.startswith(beginning):
            return treatment
    if meaning.startswith("Not supported"):
        return "refused"
    if meaning.startswith("False is refused"):
        return "others refused"
    return "others refused" if "enum" in field.metadata and meaning.endswith("supported.") else "honoured"
