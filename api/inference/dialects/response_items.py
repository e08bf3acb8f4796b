"""The conversation of a Responses request: a text or items become `Message`s.

The bodies have been validated against their schemas; this module checks what a schema cannot express. Images
and files are read by the `Attachments` of the request.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import orjson

from api.inference.dialects.attachments import Attachments
from api.inference.dialects.custom_input import arguments_of
from api.inference.dialects.message_content import (
    Content,
    ResultImages,
    prompt_message,
    result_content,
    text_of,
    text_only,
)
from api.inference.dialects.packed_reasoning import unpacked
from api.inference.dialects.tool_names import (
    TOOL_SEARCH,
    DeclaredTool,
    ToolNames,
    declared_tools,
)
from generation.generation import ContentPart, Message, TextPart, ToolCall, text_content

Json = dict[str, Any]

_CALLS = ("function_call", "custom_tool_call", "tool_search_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "tool_search_output")
_ITEM_TYPES = frozenset(("message", "reasoning", "compaction", *_CALLS, *_OUTPUTS))

_SEARCHES = ("tool_search_call", "tool_search_output")

ITEM_REFERENCE = "item_reference"
"""The type of an item that is the id of another one (`api.inference.conversations.item_references`)."""


def from_input(
    given: str | list[Json], attachments: Attachments, names: ToolNames | None = None
) -> tuple[Message, ...]:
    """Read the `input` of a Responses request: a text is one user message, items become messages.

    `names` are those of the request's tools. Raises `InvalidRequest` for a message that holds what its role
    forbids.
    """
    if isinstance(given, str):
        return (Message("user", text_content(given)),)
    return from_items(((f"input[{index}]", item) for index, item in enumerate(given)), attachments, names)


def from_items(
    given: Iterable[tuple[str, Json]], attachments: Attachments, names: ToolNames | None = None
) -> tuple[Message, ...]:
    """Read items, each with its path in the body. Raises what `from_input` does."""
    grouping = _ItemGrouping(attachments, names or ToolNames())
    for param, item in given:
        grouping.add(item, param)
    return tuple(grouping.finish())


def _json_text(arguments: Any) -> str:
    """Arguments of a search, which are an object or a JSON text."""
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()


class _ItemGrouping:
    """Groups Responses items into messages.

    Adjacent reasoning, message and function call items of the assistant become one assistant message. The
    summary of a compacted conversation is a message of the assistant. Images of the outputs of calls follow
    the last of these outputs: they begin the user's message, or are one. Items of types that are not known
    here are left out.
    """

    def __init__(self, attachments: Attachments, names: ToolNames) -> None:
        self._attachments = attachments
        self._names = names
        self._messages: list[Message] = []
        self._images = ResultImages()
        self._clear()

    def _clear(self) -> None:
        self._content: Content | None = None
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []

    def add(self, item: Json, param: str) -> None:
        kind = item.get("type") or "message"
        if kind not in _ITEM_TYPES or (kind in _SEARCHES and not item.get("call_id")):
            return  # a search without an id is one of OpenAI's servers
        if not self._images.is_empty() and kind not in _OUTPUTS and item.get("role") != "user":
            self._messages.append(Message("user", self._images.take()))
        if kind == "reasoning":
            if self._content is not None or self._calls:
                self._flush()
            packed = unpacked(item.get("encrypted_content"), f"{param}.encrypted_content")
            self._reasoning.append(text_of(item.get("content")) or packed or text_of(item.get("summary")))
        elif kind in _CALLS:
            self._add_call(item, kind)
        elif kind in _OUTPUTS:
            self._flush()
            self._add_output(item, f"{param}.output")
        elif kind == "compaction":
            self._flush()
            self._join_last_user_messages()
            summary = self._attachments.add_summary(item["encrypted_content"], f"{param}.encrypted_content")
            self._messages.append(Message("assistant", (summary,)))
        elif item["role"] == "assistant":
            if self._content is not None or self._calls:
                self._flush()
            self._content = text_only(item["content"], param)
        else:
            self._flush()
            message = prompt_message(item["role"], item["content"], param, self._attachments)
            if not self._images.is_empty():
                message = replace(message, content=(*self._images.take(), *message.content))
            self._messages.append(message)

    def _add_call(self, item: Json, type: str) -> None:
        if type == "function_call":
            tool, arguments = DeclaredTool(item["name"], item.get("namespace")), item["arguments"]
        elif type == "custom_tool_call":
            tool = DeclaredTool(item["name"], item.get("namespace"), "custom")
            arguments = arguments_of(item["input"])
        else:
            tool, arguments = DeclaredTool(TOOL_SEARCH, None, TOOL_SEARCH), _json_text(item.get("arguments"))
        self._calls.append(ToolCall(item["call_id"], self._names.offered(tool), arguments))

    def _found(self, tools: Iterable[Json]) -> str:
        """The result of a search: the model is offered the tools themselves (`declared_in`)."""
        names = [self._names.offered(tool) for tool, _ in declared_tools(tools)]
        return f"These tools can be called now: {', '.join(names)}" if names else "No tool was found."

    def _add_output(self, item: Json, param: str) -> None:
        if "tools" in item:
            texts = text_content(self._found(item["tools"]))
            self._messages.append(Message("tool", texts, tool_call_id=item["call_id"]))
            return
        content = result_content(item["output"], param, self._attachments)
        texts = self._images.add(item["call_id"], content)
        self._messages.append(Message("tool", texts, tool_call_id=item["call_id"]))

    def _join_last_user_messages(self) -> None:
        """Make one message of those of the user that a compaction has left without the answers.

        Many chat templates refuse two messages of the user in sequence.
        """
        joined: list[ContentPart] = []
        while self._messages and self._messages[-1].role == "user":
            between = (TextPart("\n\n"),) if joined else ()
            joined[:0] = [*self._messages.pop().content, *between]
        if joined:
            self._messages.append(Message("user", tuple(joined)))

    def finish(self) -> list[Message]:
        self._flush()
        if not self._images.is_empty():
            self._messages.append(Message("user", self._images.take()))
        return self._messages

    def _flush(self) -> None:
        if self._content is not None or self._calls:
            self._messages.append(
                Message(
                    "assistant",
                    self._content or (),
                    reasoning="".join(self._reasoning) or None,
                    tool_calls=tuple(self._calls),
                )
            )
        self._clear()
