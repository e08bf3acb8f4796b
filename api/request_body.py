"""How a JSON body comes in: bounded, UTF-8, well-formed, not too deep, of its shape. Whatever is not, is a
400.

orjson refuses what Python's own parser lets through and what later breaks an answer half-way: NaN and
infinities, lone surrogates, other encodings (RFC 8259 wants UTF-8).
"""

from __future__ import annotations

import re
from typing import Any

import orjson
from flask import Request

from api.errors import ApiError, InvalidRequest
from api.schemas.strict_schema import Mismatch, Shape

DEEPEST = 64
"""Levels of arrays and objects. orjson reads 1024, but writing, copying and a JSON Schema's readers recurse.
"""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
"""Unrolled: an image is a string of megabytes, which a choice at each character takes seconds to pass."""

_NOT_BRACKET = bytes(set(range(256)) - set(b"[]{}"))


def read_body(
    request: Request, shape: type[Shape], mistaken: type[ApiError] = InvalidRequest
) -> dict[str, Any]:
    """The request's body, a JSON object of that shape. `mistaken` is raised when it is of another.

    Raises `ApiError`: unsupported_media_type (415), invalid_json (400); and werkzeug's own 413 for a body
    over `MAX_CONTENT_LENGTH`.
    """
    empty = not request.content_length and shape.may_be_empty()
    body: dict[str, Any] = {} if empty else parse_json(read_bytes(request))
    try:
        shape.check(body)
    except Mismatch as error:
        path = error.path or None
        message = f"{path or 'the body'} {error.message}"
        code = error.code if error.code != "invalid_request" else mistaken.default_code
        raise mistaken(message, code=code, param=path) from None
    return body


def read_bytes(request: Request) -> bytes:
    """The body as it came. It is kept, so that it can be read again for its hash."""
    media_type = request.mimetype
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise ApiError("send the body with Content-Type: application/json", code="unsupported_media_type")
    return request.get_data(cache=True, parse_form_data=False)


def parse_json(body: bytes) -> Any:
    """The value of a JSON text. Raises `ApiError` (invalid_json)."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ApiError(f"the body is not JSON, at character {error.pos}", code="invalid_json") from None
    if body.count(b"[") + body.count(b"{") > DEEPEST and _is_deeper(body, DEEPEST):
        raise ApiError(f"the body is nested deeper than {DEEPEST} levels", code="invalid_json")
    return value


def _is_deeper(body: bytes, levels: int) -> bool:
    """Whether a valid JSON text nests deeper: strings go, then innermost pairs, one level at a time.

    Each round is a pass of C code over what is left, and there are no more rounds than levels.
    """
    brackets = _STRING.sub(b"", body).translate(None, _NOT_BRACKET)
    for _ in range(levels):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return bool(brackets)
