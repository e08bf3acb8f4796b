"""OpenAI's Chat Completions (OpenAI API reference, "Chat Completions" and its chunk object).

Reasoning goes into `reasoning_content`, the field that DeepSeek introduced and chat clients read. A failed
stream ends with a frame `{"error": {...}}`, which OpenAI's SDK raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from api.http import sse
from api.http.errors import InvalidRequest, body_of, error_from_end
from api.http.frames import Frame
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.inference.chat.reasoning_text import ReasoningInText
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata
from api.inference.dialects.chat_messages import from_messages, is_begun
from api.inference.dialects.choices import ChoiceEnds, count_of, joined_end
from api.inference.dialects.completion_objects import finish_reason, usage_object
from api.inference.dialects.frame_template import FrameTemplate
from api.inference.dialects.guided_output import answer_grammar, guided_format, reject_guided_fields
from api.inference.dialects.ignored_tools import hosted_fields, of_type, other_types
from api.inference.dialects.logprobs import content_logprobs
from api.inference.dialects.measurements import measurements, prompt_progress
from api.inference.dialects.options import cache_tag_of_key, effort_of, reject_field, thinking_of
from api.inference.dialects.output import ChangeKind, ItemKind, OutputItem, ResponseOutput, has_failed
from api.inference.dialects.output_format import from_response_format, tool_of
from api.inference.dialects.request_fields import UNLIMITED
from api.inference.dialects.sampling import sampling_of
from api.inference.dialects.service_tier import openai_tier
from api.inference.dialects.tool_choice import from_chat as choice_from_chat
from api.inference.dialects.tool_choice import from_function_call as choice_from_function_call
from api.inference.llama_server.chat_fields import (
    IN_TEXT,
    PROGRESS,
    TIMINGS,
    TIMINGS_PER_TOKEN,
    llama_server_echo,
    reject_llama_server_fields,
    reports_progress,
    thinking_budget_of,
)
from api.inference.llama_server.llama_sampling import with_llama_fields
from api.inference.llama_server.timings import timings
from generation.generation import Generation, Tool
from streams.events import End, Event, PromptProgress, ScoredTextDelta, TokenLogprob, Usage

NAME = "chat"
ID_PREFIX = "chatcmpl-"
FRAMING: Framing = sse
HAS_CANCELLED_STATUS = False

FIELD_NAMES: Mapping[str, str] = {
    "output_format": "response_format",
    "top_logprobs": "logprobs",
    "answer_grammar": "grammar",
}
"""The names in the body of fields that `Generation` and `Sampling` name otherwise."""

OF_FUNCTIONS = "functions"
"""The key of the echo of a request with `functions`, whose answer has the older form of a call."""

NO_CONTENT: Mapping[str, Any] = {"role": "assistant", "content": None}
"""llama-server's delta before the first output."""

error_body = body_of
limit_headers = openai_limit_headers


