"""OpenAI's Responses API (OpenAI API reference, "Responses" and its streaming events; Open Responses).

Three points in which the sources differ or are silent, and the decisions here:

- Reasoning text is streamed as `response.reasoning_text.*`, the event types of OpenAI's SDK (Open Responses:
  `response.reasoning.*`, with the same fields).
- A failed response has one of OpenAI's error codes, because the SDK accepts no others; the message begins
  with the platform's own code ("engine_crashed: ...").
- There is no `response.cancelled` event. The stream of a response that its client cancelled ends with
  `response.incomplete`, in which the response has the status `cancelled`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from api.http import sse
from api.http.context_overflow import openai_message
from api.http.errors import InvalidRequest, body_of, error_from_end, kind_of
from api.http.frames import Frame
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import LATEST_ITEM, Framing, ParsedRequest, ResponseMetadata
from api.inference.dialects.chat_messages import add_begun_answer, from_messages
from api.inference.dialects.frame_template import FrameTemplate
from api.inference.dialects.guided_output import reject_guided_fields
from api.inference.dialects.logprobs import token_list
from api.inference.dialects.measurements import measurements, prompt_progress
from api.inference.dialects.options import cache_tag_of_key, effort_of, reject_field, thinking_of
from api.inference.dialects.output import ChangeKind, ItemKind, OutputItem, ResponseOutput
from api.inference.dialects.output_format import from_text_format, text_format_echo
from api.inference.dialects.request_fields import UNLIMITED
from api.inference.dialects.response_items import ITEM_REFERENCE, from_input
from api.inference.dialects.sampling import sampling_of
from api.inference.dialects.service_tier import openai_tier
from api.inference.dialects.tool_names import ToolNames
from api.inference.responses.output_items import (
    PACKS_REASONING,
    CustomInputs,
    closed_item,
    opened_item,
    part_of,
)
from api.inference.responses.schema import INCLUDE_LOGPROBS, INCLUDE_REASONING
from api.inference.responses.tools import chosen_tools, declared_in, ignored_types, offered_tools, tools_echo
from generation.generation import Generation, Message, text_content
from streams.events import Event, PromptProgress, ScoredTextDelta, TokenLogprob, Usage

NAME = "responses"
ID_PREFIX = "resp_"
FRAMING: Framing = sse
HAS_CANCELLED_STATUS = True

FIELD_NAMES: Mapping[str, str] = {"output_format": "text.format", "truncate": "truncation"}
"""The names in the body of fields that `Generation` and `Sampling` name otherwise."""

_NAMES_WITH_EFFORT: Mapping[str, str] = {**FIELD_NAMES, "thinking": "reasoning.effort"}
"""The same where the thinking mode follows from the effort."""

error_body = body_of
limit_headers = openai_limit_headers

ECHO_DEFAULTS: Mapping[str, Any] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "truncation": "disabled",
    "metadata": {},
}
"""The request fields that a response repeats. The echo holds only values that differ from these.

