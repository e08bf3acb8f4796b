"""Reading a log, and the encoding of its events."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given, strategies

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
)
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
    }
    end = decode(orjson.dumps(raw))
    assert end == End("incomplete", "length", usage=Usage(**usage), queue_ms=5, run_ms=7)
    assert isinstance(end, End)
    assert end.usage
    assert end.usage.total_tokens == 5


def test_an_unknown_event_type_is_refused() -> None:
    with pytest.raises(ValueError, match="telepathy"):
        decode(b'{"t":"telepathy"}')


def test_the_log_and_the_ledger_have_the_same_terminal_statuses() -> None:
    assert set(TERMINAL_STATUSES) == {str(status) for status in Status if status.is_terminal}


def test_a_long_log_is_read_page_by_page(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "PAGE", 3)
    claim = platform.run(platform.admit())
    platform.append_text(claim, 1, *"abcdefg")
    prefix = platform.settings.redis.prefix
    everything = [(number, TextDelta(letter)) for number, letter in enumerate("abcdefg", 1)]
    for after in range(8):
        assert list(log.read(platform.client, prefix, claim.id, after)) == everything[after:]


def test_the_log_of_an_ended_response_ends_with_its_end(platform: SimulatedPlatform) -> None:
    claim = platform.run(platform.admit())
    platform.append_text(claim, 1, "a")
    prefix = platform.settings.redis.prefix
    assert list(log.read(platform.client, prefix, claim.id)) == [(1, TextDelta("a"))]
    platform.release(claim)
    (_, first), (_, last) = log.read(platform.client, prefix, claim.id)
    assert first == TextDelta("a")
    assert isinstance(last, End)
    assert list(log.read(platform.client, prefix, "resp_unknown")) == []