# ---- parse


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `ChatRequest`. Raises `InvalidRequest`."""
    if not body.get("model"):  # a line of a batch, which has no model of its own
        raise InvalidRequest("model is required", param="model")
    _reject_unsupported_fields(body)
    names, output_format = FIELD_NAMES, from_response_format(body.get("response_format"))
    if (guided := guided_format(body)) is not None:
        names, output_format = {**FIELD_NAMES, "output_format": guided[0]}, guided[1]
    thinking, ignored_fields = _thinking(body)
    effort_name, effort = _effort(body)
    if effort and not body.get("thinking"):
        names = {**names, "thinking": effort_name}
    budget_name, thinking_budget = thinking_budget_of(body)
    if thinking_budget is not None:
        names = {**names, "thinking_budget": budget_name}
    if body.get("n_probs") and not body.get("logprobs"):
        names = {**names, "top_logprobs": "n_probs"}
    declared, functions = body.get("tools") or (), body.get("functions") or ()
    if declared and functions:
        raise InvalidRequest("tools and functions must not both be set", param="functions")
    known = of_type(declared, "function")
    tools = tuple(map(_tool, functions or [tool["function"] for tool in known]))
    if functions or body.get("function_call"):
        choice, allowed = choice_from_function_call(body.get("function_call"), tools), tools
    else:
        choice, allowed = choice_from_chat(body.get("tool_choice"), tools)
    attachments = Attachments()
    messages = from_messages(body["messages"], attachments)
    reject_llama_server_fields(body, is_begun=is_begun(messages))
    if is_begun(messages) and "thinking" in ignored_fields and thinking == "enabled":
        thinking = "default"  # a begun answer has no place for it; clients of llama-server always send it
    generation = Generation(
        model=body["model"],
        messages=messages,
        sampling=with_llama_fields(sampling_of(body, _max_tokens(body), _top_logprobs(body)), body),
        tools=allowed,
        tool_choice=choice,
        thinking=thinking,
        thinking_budget=thinking_budget,
        reasoning_effort=effort_of(effort),
        cache_mode="none" if body.get("cache_prompt") is False else "prefix",
        source_lang_code=body.get("source_lang_code"),
        target_lang_code=body.get("target_lang_code"),
        allow_remote=bool(body.get("allow_remote")),
        lora=body.get("lora"),
        output_format=output_format,
        answer_grammar=answer_grammar(
            body, is_free=output_format is None and (not allowed or choice == "none")
        ),
        parallel_tool_calls=body.get("parallel_tool_calls") is not False and not functions,
        continue_last=is_begun(messages),
        reports_progress=reports_progress(body),
        ends_reasoning=bool(body.get("reasoning_control")),
    )
    options = body.get("stream_options") or {}
    echo = llama_server_echo(body)
    if options.get("include_usage"):
        echo["include_usage"] = True
    if functions:
        echo[OF_FUNCTIONS] = True
    return ParsedRequest(
        generation,
        echo,
        bool(body.get("stream")),
        image_params=tuple(attachments.params),
        audio_params=tuple(attachments.recordings.params),
        documents=tuple(attachments.documents),
        field_names=names,
        ignored_fields=ignored_fields,
        n=count_of(body),
        cache_tag=cache_tag_of_key(body),
        service_tier=openai_tier(body),
        ignored_tools=(*other_types(declared, known), *hosted_fields(body, "web_search_options")),
    )


def _reject_unsupported_fields(body: dict[str, Any]) -> None:
    """Reject the fields without which the answer would be another one."""
    reject_guided_fields(body, schemas=False)
    reject_field(body, "audio")
    reject_field(body, "modalities", unless=(["text"], []))


def _template_arguments(body: dict[str, Any]) -> dict[str, Any]:
    return body.get("chat_template_kwargs") or {}


def _max_tokens(body: dict[str, Any]) -> int | None:
    if (predicted := body.get("n_predict")) is not None:
        return None if predicted == UNLIMITED else max(1, predicted)
    given: int | None = body.get("max_completion_tokens")
    given = body.get("max_tokens") if given is None else given
    return None if given == UNLIMITED else given


def _thinking(body: dict[str, Any]) -> tuple[str, frozenset[str]]:
    """The thinking mode, and which fields have no effect on a model that lacks them."""
    arguments = _template_arguments(body)
    switches = (arguments.get("enable_thinking"), arguments.get("thinking"), body.get("enable_thinking"))
    switch = next((switch for switch in switches if switch is not None), None)
    if body.get("thinking") is None and switch is not None:
        return "enabled" if switch else "disabled", frozenset({"thinking"})
    return thinking_of(body, _effort(body)[1]), frozenset()


def _effort(body: dict[str, Any]) -> tuple[str, str | None]:
    """The name of the field with the amount of thinking, and its value."""
    if (effort := body.get("reasoning_effort")) is not None:
        return "reasoning_effort", effort
    return "chat_template_kwargs.reasoning_effort", _template_arguments(body).get("reasoning_effort")


def _top_logprobs(body: dict[str, Any]) -> int | None:
    """Return the number of alternatives per token. Raises `InvalidRequest` without log probabilities."""
    alternatives: int | None = body.get("top_logprobs")
    if not body.get("logprobs"):
        if alternatives:
            raise InvalidRequest("top_logprobs needs logprobs: true", param="top_logprobs")
        return body.get("n_probs") or None
    return alternatives or 0


def _tool(raw: dict[str, Any]) -> Tool:
    return tool_of(raw["name"], raw.get("description"), raw.get("parameters"), strict=raw.get("strict"))


# ---- response object


def response_object(
    metadata: ResponseMetadata,
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - a chat.completion has no status
) -> dict[str, Any]:
    """Return the chat.completion object of a response that completed or ran out of tokens."""
    output = _output_of(metadata, events)
    answer = _completion(metadata, [_choice(metadata, output, 0)], output.usage)
    return answer if output.end is None else answer | _timings(metadata, output.end)


def choices_object(
    choices: Sequence[tuple[ResponseMetadata, Sequence[Event]]], usage: Usage
) -> dict[str, Any]:
    """Return the chat completion with all choices."""
    rendered = [
        _choice(metadata, _output_of(metadata, events), index)
        for index, (metadata, events) in enumerate(choices)
    ]
    first = choices[0][0]
    ends = [events[-1] for _, events in choices if isinstance(events[-1], End)]
    return _completion(first, rendered, usage) | _timings(first, joined_end(ends, len(ends)))


def _output_of(metadata: ResponseMetadata, events: Iterable[Event]) -> ResponseOutput:
    return ResponseOutput.of(ReasoningInText.of(events) if IN_TEXT in metadata.echo else events)


def _timings(metadata: ResponseMetadata, end: End) -> dict[str, Any]:
    """llama-server's `timings`, for a request that shows one of its clients."""
    return {"timings": timings(end)} if TIMINGS in metadata.echo else {}


