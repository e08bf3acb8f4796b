"""The input of a stored response as items (OpenAI API reference, "List input items").

They are those of the conversation that the model got: that of an earlier response is among them, documents
are their text, and a developer's message is one of the system. Instructions are no items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.custom_input import input_of
from api.inference.dialects.tool_names import TOOL_SEARCH, DeclaredTool, ToolNames
from api.inference.responses.output_items import search_arguments
from generation.generation import AudioPart, ContentPart, Generation, ImagePart, Message, ToolCall

Json = dict[str, Any]


def input_items(metadata: ResponseMetadata, generation: Generation) -> list[Json]:
    """The items, the first one first. Their ids follow from the response's and their places."""
    messages = generation.messages[1:] if metadata.echo.get("instructions") else generation.messages
    hex_id = metadata.id.partition("_")[2]
    names = ToolNames(metadata.echo.get("tools", ()))
    calls = [call for message in messages for call in message.tool_calls]
    customs = {call.id for call in calls if names.declared(call.name).kind == "custom"}
    return [
        {"id": f"{prefix}_{hex_id}i{index:04x}", "status": "completed", **item}
        for index, (prefix, item) in enumerate(
            pair for message in messages for pair in _items(message, names, customs)
        )
    ]


def _items(message: Message, names: ToolNames, customs: set[str]) -> Iterator[tuple[str, Json]]:
    """The items of a message, each with the prefix of its id; `customs` are the calls of custom tools."""
    if message.role == "tool":
        is_custom = message.tool_call_id in customs
        prefix, kind = ("ctco", "custom_tool_call_output") if is_custom else ("fco", "function_call_output")
        yield prefix, {"type": kind, "call_id": message.tool_call_id, "output": message.text}
        return
    if message.reasoning:
        content = [{"type": "reasoning_text", "text": message.reasoning}]
        yield "rs", {"type": "reasoning", "summary": [], "content": content}
    if message.role == "assistant":
        if message.content:
            part = {"type": "output_text", "text": message.text, "annotations": [], "logprobs": []}
            yield "msg", {"type": "message", "role": "assistant", "content": [part]}
        for call in message.tool_calls:
            yield _call(call, names.declared(call.name))
    else:
        parts = [_part(part) for part in message.content]
        yield "msg", {"type": "message", "role": message.role, "content": parts}


def _call(call: ToolCall, tool: DeclaredTool) -> tuple[str, Json]:
    named: Json = {"call_id": call.id, "name": tool.name}
    if tool.namespace is not None:
        named["namespace"] = tool.namespace
    if tool.kind == TOOL_SEARCH:
        arguments = search_arguments(call.arguments)
        search = {
            "type": "tool_search_call",
            "call_id": call.id,
            "execution": "client",
            "arguments": arguments,
        }
        return "tsc", search
    if tool.kind == "custom":
        return "ctc", {"type": "custom_tool_call", **named, "input": input_of(call.arguments)}
    return "fc", {"type": "function_call", **named, "arguments": call.arguments}


def _part(part: ContentPart) -> Json:
    if isinstance(part, ImagePart):
        return {
            "type": "input_image",
            "image_url": part.url,
            "detail": part.detail or "auto",
            "file_id": None,
        }
    if isinstance(part, AudioPart):
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": part.format}}
    return {"type": "input_text", "text": part.text}
