"""Newline-delimited JSON: one object per line, and no other line, since a client cannot skip one.

Therefore a stream has no comments and no mark of its end (Ollama API reference, "Streaming"). A keep-alive is
a space, with which the next line begins: JSON may begin with white space (RFC 8259, 2).
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
KEEP_ALIVE = b" "
DONE = b""


def comment(text: str) -> bytes:  # noqa: ARG001 - see `Framing`
    """No bytes: the format has no comments."""
    return b""


def encode(frames: Iterable[Frame]) -> bytes:
    """The frames' objects, without their names. JSON holds no raw line break."""
    return b"".join(orjson.dumps(data) + b"\n" for _, data in frames)
