"""Server-sent events of an answer that arrives in pieces, and the JSON in them."""

from __future__ import annotations

import re
from typing import Any

import orjson

from backends.base import GenerationError

HIGH, LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
SURROGATES = re.compile(rb"(%b%b)|%b|%b" % (HIGH, LOW, HIGH, LOW))
"""JSON escapes of a surrogate pair, or of one surrogate alone."""

LONGEST_LINE = 16 * 1024 * 1024  # bytes


class EventStream:
    """Splits a body that arrives in pieces into the data of its server-sent events.

    These servers put a whole event on one `data:` line (old llama-servers: an error on an `error:` line);
    names, ids and comments are ignored.
    """

    def __init__(self) -> None:
        self._incomplete: list[bytes] = []
        self._size = 0

    @property
    def is_amid_line(self) -> bool:
        """Whether the next piece continues a line."""
        return bool(self._incomplete)

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events that end in this piece.

        Raises `GenerationError` for a line over `LONGEST_LINE`.
        """
        if self._incomplete:
            self._incomplete.append(piece)
            self._size += len(piece)
            if b"\n" in piece:
                piece = b"".join(self._incomplete)
                self._incomplete.clear()
            elif self._size > LONGEST_LINE:
                raise malformed_event()
            else:
                return []
        *lines, rest = piece.split(b"\n")
        if rest:
            self._incomplete.append(rest)
            self._size = len(rest)
        return [
            line[line.index(b":") + 1 :].strip()
            for line in lines
            if line and line.startswith((b"data:", b"error:"))
        ]


def parse_json(data: bytes) -> Any:
    """Return the JSON of an event. Raises `ValueError` for malformed JSON.

    A surrogate without its pair becomes U+FFFD: proxies that cut text by UTF-16 units send such halves.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return orjson.loads(SURROGATES.sub(lambda found: found[1] or rb"\ufffd", data))


def malformed_event() -> GenerationError:
    """Return the error for an event that is not in the expected form."""
    return GenerationError("engine_error", "the engine sent an event that cannot be read")
