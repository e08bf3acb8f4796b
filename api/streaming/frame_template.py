"""A frame of which only a text, and perhaps a number, differ from one time to the next: encoded once."""

from __future__ import annotations

import secrets

import orjson

from api.dialects.base import Frame, Framing
from api.streaming import sse


class FrameTemplate:
    """Made of a frame with `TEXT` in place of the text, and `NUMBER` in place of a number before it."""

    __slots__ = ("_before", "_between", "_end")

    TEXT = secrets.token_hex(16)  # no client can guess them, so they are nowhere else in the frame
    NUMBER = secrets.randbits(60) | 1 << 60

    def __init__(self, frame: Frame, framing: Framing = sse) -> None:
        start, _, self._end = framing.encode([frame]).partition(orjson.dumps(self.TEXT))
        self._before, _, self._between = start.partition(b"%d" % self.NUMBER)

    def fill(self, text: str) -> bytes:
        """The frame with this text, encoded. For a frame without a number."""
        return b"%b%b%b" % (self._before, orjson.dumps(text), self._end)

    def fill_numbered(self, number: int, text: str) -> bytes:
        """The frame with this number and this text, encoded."""
        return b"%b%d%b%b%b" % (self._before, number, self._between, orjson.dumps(text), self._end)
