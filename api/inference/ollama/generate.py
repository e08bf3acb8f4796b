"""Ollama's /api/generate (Ollama API reference, "Generate a completion").

A prompt is one user message, unless `raw` or `suffix` asks to continue it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.http import ndjson
from api.http.errors import InvalidRequest
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.http.ollama_errors import error_object
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata
from api.inference.dialects.guided_output import reject_guided_fields
from api.inference.dialects.images import Images
from api.inference.dialects.options import reject_field
from api.inference.dialects.output import ItemKind, ResponseOutput
from api.inference.dialects.output_format import from_ollama_format
from api.inference.ollama.dialect import (
    FIELD_NAMES,
    LineRenderer,
    last_line,
    logprob_fields,
    model_name,
    thinking_of,
)
from api.inference.ollama.options import sampling_of
from generation.generation import Generation, Message, text_content
from streams.events import Event

NAME = "ollama_generate"
ID_PREFIX = "ollamagen-"
FRAMING: Framing = ndjson
HAS_CANCELLED_STATUS = False

error_body = error_object
limit_headers = openai_limit_headers


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `OllamaGenerateRequest`. Raises `InvalidRequest`."""
    reject_guided_fields(body)
    reject_field(body, "template", unless=("",))
    suffix = body.get("suffix") or None
    is_raw = bool(body.get("raw")) or suffix is not None
    if is_raw:
        _check_raw(body)
    images = Images()
    thinking, effort, ignored_fields = thinking_of({} if is_raw else body)
    generation = Generation(
        model=model_name(body["model"]),
        messages=() if is_raw else _messages(body, images),
        sampling=sampling_of(body),
        thinking=thinking,
        reasoning_effort=effort,
        allow_remote=bool(body.get("allow_remote")),
        lora=body.get("lora"),
        prompt=(body.get("prompt") or "") if is_raw else None,
        suffix=suffix,
        output_format=from_ollama_format(body.get("format")),
    )
    return ParsedRequest(
        generation,
        stream=body.get("stream") is not False,
        conversation_param="prompt",
        image_params=tuple(images.params),
        field_names=FIELD_NAMES,
        ignored_fields=ignored_fields,
    )


def _check_raw(body: dict[str, Any]) -> None:
    for name in ("system", "images"):
        if body.get(name):
            message = f"{name} needs the chat template, which raw and suffix turn off"
            raise InvalidRequest(message, code="unsupported_parameter", param=name)
    if body.get("think"):
        raise InvalidRequest("think needs the chat template", code="unsupported_parameter", param="think")


def _messages(body: dict[str, Any], images: Images) -> tuple[Message, ...]:
    pictures = [
        images.add_base64(data, f"images[{number}]") for number, data in enumerate(body.get("images") or ())
    ]
    prompt = Message("user", (*pictures, *text_content(body.get("prompt") or "")))
    system = body.get("system")
    return (Message("system", text_content(system)), prompt) if system else (prompt,)


def response_object(
    metadata: ResponseMetadata,
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - the answer has no status
) -> dict[str, Any]:
    """Return the answer of a response that completed or ran out of tokens."""
    output = ResponseOutput.of(events)
    text, reasoning = output.text(ItemKind.MESSAGE), output.text(ItemKind.REASONING)
    fields = _fields(text, reasoning, []) | logprob_fields(output.logprobs())
    return last_line(metadata, output, fields)


def stream_renderer(metadata: ResponseMetadata) -> LineRenderer:
    """Return a renderer for a stream of this response."""
    return LineRenderer(metadata, _fields)


def _fields(text: str, reasoning: str, calls: list[Any]) -> dict[str, Any]:  # noqa: ARG001 - no tools here
    return {"response": text, "thinking": reasoning} if reasoning else {"response": text}
