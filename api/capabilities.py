"""What a configured model can be asked to do, beyond text in and text out."""

from __future__ import annotations

from api.dialects.base import ParsedRequest
from api.errors import ApiError
from config.settings import ModelDefinition
from tasks.wire import THINKING_MODES

_STEERABLE = ("stub", "llama_server")
"""Backends that can be told per request whether to think (llama-server: `enable_thinking` of the template).
"""


def thinking_modes(model: ModelDefinition) -> tuple[str, ...]:
    """The values of `thinking` that the model takes (Runtime Admin API, `capabilities.thinking_modes`)."""
    if model.backend not in _STEERABLE:
        return ("default",)
    if model.options.get("llama_server_reasoning") == "off":
        return ("default", "disabled")
    return THINKING_MODES


def check_thinking(model: ModelDefinition, parsed: ParsedRequest) -> None:
    """Raise `ApiError` (thinking_unsupported) if the model cannot be told so."""
    if parsed.generation.thinking == "default":
        return
    modes = thinking_modes(model)
    if parsed.generation.thinking not in modes:
        raise ApiError(
            f"model {model.name} takes only these values of thinking: {', '.join(modes)}",
            code="thinking_unsupported",
            param="thinking",
        )
