"""Renders the stream of a whole response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from api.inference.dialects.base import Frame, StreamRenderer
from streams.events import Event


def render_stream(renderer: StreamRenderer, events: Iterable[Event]) -> Iterator[Frame]:
    """Yield all frames of a response."""
    yield from renderer.begin()
    for event in events:
        yield from renderer.render(event)
