"""Newline-delimited JSON: one object per line, and nothing else, since a client cannot skip a line.

Therefore a stream has no keep-alives, no comments and no mark of its end (Ollama API reference, "Streaming").
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from api.http.frames import Frame

HEADERS = {
    "Content-Type": "application/x-ndjson",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # nginx would buffer the stream
}
KEEP_ALIVE = b""
DONE = b""


def comment(text: str) -> bytes:  # noqa: ARG001 - see `Framing`
    """No bytes: the format has no comments."""
    return b""


def encode(frames: Iterable[Frame]) -> bytes:
    """The frames' objects, without their names. JSON holds no raw line break."""
    return b"".join(orjson.dumps(data) + b"\n" for _, data in frames)
