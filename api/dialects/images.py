"""The images of a request: data URLs, checked before any engine decodes them.

Nothing is fetched. Only the base64 is decoded and the few bytes that hold the format and the size (PNG
11.2.1, GIF89a 18, JPEG B.2.2, RFC 9649 for WebP). The limits protect the engines: a small file can decode to
gigabytes of pixels, in a process that serves many requests.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from struct import error, unpack_from
from typing import Any

from api.errors import InvalidRequest
from tasks.generation import ImagePart

MAX_IMAGES = 32
MAX_PIXELS = 64_000_000
"""The limit for all images of a request together; a decoded pixel takes three bytes or more."""

_PREFIX = re.compile(r"data:image/(?:png|jpe?g|webp|gif);base64,")
_MAX_SEGMENTS = 2000
"""The most segments of a JPEG that may come before its size. Cameras write a few dozen."""

_JPEG_SIZE = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of the segments that hold a JPEG's size: all frames, without the tables numbered among them."""

_JPEG_SKIPPED = frozenset({0xC4, 0xCC, 0xDB, 0xDD, 0xFE, *range(0xE0, 0xF0)})
"""Markers of the segments that may come before the size: tables, comments, application data."""


class Images:
    """The images of one request, counted as they are read; `params` are their paths in the body."""

    __slots__ = ("_pixels", "params")

    def __init__(self) -> None:
        self.params: list[str] = []
        self._pixels = 0

    def add(self, part: dict[str, Any], param: str) -> ImagePart:
        """Read an image part; `param` is its path (`input[0].content[1]`). Raises `InvalidRequest`."""
        url, url_param = part.get("image_url"), f"{param}.image_url"
        if part.get("file_id") is not None:
            raise _unsupported("file_id is not supported: send the image as a data: URL", f"{param}.file_id")
        detail = part.get("detail")
        if isinstance(url, dict):  # the form of Chat Completions
            url, detail, url_param = url["url"], url.get("detail"), f"{url_param}.url"
        if url is None:
            raise InvalidRequest("image_url is required", param=url_param)
        self._count(_bytes_of(url, url_param), param, url_param)
        return ImagePart(url, detail)

    def _count(self, data: bytes, param: str, url_param: str) -> None:
        size = size_of(data)
        if size is None or 0 in size:
            raise InvalidRequest("the image is no PNG, JPEG, WebP or GIF file", param=url_param)
        self.params.append(param)
        self._pixels += size[0] * size[1]
        if len(self.params) > MAX_IMAGES:
            raise _unsupported(f"a request may hold {MAX_IMAGES} images", param)
        if self._pixels > MAX_PIXELS:
            millions = MAX_PIXELS // 1_000_000
            raise _unsupported(f"the images of a request may have {millions} million pixels together", param)


def _unsupported(message: str, param: str) -> InvalidRequest:
    return InvalidRequest(message, code="unsupported_input", param=param)


def _bytes_of(url: str, param: str) -> bytes:
    prefix = _PREFIX.match(url)
    if prefix is None:
        raise _unsupported(
            "an image has to be a data: URL (data:image/png;base64,..., or jpeg, webp, gif):"
            " images are not fetched from other URLs",
            param,
        )
    try:
        return a2b_base64(url[prefix.end() :], strict_mode=True)
    except (Error, ValueError):  # ValueError: characters beyond ASCII
        raise InvalidRequest("the image's base64 is broken", param=param) from None


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height that an image file declares; None for an unknown format or a truncated header."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return _pair(">II", data, 16)
        if data.startswith((b"GIF87a", b"GIF89a")):
            return _pair("<HH", data, 6)
        if data.startswith(b"\xff\xd8\xff"):
            return _size_of_jpeg(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _size_of_webp(data)
    except error:  # the header is truncated
        pass
    return None


def _pair(form: str, data: bytes, at: int) -> tuple[int, int]:
    first, second = unpack_from(form, data, at)
    return first, second


def _size_of_jpeg(data: bytes) -> tuple[int, int] | None:
    """The size of a JPEG; None after an unknown segment, since decoders could skip it differently."""
    at = 2
    for _ in range(_MAX_SEGMENTS):
        fill, marker, length = unpack_from(">BBH", data, at)
        if fill != 0xFF:
            break
        if marker in _JPEG_SIZE:
            height, width = _pair(">HH", data, at + 5)
            return width, height
        if marker not in _JPEG_SKIPPED:
            break
        at += 2 + length
    return None


def _size_of_webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        low, high = int.from_bytes(data[24:27], "little"), int.from_bytes(data[27:30], "little")
        return 1 + low, 1 + high
    if kind == b"VP8L":
        (bits,) = unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = _pair("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None
