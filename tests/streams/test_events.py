"""Deltas are merged into fewer events, without a change of the text."""

from __future__ import annotations

from streams.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta, merge_pieces, merge_texts


def test_only_adjacent_pieces_of_the_same_kind_are_merged() -> None:
    call = ToolCallDelta(0, "{")
    deltas: list[Delta] = [ReasoningDelta("a"), ReasoningDelta("b"), TextDelta("c"), call, TextDelta("d")]
    assert list(merge_pieces(deltas)) == [ReasoningDelta("ab"), TextDelta("c"), call, TextDelta("d")]


def test_a_long_text_is_merged_into_several_events() -> None:
    deltas: list[Delta] = [TextDelta("x" * 1000) for _ in range(20)]
    assert [len(event.text) for event in merge_pieces(deltas)] == [9000, 9000, 2000]  # type: ignore[union-attr]


def test_a_short_text_is_one_delta() -> None:
    assert list(merge_texts(TextDelta, ["a", "", "b"])) == [TextDelta("ab")]
