"""Decodes bodies that came with a Content-Encoding (RFC 9110, 8.4): gzip, deflate, zstd and br.

zstd and br need the packages `backports.zstd` and `brotli` (the extra `encodings`); without them such a body
is refused as one of an unknown encoding. Decoding stops at the largest size of a body, so that a small body
cannot become a large one. It takes some milliseconds: a body that names an encoding is decoded in a thread.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from api.http.errors import ApiError

MAX_ENCODINGS = 3
"""The most encodings of one body, each of which is decoded up to the bound."""

MAX_MEMBERS = 16
"""The most members of a gzip file (RFC 1952, 2.2), or frames of zstd: each needs a decoder of its own."""

ZSTD_WINDOW_LOG = 23
"""The largest window of zstd, as for HTTP (RFC 9659): a decoder allocates it, whatever the body's size."""

Decode = Callable[[bytes, int], bytes]
"""Returns at most so many bytes of the decoded body. Raises `ValueError` for a body that is not complete."""


def decode_body(body: bytes, encodings: str, max_bytes: int) -> bytes:
    """The body without the `encodings` of its header field, which are undone from the last to the first.

    Raises `ApiError`: unsupported_media_type, request_too_large, invalid_request.
    """
    names = _names(encodings)
    if len(names) > MAX_ENCODINGS:
        raise ApiError(
            f"Content-Encoding names more than {MAX_ENCODINGS} encodings", code="unsupported_media_type"
        )
    known = decoders()
    for name in names:
        if name not in known:
            raise ApiError(
                f"Content-Encoding {name[:32]!r} is not supported, only {', '.join(known)} and identity",
                code="unsupported_media_type",
            )
    for name in reversed(names):
        try:
            body = known[name](body, max_bytes + 1)
        except ValueError:
            raise ApiError(f"the body is not valid {name}, as its Content-Encoding says") from None
        if len(body) > max_bytes:
            raise ApiError(f"the decoded body is larger than {max_bytes} bytes", code="request_too_large")
    return body


def reject_encoding(encodings: str | None) -> None:
    """Raise `ApiError` (unsupported_media_type) for an encoding of a body that is never decoded: a file's."""
    if encodings is not None and _names(encodings):
        raise ApiError(
            "Content-Encoding is not supported for files: send the form as it is",
            code="unsupported_media_type",
        )


def _names(encodings: str) -> list[str]:
    return [name for part in encodings.split(",") if (name := part.strip().lower()) not in ("", "identity")]


@cache
def decoders() -> Mapping[str, Decode]:
    """The decoders by the names of their encodings, those whose library is installed."""
    found: dict[str, Decode] = {"gzip": _gunzip, "x-gzip": _gunzip, "deflate": _inflate}
    for name in ("compression.zstd", "backports.zstd"):
        try:
            zstd = importlib.import_module(name)
        except ImportError:
            continue
        found["zstd"] = _zstd_decoder(zstd)
        break
    try:
        brotli = importlib.import_module("brotli")
    except ImportError:
        return found
    if hasattr(brotli.Decompressor, "can_accept_more_data"):  # 1.2: earlier ones cannot stop at a size
        found["br"] = _brotli_decoder(brotli)
    return found


def _gunzip(body: bytes, limit: int) -> bytes:
    return _members(lambda: zlib.decompressobj(zlib.MAX_WBITS | 16), zlib.error, body, limit)


def _inflate(body: bytes, limit: int) -> bytes:
    """Undo `deflate`: the format of zlib, which some clients leave out (RFC 9110, 8.4.1.2)."""
    has_header = body[:1] != b"" and body[0] & 15 == zlib.DEFLATED and int.from_bytes(body[:2]) % 31 == 0
    bits = zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
    return _members(lambda: zlib.decompressobj(bits), zlib.error, body, limit)


def _zstd_decoder(zstd: Any) -> Decode:
    options = {zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG}

    def decode(body: bytes, limit: int) -> bytes:
        return _members(lambda: zstd.ZstdDecompressor(options=options), zstd.ZstdError, body, limit)

    return decode


def _members(make_decoder: Callable[[], Any], error: type[Exception], body: bytes, limit: int) -> bytes:
    """The contents of all members together, at most `limit` bytes. Raises `ValueError`."""
    parts: list[bytes] = []
    room = limit
    for _ in range(MAX_MEMBERS):
        decoder = make_decoder()
        try:
            part = decoder.decompress(body, room)
        except error as fault:
            raise ValueError("the data is corrupt") from fault
        parts.append(part)
        room -= len(part)
        if room <= 0:
            break
        if not decoder.eof:
            raise ValueError("the data is cut off")
        body = decoder.unused_data
        if not body:
            break
    else:
        raise ValueError("there are too many members")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _brotli_decoder(brotli: Any) -> Decode:
    def decode(body: bytes, limit: int) -> bytes:
        decoder = brotli.Decompressor()
        parts: list[bytes] = []
        room, given = limit, body
        try:
            while room > 0 and not decoder.is_finished():
                part = decoder.process(given, output_buffer_limit=room)
                if not part and not decoder.is_finished():
                    raise ValueError("the data is cut off")
                parts.append(part)
                room -= len(part)
                given = b""
        except brotli.error as fault:
            raise ValueError("the data is corrupt") from fault
        return b"".join(parts)

    return decode