Open Responses demands numbers for the sampling fields, also when a request leaves them to the engine: these
are OpenAI's defaults.
"""

EFFORTS = ("none", "low", "medium", "high", "xhigh")
SUMMARIES = ("auto", "concise", "detailed")
"""The values of `reasoning` that Open Responses knows. Others ("minimal") are repeated as null."""

VERBOSITIES = ("low", "medium", "high")
"""The values of `text.verbosity`. Others are not repeated."""

_ECHOED = {
    "background",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt_cache_key",
    "safety_identifier",
    "store",
    "temperature",
    "tool_choice",
    "top_logprobs",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "truncation",
    "metadata",
}

_UNSET: Mapping[str, Any] = {"max_output_tokens": UNLIMITED, "previous_response_id": ""}
"""The value, beside null, by which a request leaves a field unset."""


# ---- parse


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `ResponsesRequest`. Raises `InvalidRequest`."""
    reject_field(body, "prompt")
    reject_guided_fields(body)
    place = _conversation_place(body)
    reasoning = body.get("reasoning") or {}
    declared = declared_in(body)
    names = ToolNames(declared)
    choice, allowed = chosen_tools(body.get("tool_choice"), offered_tools(declared, names), names)
    attachments = Attachments()
    generation = Generation(
        model=body["model"],
        messages=_messages(body, place, attachments, names),
        sampling=sampling_of(body, _max_tokens(body), _top_logprobs(body)),
        tools=allowed,
        tool_choice=choice,
        thinking=thinking_of(body, reasoning.get("effort")),
        reasoning_effort=effort_of(reasoning.get("effort")),
        source_lang_code=body.get("source_lang_code"),
        target_lang_code=body.get("target_lang_code"),
        allow_remote=bool(body.get("allow_remote")),
        lora=body.get("lora"),
        output_format=from_text_format((body.get("text") or {}).get("format")),
        parallel_tool_calls=body.get("parallel_tool_calls") is not False,
        truncate=body.get("truncation") == "auto",
        reports_progress=bool(body.get("return_progress") and body.get("stream")),
    )
    has_references = _has_references(body.get("input"))
    fits_attachments = bool(place) and _fits_attachments(body["conversation"])
    store, background = body.get("store") is not False, bool(body.get("background"))
    if background and not store:
        raise InvalidRequest("a background response must be stored", param="background")
    parsed = ParsedRequest(
        generation,
        _echo(body, place, declared),
        bool(body.get("stream")),
        store,
        background,
        conversation_param="messages" if body.get("input") is None else "input",
        # which images and recordings stay is decided when the conversation is joined
        image_params=() if fits_attachments else tuple(attachments.params),
        audio_params=() if fits_attachments else tuple(attachments.recordings.params),
        documents=tuple(attachments.documents),
        summaries=tuple(attachments.summaries),
        field_names=FIELD_NAMES
        if body.get("thinking") or not reasoning.get("effort")
        else _NAMES_WITH_EFFORT,
        cache_tag=cache_tag_of_key(body),
        service_tier=openai_tier(body),
        previous_response_id=body.get("previous_response_id") or None,
        conversation_id=place.get("id"),
        conversation_parent=place.get("parent", LATEST_ITEM),
        fits_attachments=fits_attachments,
        continues_last=bool(body.get("continue_final_message")),
        new_input=body["input"] if has_references or place else None,
        has_references=has_references,
        ignored_tools=ignored_types(declared),
    )
    is_joined = has_references or place or parsed.previous_response_id is not None
    return parsed if is_joined else add_begun_answer(parsed)


def _conversation_place(body: dict[str, Any]) -> dict[str, Any]:
    """The conversation that the response belongs to, by its id, and its parent there; empty if there is
    none."""
    given = body.get("conversation")
    if not given:
        return {}
    for name in ("previous_response_id", "messages"):
        if body.get(name):
            raise InvalidRequest(f"conversation and {name} cannot be combined", param=name)
    if body.get("store") is False:
        raise InvalidRequest("a response in a conversation must be stored", param="store")
    if isinstance(given, str):
        return {"id": given}
    return {key: given[key] for key in ("id", "parent") if key in given}


def _fits_attachments(given: str | dict[str, Any]) -> bool:
    return isinstance(given, dict) and given.get("attachments") == "auto"


def _max_tokens(body: Mapping[str, Any]) -> int | None:
    given: int | None = body.get("max_output_tokens")
    return None if given == UNLIMITED else given


def _has_references(given: str | list[dict[str, Any]] | None) -> bool:
    return isinstance(given, list) and any(item.get("type") == ITEM_REFERENCE for item in given)


def _top_logprobs(body: dict[str, Any]) -> int | None:
    """Return the number of alternatives per token, which `top_logprobs` or `include` asks for."""
    alternatives: int = body.get("top_logprobs") or 0
    return alternatives if alternatives or INCLUDE_LOGPROBS in (body.get("include") or ()) else None


def _messages(
    body: dict[str, Any], place: Mapping[str, Any], attachments: Attachments, names: ToolNames
) -> tuple[Message, ...]:
    given, messages = body.get("input"), body.get("messages")
    if given is not None and messages is not None:
        raise InvalidRequest("input and messages cannot be combined", param="messages")
    if given is None and messages is None:
        raise InvalidRequest("input is required", param="input")
    if given == [] and "parent" not in place:
        raise InvalidRequest("input must not be empty", param="input")
    conversation = (
        from_input(given or "", attachments, names)
        if messages is None
        else from_messages(messages, attachments)
    )
    instructions = body.get("instructions")
    return (Message("system", text_content(instructions)), *conversation) if instructions else conversation


