"""The vectors of a response, for the dialects that answer with them."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from streams.events import End, Event, VectorDelta


def vectors_of(events: Iterable[Event]) -> tuple[list[tuple[int, bytes]], End | None]:
    """Return the vectors with the numbers of their inputs, in this order, and the end."""
    vectors, end = [], None
    for event in events:
        if isinstance(event, VectorDelta):
            vectors.append((event.index, event.data))
        elif isinstance(event, End):
            end = event
    return sorted(vectors), end


def numbers_of(data: bytes) -> list[float]:
    """The numbers of a vector (float32, little-endian)."""
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def input_tokens(end: End | None) -> int:
    """The tokens of the inputs."""
    return 0 if end is None or end.usage is None else end.usage.input_tokens
