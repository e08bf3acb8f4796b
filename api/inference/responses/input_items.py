"""The input of a stored response as items (OpenAI API reference, "List input items").

They are those of the conversation that the model got: that of an earlier response is among them, documents
are their text, and a developer's message is one of the system. Instructions are no items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from api.inference.dialects.base import ResponseMetadata
from generation.generation import ContentPart, Generation, ImagePart, Message

Json = dict[str, Any]


def input_items(metadata: ResponseMetadata, generation: Generation) -> list[Json]:
    """The items, the first one first. Their ids follow from the response's and their places."""
    messages = generation.messages[1:] if metadata.echo.get("instructions") else generation.messages
    hex_id = metadata.id.partition("_")[2]
    return [
        {"id": f"{prefix}_{hex_id}i{index:04x}", "status": "completed", **item}
        for index, (prefix, item) in enumerate(pair for message in messages for pair in _items(message))
    ]


def _items(message: Message) -> Iterator[tuple[str, Json]]:
    """The items of a message, each with the prefix of its id."""
    if message.role == "tool":
        yield (
            "fco",
            {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text},
        )
        return
    if message.reasoning:
        content = [{"type": "reasoning_text", "text": message.reasoning}]
        yield "rs", {"type": "reasoning", "summary": [], "content": content}
    if message.role == "assistant":
        if message.content:
            part = {"type": "output_text", "text": message.text, "annotations": [], "logprobs": []}
            yield "msg", {"type": "message", "role": "assistant", "content": [part]}
        for call in message.tool_calls:
            arguments = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
            yield "fc", {"type": "function_call", **arguments}
    else:
        parts = [_part(part) for part in message.content]
        yield "msg", {"type": "message", "role": message.role, "content": parts}


def _part(part: ContentPart) -> Json:
    if isinstance(part, ImagePart):
        return {
            "type": "input_image",
            "image_url": part.url,
            "detail": part.detail or "auto",
            "file_id": None,
        }
    return {"type": "input_text", "text": part.text}
