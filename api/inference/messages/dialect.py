"""Anthropic's Messages (Anthropic API reference, "Messages" and "Streaming messages").

Events of a stream have names, which Anthropic's SDKs need. A failed stream ends with an `error` event, which
they raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from api.http.anthropic_errors import error_object
from api.http.errors import InvalidRequest, error_from_end
from api.http.frames import Frame
from api.http.limit_headers import anthropic_limit_headers
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata
from api.inference.dialects.chat_messages import is_begun
from api.inference.dialects.frame_template import FrameTemplate
from api.inference.dialects.guided_output import reject_guided_fields
from api.inference.dialects.ignored_tools import hosted_fields, of_type, other_types
from api.inference.dialects.measurements import measurements
from api.inference.dialects.options import effort_of
from api.inference.dialects.output import ChangeKind, ItemKind, OutputItem, ResponseOutput
from api.inference.dialects.output_format import from_output_config, tool_of
from api.inference.dialects.service_tier import anthropic_tier
from api.inference.dialects.tool_choice import check_tool_choice
from api.inference.messages import framing
from api.inference.messages.prompt import from_anthropic
from generation.generation import Generation, NamedTool, Sampling, ToolChoice
from streams.events import Event, Usage

NAME = "anthropic"
ID_PREFIX = "msg_"
FRAMING: Framing = framing
HAS_CANCELLED_STATUS = False

FIELD_NAMES: Mapping[str, str] = {"output_format": "output_config.format"}
"""The names in the body of fields that `Generation` and `Sampling` name otherwise."""

error_body = error_object
limit_headers = anthropic_limit_headers

_THINKING = {"enabled": "enabled", "disabled": "disabled", "adaptive": "default"}
_NOTHING: frozenset[str] = frozenset()
_IGNORED_FIELDS = frozenset({"thinking", "thinking_budget"})
"""Claude Code sends `thinking` to each model, whatever the model can."""

SIGNATURE = "unsigned"
"""The signature of all reasoning: nothing is checked when it comes back, but clients that keep a conversation
may drop reasoning without one."""


# ---- parse


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `MessagesRequest` or `CountTokensRequest`. Raises `InvalidRequest`."""
    reject_guided_fields(body)
    declared = body.get("tools") or ()
    known = of_type(declared, "custom")
    tools = tuple(
        tool_of(raw["name"], raw.get("description"), raw["input_schema"], strict=raw.get("strict"))
        for raw in known
    )
    attachments = Attachments()
    thinking = body.get("thinking")
    messages = from_anthropic(body, attachments)
    generation = Generation(
        model=body["model"],
        messages=messages,
        sampling=Sampling(
            max_tokens=body.get("max_tokens"),
            temperature=body.get("temperature"),
            top_p=body.get("top_p"),
            stop=tuple(filter(None, body.get("stop_sequences") or ())),
            top_k=None if (top_k := body.get("top_k")) is None else max(0, top_k),
        ),
        tools=tools,
        tool_choice=check_tool_choice(_tool_choice(body), tools),
        thinking="default" if thinking is None else _THINKING[thinking["type"]],
        thinking_budget=None if thinking is None else _thinking_budget(thinking, body.get("max_tokens")),
        allow_remote=bool(body.get("allow_remote")),
        lora=body.get("lora"),
        reasoning_effort=effort_of((body.get("output_config") or {}).get("effort")),
        output_format=from_output_config(body.get("output_config")),
        parallel_tool_calls=not (body.get("tool_choice") or {}).get("disable_parallel_tool_use"),
        continue_last=is_begun(messages),
    )
    return ParsedRequest(
        generation,
        stream=bool(body.get("stream")),
        image_params=tuple(attachments.params),
        documents=tuple(attachments.documents),
        field_names=FIELD_NAMES,
        ignored_fields=_NOTHING if thinking is None else _IGNORED_FIELDS,
        cache_tag=(body.get("cache_control") or {}).get("tag"),
        service_tier=anthropic_tier(body),
        ignored_tools=(*other_types(declared, known), *hosted_fields(body, "mcp_servers", "container")),
    )


def _thinking_budget(thinking: dict[str, Any], max_tokens: int | None) -> int | None:
    """The `budget_tokens` of enabled thinking. Raises `InvalidRequest` unless it is below `max_tokens`."""
    budget: int | None = thinking.get("budget_tokens")
    if budget is None or thinking["type"] != "enabled":
        return None
    if max_tokens is not None and budget >= max_tokens:
        raise InvalidRequest("budget_tokens must be below max_tokens", param="thinking.budget_tokens")
    return budget


def _tool_choice(body: dict[str, Any]) -> ToolChoice:
    choice = body.get("tool_choice")
    if choice is None:
        return "auto"
    match choice["type"]:
        case "tool":
            return NamedTool(choice["name"])
        case "any":
            return "required"
        case "none":
            return "none"
        case _:
            return "auto"


# ---- message object


def response_object(
    metadata: ResponseMetadata,
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - a message has no status
) -> dict[str, Any]:
    """Return the message of a response that completed or ran out of tokens."""
    output = ResponseOutput.of(events)
    content = [_whole_block(metadata, item) for item in output.items]
    return _message(metadata, content, stop_fields(output), usage_object(output.usage, metadata))


