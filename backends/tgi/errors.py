"""The errors of a managed TGI, as those of this platform; `backends.shared.tgi_server` has their forms."""

from __future__ import annotations

import logging
from typing import Any

import orjson

from backends.base import GenerationError
from backends.shared.tgi_server import error_message, is_invalid, is_overloaded, length_error
from generation.generation import Generation

NO_MEMORY = "out of memory"

log = logging.getLogger(__name__)


def server_error(status: int, body: bytes, _generation: Generation) -> GenerationError:
    """Return the error for a status other than 200."""
    try:
        message = error_message(orjson.loads(body))
    except orjson.JSONDecodeError:
        message = ""  # a body that is not JSON in TGI's form: the router's own refusal, as plain text
    log.info("text-generation-inference answered %d", status)
    return _error(message, is_request=status in (400, 413, 422), is_busy=status == 429)


def stream_error(error: Any) -> GenerationError:
    """Return the error for an error event, whose status is always 422."""
    log.info("text-generation-inference sent an error")
    return _error(error_message(error))


def _error(message: str, *, is_request: bool = False, is_busy: bool = False) -> GenerationError:
    """Return the error for a message, which may quote the request, and for what the status says."""
    if (too_long := length_error(message)) is not None:
        return too_long
    if is_overloaded(message) or is_busy:
        return GenerationError("server_busy", "the engine takes no more requests at present")
    if is_invalid(message) or (is_request and not message.startswith("Request failed")):
        return GenerationError("invalid_prompt", "the engine rejects these messages, tools or sampling")
    if NO_MEMORY in message:
        return GenerationError("engine_error", "the engine has no memory left for this request")
    return GenerationError("engine_error", "the engine failed before its answer was complete")
