"""The size that a decoder needs for an image file, from its container: nothing is decoded.

A container can state sizes at several places, and decoders believe different ones: the frames of a GIF may
exceed its screen, and the last header of a PNG or JPEG counts for some. So all places before the pixels are
read, and a file in which they contradict each other is no image. (GIF89a 18 and 20, PNG 5 and 11, JPEG B.1
and B.2.2, RFC 9649 for WebP.)
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import error, unpack_from

MAX_BLOCKS = 100_000
"""The most blocks that are read of all files of a request: 8 MiB with blocks of usual size have fewer."""

MAX_SCANS = 200
"""The most scans of a JPEG, with those of its previews: a decoder goes over all pixels in each of them, and a
scan takes 100 bytes. Encoders write up to 12."""

_JPEG_SIZE = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of the segments that hold a JPEG's size: all frames, without the tables numbered among them."""

_JPEG_SKIPPED = frozenset({0xC4, 0xCC, 0xDB, 0xDD, 0xFE, *range(0xE0, 0xF0)})
"""Markers of the segments that may come before the pixels: tables, comments, application data."""

_MAX_SEGMENTS = 2000
"""The most segments of a JPEG before its pixels. Cameras write a few dozen."""

_JPEG_SCAN = 0xDA
_GIF_EXTENSION, _GIF_FRAME, _GIF_END = 0x21, 0x2C, 0x3B

Size = tuple[int, int]
"""Width and height in pixels."""


def blocks_of_request() -> Iterator[int]:
    """The blocks that may be read of the images of one request, for `size_of`."""
    return iter(range(MAX_BLOCKS))


def size_of(data: bytes, blocks: Iterator[int]) -> Size | None:
    """The size of an image; None for an unknown format, a truncated header or contradictory ones, too many
    scans, or no blocks left.
    """
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return _size_of_png(data, blocks)
        if data.startswith((b"GIF87a", b"GIF89a")):
            return _size_of_gif(data, blocks)
        if data.startswith(b"\xff\xd8\xff"):
            return _size_of_jpeg(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _size_of_webp(data, blocks)
    except error:  # the header is truncated
        pass
    return None


def _pair(form: str, data: bytes, at: int) -> Size:
    first, second = unpack_from(form, data, at)
    return first, second


def _enclosing(first: Size, second: Size) -> Size:
    return max(first[0], second[0]), max(first[1], second[1])


def _size_of_png(data: bytes, blocks: Iterator[int]) -> Size | None:
    """The size in the only header; None when another one comes before the pixels."""
    size = _pair(">II", data, 16)
    at = 8 + 12 + unpack_from(">I", data, 8)[0]
    for _ in blocks:
        length, kind = unpack_from(">I4s", data, at)
        if kind == b"IDAT":
            return size
        if kind == b"IHDR":
            break
        at += 12 + length
    return None


def _size_of_gif(data: bytes, blocks: Iterator[int]) -> Size | None:
    """The size of the screen, enlarged to hold all frames; None without a frame."""
    screen, flags = _pair("<HH", data, 6), data[10] if len(data) > 10 else 0
    at = 13 + _color_table(flags)
    size, frames = screen, 0
    for _ in blocks:
        if at >= len(data) or data[at] == _GIF_END:
            return size if frames else None
        if data[at] == _GIF_FRAME:
            x, y, width, height, flags = unpack_from("<HHHHB", data, at + 1)
            size = _enclosing(size, (x + width, y + height))
            frames += 1
            at += 11 + _color_table(flags)
        elif data[at] == _GIF_EXTENSION:
            at += 2
        else:  # decoders differ in what they skip
            return None
        while at < len(data) and data[at] and next(blocks, None) is not None:
            at += 1 + data[at]
        at += 1
    return None


def _color_table(flags: int) -> int:
    """The bytes of a colour table, by the flags of the screen or frame that it follows."""
    return 3 << (1 + (flags & 7)) if flags & 0x80 else 0


def _size_of_jpeg(data: bytes) -> Size | None:
    """The size in the only frame header before the first scan; None after an unknown segment."""
    if data.count(bytes((0xFF, _JPEG_SCAN))) > MAX_SCANS:
        return None
    at, size = 2, None
    for _ in range(_MAX_SEGMENTS):
        fill, marker, length = unpack_from(">BBH", data, at)
        if fill != 0xFF or length < 2:
            break
        if marker == _JPEG_SCAN:
            return size
        if marker in _JPEG_SIZE and size is None:
            height, width = _pair(">HH", data, at + 5)
            size = width, height
        elif marker not in _JPEG_SKIPPED:
            break
        at += 2 + length
    return None


def _size_of_webp(data: bytes, blocks: Iterator[int]) -> Size | None:
    """The size of the canvas, enlarged to hold the frames and images in it; None without an image."""
    size, images, at = (0, 0), 0, 12
    for _ in blocks:
        if at + 8 > len(data):
            return size if images else None
        kind, length = data[at : at + 4], unpack_from("<I", data, at + 4)[0]
        found = _size_in_webp(data, at, kind)
        if found is not None:
            size = _enclosing(size, found)
            images += 1
        at += 8 + length + length % 2
    return None


def _size_in_webp(data: bytes, at: int, kind: bytes) -> Size | None:
    """The size in one chunk; None for a chunk without one."""
    if kind == b"VP8X":
        return 1 + _three_bytes(data, at + 12), 1 + _three_bytes(data, at + 15)
    if kind == b"ANMF":
        x, y, width, height = (_three_bytes(data, at + 8 + 3 * place) for place in range(4))
        return 2 * x + 1 + width, 2 * y + 1 + height
    if kind == b"VP8L":
        (bits,) = unpack_from("<I", data, at + 9)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = _pair("<HH", data, at + 14)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _three_bytes(data: bytes, at: int) -> int:
    low, high = _pair("<HB", data, at)
    return low | high << 16
