"""The capabilities of a configured model (Runtime Admin API), and the check of requests against them."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import NoReturn

from api.http.errors import ApiError, InvalidRequest, NotSupported
from api.http.strict_fields import MAX_LOGIT_BIAS
from api.inference.dialects.base import ParsedRequest
from api.inference.images.choices import fitted as fitted_image
from backends.catalogue import BACKENDS
from backends.comfyui.workflow_rules import WorkflowLimits, WorkflowRefused, check_workflow
from backends.prompt_formats import TRANSLATE_GEMMA
from config.settings import ModelDefinition
from generation.generation import THINKING_MODES, UNKNOWN_SOURCES, Embedding, Generation, Sampling
from generation.media import ImageTask, WorkflowTask

_NAMES = (
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "logit_bias",
    "top_logprobs",
    "token_ids",
    "llama",
)
_values = attrgetter(*_NAMES)
_NOTHING_ASKED = _values(Sampling())
_GIVEN_NAMES = ("suffix", "thinking_budget", "prompt_tokens", "infill", "answer_grammar")
_rarely_given = attrgetter(*_GIVEN_NAMES, "lora", "truncate", "continue_last", "scores_prompt")
_NOT_GIVEN = (None, None, (), None, None, None, False, False, False)
MEDIA_ROUTES = {
    "transcribe": "/v1/audio/transcriptions",
    "translate": "/v1/audio/translations",
    "speech": "/v1/audio/speech",
    "image": "/v1/images/generations",
    "workflow": "/v1/comfyui/prompts",
}
"""The route of each kind of media task."""

_WITHOUT_EFFECT = {
    "top_k": 0,
    "min_p": 0,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "repetition_penalty": 1,
    "llama": {},
}
"""The values of sampling fields that change no output, and that each model takes for this reason."""


def modalities(model: ModelDefinition) -> tuple[str, ...]:
    """The input types of the model: text, beside it images and audio."""
    if _is_translation_form(model):  # the structured prompt of TranslateGemma is built from one text
        return ("text",)
    backend = BACKENDS[model.backend]
    images = ("image",) if backend.accepts_images(model.options) else ()
    return ("text", *images, *(("audio",) if backend.accepts_audio(model.options) else ()))


def multi_turn(model: ModelDefinition) -> bool:
    """Whether the model accepts a conversation; otherwise only a single user message."""
    if media_tasks(model) or _is_translation_form(model):
        return False
    return not BACKENDS[model.backend].is_single_turn(model.options)


def thinking_modes(model: ModelDefinition) -> tuple[str, ...]:
    """The values of `thinking` that the model accepts."""
    backend = BACKENDS[model.backend]
    if not backend.allows_thinking_choice(model.prompt_format, model.options):
        return ("default",)
    if backend.has_thinking_disabled(model.options):
        return ("default", "disabled")
    return THINKING_MODES


def accepts_prompts(model: ModelDefinition) -> bool:
    """Whether the model continues a prompt that is no conversation."""
    return not _is_translation_form(model) and BACKENDS[model.backend].accepts_prompts(model.options)


def embeds(model: ModelDefinition) -> bool:
    """Whether the model makes vectors of texts; such a model has no other answers."""
    return BACKENDS[model.backend].embeds(model.options)


def reranks(model: ModelDefinition) -> bool:
    """Whether the model scores documents; such a model has no other answers."""
    return BACKENDS[model.backend].reranks(model.options)


def media_tasks(model: ModelDefinition) -> tuple[str, ...]:
    """The media tasks that the model does (`generation.media`); such a model has no other answers."""
    return BACKENDS[model.backend].media_tasks(model.options)


def counts_tokens(model: ModelDefinition) -> bool:
    """Whether the model counts the tokens of a prompt without an answer."""
    return BACKENDS[model.backend].can_count_tokens(model.options)


def loras(model: ModelDefinition) -> tuple[str, ...]:
    """The LoRA adapters that a request may name, in the order of their names."""
    return tuple(sorted(BACKENDS[model.backend].loras(model.options)))


def remote(model: ModelDefinition) -> bool:
    """Whether the model runs on another operator's server, so that each request has to allow it."""
    return BACKENDS[model.backend].remote


