"""Reading a log, and the encoding of its events."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given, strategies

from api.inference.dialects.output import ResponseOutput
from scheduler.job import Status
from streams import log
from streams.events import (
    TERMINAL_STATUSES,
    End,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    decode,
    decode_all,
    is_end,
)
from tests.streams.conftest import ApiProcess
from tests.support.simulated_platform import SimulatedPlatform

words = strategies.text()
DELTAS = strategies.one_of(
    strategies.builds(TextDelta, words),
    strategies.builds(ReasoningDelta, words),
    strategies.builds(
        ToolCallDelta,
        strategies.integers(0, 99),
        words,
        strategies.none() | words,
        strategies.none() | words,
    ),
)


@given(DELTAS)
def test_a_delta_is_decoded_to_what_was_encoded(delta) -> None:
    assert decode(delta.encode()) == delta
    assert b"\n" not in delta.encode(), "a copy of an event is one line"


def test_an_end_is_decoded_with_all_its_fields() -> None:
    usage = {"input_tokens": 3, "output_tokens": 2, "cached_tokens": 1, "reasoning_tokens": 1}
    raw = {
        "t": "end",
        "status": "incomplete",
        "finish_reason": "length",
        "usage": usage,
        "queue_ms": 5,
        "run_ms": 7,
        "first_ms": 6,
    }
    end = decode(orjson.dumps(raw))
    assert end == End("incomplete", "length", usage=Usage(**usage), queue_ms=5, run_ms=7, first_ms=6)
    assert isinstance(end, End)
    assert end.usage
    assert end.usage.total_tokens == 5


def test_an_unknown_event_type_is_refused() -> None:
    with pytest.raises(ValueError, match="telepathy"):
        decode(b'{"t":"telepathy"}')


def test_the_log_and_the_ledger_have_the_same_terminal_statuses() -> None:
    assert set(TERMINAL_STATUSES) == {str(status) for status in Status if status.is_terminal}


def test_pieces_of_text_are_decoded_together() -> None:
    call, end = ToolCallDelta(0, "{}", "c", "f"), b'{"t":"end","status":"completed"}'
    deltas = [ReasoningDelta("a"), ReasoningDelta("b"), TextDelta("c"), TextDelta("d"), call, TextDelta("e")]
    entries = [*(delta.encode() for delta in deltas), end]
    assert decode_all(entries) == [
        ReasoningDelta("ab"),
        TextDelta("cd"),
        call,
        TextDelta("e"),
        End("completed"),
    ]
    assert decode_all([TextDelta("a").encode()]) == [TextDelta("a")]
    assert decode_all([]) == []
    with pytest.raises(ValueError, match="telepathy"):
        decode_all([b'{"t":"telepathy"}'])


@given(strategies.lists(DELTAS))
def test_decoding_together_gives_the_same_output(deltas) -> None:
    entries = [delta.encode() for delta in deltas]

    def output(events) -> list[object]:
        return [
            (item.kind, item.text, item.name, item.call_id, item.complete)
            for item in ResponseOutput.of(events).items
        ]

    assert output(decode_all(entries)) == output(map(decode, entries))
    assert not any(map(is_end, entries))


def test_the_log_is_read_in_pages_and_ends_with_its_end(
    platform: SimulatedPlatform, process: ApiProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "WHOLE_PAGE", 3)
    prefix = platform.settings.redis.prefix

    def read(id: str) -> list[bytes]:
        return process.run(log.read_log(process.connection, prefix, id))

    claim = platform.run(platform.admit())
    expected = [TextDelta(letter).encode() for letter in "abcdefg"]
    for number, letter in enumerate("abcdefg", 1):
        platform.append_text(claim, number, letter)
        assert read(claim.id) == expected[:number]
    platform.release(claim)
    *events, end = read(claim.id)
    assert events == expected
    assert is_end(end)
    assert isinstance(decode(end), End)
    assert read("resp_unknown") == []
