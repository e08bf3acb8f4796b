"""OpenAI's Responses API: the body of a request, and a parser of its event stream.

OpenAI API reference, "Responses" and "Responses: streaming events". The API takes no seed and no stop texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from backends.base import Emit, GenerationError
from backends.shared.chat_stream import count, engine_failed, text
from backends.shared.event_stream import EventStream, malformed_event, parse_json
from streams.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta, Usage, merge_pieces

UNCHANGED_FIELDS = ("model", "temperature", "top_p")

TEXT_EVENTS = ("response.output_text.delta", "response.refusal.delta")
REASONING_EVENTS = (
    "response.reasoning_text.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning.delta",  # Open Responses' name of the first
)
END_EVENTS = ("response.completed", "response.incomplete", "response.failed")
FINISH_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def responses_body(chat: dict[str, Any]) -> dict[str, Any]:
    """Turn the body of a chat completion into that of a streamed POST /v1/responses.

    Raises `GenerationError` (unsupported_parameter) for a parameter without which the answer would differ.
    """
    if "stop" in chat:
        raise GenerationError(
            "unsupported_parameter", "the server of this model does not support stop sequences"
        )
    body: dict[str, Any] = {name: chat[name] for name in UNCHANGED_FIELDS if name in chat}
    body |= {"input": [item for message in chat["messages"] for item in _items(message)]}
    body |= {"stream": True, "store": False}
    if "max_tokens" in chat:
        body["max_output_tokens"] = chat["max_tokens"]
    if "tools" in chat:
        # strict is its default, unlike that of chat completions, and refuses many schemas
        body["tools"] = [{"type": "function", "strict": False, **tool["function"]} for tool in chat["tools"]]
        body["tool_choice"] = chat["tool_choice"]
        if "parallel_tool_calls" in chat:
            body["parallel_tool_calls"] = chat["parallel_tool_calls"]
    if (form := chat.get("response_format")) is not None:
        body["text"] = {"format": {"type": form["type"], **form.get("json_schema", {})}}
    return body


def _items(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if message["role"] == "tool":
        call = message["tool_call_id"]
        yield {"type": "function_call_output", "call_id": call, "output": message["content"]}
        return
    if reasoning := message.get("reasoning_content"):
        yield {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": reasoning}]}
    if message["content"]:
        yield {"role": message["role"], "content": _content(message["content"])}
    for call in message.get("tool_calls", ()):
        yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def _content(content: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    if part["type"] == "input_audio":
        return part
    image = part["image_url"]
    return {"type": "input_image", "image_url": image["url"], "detail": image.get("detail", "auto")}


class ResponsesParser:
    """Parses one event stream, as `ChatParser` does for chat completions."""

    def __init__(self, emit: Emit, stream_error: Callable[[Any], GenerationError] = engine_failed) -> None:
        self.reason: str | None = None
        self.stop_sequence: str | None = None  # the API has no stop texts
        self.done = False
        """Whether the last event has arrived."""
        self._emit = emit
        self._stream_error = stream_error
        self._usage: Usage | None = None
        self._pieces = 0
        self._reasoning = 0
        self._calls: dict[Any, int] = {}
        self._with_arguments: set[Any] = set()
        self._events = EventStream()

    @property
    def usage(self) -> Usage:
        """The usage that the server reported; until then (a cancelled answer), the pieces counted here."""
        return self._usage or Usage(0, self._pieces, 0, self._reasoning)

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the body; pieces of text are emitted together."""
        deltas: list[Delta] = []
        try:
            for data in self._events.feed(piece):
                if data == b"[DONE]":
                    self.done = True
                else:
                    self._take(data, deltas)
                if self.done:
                    break
        finally:
            for delta in merge_pieces(deltas):
                self._emit(delta)

    def _take(self, data: bytes, deltas: list[Delta]) -> None:
        """Add the delta of one event."""
        try:
            event = parse_json(data)
            kind = event["type"]
            error = self._error(kind, event)
            delta = None if error is not None else self._read(kind, event)
        except (ValueError, LookupError, TypeError, AttributeError) as malformed:
            raise malformed_event() from malformed
        if error is not None:
            raise self._stream_error(error)
        if delta is not None:
            self._pieces += 1
            deltas.append(delta)

    def _error(self, kind: str, event: dict[str, Any]) -> Any:
        """Return the error that an event reports, None if it reports none."""
        if kind == "error":
            return event.get("error") or event
        if kind in END_EVENTS and event["response"].get("status") in ("failed", "cancelled"):
            return event["response"].get("error") or {}
        return None

    def _read(self, kind: str, event: dict[str, Any]) -> Delta | None:
        if kind in TEXT_EVENTS:
            return TextDelta(text(event["delta"]))
        if kind in REASONING_EVENTS:
            self._reasoning += 1
            return ReasoningDelta(text(event["delta"]))
        if kind == "response.reasoning_summary_part.added" and event.get("summary_index"):
            return ReasoningDelta("\n\n")  # each part is a paragraph
        if kind in END_EVENTS:
            self._finish(event["response"])
            return None
        return self._read_call(kind, event)

    def _read_call(self, kind: str, event: dict[str, Any]) -> Delta | None:
        index_in_output = event.get("output_index")
        if kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            index = self._calls[index_in_output] = len(self._calls)
            item = event["item"]
            return ToolCallDelta(index, "", text(item.get("call_id")) or None, text(item["name"]))
        if kind == "response.function_call_arguments.delta":
            self._with_arguments.add(index_in_output)
            return ToolCallDelta(self._calls[index_in_output], text(event["delta"]))
        if kind == "response.function_call_arguments.done" and index_in_output not in self._with_arguments:
            return ToolCallDelta(self._calls[index_in_output], text(event["arguments"]))
        return None

    def _finish(self, response: dict[str, Any]) -> None:
        self.done = True
        if usage := response.get("usage"):
            reasoning = count(usage.get("output_tokens_details"), "reasoning_tokens")
            self._usage = Usage(
                count(usage, "input_tokens") or 0,
                count(usage, "output_tokens") or 0,
                count(usage.get("input_tokens_details"), "cached_tokens") or 0,
                self._reasoning if reasoning is None else reasoning,
            )
        if response.get("status") == "incomplete":
            details = response.get("incomplete_details") or {}
            self.reason = FINISH_REASONS.get(str(details.get("reason")), "length")
        else:
            self.reason = "tool_calls" if self._calls else "stop"
