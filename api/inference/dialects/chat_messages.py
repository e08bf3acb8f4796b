"""The conversation of a request: chat messages or Responses items become `Message`s.

The bodies have been validated against their schemas; this module checks what a schema cannot express. Images
and files are read by the `Attachments` of the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from api.http.errors import InvalidRequest
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.custom_input import arguments_of
from api.inference.dialects.packed_reasoning import unpacked
from api.inference.dialects.tool_names import DeclaredTool, ToolNames
from generation.generation import ContentPart, Message, TextPart, ToolCall, text_content

Json = dict[str, Any]
Content = tuple[ContentPart, ...]

IMAGE_TYPES = ("input_image", "image_url")
FILE_TYPES = ("input_file", "file")
"""The `type` of an image part, and of a file part: in the Responses API, in Chat Completions."""

_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_ITEM_TYPES = frozenset(
    ("message", "reasoning", "function_call", "custom_tool_call", "compaction", *_OUTPUTS)
)

ITEM_REFERENCE = "item_reference"
"""The type of an item that is the id of another one (`api.inference.conversations.item_references`)."""

IMAGES_OF_CALL = "The images in the result of the call {}:\n"
"""What the model reads before the images of a call's result: chat templates have no place for them there."""


def from_messages(messages: Sequence[Json], attachments: Attachments) -> tuple[Message, ...]:
    """Read chat messages.

    Raises `InvalidRequest` for a message that lacks a field of its role or holds one that its role forbids.
    """
    return tuple(
        _message(message, f"messages[{index}]", attachments) for index, message in enumerate(messages)
    )


def _message(raw: Json, param: str, attachments: Attachments) -> Message:
    role, content = raw["role"], raw.get("content")
    if role == "assistant":
        return Message(
            "assistant",
            _text_only(content or raw.get("refusal"), param),
            reasoning=raw.get("reasoning_content"),
            tool_calls=tuple(
                ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
                for call in raw.get("tool_calls") or ()
            ),
        )
    if role == "tool":
        if raw.get("tool_call_id") is None:
            raise InvalidRequest("a tool message needs a tool_call_id", param=f"{param}.tool_call_id")
        return Message("tool", _text_only(content, param), tool_call_id=raw["tool_call_id"])
    if content is None:
        raise InvalidRequest(f"a {role} message needs content", param=f"{param}.content")
    return _prompt_message(role, content, param, attachments)


def is_begun(messages: Sequence[Message]) -> bool:
    """Whether the conversation ends with the beginning of its answer: a text of the assistant, no calls."""
    last = messages[-1] if messages else None
    return last is not None and last.role == "assistant" and not last.tool_calls and bool(last.text)


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


def _prompt_message(role: str, content: str | list[Json], param: str, attachments: Attachments) -> Message:
    """A user or system message; every role but `user` (system, developer) counts as system."""
    if role != "user":
        return Message("system", _text_only(content, param))
    return Message("user", _user_content(content, param, attachments))


def _user_content(content: str | list[Json], param: str, attachments: Attachments) -> Content:
    if isinstance(content, str):
        return text_content(content)
    return tuple(
        _user_part(part, f"{param}.content[{index}]", attachments) for index, part in enumerate(content)
    )


def _user_part(part: Json, param: str, attachments: Attachments) -> ContentPart:
    match part.get("type"):
        case "input_image" | "image_url":
            return attachments.add(part, param)
        case "input_file":
            return attachments.add_file(part, param)
        case "file":
            return attachments.add_file(part["file"], f"{param}.file")
        case _:
            return TextPart(_text_of_part(part))


def _text_only(content: str | list[Json] | None, param: str) -> Content:
    """The content of a message whose role allows text only."""
    if isinstance(content, list):
        for index, part in enumerate(content):
            kind = part.get("type")
            if kind in IMAGE_TYPES or kind in FILE_TYPES:
                raise InvalidRequest(
                    f"only user messages may contain {'images' if kind in IMAGE_TYPES else 'files'}",
                    code="unsupported_input",
                    param=f"{param}.content[{index}]",
                )
    return _text_parts(content)


def _text_parts(content: str | list[Json] | None) -> Content:
    if isinstance(content, list):
        return tuple(TextPart(_text_of_part(part)) for part in content)
    return text_content(content or "")


def _text_of_part(part: Json) -> str:
    text: str = part["text"] if "text" in part else part["refusal"]
    return text


def _text(content: list[Json] | None) -> str:
    return "".join(map(_text_of_part, content or ()))


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
        self._shown: list[ContentPart] = []  # the images of calls, each after the name of its call
        self._clear()

    def _clear(self) -> None:
        self._content: Content | None = None
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []

    def add(self, item: Json, param: str) -> None:
        kind = item.get("type") or "message"
        if kind not in _ITEM_TYPES:
            return
        if self._shown and kind not in _OUTPUTS and item.get("role") != "user":
            self._show_images()
        if kind == "reasoning":
            if self._content is not None or self._calls:
                self._flush()
            packed = unpacked(item.get("encrypted_content"), f"{param}.encrypted_content")
            self._reasoning.append(_text(item.get("content")) or packed or _text(item.get("summary")))
        elif kind == "function_call":
            self._add_call(item, item["arguments"])
        elif kind == "custom_tool_call":
            self._add_call(item, arguments_of(item["input"]), is_custom=True)
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
            self._content = _text_only(item["content"], param)
        else:
            self._flush()
            message = _prompt_message(item["role"], item["content"], param, self._attachments)
            if self._shown:
                message = replace(message, content=(*self._shown, *message.content))
                self._shown.clear()
            self._messages.append(message)

    def _add_call(self, item: Json, arguments: str, *, is_custom: bool = False) -> None:
        tool = DeclaredTool(item["name"], item.get("namespace"), is_custom)
        self._calls.append(ToolCall(item["call_id"], self._names.offered(tool), arguments))

    def _add_output(self, item: Json, param: str) -> None:
        id, output = item["call_id"], item["output"]
        if isinstance(output, str):
            self._messages.append(Message("tool", text_content(output), tool_call_id=id))
            return
        parts = [_user_part(part, f"{param}[{at}]", self._attachments) for at, part in enumerate(output)]
        texts = tuple(part for part in parts if isinstance(part, TextPart))
        self._messages.append(Message("tool", texts, tool_call_id=id))
        if len(texts) < len(parts):
            self._shown.append(TextPart(IMAGES_OF_CALL.format(id)))
            self._shown += (part for part in parts if not isinstance(part, TextPart))

    def _show_images(self) -> None:
        self._messages.append(Message("user", tuple(self._shown)))
        self._shown.clear()

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
        if self._shown:
            self._show_images()
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