def check(model: ModelDefinition, parsed: ParsedRequest) -> ParsedRequest:
    """The same request, without those of its `ignored_fields` that the model lacks.

    Raises `ApiError` if the model lacks a capability that the request needs, or is remote without consent.
    Codes: remote_not_allowed, thinking_unsupported, image_unsupported, audio_unsupported,
    multi_turn_unsupported, prompt_unsupported, token_count_unsupported, embeddings_unsupported,
    rerank_unsupported, generation_unsupported, not_supported, unknown_lora, unsupported_parameter,
    invalid_request. Runs for every request, so the usual request passes after a few comparisons.
    """
    if not parsed.generation.allow_remote and remote(model):
        raise ApiError(
            f"model {model.name} runs on another operator's server:"
            " set `allow_remote: true` to send the request there",
            code="remote_not_allowed",
            param="allow_remote",
        )
    _check_kind(model, parsed.generation)
    if _has_no_answer(parsed.generation):
        return _fitted(model, parsed)
    if (target := parsed.generation.target_lang_code) in UNKNOWN_SOURCES:
        raise InvalidRequest(
            f"target_lang_code must name the language to translate into: {target} is not a language",
            param="target_lang_code",
        )
    if parsed.ignored_fields:
        parsed = _without_ignored(model, parsed)
    if parsed.generation.thinking != "default":
        _check_thinking(model, parsed)
    if parsed.image_params or parsed.audio_params:
        _check_media_parts(model, parsed)
    if parsed.generation.output_format is not None or any(tool.strict for tool in parsed.generation.tools):
        _check_constrains_output(model, parsed)
    generation = parsed.generation
    if _values(generation.sampling) != _NOTHING_ASKED:
        _check_sampling(model, parsed)
    if _rarely_given(generation) != _NOT_GIVEN:
        _check_given(model, parsed)
        _check_lora(model, generation.lora)
        _check_truncates(model, parsed)
        _check_continues(parsed)
        _check_scores_prompt(model, parsed)
    if parsed.generation.prompt is not None:
        if not accepts_prompts(model):
            raise ApiError(
                f"model {model.name} accepts only messages: use /v1/chat/completions or /v1/responses",
                code="prompt_unsupported",
                param="model",
            )
    elif not multi_turn(model):
        _check_single_turn(model, parsed)
    return parsed


def _check_media_parts(model: ModelDefinition, parsed: ParsedRequest) -> None:
    """Refuse images and recordings that the model does not take."""
    accepted = modalities(model)
    for kind, plural, params in (
        ("image", "images", parsed.image_params),
        ("audio", "audio", parsed.audio_params),
    ):
        if params and kind not in accepted:
            raise ApiError(
                f"model {model.name} does not accept {plural}, only {' and '.join(accepted)}",
                code=f"{kind}_unsupported",
                param=params[0],
            )


def _has_no_answer(generation: Generation) -> bool:
    """Whether it asks for no text of the model: what follows is of no account to it."""
    task = generation.text_task
    if task is not None:
        return task.kind != "template"
    return generation.embedding is not None or generation.state is not None or generation.media is not None


def _fitted(model: ModelDefinition, parsed: ParsedRequest) -> ParsedRequest:
    """The request with what its model has of sizes and qualities. Raises `InvalidRequest`."""
    task = parsed.generation.media
    if isinstance(task, WorkflowTask):
        _check_workflow(model, task)
    if not isinstance(task, ImageTask):
        return parsed
    return replace(parsed, generation=replace(parsed.generation, media=fitted_image(model, task)))


def _check_workflow(model: ModelDefinition, task: WorkflowTask) -> None:
    limits = WorkflowLimits.of(BACKENDS[model.backend].with_defaults(model.options))
    try:
        check_workflow(task.graph, task.inputs, limits)
    except WorkflowRefused as error:
        param = "prompt" if error.node is None else f"prompt.{error.node}"
        raise InvalidRequest(str(error), code="invalid_workflow", param=param) from None


def _without_ignored(model: ModelDefinition, parsed: ParsedRequest) -> ParsedRequest:
    generation = parsed.generation
    if "thinking" in parsed.ignored_fields and generation.thinking not in thinking_modes(model):
        generation = replace(generation, thinking="default")
    if (
        generation.thinking_budget is not None
        and "thinking_budget" in parsed.ignored_fields
        and (generation.thinking != "enabled" or not _honours(model, "thinking_budget"))
    ):
        generation = replace(generation, thinking_budget=None)
    return parsed if generation is parsed.generation else replace(parsed, generation=generation)


