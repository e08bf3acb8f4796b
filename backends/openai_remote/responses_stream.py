"""From a streamed answer of /v1/responses to deltas (OpenAI API reference, "Responses", streaming events)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backends.base import Emit, GenerationError
from backends.shared.chat_stream import count, failed, parsed, text, unreadable
from streams.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta, Usage

SAID = ("response.output_text.delta", "response.refusal.delta")
THOUGHT = (
    "response.reasoning_text.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning.delta",  # Open Responses' name of the first
)
ENDS = ("response.completed", "response.incomplete", "response.failed")
REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesStream:
    """One answer as it comes: the same as `ChatStream` for the other API."""

    def __init__(self, emit: Emit, failure: Callable[[Any], GenerationError] = failed) -> None:
        self.reason: str | None = None
        self.done = False
        """Whether nothing more is to come."""
        self._emit = emit
        self._failure = failure
        self._usage: Usage | None = None
        self._pieces = 0
        self._reasoning = 0
        self._calls: dict[Any, int] = {}
        self._argued: set[Any] = set()

    @property
    def usage(self) -> Usage:
        """What the engine counted; before it has (a cancelled answer), what was seen of it."""
        return self._usage or Usage(0, self._pieces, 0, self._reasoning)

    def take(self, data: bytes) -> None:
        """Take one event's data. Raises `GenerationError` when it is an error or cannot be read."""
        if data == b"[DONE]":
            self.done = True
            return
        try:
            event = parsed(data)
            kind = event["type"]
            error = self._error(kind, event)
            delta = None if error is not None else self._read(kind, event)
        except (ValueError, LookupError, TypeError, AttributeError) as unread:
            raise unreadable() from unread
        if error is not None:
            raise self._failure(error)
        if delta is not None:
            self._pieces += 1
            self._emit(delta)

    def _error(self, kind: str, event: dict[str, Any]) -> Any:
        """What went wrong, None if this event does not say that something did."""
        if kind == "error":
            return event.get("error") or event
        if kind in ENDS and event["response"].get("status") in ("failed", "cancelled"):
            return event["response"].get("error") or {}
        return None

    def _read(self, kind: str, event: dict[str, Any]) -> Delta | None:
        if kind in SAID:
            return TextDelta(text(event["delta"]))
        if kind in THOUGHT:
            self._reasoning += 1
            return ReasoningDelta(text(event["delta"]))
        if kind == "response.reasoning_summary_part.added" and event.get("summary_index"):
            return ReasoningDelta("\n\n")  # each part is a paragraph
        if kind in ENDS:
            self._finish(event["response"])
            return None
        return self._read_call(kind, event)

    def _read_call(self, kind: str, event: dict[str, Any]) -> Delta | None:
        place = event.get("output_index")
        if kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            index = self._calls[place] = len(self._calls)
            item = event["item"]
            return ToolCallDelta(index, "", text(item.get("call_id")) or None, text(item["name"]))
        if kind == "response.function_call_arguments.delta":
            self._argued.add(place)
            return ToolCallDelta(self._calls[place], text(event["delta"]))
        if kind == "response.function_call_arguments.done" and place not in self._argued:
            return ToolCallDelta(self._calls[place], text(event["arguments"]))
        return None

    def _finish(self, response: dict[str, Any]) -> None:
        self.done = True
        if usage := response.get("usage"):
            thought = count(usage.get("output_tokens_details"), "reasoning_tokens")
            self._usage = Usage(
                count(usage, "input_tokens") or 0,
                count(usage, "output_tokens") or 0,
                count(usage.get("input_tokens_details"), "cached_tokens") or 0,
                self._reasoning if thought is None else thought,
            )
        if response.get("status") == "incomplete":
            details = response.get("incomplete_details") or {}
            self.reason = REASONS.get(str(details.get("reason")), "length")
        else:
            self.reason = "tool_calls" if self._calls else "stop"
