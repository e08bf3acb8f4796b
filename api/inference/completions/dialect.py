"""OpenAI's Completions (OpenAI API reference, "Completions"): a text that the model continues as it is.

No chat template is applied, so a base model works, and a client may write the template's text itself. A
failed stream ends with a frame `{"error": {...}}`, which OpenAI's SDK raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from api.http import sse
from api.http.errors import InvalidRequest, body_of, error_from_end
from api.http.frames import Frame
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.inference.completions.prompt_only import PromptOnly, without_output
from api.inference.dialects.base import Framing, ParsedRequest, Prompt, ResponseMetadata
from api.inference.dialects.choices import ChoiceEnds, count_of, prompt_fields
from api.inference.dialects.completion_objects import finish_reason, usage_object
from api.inference.dialects.frame_template import FrameTemplate
from api.inference.dialects.guided_output import reject_guided_fields
from api.inference.dialects.logprobs import parallel_lists
from api.inference.dialects.measurements import measurements
from api.inference.dialects.options import reject_field
from api.inference.dialects.output import ItemKind, ResponseOutput
from api.inference.dialects.request_fields import UNLIMITED
from api.inference.dialects.sampling import sampling_of
from generation.generation import Generation
from streams.events import Event, ScoredTextDelta, Usage

NAME = "completions"
ID_PREFIX = "cmpl-"
FRAMING: Framing = sse
HAS_CANCELLED_STATUS = False

FIELD_NAMES: Mapping[str, str] = {"top_logprobs": "logprobs", "prompt_tokens": "prompt"}
"""The names in the body of fields that `Generation` and `Sampling` name otherwise."""

error_body = body_of
limit_headers = openai_limit_headers

DEFAULT_MAX_TOKENS = 16
"""As in OpenAI's API."""


# ---- parse


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `CompletionRequest`. Raises `InvalidRequest`."""
    reject_field(body, "best_of", unless=(1,))
    reject_field(body, "response_format", unless=({"type": "text"}, {"type": None}, {}))
    reject_guided_fields(body)
    scores_prompt = bool(body.get("echo")) and body.get("logprobs") is not None
    prompts = _prompts(body["prompt"])
    prompt = prompts[0]
    max_tokens = body.get("max_tokens")
    only_prompt = max_tokens == 0
    if only_prompt and not body.get("echo"):
        raise InvalidRequest("max_tokens must be at least 1, or -1, without echo", param="max_tokens")
    if body.get("echo") and not all(isinstance(one, str) for one in prompts):
        raise InvalidRequest("echo needs a text as the prompt", code="unsupported_input", param="echo")
    generation = Generation(
        model=body["model"],
        messages=(),
        sampling=sampling_of(body, _limit(max_tokens), body.get("logprobs")),
        allow_remote=bool(body.get("allow_remote")),
        lora=body.get("lora"),
        suffix=body.get("suffix") or None,
        **prompt_fields(prompt),
        scores_prompt=scores_prompt,
        count_only=only_prompt and not scores_prompt,
    )
    echo: dict[str, Any] = {}
    if body.get("echo"):
        echo = {"scored_prompt": True} if scores_prompt else {"prompt": prompt}
    if only_prompt:
        echo["only_prompt"] = True
    if (body.get("stream_options") or {}).get("include_usage"):
        echo["include_usage"] = True
    return ParsedRequest(
        generation,
        echo,
        bool(body.get("stream")),
        conversation_param="prompt",
        field_names=FIELD_NAMES,
        n=count_of(body, len(prompts)),
        prompts=prompts if len(prompts) > 1 else (),
    )


def _limit(max_tokens: int | None) -> int | None:
    """The limit of a request's `max_tokens`, with the one token that engines generate in any case."""
    if max_tokens is None:
        return DEFAULT_MAX_TOKENS
    return None if max_tokens == UNLIMITED else max(1, max_tokens)


def _prompts(given: Any) -> tuple[Prompt, ...]:
    """The prompts of a request: texts and lists of tokens. Raises `InvalidRequest` for an empty one."""
    is_one = isinstance(given, str) or isinstance(given[0], int)
    prompts = tuple(one if isinstance(one, str) else tuple(one) for one in ([given] if is_one else given))
    for index, prompt in enumerate(prompts):
        if not prompt:
            param = "prompt" if len(prompts) == 1 else f"prompt[{index}]"
            raise InvalidRequest("the prompt is empty", param=param)
    return prompts


# ---- response object


def response_object(
    metadata: ResponseMetadata,
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - a text_completion has no status
) -> dict[str, Any]:
    """Return the text_completion object of a response that completed or ran out of tokens."""
    output = _output_of(metadata, events)
    choice = _whole_choice(metadata, output, 0)
    return {**_identity(metadata), "choices": [choice], "usage": usage_object(output.usage)}


def choices_object(
    choices: Sequence[tuple[ResponseMetadata, Sequence[Event]]], usage: Usage
) -> dict[str, Any]:
    """Return the completion with all choices."""
    rendered = [
        _whole_choice(metadata, _output_of(metadata, events), index)
        for index, (metadata, events) in enumerate(choices)
    ]
    return {**_identity(choices[0][0]), "choices": rendered, "usage": _usage(choices[0][0], usage)}