def _choice(metadata: ResponseMetadata, output: ResponseOutput, index: int) -> dict[str, Any]:
    calls = output.calls()
    text = output.text(ItemKind.MESSAGE)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": text if text or not calls else None,
        "refusal": None,
    }
    reasoning = output.text(ItemKind.REASONING)
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls and _of_functions(metadata):
        message["function_call"] = {"name": calls[0].name, "arguments": calls[0].text}
    elif calls:
        message["tool_calls"] = [_call(metadata, item, index) for item in calls]
    return {
        "index": index,
        "message": message,
        "logprobs": content_logprobs(output.logprobs()),
        "finish_reason": _reason(metadata, output),
    }


def _of_functions(metadata: ResponseMetadata) -> bool:
    """Whether the request had its tools in the older form, `functions`."""
    return OF_FUNCTIONS in metadata.echo


def _reason(metadata: ResponseMetadata, output: ResponseOutput) -> str:
    reason = finish_reason(output)
    return "function_call" if reason == "tool_calls" and _of_functions(metadata) else reason


def _completion(metadata: ResponseMetadata, choices: list[dict[str, Any]], usage: Usage) -> dict[str, Any]:
    return {
        "id": metadata.id,
        "object": "chat.completion",
        "created": metadata.created_at,
        "model": metadata.model,
        "choices": choices,
        "usage": usage_object(usage),
        **_service_tier(metadata),
    }


def _service_tier(metadata: ResponseMetadata) -> dict[str, Any]:
    """The tier that was used, for a request that asked for one."""
    return {"service_tier": metadata.echo["service_tier"]} if "service_tier" in metadata.echo else {}


def _call(metadata: ResponseMetadata, item: OutputItem, index: int) -> dict[str, Any]:
    function = {"name": item.name, "arguments": item.text}
    return {"id": _call_id(metadata, item, index), "type": "function", "function": function}


def _call_id(metadata: ResponseMetadata, item: OutputItem, index: int) -> str:
    choice = f"{index:x}" if index else ""
    return item.call_id or f"call_{metadata.id.removeprefix(ID_PREFIX)}{choice}{item.call_number:03x}"


# ---- stream


