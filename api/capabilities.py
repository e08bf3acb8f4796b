"""What a configured model can be asked to do (Runtime Admin API, `capabilities`), and who asks for more."""

from __future__ import annotations

from typing import NoReturn

from api.dialects.base import ParsedRequest
from api.errors import ApiError, InvalidRequest
from backends.catalogue import BACKENDS
from backends.prompt_formats import TRANSLATE_GEMMA
from config.settings import ModelDefinition
from tasks.generation import THINKING_MODES


def modalities(model: ModelDefinition) -> tuple[str, ...]:
    """What the model reads: text, or text and images."""
    # TranslateGemma's structured form, as it is made here, holds one text
    takes_images = BACKENDS[model.backend].accepts_images(model.options) and not _is_form(model)
    return ("text", "image") if takes_images else ("text",)


def multi_turn(model: ModelDefinition) -> bool:
    """Whether it takes a conversation; if not, it takes one user message and nothing else."""
    return not _is_form(model) and not BACKENDS[model.backend].is_single_turn(model.options)


def thinking_modes(model: ModelDefinition) -> tuple[str, ...]:
    """The values of `thinking` that it takes: all of them where each request can safely be told apart."""
    backend = BACKENDS[model.backend]
    if not backend.allows_thinking_choice(model.prompt_format, model.options):
        return ("default",)
    if backend.has_thinking_disabled(model.options):
        return ("default", "disabled")
    return THINKING_MODES


def remote(model: ModelDefinition) -> bool:
    """Whether it runs on somebody else's machine, so that each request has to allow it."""
    return BACKENDS[model.backend].remote


def check(model: ModelDefinition, parsed: ParsedRequest) -> None:
    """Raise `ApiError` if the request asks for more than the model can do, or may not go where it is.

    Codes: remote_not_allowed, thinking_unsupported, image_unsupported, multi_turn_unsupported,
    invalid_request. Every request comes through here, so the usual one is told by a few comparisons.
    """
    if not parsed.generation.allow_remote and remote(model):
        raise ApiError(
            f"model {model.name} runs on somebody else's machine: say `allow_remote: true` to send it there",
            code="remote_not_allowed",
            param="allow_remote",
        )
    thinking = parsed.generation.thinking
    if thinking != "default" and thinking not in (modes := thinking_modes(model)):
        raise ApiError(
            f"model {model.name} takes only these values of thinking: {', '.join(modes)}",
            code="thinking_unsupported",
            param="thinking",
        )
    if parsed.images and "image" not in (taken := modalities(model)):
        raise ApiError(
            f"model {model.name} takes no images, only {' and '.join(taken)}",
            code="image_unsupported",
            param=parsed.images[0],
        )
    if not multi_turn(model):
        _check_single_turn(model, parsed)


def _check_single_turn(model: ModelDefinition, parsed: ParsedRequest) -> None:
    generation = parsed.generation
    if parsed.echo.get("instructions"):
        _refuse_turns(model, "instructions")
    if len(generation.messages) != 1 or generation.messages[0].role != "user":
        _refuse_turns(model, parsed.conversation)
    if generation.tools:
        _refuse_turns(model, "tools")
    if _is_form(model) and generation.target_lang_code is None:
        raise InvalidRequest(
            f"model {model.name} translates: name the language to translate into", param="target_lang_code"
        )


def _refuse_turns(model: ModelDefinition, param: str) -> NoReturn:
    raise ApiError(
        f"model {model.name} takes one user message: no system message, no earlier turns and no tools",
        code="multi_turn_unsupported",
        param=param,
    )


def _is_form(model: ModelDefinition) -> bool:
    """Whether its prompt is a form with a place for one text, rather than a conversation."""
    return model.prompt_format == TRANSLATE_GEMMA
