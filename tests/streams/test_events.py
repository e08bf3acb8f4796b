"""Deltas are merged into fewer events, without a change of the text."""

from __future__ import annotations

from streams.events import (
    PROGRESS_PREFIX,
    Delta,
    PromptProgress,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    decode,
    decode_all,
    merge_pieces,
    merge_texts,
)


def test_only_adjacent_pieces_of_the_same_kind_are_merged() -> None:
    call = ToolCallDelta(0, "{")
    deltas: list[Delta] = [ReasoningDelta("a"), ReasoningDelta("b"), TextDelta("c"), call, TextDelta("d")]
    assert list(merge_pieces(deltas)) == [ReasoningDelta("ab"), TextDelta("c"), call, TextDelta("d")]


def test_the_progress_of_a_prompt_stays_as_it_is() -> None:
    progress: list[Delta] = [PromptProgress(20, 4, read, read) for read in (4, 12, 20)]
    deltas: list[Delta] = [*progress, TextDelta("a"), TextDelta("b")]
    events = list(merge_pieces(deltas))
    assert events == [*progress, TextDelta("ab")]
    encoded = [event.encode() for event in events]
    assert decode_all(encoded) == [*map(decode, encoded)] == events
    assert all(entry.startswith(PROGRESS_PREFIX) for entry in encoded[:3])


def test_a_long_text_is_merged_into_several_events() -> None:
    deltas: list[Delta] = [TextDelta("x" * 1000) for _ in range(20)]
    assert [len(event.text) for event in merge_pieces(deltas)] == [9000, 9000, 2000]  # type: ignore[union-attr]


def test_a_short_text_is_one_delta() -> None:
    assert list(merge_texts(TextDelta, ["a", "", "b"])) == [TextDelta("ab")]


def test_the_work_of_a_usage_counts_cached_tokens_by_their_weight() -> None:
    usage = Usage(1000, 100, cached_tokens=900)
    assert (usage.units, usage.work(1.0), usage.work(0.1), usage.work(0.0)) == (1100, 1100, 290, 200)
    assert Usage(audio_ms=1000).work(0.1) == 50
    assert Usage(10, 2, cached_tokens=100).work(0.0) == 2