class _ChunkRenderer:
    """Renders one choice of an answer as chat.completion.chunk objects."""

    def __init__(self, metadata: ResponseMetadata, index: int, ends: ChoiceEnds) -> None:
        self._metadata = metadata
        self._index = index
        self._ends = ends
        self._output = ResponseOutput()
        self._with_usage = bool(metadata.echo.get("include_usage"))
        self._text_chunk: FrameTemplate | None = None
        self._reasoning = ReasoningInText() if IN_TEXT in metadata.echo else None
        self._has_role = PROGRESS not in metadata.echo  # else the progress of the prompt precedes the role
        self._is_plain = self._has_role and self._reasoning is None

    def begin(self) -> list[Frame]:
        """Return the chunk with the role."""
        return [self._chunk({"role": "assistant", "content": ""})] if self._has_role else []

    def render(self, event: Event) -> list[Frame]:
        """Return the chunks of one event; a failed or cancelled end becomes an error frame."""
        if isinstance(event, PromptProgress):
            return self._progress(event)
        frames = []
        if not self._has_role:
            self._has_role = True
            self._is_plain = self._reasoning is None
            frames = [] if has_failed(event) else [self._chunk(NO_CONTENT)]
        for one in (event,) if self._reasoning is None else self._reasoning.convert(event):
            tokens = one.tokens if isinstance(one, ScoredTextDelta) else ()
            frames += [
                self._chunk(delta, tokens=tokens)
                for kind, item, piece in self._output.apply(one)
                if (delta := self._delta(kind, item, piece)) is not None
            ]
        if self._output.end is not None:
            frames += self._finish()
        return frames

    def _progress(self, progress: PromptProgress) -> list[Frame]:
        """Return the chunk with how much of the prompt was read (llama.cpp, tools/server/README.md)."""
        if PROGRESS not in self._metadata.echo:
            return []
        frame = self._chunk(NO_CONTENT)
        if TIMINGS_PER_TOKEN in self._metadata.echo:
            read = Usage(progress.processed, cached_tokens=progress.cached)
            end = End("", usage=read, run_ms=progress.time_ms, first_ms=progress.time_ms)
            frame[1]["timings"] = timings(end)
        frame[1]["prompt_progress"] = prompt_progress(progress)
        return [frame]

    def render_text(self, text: str) -> bytes:
        """Return the encoded chunk of a text that opens the output, or continues the message."""
        if not self._is_plain:
            return b""
        if self._output.continue_message(text) is None and self._output.open_message(text) is None:
            return b""
        if self._text_chunk is None:
            self._text_chunk = FrameTemplate(self._chunk({"content": FrameTemplate.TEXT}))
        return self._text_chunk.fill(text)

    def _delta(self, kind: ChangeKind, item: OutputItem, piece: str) -> dict[str, Any] | None:
        if item.kind is ItemKind.CALL:
            return self._call_delta(kind, item, piece)
        if kind is not ChangeKind.EXTENDED:
            return None
        return {"content" if item.kind is ItemKind.MESSAGE else "reasoning_content": piece}

    def _call_delta(self, kind: ChangeKind, item: OutputItem, piece: str) -> dict[str, Any] | None:
        if kind is ChangeKind.CLOSED:
            return None
        if _of_functions(self._metadata):
            if item.call_number:
                return None  # the older form has a place for one call
            named = {"name": item.name} if kind is ChangeKind.OPENED else {}
            return {"function_call": {**named, "arguments": piece}}
        call: dict[str, Any] = {"index": item.call_number}
        if kind is ChangeKind.OPENED:
            call |= {"id": _call_id(self._metadata, item, self._index), "type": "function"}
            call["function"] = {"name": item.name, "arguments": ""}
        else:
            call["function"] = {"arguments": piece}
        return {"tool_calls": [call]}

    def _finish(self) -> list[Frame]:
        end = self._output.end
        if end is None or self._output.status in ("failed", "cancelled"):
            return [("", {**body_of(error_from_end(end)), **measurements(end)})] if end else []
        frames = [self._chunk({}, _reason(self._metadata, self._output))]
        if (joined := self._ends.add(self._index, end)) is not None:
            frames += _last_frames(self._metadata, joined.usage or Usage())
            frames[-1][1].update(measurements(joined) | _timings(self._metadata, joined))
        return frames

    def _chunk(
        self,
        delta: Mapping[str, Any],
        finish_reason: str | None = None,
        tokens: tuple[TokenLogprob, ...] = (),
    ) -> Frame:
        logprobs = content_logprobs(tokens) if tokens else None
        choice = {"index": self._index, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}
        if self._with_usage:
            return self._frame(choices=[choice], usage=None)
        return self._frame(choices=[choice])

    def _frame(self, **rest: object) -> Frame:
        return _frame(self._metadata, **rest)


def _frame(metadata: ResponseMetadata, **rest: object) -> Frame:
    return "", {
        "id": metadata.id,
        "object": "chat.completion.chunk",
        "created": metadata.created_at,
        "model": metadata.model,
        **rest,
        **_service_tier(metadata),
    }


def _last_frames(metadata: ResponseMetadata, usage: Usage) -> list[Frame]:
    """The frames that follow the last choice: a chunk with the usage, for a request that asked for it."""
    asked = metadata.echo.get("include_usage")
    return [_frame(metadata, choices=[], usage=usage_object(usage))] if asked else []


def stream_renderer(metadata: ResponseMetadata) -> _ChunkRenderer:
    """Return a renderer for a stream of this response."""
    return _ChunkRenderer(metadata, 0, ChoiceEnds(1, 1))


def choice_renderers(choices: Sequence[ResponseMetadata], n: int) -> list[_ChunkRenderer]:
    """Return a renderer of chunks for each choice of a stream."""
    ends = ChoiceEnds(len(choices), n)
    return [_ChunkRenderer(metadata, index, ends) for index, metadata in enumerate(choices)]
