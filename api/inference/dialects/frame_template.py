"""A frame of which only a text, and perhaps a number, differ from one time to the next: encoded once."""

from __future__ import annotations

import secrets

import orjson

from api.http import sse
from api.http.frames import Frame
from api.inference.dialects.base import Framing


class FrameTemplate:
    """Made of a frame with `TEXT` in place of the text, and `NUMBER` in place of a number before it."""

    __slots__ = ("_format",)

    TEXT = secrets.token_hex(16)  # no client can guess them, so they are nowhere else in the frame
    NUMBER = secrets.randbits(60) | 1 << 60

    def __init__(self, frame: Frame, framing: Framing = sse) -> None:
        frame_bytes = framing.encode([frame]).replace(b"%", b"%%")
        self._format = frame_bytes.replace(_TEXT, b"%b", 1).replace(_NUMBER, b"%d", 1)

    def fill(self, text: str) -> bytes:
        """The frame with this text, encoded. For a frame without a number."""
        return self._format % (orjson.dumps(text),)

    def fill_numbered(self, number: int, text: str) -> bytes:
        """The frame with this number and this text, encoded."""
        return self._format % (number, orjson.dumps(text))


_TEXT = orjson.dumps(FrameTemplate.TEXT)
_NUMBER = orjson.dumps(FrameTemplate.NUMBER)