def _echo(
    body: dict[str, Any], place: Mapping[str, Any], declared: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    echo = {
        key: value for key, value in body.items() if key in _ECHOED and value not in (None, _UNSET.get(key))
    }
    if place:
        echo["conversation"] = place
    if declared:
        echo["tools"] = tools_echo(declared)
    if text := body.get("text"):
        if (given := text.get("format")) is not None:
            echo["text"] = {"format": text_format_echo(given)}
        if (verbosity := text.get("verbosity")) in VERBOSITIES:
            echo["text"] = {**echo.get("text", ECHO_DEFAULTS["text"]), "verbosity": verbosity}
    if (include := body.get("include")) and INCLUDE_REASONING in include:
        echo[PACKS_REASONING] = True
    if body.get("reasoning"):
        echo["reasoning"] = {
            key: value if (value := body["reasoning"].get(key)) in known else None
            for key, known in (("effort", EFFORTS), ("summary", SUMMARIES))
        }
    return echo


# ---- response object

Json = dict[str, Any]
_NONE: Mapping[int, Json] = {}


def response_object(
    metadata: ResponseMetadata, events: Iterable[Event], pending: str = "in_progress"
) -> dict[str, Any]:
    """Return the Response object; its status is `pending` if the events have no end yet."""
    output = ResponseOutput.of(events)
    return _response(metadata, output, output.status or pending)


def _response(
    metadata: ResponseMetadata, output: ResponseOutput, status: str, closed: Mapping[int, Json] = _NONE
) -> Json:
    """The object; `closed` has the items that are rendered already, by index."""
    end = output.end
    took_s = (end.queue_ms + end.run_ms) // 1000 if end else 0
    response = {
        "id": metadata.id,
        "object": "response",
        "created_at": metadata.created_at,
        "completed_at": metadata.created_at + took_s if end else None,
        "status": status,
        "model": metadata.model,
        **ECHO_DEFAULTS,
        **metadata.echo,
        "error": _error(output) if status == "failed" else None,
        "incomplete_details": {"reason": _incomplete_reason(output)} if status == "incomplete" else None,
        "output": [
            closed.get(item.index) or closed_item(opened_item(metadata, item), item) for item in output.items
        ],
        "usage": _usage(output.usage) if end else None,
    }
    response.pop(PACKS_REASONING, None)
    return response


def _incomplete_reason(output: ResponseOutput) -> str:
    """Why a response is incomplete. Only remote servers (openai_remote) filter content."""
    filtered = output.end is not None and output.end.finish_reason == "content_filter"
    return "content_filter" if filtered else "max_output_tokens"


def _error(output: ResponseOutput) -> dict[str, str]:
    assert output.end is not None  # noqa: S101 - only a response with an end has failed
    error = error_from_end(output.end)
    return {"code": kind_of(error.code).response_code, "message": f"{error.code}: {openai_message(error)}"}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


# ---- stream


class _EventRenderer:
    """Renders a response as server-sent events, each with the next `sequence_number`."""

    def __init__(self, metadata: ResponseMetadata) -> None:
        self._metadata = metadata
        self._output = ResponseOutput()
        self._number = 0
        self._in_progress_sent = False
        self._items: dict[int, Json] = {}  # by index: as rendered when opened, then when closed
        self._inputs = CustomInputs()
        self._template_item: OutputItem | None = None
        self._template: FrameTemplate

    def begin(self) -> list[Frame]:
        """Return `created`, then `queued` for a background response, `in_progress` for any other."""
        if self._metadata.echo.get("background"):
            return [self._snapshot("response.created", "queued"), self._snapshot("response.queued", "queued")]
        self._in_progress_sent = True
        response = _response(self._metadata, self._output, "in_progress")
        return [
            self._frame("response.created", {"response": response}),
            self._frame("response.in_progress", {"response": response}),
        ]

    def render(self, event: Event) -> list[Frame]:
        """Return the frames of one event."""
        frames = [] if self._in_progress_sent else [self._in_progress()]
        if isinstance(event, PromptProgress):
            data = {"prompt_progress": prompt_progress(event)}
            return [*frames, self._frame("response.prompt_progress", data)]
        tokens = event.tokens if isinstance(event, ScoredTextDelta) else ()
        for change, item, piece in self._output.apply(event):
            if change is ChangeKind.EXTENDED:
                frames += self._extended(item, piece, tokens)
            else:
                frames += self._opened(item) if change is ChangeKind.OPENED else self._closed(item)
        status = self._output.status
        if status is not None:
            name = "response.incomplete" if status == "cancelled" else f"response.{status}"
            frames.append(self._snapshot(name, status))
            if self._output.end is not None:
                frames[-1][1].update(measurements(self._output.end))
        return frames

    def render_text(self, text: str) -> bytes:
        """Return the encoded frames of a text that opens the output, or continues the message."""
        item = self._output.continue_message(text)
        if item is None:
            return self._open_text(text)
        if item is not self._template_item:
            self._make_template(item)
        number = self._number
        self._number = number + 1
        return self._template.fill_numbered(number, text)

    def _open_text(self, text: str) -> bytes:
        item = self._output.open_message(text) if self._in_progress_sent else None
        if item is None:
            return b""
        opened = sse.encode(self._opened(item))
        self._make_template(item)
        self._number += 1
        return opened + self._template.fill_numbered(self._number - 1, text)

    def _make_template(self, item: OutputItem) -> None:
        number, self._number = self._number, FrameTemplate.NUMBER
        self._template = FrameTemplate(next(self._extended(item, FrameTemplate.TEXT, ())))
        self._template_item, self._number = item, number

    def _in_progress(self) -> Frame:
        self._in_progress_sent = True
        return self._snapshot("response.in_progress", "in_progress")

    def _snapshot(self, name: str, status: str) -> Frame:
        return self._frame(name, {"response": _response(self._metadata, self._output, status, self._items)})

    def _frame(self, event: str, data: Json) -> Frame:
        number, self._number = self._number, self._number + 1
        return event, {"type": event, "sequence_number": number, **data}

    def _position(self, item: OutputItem) -> Json:
        return {"item_id": self._items[item.index]["id"], "output_index": item.index}

    def _extended(self, item: OutputItem, piece: str, tokens: tuple[TokenLogprob, ...]) -> Iterator[Frame]:
        position = self._position(item)
        if item.kind is ItemKind.MESSAGE:
            data = {**position, "content_index": 0, "delta": piece, "logprobs": token_list(tokens)}
            yield self._frame("response.output_text.delta", data)
        elif item.kind is ItemKind.REASONING:
            data = {**position, "content_index": 0, "delta": piece}
            yield self._frame("response.reasoning_text.delta", data)
        elif self._is_search(item):
            return  # its arguments have no events: they are an object
        elif self._is_custom(item):
            if text := self._inputs.add(item, piece):
                yield self._frame("response.custom_tool_call_input.delta", {**position, "delta": text})
        else:
            yield self._frame("response.function_call_arguments.delta", {**position, "delta": piece})

    def _is_search(self, item: OutputItem) -> bool:
        return bool(self._items[item.index]["type"] == "tool_search_call")

    def _is_custom(self, item: OutputItem) -> bool:
        return bool(self._items[item.index]["type"] == "custom_tool_call")

    def _opened(self, item: OutputItem) -> list[Frame]:
        rendered = self._items[item.index] = opened_item(self._metadata, item)
        added = {"output_index": item.index, "item": rendered}
        frames = [self._frame("response.output_item.added", added)]
        if item.kind is not ItemKind.CALL:
            part = {**self._position(item), "content_index": 0, "part": part_of(item, "")}
            frames.append(self._frame("response.content_part.added", part))
        return frames

    def _closed(self, item: OutputItem) -> list[Frame]:
        position = self._position(item)
        rendered = self._items[item.index] = closed_item(self._items[item.index], item)
        if self._is_search(item):
            frames = []
        elif self._is_custom(item):
            rest = self._inputs.finish(item)
            frames = (
                [self._frame("response.custom_tool_call_input.delta", {**position, "delta": rest})]
                if rest
                else []
            )
            done = {**position, "input": rendered["input"]}
            frames.append(self._frame("response.custom_tool_call_input.done", done))
        elif item.kind is ItemKind.CALL:
            done = {**position, "name": rendered["name"], "arguments": item.text}
            frames = [self._frame("response.function_call_arguments.done", done)]
        else:
            (part,) = rendered["content"]
            frames = [
                self._text_done(item, {**position, "content_index": 0, "text": part["text"]}, part),
                self._frame("response.content_part.done", {**position, "content_index": 0, "part": part}),
            ]
        done = {"output_index": item.index, "item": rendered}
        return [*frames, self._frame("response.output_item.done", done)]

    def _text_done(self, item: OutputItem, data: Json, part: Json) -> Frame:
        if item.kind is ItemKind.REASONING:
            return self._frame("response.reasoning_text.done", data)
        return self._frame("response.output_text.done", {**data, "logprobs": part["logprobs"]})


def stream_renderer(metadata: ResponseMetadata) -> _EventRenderer:
    """Return a renderer for a stream of this response."""
    return _EventRenderer(metadata)