def _check_kind(model: ModelDefinition, generation: Generation) -> None:
    """Refuse a kind of request that the model does not answer: vectors, answers, counts of tokens."""
    if generation.media is not None or media_tasks(model):
        _check_media(model, generation)
    elif generation.embedding is not None:
        _check_embedding(model, generation.embedding)
    elif generation.state is not None:
        _check_keeps_states(model)
    elif generation.text_task is not None and not BACKENDS[model.backend].does_text_tasks(model.options):
        raise NotSupported(f"the engine of model {model.name} does not support this route", param="model")
    elif embeds(model):
        raise ApiError(
            f"model {model.name} computes embeddings and does not generate answers: use /v1/embeddings",
            code="generation_unsupported",
            param="model",
        )
    elif reranks(model):
        raise ApiError(
            f"model {model.name} scores documents and does not generate answers: use /v1/rerank",
            code="generation_unsupported",
            param="model",
        )
    elif generation.count_only and not counts_tokens(model):
        raise ApiError(
            f"model {model.name} cannot count the tokens of a prompt: its backend has no tokenizer",
            code="token_count_unsupported",
            param="model",
        )


def _check_media(model: ModelDefinition, generation: Generation) -> None:
    """Refuse a media task that the model does not do, and all else where it does such tasks."""
    kinds = media_tasks(model)
    if generation.media is None:
        routes = " or ".join(dict.fromkeys(MEDIA_ROUTES[kind] for kind in kinds))
        raise ApiError(
            f"model {model.name} does not answer in text: use {routes}",
            code="generation_unsupported",
            param="model",
        )
    if generation.media.kind not in kinds:
        raise ApiError(
            f"model {model.name} does not answer {MEDIA_ROUTES[generation.media.kind]}:"
            " GET /v1/models shows which models do",
            code="wrong_endpoint",
            param="model",
        )


def _check_embedding(model: ModelDefinition, embedding: Embedding) -> None:
    if embedding.query is not None:
        if not reranks(model):
            raise ApiError(
                f"model {model.name} does not score documents: /v1/rerank needs a reranker",
                code="rerank_unsupported",
                param="model",
            )
        return
    if not embeds(model):
        raise ApiError(
            f"model {model.name} does not compute embeddings: /v1/embeddings needs an embedding model",
            code="embeddings_unsupported",
            param="model",
        )
    if embedding.dimensions is not None and not BACKENDS[model.backend].shortens_vectors:
        raise ApiError(
            f"the embeddings of model {model.name} have a fixed length: leave out dimensions",
            code="unsupported_parameter",
            param="dimensions",
        )


def _check_keeps_states(model: ModelDefinition) -> None:
    if not BACKENDS[model.backend].can_keep_states(model.options):
        raise NotSupported(f"model {model.name} keeps no states that can be saved")


def _check_thinking(model: ModelDefinition, parsed: ParsedRequest) -> None:
    if parsed.generation.thinking not in (modes := thinking_modes(model)):
        raise ApiError(
            f"model {model.name} accepts only these values of thinking: {', '.join(modes)}",
            code="thinking_unsupported",
            param=parsed.field_names.get("thinking", "thinking"),
        )


def _check_constrains_output(model: ModelDefinition, parsed: ParsedRequest) -> None:
    if BACKENDS[model.backend].constrains_output:
        return
    given = "output_format" if parsed.generation.output_format is not None else "tools"
    raise ApiError(
        f"model {model.name} cannot be made to follow a JSON Schema",
        code="unsupported_parameter",
        param=parsed.field_names.get(given, given),
    )


def _check_truncates(model: ModelDefinition, parsed: ParsedRequest) -> None:
    if parsed.generation.truncate and not counts_tokens(model):
        raise ApiError(
            f"model {model.name} cannot count the tokens of a conversation, so it cannot truncate it",
            code="unsupported_parameter",
            param=parsed.field_names.get("truncate", "truncate"),
        )


