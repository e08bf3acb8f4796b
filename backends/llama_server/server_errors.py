"""The error of a request that llama-server does not answer with status 200."""

from __future__ import annotations

import logging
import re

import orjson

from backends.base import GenerationError
from backends.shared.engine.infill import UNSUPPORTED_INFILL
from backends.shared.engine.template_refusal import LANGUAGE_FIELDS, template_refusal
from generation.generation import Generation

RAISED_BY_TEMPLATE = re.compile(r"Jinja Exception: ([^\n]+)")
"""The text of `raise_exception` in the server's message."""
NO_MEMORY = "std::bad_alloc"
"""In the server's message, for an allocation that its limit does not allow."""

log = logging.getLogger(__name__)


def server_error(status: int, body: bytes, generation: Generation) -> GenerationError:
    """Return the error for a status other than 200.

    Of a request that the chat template refuses, the message has the reason that the template gives.
    """
    try:
        error = orjson.loads(body)["error"]
        kind, size, limit = error.get("type"), error.get("n_prompt_tokens"), error.get("n_ctx")
        message = str(error.get("message"))  # not for the log: it may quote the request
        log.info("llama-server answered %d %s", status, kind)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        kind, size, limit, message = None, None, None, ""
    if kind == "exceed_context_size_error":
        fit = limit - 1 if isinstance(limit, int) else limit  # one token is needed for the answer
        return GenerationError("context_length_exceeded", f"the prompt has {size} tokens; {fit} fit")
    if NO_MEMORY in message:
        return GenerationError("engine_error", "the engine has no memory left for this request")
    if found := RAISED_BY_TEMPLATE.search(message):
        codes = {name: getattr(generation, name) for name in LANGUAGE_FIELDS}
        part = {name: code for name, code in codes.items() if code is not None}
        return GenerationError(
            "invalid_prompt", template_refusal(found[1], {"messages": [{"content": [part]}]})
        )
    if generation.infill is not None and status == 501:
        return GenerationError("unsupported_parameter", UNSUPPORTED_INFILL)
    if status < 500:
        return GenerationError("invalid_prompt", "the engine cannot make a prompt from these messages")
    return GenerationError("engine_error", "the engine failed before it answered")
