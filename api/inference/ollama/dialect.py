"""What the dialects of Ollama's /api/chat and /api/generate share: options, names, renderers.

Source: Ollama API reference ("Generate a chat message", "Generate a completion").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from api.http import ndjson
from api.http.errors import InvalidRequest, error_from_end
from api.http.frames import Frame
from api.http.ollama_errors import error_object
from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.frame_template import FrameTemplate
from api.inference.dialects.logprobs import token_list
from api.inference.dialects.measurements import UNMEASURED_CODE
from api.inference.dialects.options import effort_of
from api.inference.dialects.output import ChangeKind, ItemKind, OutputItem, ResponseOutput
from streams.events import Event, ScoredTextDelta, TokenLogprob

FIELD_NAMES: Mapping[str, str] = {
    "output_format": "format",
    "repetition_penalty": "options.repeat_penalty",
    "thinking": "think",
    "top_logprobs": "logprobs",
    **{name: f"options.{name}" for name in ("top_k", "min_p", "presence_penalty", "frequency_penalty")},
}
"""The names in the body of fields that `Generation` and `Sampling` name otherwise."""

NS_OF_MS = 1_000_000


def model_name(given: str) -> str:
    """The platform's name of a model: Ollama's clients may add the tag `latest`."""
    return given.removesuffix(":latest") or given


def thinking_of(body: Mapping[str, Any]) -> tuple[str, str | None, frozenset[str]]:
    """The thinking mode and the reasoning effort of `think`, and which of them a model may lack.

    An effort asks to think, as Ollama takes it for models without efforts. Some clients always send false.
    """
    think = body.get("think")
    if isinstance(think, str):
        return "enabled", effort_of(think), frozenset({"thinking", "reasoning_effort"})
    if think is False:
        return "disabled", None, frozenset({"thinking"})
    return "default" if think is None else "enabled", None, frozenset()


def created_at(seconds: float) -> str:
    """A time in Ollama's form (RFC 3339)."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


PROMPTS: Mapping[str, tuple[str, ...]] = {
    "ollama_chat": ("messages",),
    "ollama_generate": ("prompt", "suffix", "images"),
    "ollama_embed": ("input",),
    "ollama_embeddings": ("prompt",),
}
"""The fields with a prompt, by the dialect's name. Those of another route are unknown fields."""

ZERO_DURATION = re.compile(r"[+-]?(?:(?:0+\.?0*|\.0+)(?:ns|us|µs|μs|ms|[smh]))+|[+-]?0")
"""Go's ways to write a duration of zero (`time.ParseDuration`)."""


def has_prompt(dialect: str, body: Mapping[str, Any]) -> bool:
    """Whether the request has a prompt; without one Ollama's clients ask to load a model."""
    return any(body.get(name) for name in PROMPTS[dialect])


def check_load(body: Mapping[str, Any]) -> None:
    """Refuse a request to unload. Raises `InvalidRequest`."""
    given = body.get("keep_alive")
    if (isinstance(given, str) and ZERO_DURATION.fullmatch(given)) or (
        isinstance(given, int | float) and given == 0
    ):
        message = "keep_alive 0 asks to unload the model, which clients of this platform cannot do"
        raise InvalidRequest(message, code="unsupported_parameter", param="keep_alive")


def line(metadata: ResponseMetadata, fields: Mapping[str, Any]) -> dict[str, Any]:
    """One line of a stream that goes on."""
    return {
        "model": metadata.model,
        "created_at": created_at(metadata.created_at),
        **fields,
        "done": False,
    }


def logprob_fields(tokens: Iterable[TokenLogprob]) -> dict[str, Any]:
    """The field `logprobs` of a line, or of the whole answer; no field without tokens."""
    found = token_list(tokens)
    return {"logprobs": found} if found else {}