def _check_sampling(model: ModelDefinition, parsed: ParsedRequest) -> None:
    sampling = parsed.generation.sampling
    for name, value, unasked in zip(_NAMES, _values(sampling), _NOTHING_ASKED, strict=True):
        if value != unasked and (name not in _WITHOUT_EFFECT or value != _WITHOUT_EFFECT[name]):
            _check_honours(model, parsed, name)
    if len(sampling.logit_bias) > MAX_LOGIT_BIAS:
        param = parsed.field_names.get("logit_bias", "logit_bias")
        raise InvalidRequest(f"{param} must have at most {MAX_LOGIT_BIAS} entries", param=param)
    most = BACKENDS[model.backend].max_logprobs
    if sampling.top_logprobs is not None and sampling.top_logprobs > most:
        param = parsed.field_names.get("top_logprobs", "top_logprobs")
        raise InvalidRequest(f"{param} must be at most {most} for model {model.name}", param=param)


def _check_lora(model: ModelDefinition, lora: str | None) -> None:
    if lora is None:
        return
    known = loras(model)
    if not known:
        raise ApiError(
            f"model {model.name} has no LoRA adapters: leave out lora",
            code="unsupported_parameter",
            param="lora",
        )
    if lora not in known:
        raise ApiError(
            f"model {model.name} has no LoRA adapter with this name, only {', '.join(known)}",
            code="unknown_lora",
            param="lora",
        )


def _check_continues(parsed: ParsedRequest) -> None:
    """Refuse what the continuation of a begun answer cannot have."""
    generation = parsed.generation
    if not generation.continue_last:
        return
    names = parsed.field_names
    refused = {
        names.get("thinking", "thinking"): generation.thinking == "enabled",
        names.get("output_format", "response_format"): generation.output_format is not None,
        "grammar": generation.answer_grammar is not None,
        "tool_choice": bool(generation.tools) and generation.tool_choice not in ("auto", "none"),
    }
    for param, given in refused.items():
        if given:
            raise InvalidRequest(
                f"{param} is not supported when the answer continues the assistant's last message",
                code="unsupported_parameter",
                param=param,
            )


def _check_scores_prompt(model: ModelDefinition, parsed: ParsedRequest) -> None:
    if parsed.generation.scores_prompt and not BACKENDS[model.backend].scores_prompts:
        raise ApiError(
            f"model {model.name} does not provide log probabilities of prompts: leave out echo or logprobs",
            code="unsupported_parameter",
            param="echo",
        )


def _check_given(model: ModelDefinition, parsed: ParsedRequest) -> None:
    for name in _GIVEN_NAMES:
        if getattr(parsed.generation, name) not in (None, ()):
            _check_honours(model, parsed, name)


def _check_honours(model: ModelDefinition, parsed: ParsedRequest, name: str) -> None:
    if not _honours(model, name):
        param = parsed.field_names.get(name, name)
        if name == "llama":
            param = next(iter(parsed.generation.sampling.llama or {}), name)
        if name == "prompt_tokens":
            raise ApiError(
                f"model {model.name} takes no tokens as a prompt: send a text",
                code="unsupported_input",
                param=param,
            )
        raise ApiError(
            f"model {model.name} does not support {param}", code="unsupported_parameter", param=param
        )


def _honours(model: ModelDefinition, name: str) -> bool:
    return BACKENDS[model.backend].honours(name, model.options)


def _check_single_turn(model: ModelDefinition, parsed: ParsedRequest) -> None:
    generation = parsed.generation
    if parsed.echo.get("instructions"):
        _refuse_multi_turn(model, "instructions")
    if len(generation.messages) != 1 or generation.messages[0].role != "user":
        _refuse_multi_turn(model, parsed.conversation_param)
    if generation.tools:
        _refuse_multi_turn(model, "tools")
    if _is_translation_form(model) and generation.target_lang_code is None:
        raise InvalidRequest(
            f"model {model.name} translates: name the language to translate into", param="target_lang_code"
        )


def _refuse_multi_turn(model: ModelDefinition, param: str) -> NoReturn:
    raise ApiError(
        f"model {model.name} accepts one user message: no system message, no earlier turns and no tools",
        code="multi_turn_unsupported",
        param=param,
    )


def _is_translation_form(model: ModelDefinition) -> bool:
    """Whether its prompt is a form with one text (TranslateGemma) instead of a conversation."""
    return model.prompt_format == TRANSLATE_GEMMA
