"""Ollama's /api/chat (Ollama API reference, "Generate a chat message")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from api.http import ndjson
from api.http.errors import InvalidRequest
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.http.ollama_errors import error_object
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata
from api.inference.dialects.chat_messages import is_begun
from api.inference.dialects.guided_output import reject_guided_fields
from api.inference.dialects.ignored_tools import of_type, other_types
from api.inference.dialects.images import Images
from api.inference.dialects.open_calls import OpenCalls
from api.inference.dialects.output import ItemKind, ResponseOutput
from api.inference.dialects.output_format import from_ollama_format, tool_of
from api.inference.ollama.dialect import (
    FIELD_NAMES,
    LineRenderer,
    call_of,
    last_line,
    logprob_fields,
    model_name,
    thinking_of,
    unread_call,
)
from api.inference.ollama.options import sampling_of
from generation.generation import Generation, Message, Tool, ToolCall, text_content
from streams.events import Event

NAME = "ollama_chat"
ID_PREFIX = "ollama-"
FRAMING: Framing = ndjson
HAS_CANCELLED_STATUS = False

error_body = error_object
limit_headers = openai_limit_headers


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `OllamaChatRequest`. Raises `InvalidRequest`."""
    reject_guided_fields(body)
    images = Images()
    declared = body.get("tools") or ()
    known = of_type(declared, "function")
    thinking, effort, ignored_fields = thinking_of(body)
    messages = _messages(body.get("messages") or (), images)
    generation = Generation(
        model=model_name(body["model"]),
        messages=messages,
        sampling=sampling_of(body),
        tools=tuple(_tool(raw["function"]) for raw in known),
        thinking=thinking,
        reasoning_effort=effort,
        allow_remote=bool(body.get("allow_remote")),
        lora=body.get("lora"),
        output_format=from_ollama_format(body.get("format")),
        truncate=body.get("truncate") is True,
        continue_last=is_begun(messages),
    )
    return ParsedRequest(
        generation,
        stream=body.get("stream") is not False,
        image_params=tuple(images.params),
        field_names=FIELD_NAMES,
        ignored_fields=ignored_fields,
        ignored_tools=other_types(declared, known),
    )


def _tool(raw: dict[str, Any]) -> Tool:
    return tool_of(raw["name"], raw.get("description"), raw.get("parameters"), strict=raw.get("strict"))


def _messages(given: Sequence[dict[str, Any]], images: Images) -> tuple[Message, ...]:
    """The conversation. Calls without ids get some; a result answers the first open call of its function."""
    messages: list[Message] = []
    unanswered = OpenCalls()
    for index, raw in enumerate(given):
        param, role = f"messages[{index}]", raw["role"].lower()
        if raw.get("images") and role != "user":
            message = "only user messages may contain images"
            raise InvalidRequest(message, code="unsupported_input", param=f"{param}.images")
        text = text_content(raw.get("content") or "")
        if role == "user":
            pictures = [
                images.add_base64(data, f"{param}.images[{number}]")
                for number, data in enumerate(raw.get("images") or ())
            ]
            messages.append(Message("user", (*pictures, *text)))
        elif role == "assistant":
            calls = tuple(_calls(raw.get("tool_calls") or (), index))
            unanswered.add(calls)
            messages.append(Message("assistant", text, reasoning=raw.get("thinking"), tool_calls=calls))
        elif role == "tool":
            id = raw.get("tool_call_id") or None
            answered = unanswered.answered(id, raw.get("tool_name")) or id
            # a client that shortens a conversation may have dropped the call
            messages.append(Message("tool", text, tool_call_id=answered or f"call_{index}"))
        else:
            messages.append(Message("system", text))
    return tuple(messages)


def _calls(given: Sequence[dict[str, Any]], index: int) -> Iterable[ToolCall]:
    for number, raw in enumerate(given):
        function = raw["function"]
        arguments = orjson.dumps(function.get("arguments") or {}).decode()
        yield ToolCall(raw.get("id") or f"call_{index}_{number}", function["name"], arguments)


def response_object(
    metadata: ResponseMetadata,
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - the answer has no status
) -> dict[str, Any]:
    """Return the answer of a response that completed or ran out of tokens."""
    output = ResponseOutput.of(events)
    calls = [call for item in output.calls() if (call := call_of(item)) is not None]
    text = output.text(ItemKind.MESSAGE) + "".join(map(unread_call, output.calls()))
    reasoning = output.text(ItemKind.REASONING)
    fields = _fields(text, reasoning, calls) | logprob_fields(output.logprobs())
    return last_line(metadata, output, fields)


def stream_renderer(metadata: ResponseMetadata) -> LineRenderer:
    """Return a renderer for a stream of this response."""
    return LineRenderer(metadata, _fields)


def _fields(text: str, reasoning: str, calls: list[Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reasoning:
        message["thinking"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return {"message": message}
