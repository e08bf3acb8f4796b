"""The body of a request to a managed TGI."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from backends.base import GenerationError
from backends.shared.chat_request import chat_body
from backends.shared.template_probes import UNKNOWN_ROLES, RolesByTools, fit_messages
from backends.shared.tgi_body import fit_body
from backends.tgi.arguments import BASE_MODEL, MAX_STOPS
from generation.generation import Generation


def tgi_body(
    generation: Generation,
    prompt_format: str,
    loras: Collection[str] = (),
    roles: RolesByTools = UNKNOWN_ROLES,
) -> dict[str, Any]:
    """Return the body of a chat completion, or of a completion for a prompt. Raises `GenerationError`.

    `loras` are the names of the model's LoRA adapters, `roles` what its chat template accepts. What the API
    refuses is checked again: it may know another definition of the model.
    """
    if generation.lora is not None and generation.lora not in loras:
        raise GenerationError("unsupported_parameter", "the engine has no LoRA adapter with this name")
    if generation.output_format is not None or any(tool.strict for tool in generation.tools):
        raise GenerationError("unsupported_parameter", "the engine cannot make an answer fit a JSON Schema")
    if any(message.images or message.recordings for message in generation.messages):
        raise GenerationError("invalid_prompt", "the engine reads texts only")
    body = chat_body(generation, prompt_format)
    body["model"] = generation.lora or BASE_MODEL
    fit_messages(body, roles)
    return fit_body(body, MAX_STOPS)
