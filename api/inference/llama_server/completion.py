"""llama-server's native completion (tools/server/README.md, "POST /completion").

A prompt is continued as it is, without a chat template. A stream has a chunk for each piece of the text and a
last one with the rest of the answer; a failed one ends with `{"error": {...}}`. There is no `data: [DONE]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from api.http.error_rendering import llama_server_body
from api.http.errors import InvalidRequest
from api.http.limit_headers import limit_headers as openai_limit_headers
from api.inference.dialects.base import Framing, ParsedRequest, ResponseMetadata
from api.inference.dialects.choices import count_of, prompt_fields
from api.inference.dialects.guided_output import answer_grammar, guided_format
from api.inference.llama_server.answers import NativeRenderer, wants, whole_answer
from api.inference.llama_server.llama_sampling import sampling_of, settings_of
from api.inference.llama_server.prompts import prompts_of
from api.inference.messages import framing
from generation.generation import Generation
from streams.events import Event, Usage

NAME = "llama_completion"
ID_PREFIX = "llamacmpl-"
FRAMING: Framing = framing
HAS_CANCELLED_STATUS = False

FIELD_NAMES: Mapping[str, str] = {
    "repetition_penalty": "repeat_penalty",
    "output_format": "json_schema",
    "top_logprobs": "n_probs",
    "token_ids": "return_tokens",
    "prompt_tokens": "prompt",
    "answer_grammar": "grammar",
}
"""The names in the body of fields that `Generation` and `Sampling` name otherwise."""

ANY_SLOT = -1
LINE_LIMITS = frozenset({"n_indent", "t_max_predict_ms"})
"""The parameters that may end an answer before its limit of tokens, while the context has room."""

error_body = llama_server_body
limit_headers = openai_limit_headers


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `NativeCompletionRequest`. Raises `InvalidRequest`."""
    prompts = prompts_of(body["prompt"])
    echo = echo_of(body)
    if wants(echo, "prompt"):
        echo["prompt"] = prompts[0]
    return parsed_request(body, echo, prompts=prompts, **prompt_fields(prompts[0]))


def parsed_request(
    body: dict[str, Any], echo: dict[str, Any], *, prompts: tuple[Any, ...] = (), **of_prompt: Any
) -> ParsedRequest:
    """The request of a body of one of the native routes; `of_prompt` are the fields of its prompt."""
    if body.get("id_slot") not in (None, ANY_SLOT):
        raise InvalidRequest("id_slot must be -1: slots belong to the platform", param="id_slot")
    form = guided_format({"json_schema": body.get("json_schema")})
    generation = Generation(
        model=body["model"],
        messages=(),
        sampling=sampling_of(body),
        allow_remote=bool(body.get("allow_remote")),
        cache_mode="none" if body.get("cache_prompt") is False else "prefix",
        output_format=None if form is None else form[1],
        answer_grammar=answer_grammar(body, is_free=form is None),
        lora=body.get("lora_name"),
        **of_prompt,
    )
    return ParsedRequest(
        generation,
        echo,
        bool(body.get("stream")),
        conversation_param="prompt",
        field_names=FIELD_NAMES,
        n=count_of({"n": body.get("n_cmpl") or body.get("n")}, len(prompts) or 1),
        prompts=prompts if len(prompts) > 1 else (),
    )


def echo_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer has of its request: no more than its `response_fields` name."""
    sampling = sampling_of(body)
    echo: dict[str, Any] = {"n_predict": sampling.max_tokens}
    if (paths := body.get("response_fields")) is not None:
        echo["fields"] = paths
    if wants(echo, "generation_settings"):
        echo["settings"] = settings_of(body)
    flags = {
        "ids": body.get("return_tokens"),
        "probs": body.get("n_probs"),
        "sampled": body.get("n_probs") and body.get("post_sampling_probs"),
        "by_lines": not LINE_LIMITS.isdisjoint(sampling.llama or {}),
    }
    return echo | {name: True for name, given in flags.items() if given}


def response_object(
    metadata: ResponseMetadata,
    events: Iterable[Event],
    pending: str = "",  # noqa: ARG001 - the answer has no status
) -> dict[str, Any]:
    """Return the answer of a response that completed or ran out of tokens."""
    return whole_answer(metadata, events, 0)


def choices_object(
    choices: Sequence[tuple[ResponseMetadata, Sequence[Event]]],
    usage: Usage,  # noqa: ARG001 - each answer has its own
) -> list[dict[str, Any]]:
    """Return the answers, in the order of the prompts."""
    return [whole_answer(metadata, events, index) for index, (metadata, events) in enumerate(choices)]


def stream_renderer(metadata: ResponseMetadata) -> NativeRenderer:
    """Return a renderer for a stream of this response."""
    return NativeRenderer(metadata, 0)


def choice_renderers(choices: Sequence[ResponseMetadata], n: int) -> list[NativeRenderer]:  # noqa: ARG001
    """Return a renderer of chunks for each choice of a stream."""
    return [NativeRenderer(metadata, index) for index, metadata in enumerate(choices)]