def _message(
    metadata: ResponseMetadata,
    content: list[dict[str, Any]],
    stop: dict[str, str | None],
    usage: dict[str, Any],
) -> dict[str, Any]:
    return {
        "id": metadata.id,
        "type": "message",
        "role": "assistant",
        "model": metadata.model,
        "content": content,
        **stop,
        "usage": usage,
    }


def _whole_block(metadata: ResponseMetadata, item: OutputItem) -> dict[str, Any]:
    block = _empty_block(metadata, item)
    match item.kind:
        case ItemKind.MESSAGE:
            block["text"] = item.text
        case ItemKind.REASONING:
            block["thinking"], block["signature"] = item.text, SIGNATURE
        case ItemKind.CALL:
            block["input"] = _arguments(item.text)
    return block


def _empty_block(metadata: ResponseMetadata, item: OutputItem) -> dict[str, Any]:
    match item.kind:
        case ItemKind.MESSAGE:
            return {"type": "text", "text": ""}
        case ItemKind.REASONING:
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ItemKind.CALL:
            id = item.call_id or f"toolu_{metadata.id.removeprefix(ID_PREFIX)}{item.call_number:03x}"
            return {"type": "tool_use", "id": id, "name": item.name, "input": {}}


def _arguments(text: str) -> dict[str, Any]:
    """The arguments of a call as an object.

    A text that is none, since the answer was cut or the model wrote something else, stands under the name
    that Anthropic's documentation gives it ("Fine-grained tool streaming").
    """
    try:
        found = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {"INVALID_JSON": text}
    return found if isinstance(found, dict) else {"INVALID_JSON": text}


def stop_fields(output: ResponseOutput) -> dict[str, str | None]:
    """The `stop_reason` and `stop_sequence` of a message that is complete."""
    end = output.end
    if output.status == "incomplete":
        filtered = end is not None and end.finish_reason == "content_filter"
        return _stop("refusal" if filtered else "max_tokens")
    if output.calls():
        return _stop("tool_use")
    if end is not None and end.stop_sequence is not None:
        return _stop("stop_sequence", end.stop_sequence)
    return _stop("end_turn")


def _stop(reason: str | None, sequence: str | None = None) -> dict[str, str | None]:
    return {"stop_reason": reason, "stop_sequence": sequence}


def usage_object(usage: Usage, metadata: ResponseMetadata) -> dict[str, Any]:
    """The `usage` of a message."""
    return {
        "input_tokens": usage.input_tokens - usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
        "service_tier": metadata.echo.get("service_tier", "standard"),
    }


# ---- stream


class _MessageRenderer:
    """Renders a response as the events of a message stream."""

    def __init__(self, metadata: ResponseMetadata) -> None:
        self._metadata = metadata
        self._output = ResponseOutput()
        self._text_frame: tuple[int, FrameTemplate] | None = None

    def begin(self) -> list[Frame]:
        """Return the event with the empty message; the tokens of the prompt are known at the end only."""
        message = _message(self._metadata, [], _stop(None), usage_object(Usage(), self._metadata))
        return [_frame("message_start", message=message)]

    def render(self, event: Event) -> list[Frame]:
        """Return the events of one event of the log; a failed or cancelled end becomes an error event."""
        frames = [frame for change in self._output.apply(event) for frame in self._block_frames(*change)]
        if self._output.end is None:
            return frames
        if self._output.status in ("failed", "cancelled"):
            error = error_object(error_from_end(self._output.end))
            return [("error", {**error, **measurements(self._output.end)})]
        return [*frames, *self._finish()]

    def render_text(self, text: str) -> bytes:
        """Return the encoded event of a text that continues the message."""
        item = self._output.continue_message(text)
        if item is None:
            return b""
        if self._text_frame is None or self._text_frame[0] != item.index:
            template = FrameTemplate(_delta(item, type="text_delta", text=FrameTemplate.TEXT))
            self._text_frame = item.index, template
        return self._text_frame[1].fill(text)

    def _block_frames(self, kind: ChangeKind, item: OutputItem, piece: str) -> list[Frame]:
        match kind:
            case ChangeKind.OPENED:
                block = _empty_block(self._metadata, item)
                return [_frame("content_block_start", index=item.index, content_block=block)]
            case ChangeKind.CLOSED:
                stop = _frame("content_block_stop", index=item.index)
                if item.kind is ItemKind.REASONING:
                    return [_delta(item, type="signature_delta", signature=SIGNATURE), stop]
                return [stop]
        match item.kind:
            case ItemKind.MESSAGE:
                return [_delta(item, type="text_delta", text=piece)]
            case ItemKind.REASONING:
                return [_delta(item, type="thinking_delta", thinking=piece)]
            case ItemKind.CALL:
                return [_delta(item, type="input_json_delta", partial_json=piece)]

    def _finish(self) -> list[Frame]:
        end = self._output.end
        assert end is not None  # noqa: S101 - the caller has checked it
        delta = stop_fields(self._output)
        usage = usage_object(self._output.usage, self._metadata)
        return [
            _frame("message_delta", delta=delta, usage=usage),
            _frame("message_stop", **measurements(end)),
        ]


def _frame(name: str, **rest: object) -> Frame:
    return name, {"type": name, **rest}


def _delta(item: OutputItem, **delta: str) -> Frame:
    return _frame("content_block_delta", index=item.index, delta=delta)


def stream_renderer(metadata: ResponseMetadata) -> _MessageRenderer:
    """Return a renderer for a stream of this response."""
    return _MessageRenderer(metadata)
