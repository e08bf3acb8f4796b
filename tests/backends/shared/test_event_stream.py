"""Server-sent events that arrive in pieces."""

from __future__ import annotations

import pytest

from backends.base import GenerationError
from backends.shared import event_stream
from backends.shared.event_stream import EventStream


def test_events_are_complete_wherever_the_body_is_cut() -> None:
    first = ': ping\n\ndata: {"a":"ü🔥"}\n\n'.encode()
    body = first + b'event: x\ndata:{"b":2}\r\n\r\nerror: {"c":3}\n\ndata: [DONE]\n\n'
    expected = ['{"a":"ü🔥"}'.encode(), b'{"b":2}', b'{"c":3}', b"[DONE]"]
    for size in range(1, len(body) + 1):
        events = EventStream()
        assert [
            data for i in range(0, len(body), size) for data in events.feed(body[i : i + size])
        ] == expected


def test_an_event_is_returned_when_its_line_is_complete() -> None:
    events = EventStream()
    assert events.feed(b"data: 1\n\ndata: 2") == [b"1"]
    assert events.feed(b"3\n") == [b"23"]


def test_a_line_over_the_limit_fails_the_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "LONGEST_LINE", 10)
    events = EventStream()
    assert events.feed(b"data: 12345") == []
    with pytest.raises(GenerationError, match="cannot be read"):
        events.feed(b"67")
