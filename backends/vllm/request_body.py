"""The body of a request to vLLM, for its library and for its server."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import orjson

from backends.shared.chat_request import chat_body, further_sampling
from backends.vllm.schemas import bounded_schemas, check_compilable
from generation.generation import Generation

NO_SEED = -1  # vLLM takes this seed for no seed
SEED_FOR_NO_SEED = 2**63 - 1


def vllm_body(generation: Generation, prompt_format: str, tool_parser: str | None = None) -> dict[str, Any]:
    """Return the body of a chat completion for vLLM, whether it is used as a library or as a server.

    In addition to `chat_body`, the arguments of a required tool call must match the tool's schema as far as
    `bounded_schemas` keeps it, and the seed -1 is replaced by another one. Every request has a salt for the
    caches of vLLM: its cache namespace, or one that no other request has. Strict tools need a `tool_parser`
    whose calls vLLM's grammar knows. Raises `GenerationError`.
    """
    body = chat_body(generation, prompt_format) | further_sampling(generation.sampling)
    if (alternatives := generation.sampling.top_logprobs) is not None:
        body |= {"logprobs": True, "top_logprobs": alternatives}
    if generation.thinking_budget is not None:
        body["thinking_token_budget"] = generation.thinking_budget
    if generation.continue_last:
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    if generation.scores_prompt:
        body["prompt_logprobs"] = generation.sampling.top_logprobs
    body["cache_salt"] = generation.shared_namespace or secrets.token_hex(16)
    for message in body.get("messages", ()):
        _name_media(message["content"], body["cache_salt"])
    if body.get("seed") == NO_SEED:
        body["seed"] = SEED_FOR_NO_SEED
    check_compilable(body, tool_parser)
    functions = [tool["function"] for tool in body.get("tools", ())]
    required = body.get("tool_choice") == "required"
    for function, schema in zip(functions, bounded_schemas(functions) if required else (), strict=required):
        if not function.get("strict"):
            function |= {"parameters": schema, "strict": True}
    return body


def _name_media(content: str | list[dict[str, Any]], salt: str) -> None:
    """Name each image and recording, under the salt: vLLM also caches them, by their names or else by their
    content.
    """
    for part in content if isinstance(content, list) else ():
        if (kind := part["type"]) != "text":
            named = hashlib.blake2b(orjson.dumps(part[kind]), key=salt.encode(), digest_size=16)
            part["uuid"] = named.hexdigest()
