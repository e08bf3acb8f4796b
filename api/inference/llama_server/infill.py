"""llama-server's fill-in-the-middle (tools/server/README.md, "POST /infill"), which editors use.

The engine makes the prompt of the parts, and leaves out what does not fit. The answer is that of a native
completion without `prompt`: only the engine knows the special tokens in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.inference.dialects.base import Framing, ParsedRequest
from api.inference.llama_server import completion
from api.inference.llama_server.completion import (
    choice_renderers,
    choices_object,
    echo_of,
    error_body,
    limit_headers,
    response_object,
    stream_renderer,
)
from generation.generation import Infill

__all__ = [
    "FRAMING",
    "HAS_CANCELLED_STATUS",
    "ID_PREFIX",
    "NAME",
    "choice_renderers",
    "choices_object",
    "error_body",
    "limit_headers",
    "parse",
    "response_object",
    "stream_renderer",
]

NAME = "llama_infill"
ID_PREFIX = "infill-"
FRAMING: Framing = completion.FRAMING
HAS_CANCELLED_STATUS = False

UNNAMED = "tmp"
"""llama-server's name of a file that has none."""


def parse(body: dict[str, Any]) -> ParsedRequest:
    """Parse a body that fits `InfillRequest`. Raises `InvalidRequest`."""
    extra = tuple(map(_file, body.get("input_extra") or ()))
    return completion.parsed_request(
        body,
        echo_of(body),
        prompt=body["input_prefix"],
        suffix=body["input_suffix"],
        infill=Infill(extra, body.get("prompt") or ""),
    )


def _file(given: Mapping[str, Any]) -> tuple[str, str]:
    name = given.get("filename")
    return UNNAMED if name is None else name, given.get("text") or ""
