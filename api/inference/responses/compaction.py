"""Compaction of a conversation (OpenAI API reference, "Compact a response").

A request is a generation like any other: the model summarises the conversation, after a fixed instruction.
The answer has the messages of the user as they were, and the summary in a `compaction` item, which a later
request has in its input. Its text is encrypted: `encrypted_content`. docs/decisions/0026 has the reasons.

As system messages may be among the items of an input, the answer repeats them, too; those of a developer are
system messages here. `instructions` belong to one request and are not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from api.http import sse
from api.http.errors import ApiError, InvalidRequest
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata, StreamRenderer
from api.inference.dialects.options import cache_tag_of_key
from api.inference.dialects.response_items import ITEM_REFERENCE, from_input
from api.inference.dialects.service_tier import openai_tier
from api.inference.responses import dialect as responses
from api.inference.responses.input_items import input_items
from generation.generation import Generation, Message, Sampling, TextPart, text_content
from streams.events import Event

NAME = "responses.compact"
ID_PREFIX = responses.ID_PREFIX
FRAMING: Framing = sse
HAS_CANCELLED_STATUS = False

error_body = responses.error_body
limit_headers = responses.limit_headers

SUMMARY_TOKENS = 2048
"""The most tokens of a summary, with the reasoning of a model that cannot do without it."""

INSTRUCTION = (
    "Summarize this conversation, so that it can be continued from the summary. State what is asked for, what"
    " was decided and found out, the results of calls that still matter, and what is left to do. The user's"
    " messages are kept: do not repeat them. Answer with the summary only."
)
"""The last words of the prompt."""

Json = dict[str, Any]
Seal = Callable[[str], str]
"""Encrypts a summary."""


def parse(body: Json) -> ParsedRequest:
    """Parse a body that fits `CompactRequest`. Raises `InvalidRequest`."""
    given, previous = body.get("input"), body.get("previous_response_id")
    if not given and previous is None:
        raise InvalidRequest("input or previous_response_id is required", param="input")
    if isinstance(given, list) and any(item.get("type") == ITEM_REFERENCE for item in given):
        raise InvalidRequest(
            "items cannot be referred to here: send the items themselves, or previous_response_id",
            code="unsupported_input",
            param="input",
        )
    attachments = Attachments()
    conversation = from_input(given, attachments) if given else ()
    instructions = body.get("instructions")
    system = (Message("system", text_content(instructions)),) if instructions else ()
    generation = Generation(
        model=body["model"],
        messages=(*system, *_add_instruction(conversation)),
        sampling=Sampling(max_tokens=SUMMARY_TOKENS),
        thinking="disabled",
        allow_remote=bool(body.get("allow_remote")),
        lora=body.get("lora"),
    )
    return ParsedRequest(
        generation,
        {"instructions": instructions} if instructions else {},
        store=True,  # the answer is made of the stored request
        conversation_param="input",
        image_params=tuple(attachments.params),
        audio_params=tuple(attachments.recordings.params),
        documents=tuple(attachments.documents),
        summaries=tuple(attachments.summaries),
        ignored_fields=frozenset({"thinking"}),
        cache_tag=cache_tag_of_key(body),
        service_tier=openai_tier(body),
        previous_response_id=previous,
    )


def _add_instruction(conversation: tuple[Message, ...]) -> tuple[Message, ...]:
    """The conversation with the instruction: in its last message if that is the user's.

    Many chat templates refuse two messages of the user in sequence.
    """
    if conversation and (last := conversation[-1]).role == "user":
        asked = replace(last, content=(*last.content, TextPart(f"\n\n{INSTRUCTION}")))
        return (*conversation[:-1], asked)
    return (*conversation, Message("user", text_content(INSTRUCTION)))


def _without_instruction(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    last = replace(messages[-1], content=messages[-1].content[:-1])
    return (*messages[:-1], last) if last.content else messages[:-1]


def response_object(
    metadata: ResponseMetadata, events: Iterable[Event], pending: str = "in_progress"
) -> Json:
    """Fail: `compacted` renders a compaction, with its request."""
    raise NotImplementedError


def stream_renderer(metadata: ResponseMetadata) -> StreamRenderer:
    """Fail: a compaction is never streamed."""
    raise NotImplementedError


def compacted(metadata: ResponseMetadata, events: Iterable[Event], asked: Generation, seal: Seal) -> Json:
    """Return the compacted conversation of a response that has ended.

    `asked` is its request, with the conversation of an earlier response and the texts of documents. Raises
    `ApiError` (engine_error) when the model made no summary.
    """
    response = responses.response_object(metadata, events)
    parts = (part for item in response["output"] if item["type"] == "message" for part in item["content"])
    summary = "".join(part["text"] for part in parts).strip()
    if not summary:
        raise ApiError("the model did not produce a summary of the conversation", code="engine_error")
    conversation = replace(asked, messages=_without_instruction(asked.messages))
    kept = [item for item in input_items(metadata, conversation) if item.get("role") in ("user", "system")]
    item = {
        "id": f"cmp_{metadata.id.removeprefix(ID_PREFIX)}",
        "type": "compaction",
        "encrypted_content": seal(summary),
    }
    return {
        "id": metadata.id,
        "object": "response.compaction",
        "created_at": metadata.created_at,
        "output": [*kept, item],
        "usage": response["usage"],
    }
