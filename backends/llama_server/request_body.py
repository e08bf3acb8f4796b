"""The body of a request to llama-server: Stoker's generation in the fields that the server knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from backends.base import GenerationError
from backends.llama_server.answer_grammars import NO_GRAMMARS, AnswerGrammars, is_constrained
from backends.llama_server.native_requests import bounded_windows, is_native, native_body
from backends.llama_server.vocabulary import UNKNOWN
from backends.shared.chat_request import add_forms, llama_body
from backends.shared.engine.literal_text import LiteralText
from backends.shared.engine.recursion import without_ambiguous_recursion
from backends.shared.template_probes import UNKNOWN_ROLES, RolesByTools, fit_messages
from generation.generation import Generation, Sampling
from generation.schemas.loose_schema import loosened

SEEDS = 2**32 - 1  # llama-server uses 32 bits of a seed, and takes 2**32 - 1 (also written -1) for no seed


def _as_json(arguments: str) -> str:
    """Return a call's arguments as valid JSON: incomplete ones, which the server refuses, as a string."""
    try:
        orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return orjson.dumps(arguments).decode() if arguments else "{}"
    return arguments


def request_body(  # noqa: PLR0913, PLR0917 - what the adapter knows of the server
    generation: Generation,
    prompt_format: str,
    grammars: AnswerGrammars = NO_GRAMMARS,
    context: int = 0,
    loras: Sequence[str] = (),
    roles: RolesByTools = UNKNOWN_ROLES,
    *,
    literal_text: LiteralText = UNKNOWN.literal_text,
) -> bytes:
    """Encode a generation. Raises `GenerationError`.

    `context` is that of a slot, `loras` are the names of the server's LoRA adapters in its order.
    """
    body = llama_body(generation, prompt_format) | _sampling(generation.sampling, context)
    fit_messages(body, roles)
    if loras or generation.lora is not None:
        body["lora"] = _scales(loras, generation.lora)
    if generation.thinking_budget is not None:
        body["thinking_budget_tokens"] = generation.thinking_budget
    if generation.ends_reasoning:
        body["reasoning_control"] = True
    if "seed" in body:
        body["seed"] %= SEEDS
    for message in body.get("messages", ()):
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = _as_json(call["function"]["arguments"])
    if generation.answer_grammar is not None:
        body["grammar"] = generation.answer_grammar
    if is_constrained(generation, grammars.syntax):
        add_forms(body)
        # what continues a prompt begins with the first token: no template has opened a reasoning
        grammars.apply(body, generation.thinking if generation.prompt is None else "disabled")
    else:
        for tool in body.get("tools", ()):
            function = tool["function"]  # the server makes a grammar of the schema that it shows to the model
            function["parameters"] = without_ambiguous_recursion(loosened(function["parameters"]))
    if is_native(generation):
        body = native_body(body, generation, context)
    elif generation.sampling.llama:
        body |= bounded_windows(generation.sampling.llama, context)
    body["return_progress"] = True  # reports the size of the prompt even of cancelled requests
    return orjson.dumps(literal_text.marked(body))


def _sampling(sampling: Sampling, context: int) -> dict[str, Any]:
    """The fields of a request for the sampling that OpenAI's API does not name, or names otherwise.

    The penalties count all tokens of the request, as OpenAI's do; the server's default counts the last 64.
    """
    named = {
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "repeat_penalty": sampling.repetition_penalty,
    }
    body: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if any(name.endswith("penalty") for name in body):
        body["repeat_last_n"] = context
    if sampling.logit_bias:
        body["logit_bias"] = [list(pair) for pair in sampling.logit_bias]
    if sampling.top_logprobs is not None:  # of 0 alternatives the server reports no token, either
        alternatives = max(1, sampling.top_logprobs)
        body |= {"logprobs": True, "top_logprobs": alternatives, "n_probs": alternatives}
    return body


def _scales(loras: Sequence[str], name: str | None) -> list[dict[str, float]]:
    """The scale of each LoRA adapter of the server: 1 for the one of that name. Raises `GenerationError`."""
    if name is not None and name not in loras:  # the API refuses it, but may have another configuration
        raise GenerationError("unsupported_parameter", f"the engine has no LoRA adapter {name}")
    return [{"id": number, "scale": float(lora == name)} for number, lora in enumerate(loras)]
