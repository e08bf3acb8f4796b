"""Reads JSON bodies. A body has to be UTF-8 and well-formed, bounded in size and depth, and fit its schema.

orjson refuses values that Python's own parser accepts and that would later break an answer half-way: NaN and
infinities, lone surrogates, encodings other than UTF-8 (RFC 8259 requires UTF-8).
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any

import orjson
from flask import Request, current_app

from api.http import ollama_errors
from api.http.content_encoding import decode_body
from api.http.errors import ApiError, InvalidRequest
from api.http.strict_schema import SchemaMismatch, StrictSchema

MAX_DEPTH = 64
"""Levels of arrays and objects. orjson reads 1024, but writing, `copy` and JSON Schema validators recurse."""

MAX_VALUES = 100_000
"""Values of a body: items, members, arrays and objects. The parser makes a Python object of each and holds
the interpreter meanwhile, so 8 MiB of `[[],[],...` would stop all other requests for seconds. Long
conversations have some thousands."""

_SLICE_BYTES = 64 * 1024
"""Bytes that are scanned at a time: other threads get the interpreter in between."""

_CONTAINERS = frozenset({dict, list})

BODY = "stoker.body"
"""The key of the environ with the whole body, which the server has: no copies are made of a large one."""

FORM_DIGEST = "stoker.form_digest"
"""The key of the environ with the SHA-256 of a form whose files are on the disk (`api.files.form`)."""

CONTENT_ENCODING = "HTTP_CONTENT_ENCODING"
"""The key of the environ with the encodings of a body that is not decoded yet."""


def read_body(
    request: Request, schema: type[StrictSchema], invalid_body: type[ApiError] = InvalidRequest
) -> dict[str, Any]:
    """The request's body, a JSON object that fits the schema.

    Raises `invalid_body` for a value that does not fit, `ApiError` for other faults (unsupported_media_type,
    invalid_json), and werkzeug's own 413 for a body over `MAX_CONTENT_LENGTH`.
    """
    empty = not request.content_length and schema.allows_empty_body()
    body: dict[str, Any] = {} if empty else parse_json(read_bytes(request).removeprefix(BOM_UTF8))
    try:
        schema.check(body)
    except SchemaMismatch as error:
        path = error.path or None
        message = f"{path or 'the body'} {error.message}"
        code = error.code if error.code != "invalid_request" else invalid_body.default_code
        raise invalid_body(message, code=code, param=path) from None
    return body


def read_bytes(request: Request) -> bytes:
    """The body's bytes, decoded, which can be read again for the Idempotency-Key's hash.

    Raises `ApiError` (unsupported_media_type, and those of `decode_body`).
    """
    media_type = request.mimetype
    is_json = media_type == "application/json" or media_type.endswith("+json")
    if not is_json and not _is_of_ollamas_client(request):
        raise ApiError("send the body with Content-Type: application/json", code="unsupported_media_type")
    environ = request.environ
    body: bytes | None = environ.get(BODY)
    if body is None:
        body = request.get_data(cache=True, parse_form_data=False)
    if (encodings := environ.pop(CONTENT_ENCODING, None)) is not None:
        environ[BODY] = body = decode_body(body, encodings, current_app.config["MAX_CONTENT_LENGTH"])
    return body


def identifying_bytes(request: Request) -> bytes:
    """What identifies the content of a request: the body's bytes, or the hash of a form with files."""
    digest: bytes | None = request.environ.get(FORM_DIGEST)
    return read_bytes(request) if digest is None else digest


def _is_of_ollamas_client(request: Request) -> bool:
    """Whether the body is JSON whatever its Content-Type: below /api/ Ollama does not look at the type.

    Its documentation calls curl, which names the type of forms, and LiteLLM sends none. A browser sends some
    types, or none, for a page of another origin without asking, but with one of these fields: such a request
    is refused.
    """
    headers = request.headers
    is_of_browser = "Origin" in headers or "Sec-Fetch-Site" in headers or "Cookie" in headers
    return ollama_errors.is_ollama(request.path) and not is_of_browser


def parse_json(body: bytes) -> Any:
    """The value of a JSON text. Raises `ApiError` (invalid_json)."""
    if len(body) > MAX_VALUES and _has_more_values(body, MAX_VALUES):  # a value has at least one byte
        raise ApiError(f"the body has more than {MAX_VALUES} values", code="invalid_json")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ApiError(f"the body is not valid JSON, at character {error.pos}", code="invalid_json") from None
    is_flat = len(body) <= _SLICE_BYTES and body.count(b"[") + body.count(b"{") <= MAX_DEPTH
    if not is_flat and _is_deeper(value, MAX_DEPTH):
        raise ApiError(f"the body is nested deeper than {MAX_DEPTH} levels", code="invalid_json")
    return value


def _has_more_values(body: bytes, limit: int) -> bool:
    """Whether a text has more than `limit` commas and opening brackets outside its strings.

    First those in strings count too, which is cheap and enough for most bodies. Both scans end at the limit.
    """
    return _has_more(_slices(body), limit) and _has_more(_outside_strings(body), limit)


def _has_more(texts: Iterator[bytes], limit: int) -> bool:
    count = 0
    for text in texts:
        count += text.count(b",") + text.count(b"[") + text.count(b"{")
        if count > limit:
            return True
    return False


def _slices(body: bytes) -> Iterator[bytes]:
    return (body[start : start + _SLICE_BYTES] for start in range(0, len(body), _SLICE_BYTES))


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether a value has more than `levels` levels of arrays and objects."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(levels):
        items = (holder.values() if type(holder) is dict else holder for holder in level)
        level = [item for within in items for item in within if type(item) in _CONTAINERS]
        if not level:
            return False
    return True


def _outside_strings(body: bytes) -> Iterator[bytes]:
    """The parts of a JSON text outside its strings, slice by slice; up to its first fault if invalid."""
    in_string, rest = 0, b""
    for part in _slices(body):
        text = rest + part
        backslashes = len(text) - len(text.rstrip(b"\\"))
        cut = len(text) - backslashes % 2  # an escape stays whole
        text, rest = text[:cut], text[cut:]
        parts = text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        yield b"".join(parts[in_string::2])
        in_string ^= (len(parts) - 1) % 2
