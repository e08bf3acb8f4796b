"""The events of a streamed chat completion, as TGI 3.3 makes them of tokens (router/src/chat.rs)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

FINGERPRINT = "3.3.7-native"


@dataclass(frozen=True)
class Details:
    """What comes with the last token: the reason and the numbers of tokens."""

    reason: str
    prompt_tokens: int
    completion_tokens: int


def usage_of(details: Details) -> dict[str, int]:
    return {
        "prompt_tokens": details.prompt_tokens,
        "completion_tokens": details.completion_tokens,
        "total_tokens": details.prompt_tokens + details.completion_tokens,
    }


class ChatState:
    """Makes the events of one answer. With tools the tokens of the name are held back."""

    def __init__(self, model: str, id: str, *, tools: bool, include_usage: bool) -> None:
        self.is_no_tool = False
        """Whether the model decided for no tool: TGI then generates again, without tools."""
        self._model = model
        self._id = id
        self._state = "buffering" if tools else "content"
        self._include_usage = include_usage
        self._text = ""

    def push(self, token: str, details: Details | None) -> list[dict[str, Any]]:
        """The events of one token."""
        events = self._events(token, details)
        if self._include_usage and details is not None:
            events.append(self._chunk([], usage_of(details)))
        return events

    def _events(self, token: str, details: Details | None) -> list[dict[str, Any]]:
        if self._state == "content":
            return [self._choice({"content": "" if token.startswith("</") else token}, details)]
        self._text += token
        if self._state == "buffering":
            name = _name(self._text.rstrip(" \n\t,}") + "}}")
            if name is None:
                return []
            self.is_no_tool = name == "no_tool"
            self._state = "tool"
            return [] if self.is_no_tool else [self._call("{", name, details)]
        if _name(self._text) is None:
            return [self._call(token, None, details)]
        self._state = "buffering"
        return [self._call(token.rstrip().removesuffix("}"), None, details)]

    def _call(self, arguments: str, name: str | None, details: Details | None) -> dict[str, Any]:
        function = {"name": name, "arguments": arguments}
        call = {"index": 0, "id": self._id, "type": "function", "function": function}
        return self._choice({"tool_calls": [call]}, details)

    def _choice(self, delta: dict[str, Any], details: Details | None) -> dict[str, Any]:
        reason = None if details is None else {"eos_token": "stop"}.get(details.reason, details.reason)
        delta = {"role": "assistant", **delta}
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}], None)

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, int] | None) -> dict[str, Any]:
        head = {"object": "chat.completion.chunk", "id": "", "created": 1_765_000_000, "model": self._model}
        return {**head, "system_fingerprint": FINGERPRINT, "choices": choices, "usage": usage}


def completion_event(model: str, token: str, details: Details | None) -> dict[str, Any]:
    """The event of one token of a completion, whose text has the end token, too."""
    reason = "" if details is None else details.reason
    choice = {"index": 0, "text": token, "logprobs": None, "finish_reason": reason}
    head = {"object": "text_completion", "id": "", "created": 1_765_000_000, "model": model}
    usage = {} if details is None else {"usage": usage_of(details)}
    return {**head, "system_fingerprint": FINGERPRINT, "choices": [choice], **usage}


def _name(text: str) -> str | None:
    """The name of the call in a complete text; None for one that is not complete."""
    try:
        return str(json.loads(text)["function"]["_name"])
    except (ValueError, LookupError, TypeError):
        return None
