"""What was said before, as clients send it: Responses items or chat messages become wire messages.

The bodies have passed their shapes; what is checked here is what no shape can say. `images` gathers what is
found of them on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.dialects.images import Images
from api.errors import InvalidRequest
from tasks.generation import Image, Message, ToolCall

Json = dict[str, Any]

IMAGES = ("input_image", "image_url")
"""The types of a part that is an image, in both dialects."""


def text_of(content: str | list[Json] | None) -> str:
    """The text of a content: itself, or its parts together. Nothing is put between them."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(map(_piece, content))


def _piece(part: Json) -> str:
    text: str = part["text"] if "text" in part else part["refusal"]
    return text


def from_messages(messages: Sequence[Json], images: Images) -> tuple[Message, ...]:
    """Chat messages. Raises `InvalidRequest` for one that lacks, or holds, what its role does not allow."""
    return tuple(_message(message, f"messages[{index}]", images) for index, message in enumerate(messages))


def _message(raw: Json, param: str, images: Images) -> Message:
    role, content = raw["role"], raw.get("content")
    if role == "assistant":
        return Message(
            "assistant",
            _text(content, param),
            reasoning=raw.get("reasoning_content"),
            tool_calls=tuple(
                ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
                for call in raw.get("tool_calls") or ()
            ),
        )
    if content is None:
        raise InvalidRequest(f"a {role} message needs a content", param=f"{param}.content")
    if role == "tool":
        if raw.get("tool_call_id") is None:
            raise InvalidRequest("a tool message needs a tool_call_id", param=f"{param}.tool_call_id")
        return Message("tool", _text(content, param), tool_call_id=raw["tool_call_id"])
    return _said(role, content, param, images)


def from_input(given: str | list[Json], images: Images) -> tuple[Message, ...]:
    """The `input` of a Responses request: a text is one user message, items are put together.

    Raises `InvalidRequest` for a message that holds what its role must not.
    """
    if isinstance(given, str):
        return (Message("user", given),)
    turns = _Turns(images)
    for index, item in enumerate(given):
        turns.add(item, f"input[{index}]")
    return tuple(turns.finish())


def _said(role: str, content: str | list[Json], param: str, images: Images) -> Message:
    """A message of the user or the system."""
    if role != "user":
        return Message("system", _text(content, param))
    if isinstance(content, str):
        return Message("user", content)
    text, found = _read(content, param, images)
    return Message("user", text, images=found)


def _text(content: str | list[Json] | None, param: str) -> str:
    """The text of a message that can hold nothing else."""
    if isinstance(content, list):
        for index, part in enumerate(content):
            if part.get("type") in IMAGES:
                place = f"{param}.content[{index}]"
                raise InvalidRequest(
                    "only user messages may hold images", code="unsupported_input", param=place
                )
    return text_of(content)


def _read(parts: list[Json], param: str, images: Images) -> tuple[str, tuple[Image, ...]]:
    """The text of a user's parts, and the images among them."""
    text, found = "", []
    for index, part in enumerate(parts):
        if part.get("type") in IMAGES:
            found.append(images.take(part, f"{param}.content[{index}]", len(text)))
        else:
            text += _piece(part)
    return text, tuple(found)


class _Turns:
    """Puts items together: thoughts, a message and calls of the assistant in a row are one turn of it."""

    def __init__(self, images: Images) -> None:
        self._images = images
        self._done: list[Message] = []
        self._clear()

    def _clear(self) -> None:
        self._content: str | None = None
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []

    def add(self, item: Json, param: str) -> None:
        kind = item.get("type") or "message"
        if kind == "reasoning":
            if self._content is not None or self._calls:
                self._flush()
            self._reasoning.append(text_of(item.get("content")) or text_of(item.get("summary")))
        elif kind == "function_call":
            self._calls.append(ToolCall(item["call_id"], item["name"], item["arguments"]))
        elif kind == "function_call_output":
            self._flush()
            self._done.append(Message("tool", text_of(item["output"]), tool_call_id=item["call_id"]))
        elif item["role"] == "assistant":
            if self._content is not None or self._calls:
                self._flush()
            self._content = _text(item["content"], param)
        else:
            self._flush()
            self._done.append(_said(item["role"], item["content"], param, self._images))

    def finish(self) -> list[Message]:
        self._flush()
        return self._done

    def _flush(self) -> None:
        thoughts = "".join(self._reasoning)
        if self._content is not None or self._calls:
            self._done.append(
                Message(
                    "assistant",
                    self._content or "",
                    reasoning=thoughts or None,
                    tool_calls=tuple(self._calls),
                )
            )
        self._clear()