def _output_of(metadata: ResponseMetadata, events: Iterable[Event]) -> ResponseOutput:
    return ResponseOutput.of(PromptOnly().all_kept(events) if _only_prompt(metadata) else events)


def _only_prompt(metadata: ResponseMetadata) -> bool:
    return bool(metadata.echo.get("only_prompt"))


def _usage(metadata: ResponseMetadata, usage: Usage) -> dict[str, Any]:
    return usage_object(without_output(usage) if _only_prompt(metadata) else usage)


def _whole_choice(metadata: ResponseMetadata, output: ResponseOutput, index: int) -> dict[str, Any]:
    text = metadata.echo.get("prompt", "") + output.text(ItemKind.MESSAGE)
    begins_unscored = bool(metadata.echo.get("scored_prompt"))
    logprobs = parallel_lists(output.logprobs(), 0, begins_unscored=begins_unscored)
    return _choice(index, text, _reason(output), logprobs)


def _identity(metadata: ResponseMetadata) -> dict[str, Any]:
    return {
        "id": metadata.id,
        "object": "text_completion",
        "created": metadata.created_at,
        "model": metadata.model,
    }


def _choice(
    index: int, text: str, reason: str | None, logprobs: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": reason}


def _reason(output: ResponseOutput) -> str:
    """The `finish_reason` of a choice; calls of tools have no form here."""
    reason = finish_reason(output)
    return "stop" if reason == "tool_calls" else reason


# ---- stream


class _CompletionRenderer:
    """Renders one choice of an answer as text_completion objects, each with a piece of the text."""

    def __init__(self, metadata: ResponseMetadata, index: int, ends: ChoiceEnds) -> None:
        self._metadata = metadata
        self._index = index
        self._ends = ends
        self._output = ResponseOutput()
        self._with_usage = bool(metadata.echo.get("include_usage"))
        self._text_chunk: FrameTemplate | None = None
        self._scored_chars = 0
        self._prompt_only = PromptOnly() if _only_prompt(metadata) else None

    def begin(self) -> list[Frame]:
        """Return the prompt, if the request asks for it."""
        prompt = self._metadata.echo.get("prompt")
        return [self._chunk(prompt)] if prompt else []

    def render(self, event: Event) -> list[Frame]:
        """Return the chunks of one event; a failed or cancelled end becomes an error frame."""
        if self._prompt_only is not None:
            kept = self._prompt_only.kept(event)
            if kept is None:
                return []
            event = kept
        if isinstance(event, ScoredTextDelta):
            return [self._scored(event)]
        frames = [
            self._chunk(piece)
            for _, item, piece in self._output.apply(event)
            if piece and item.kind is ItemKind.MESSAGE
        ]
        if self._output.end is not None:
            frames += self._finish()
        return frames

    def render_text(self, text: str) -> bytes:
        """Return the encoded chunk of a text that continues the answer."""
        if self._prompt_only is not None or self._output.continue_message(text) is None:
            return b""
        if self._text_chunk is None:
            self._text_chunk = FrameTemplate(self._chunk(FrameTemplate.TEXT))
        return self._text_chunk.fill(text)

    def _scored(self, event: ScoredTextDelta) -> Frame:
        self._output.apply(event)
        begins_unscored = not self._scored_chars and bool(self._metadata.echo.get("scored_prompt"))
        logprobs = parallel_lists(event.tokens, self._scored_chars, begins_unscored=begins_unscored)
        self._scored_chars += sum(len(token.token) for token in event.tokens)
        return self._chunk(event.text, logprobs=logprobs)

    def _finish(self) -> list[Frame]:
        end = self._output.end
        if end is None or self._output.status in ("failed", "cancelled"):
            return [("", {**body_of(error_from_end(end)), **measurements(end)})] if end else []
        frames = [self._chunk("", _reason(self._output))]
        if (joined := self._ends.add(self._index, end)) is not None:
            frames += _last_frames(self._metadata, joined.usage or Usage())
            frames[-1][1].update(measurements(joined))
        return frames

    def _chunk(self, text: str, reason: str | None = None, logprobs: dict[str, Any] | None = None) -> Frame:
        choices = [_choice(self._index, text, reason, logprobs)]
        return self._frame(choices=choices, usage=None) if self._with_usage else self._frame(choices=choices)

    def _frame(self, **rest: object) -> Frame:
        return "", {**_identity(self._metadata), **rest}


def _last_frames(metadata: ResponseMetadata, usage: Usage) -> list[Frame]:
    """The frames that follow the last choice: an object with the usage, for a request that asked for it."""
    if not metadata.echo.get("include_usage"):
        return []
    return [("", {**_identity(metadata), "choices": [], "usage": _usage(metadata, usage)})]


def stream_renderer(metadata: ResponseMetadata) -> _CompletionRenderer:
    """Return a renderer for a stream of this response."""
    return _CompletionRenderer(metadata, 0, ChoiceEnds(1, 1))


def choice_renderers(choices: Sequence[ResponseMetadata], n: int) -> list[_CompletionRenderer]:
    """Return a renderer of chunks for each choice of a stream."""
    ends = ChoiceEnds(len(choices), n)
    return [_CompletionRenderer(metadata, index, ends) for index, metadata in enumerate(choices)]
