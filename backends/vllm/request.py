"""The body of a chat completion as vLLM likes it, over the pipe or over HTTP."""

from __future__ import annotations

from typing import Any

from backends.shared.chat_request import chat_body
from tasks.generation import Generation

NO_SEED, INSTEAD = -1, 2**63 - 1  # what vLLM takes for none


def vllm_body(generation: Generation, prompt_format: str) -> dict[str, Any]:
    """`chat_body`, and: a call that must come keeps to its tool's schema, and a seed is one, also -1.

    Raises `GenerationError`.
    """
    body = chat_body(generation, prompt_format)
    if body.get("seed") == NO_SEED:
        body["seed"] = INSTEAD
    if body.get("tool_choice") == "required":
        for tool in body["tools"]:
            tool["function"]["strict"] = True
    return body
