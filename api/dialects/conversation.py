"""What was said before, as clients send it: Responses items or chat messages become wire messages.

The bodies have passed their shapes; what is checked here is what no shape can say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.errors import InvalidRequest
from tasks.wire import Message, ToolCall

Json = dict[str, Any]


def text_of(content: str | list[Json] | None) -> str:
    """The text of a content: itself, or its parts together. Nothing is put between them."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] if "text" in part else part["refusal"] for part in content)


def from_messages(messages: Sequence[Json], param: str = "messages") -> tuple[Message, ...]:
    """Chat messages. Raises `InvalidRequest` for one that lacks what its role needs."""
    return tuple(_message(message, f"{param}[{index}]") for index, message in enumerate(messages))


def _message(raw: Json, param: str) -> Message:
    role, content = raw["role"], raw.get("content")
    if role == "assistant":
        return Message(
            "assistant",
            text_of(content),
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
        return Message("tool", text_of(content), tool_call_id=raw["tool_call_id"])
    return Message("system" if role == "developer" else role, text_of(content))


def from_input(given: str | list[Json]) -> tuple[Message, ...]:
    """The `input` of a Responses request: a text is one user message, items are put together."""
    if isinstance(given, str):
        return (Message("user", given),)
    turns = _Turns()
    for item in given:
        turns.add(item)
    return tuple(turns.finish())


class _Turns:
    """Puts items together: thoughts, a message and calls of the assistant in a row are one turn of it."""

    def __init__(self) -> None:
        self._done: list[Message] = []
        self._clear()

    def _clear(self) -> None:
        self._content: str | None = None
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []

    def add(self, item: Json) -> None:
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
            self._content = text_of(item["content"])
        else:
            self._flush()
            role = "system" if item["role"] == "developer" else item["role"]
            self._done.append(Message(role, text_of(item["content"])))

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
