"""The forms of the load generator's requests: Chat Completions, and Responses that continue a stored one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.locality.workloads import ANSWER_TOKENS

Messages = list[dict[str, str]]
TEXT_FIELDS = ("content", "reasoning_content", "reasoning")
ENDS = ("response.completed", "response.incomplete")


@dataclass
class Answer:
    """What a stream has brought so far. `id` is that of the response, if it is stored.

    `is_whole`: the tokens of the prompt, those of them that were reused, and the answer's are known.
    """

    text: str = ""
    id: str = ""
    prompt: int = 0
    cached: int = 0
    tokens: int = 0
    is_whole: bool = field(default=False)

    def count(self, usage: Mapping[str, Any], read: str, written: str) -> None:
        """The usage, with the names of the tokens that were read and written."""
        details = usage.get(f"{read}_details") or {}
        self.prompt, self.tokens = usage[read], usage[written]
        self.cached, self.is_whole = details.get("cached_tokens") or 0, True


class ChatForm:
    """Chat Completions: the whole history in each request."""

    path = "/v1/chat/completions"

    def body(self, model: str, messages: Messages, _previous: str) -> dict[str, Any]:
        """The body of a request."""
        return {
            "model": model,
            "messages": messages,
            "max_tokens": ANSWER_TOKENS,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    def read(self, event: Mapping[str, Any], answer: Answer) -> None:
        """Add what an event of the stream brings."""
        for choice in event.get("choices", ()):
            answer.text += "".join(choice["delta"].get(name) or "" for name in TEXT_FIELDS)
        if event.get("usage"):
            answer.count(event["usage"], "prompt_tokens", "completion_tokens")


class ResponsesForm:
    """Responses: the new message, and the id of the response before, if there is one."""

    path = "/v1/responses"

    def body(self, model: str, messages: Messages, previous: str) -> dict[str, Any]:
        """The body of a request."""
        return {
            "model": model,
            "input": messages[-1:] if previous else messages,
            **({"previous_response_id": previous} if previous else {}),
            "max_output_tokens": ANSWER_TOKENS,
            "temperature": 0,
            "stream": True,
        }

    def read(self, event: Mapping[str, Any], answer: Answer) -> None:
        """Add what an event of the stream brings."""
        if event["type"].endswith("text.delta"):
            answer.text += event["delta"]
        elif event["type"] in ENDS:
            answer.id = event["response"]["id"]
            answer.count(event["response"]["usage"], "input_tokens", "output_tokens")


Form = ChatForm | ResponsesForm
