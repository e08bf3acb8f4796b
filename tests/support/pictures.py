"""Images for tests."""

from __future__ import annotations

import base64
import random
import struct
import zlib


def png(width: int, height: int, *, noisy: bool = False, rows: bytes | None = None) -> bytes:
    """A PNG of one colour, or of noise that no compression makes small (PNG specification, 5 and 11).

    `rows`: other content than its size says, for a file that lies.
    """
    noise = random.Random(0)
    row = 3 * width
    if rows is None:
        rows = b"".join(b"\0" + (noise.randbytes(row) if noisy else b"\x80" * row) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def data_url(data: bytes, kind: str = "png") -> str:
    """The data URL of an image, as clients send it."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


DOT = data_url(png(1, 1))