def last_line(
    metadata: ResponseMetadata, output: ResponseOutput, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """The last line of a stream, or the whole answer: with the reason, the tokens and the times.

    Times are nanoseconds: the wait in the queue is `load_duration`, and the engine's time to the first output
    `prompt_eval_duration`, if it is known; else it is within `eval_duration`.
    """
    end, usage = output.end, output.usage
    ended = {
        **line(metadata, fields),
        "done": True,
        "done_reason": _done_reason(output),
        "prompt_eval_count": usage.input_tokens,
        "eval_count": usage.output_tokens,
    }
    if end is not None and end.code != UNMEASURED_CODE:
        ended["total_duration"] = (end.queue_ms + end.run_ms) * NS_OF_MS
        ended["load_duration"] = end.queue_ms * NS_OF_MS
        prompt_ms = 0
        if end.first_ms is not None:
            prompt_ms = min(end.first_ms, end.run_ms)
            ended["prompt_eval_duration"] = prompt_ms * NS_OF_MS
        ended["eval_duration"] = (end.run_ms - prompt_ms) * NS_OF_MS
    return ended


def _done_reason(output: ResponseOutput) -> str:
    """Why the answer ended: Ollama's stop and length, and content_filter for what another server withheld."""
    if output.end is not None and output.end.finish_reason == "content_filter":
        return "content_filter"
    return "length" if output.status == "incomplete" else "stop"


def unread_call(item: OutputItem) -> str:
    """The text of a complete call whose arguments are no object, which has no other form here; else ""."""
    if not item.complete or call_of(item) is not None:
        return ""
    return orjson.dumps({"name": item.name, "arguments": item.text}).decode()


def call_of(item: OutputItem) -> dict[str, Any] | None:
    """A call with its arguments as an object; None if they are none, or the answer ended within them."""
    try:
        arguments = orjson.loads(item.text or "{}")
    except orjson.JSONDecodeError:
        return None
    if not isinstance(arguments, dict):
        return None
    return {"function": {"index": item.call_number, "name": item.name, "arguments": arguments}}


class LineRenderer:
    """Renders a response as lines of JSON.

    `fields_of` makes the fields of a line, of its text, its reasoning and its calls.
    """

    def __init__(
        self, metadata: ResponseMetadata, fields_of: Callable[[str, str, list[Any]], dict[str, Any]]
    ) -> None:
        self._metadata = metadata
        self._fields_of = fields_of
        self._output = ResponseOutput()
        self._text_line: FrameTemplate | None = None

    def begin(self) -> list[Frame]:
        """Return no line: the first one has text."""
        return []

    def render(self, event: Event) -> list[Frame]:
        """Return the lines of one event; a failed or cancelled end becomes a line with the error."""
        changes = self._output.apply(event)
        end = self._output.end
        if end is not None and self._output.status in ("failed", "cancelled"):
            return [("", error_object(error_from_end(end)))]
        is_scored = isinstance(event, ScoredTextDelta)
        frames = [
            ("", line(self._metadata, fields))
            for kind, item, piece in (changes[:-1] if is_scored else changes)
            if (fields := self._fields(kind, item, piece)) is not None
        ]
        if isinstance(event, ScoredTextDelta):  # its text may be empty: a token can be a part of a character
            fields = self._fields_of(event.text, "", []) | logprob_fields(event.tokens)
            frames.append(("", line(self._metadata, fields)))
        if end is not None:
            frames.append(("", last_line(self._metadata, self._output, self._fields_of("", "", []))))
        return frames

    def render_text(self, text: str) -> bytes:
        """Return the encoded line of a text that continues the answer."""
        if self._output.continue_message(text) is None:
            return b""
        if self._text_line is None:
            fields = self._fields_of(FrameTemplate.TEXT, "", [])
            self._text_line = FrameTemplate(("", line(self._metadata, fields)), ndjson)
        return self._text_line.fill(text)

    def _fields(self, kind: ChangeKind, item: OutputItem, piece: str) -> dict[str, Any] | None:
        if item.kind is ItemKind.CALL:  # Ollama's calls are never in pieces
            if kind is not ChangeKind.CLOSED:
                return None
            if (call := call_of(item)) is not None:
                return self._fields_of("", "", [call])
            text = unread_call(item)
            return self._fields_of(text, "", []) if text else None
        if kind is not ChangeKind.EXTENDED or not piece:
            return None
        return self._fields_of(*((piece, "") if item.kind is ItemKind.MESSAGE else ("", piece)), [])
