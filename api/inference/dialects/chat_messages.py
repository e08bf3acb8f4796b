"""The conversation of a request in the form of Chat Completions: chat messages become `Message`s.

The bodies have been validated against their schemas; this module checks what a schema cannot express. Images
and files are read by the `Attachments` of the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from api.http.errors import InvalidRequest
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import ParsedRequest
from api.inference.dialects.message_content import ResultImages, prompt_message, result_content, text_only
from api.inference.dialects.open_calls import OpenCalls
from api.inference.dialects.part_fields import CHAT_PARTS
from generation.generation import Message, ToolCall

Json = dict[str, Any]


def from_messages(messages: Sequence[Json], attachments: Attachments) -> tuple[Message, ...]:
    """Read chat messages.

    Raises `InvalidRequest` for a message that lacks a field of its role or holds one that its role forbids.
    """
    reader = _MessageReader(attachments)
    for index, message in enumerate(messages):
        reader.add(message, index)
    return reader.finish()


def is_begun(messages: Sequence[Message]) -> bool:
    """Whether the conversation ends with the beginning of its answer: a text of the assistant, no calls."""
    last = messages[-1] if messages else None
    return last is not None and last.role == "assistant" and not last.tool_calls and bool(last.text)


def add_begun_answer(parsed: ParsedRequest) -> ParsedRequest:
    """The request, which continues the last message if its client wants that. Raises `InvalidRequest`."""
    if not parsed.continues_last:
        return parsed
    if not is_begun(parsed.generation.messages):
        raise InvalidRequest(
            "continue_final_message needs a conversation that ends with a text of the assistant",
            param="continue_final_message",
        )
    return replace(parsed, generation=replace(parsed.generation, continue_last=True))


class _MessageReader:
    """Reads chat messages one by one.

    A call without an id gets one, and a result without one answers the first open call of its function, else
    the first open call. Images of the results of calls follow the last of these results.
    """

    def __init__(self, attachments: Attachments) -> None:
        self._attachments = attachments
        self._messages: list[Message] = []
        self._unanswered = OpenCalls()
        self._images = ResultImages()

    def add(self, raw: Json, index: int) -> None:
        """Read the message with this index."""
        param, role = f"messages[{index}]", raw["role"]
        if role in ("tool", "function"):
            self._messages.append(self._result(raw, index, param))
            return
        if role == "assistant":
            message = self._assistant(raw, index, param)
        elif raw.get("content") is None:
            raise InvalidRequest(f"a {role} message needs content", param=f"{param}.content")
        else:
            message = prompt_message(role, raw["content"], param, self._attachments)
        if not self._images.is_empty() and role == "user":
            message = replace(message, content=(*self._images.take(), *message.content))
        elif not self._images.is_empty():
            self._messages.append(Message("user", self._images.take()))
        self._messages.append(message)

    def finish(self) -> tuple[Message, ...]:
        """All messages."""
        if not self._images.is_empty():
            self._messages.append(Message("user", self._images.take()))
        return tuple(self._messages)

    def _assistant(self, raw: Json, index: int, param: str) -> Message:
        content, reasoning = raw.get("content"), raw.get("reasoning_content")
        if isinstance(content, list):
            reasoning = reasoning or "".join(map(_reasoning_of_part, content)) or None
            content = [part for part in content if part["type"] in CHAT_PARTS]
        calls = tuple(_calls(raw, index))
        self._unanswered.add(calls)
        text = text_only(content or raw.get("refusal"), param)
        return Message("assistant", text, reasoning=reasoning, tool_calls=calls)

    def _result(self, raw: Json, index: int, param: str) -> Message:
        """The result of a call; one of the older role `function` has the name of the function alone."""
        id, name = raw.get("tool_call_id") or None, raw.get("name")
        answered = self._unanswered.answered(id, name) or (
            None if id else self._unanswered.answered(None, None)
        )
        id = id or answered
        if id is None and raw["role"] == "tool":
            raise InvalidRequest("a tool message needs a tool_call_id", param=f"{param}.tool_call_id")
        id = id or f"call_{index}"  # the conversation has lost the call
        content = result_content(raw.get("content") or "", f"{param}.content", self._attachments)
        return Message("tool", self._images.add(id, content), tool_call_id=id)


def _calls(raw: Json, index: int) -> list[ToolCall]:
    """The calls of a message of the assistant; an older one has a single call, without an id."""
    called = raw.get("tool_calls") or ()
    if not called and (function := raw.get("function_call")):
        called = ({"function": function},)
    return [
        ToolCall(
            call.get("id") or f"call_{index}_{number}",
            call["function"]["name"],
            call["function"].get("arguments") or "{}",
        )
        for number, call in enumerate(called)
    ]


def _reasoning_of_part(part: Json) -> str:
    """The text of a part with reasoning, in the forms of Anthropic (`thinking`) and of other servers."""
    text = part.get({"thinking": "thinking", "reasoning": "text"}.get(part["type"], ""))
    return text if isinstance(text, str) else ""
