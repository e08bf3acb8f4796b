"""Reading a log, and the form of what is in it."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given, strategies

from scheduler.job import Status
from streams import log
from streams.errors import StreamLost
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
def test_a_delta_comes_back_as_it_went(delta) -> None:
    assert decode(delta.encode()) == delta
    assert b"\n" not in delta.encode(), "a copy is one line"


def test_an_end_is_read_with_all_that_it_says() -> None:
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


def test_a_form_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="telepathy"):
        decode(b'{"t":"telepathy"}')


def test_the_log_and_the_ledger_agree_on_what_is_an_end() -> None:
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


def test_an_ended_response_is_read_as_a_whole(platform: SimulatedPlatform) -> None:
    claim = platform.run(platform.admit())
    platform.append_text(claim, 1, "a")
    prefix = platform.settings.redis.prefix
    with pytest.raises(StreamLost):
        log.read_ended(platform.client, prefix, claim.id)
    platform.release(claim)
    events = log.read_ended(platform.client, prefix, claim.id)
    assert events[0] == TextDelta("a")
    assert isinstance(events[1], End)
    with pytest.raises(StreamLost):
        log.read_ended(platform.client, prefix, "resp_unknown")
