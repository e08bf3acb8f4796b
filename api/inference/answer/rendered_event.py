"""The bytes of one event of a stream."""

from __future__ import annotations

from api.inference.dialects.base import Framing, StreamRenderer
from streams.events import decode, text_of


def render_event(renderer: StreamRenderer, framing: Framing, event: bytes) -> bytes:
    """The encoded frames of an encoded event."""
    if (text := text_of(event)) and (frames := renderer.render_text(text)):
        return frames
    return framing.encode(renderer.render(decode(event)))
