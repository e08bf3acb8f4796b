"""Texts without ends of words are cut; all others stay whole."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies

from backends.shared.engine.long_runs import LONGEST_RUN, cut_long_runs

RUN = strategies.sampled_from(["a", "!", " ", "\n", "\u65e5", "e\u0301", "a1", "\u00a0 ", "\x1c!"])


@given(strategies.lists(strategies.tuples(RUN, strategies.integers(0, 3 * LONGEST_RUN)), max_size=4))
def test_the_parts_are_the_text_and_none_has_a_long_run(runs: list[tuple[str, int]]) -> None:
    text = "".join(run * count for run, count in runs)
    parts = cut_long_runs(text)
    assert "".join(parts) == text
    assert all(cut_long_runs(part) == [part] for part in parts)


@pytest.mark.parametrize("run", ["a", "!", " ", "\u65e5", "e\u0301", "a1", "\u00a0 "])
def test_a_long_run_is_cut(run: str) -> None:
    parts = cut_long_runs("words before " + run * (LONGEST_RUN * 2) + " words behind")
    assert len(parts) > 1
    assert all(len(part) <= LONGEST_RUN + 20 for part in parts)


def test_a_text_of_words_stays_whole() -> None:
    text = "The capital of Norway is Oslo.\n" * 10_000
    assert cut_long_runs(text) == [text]
    assert cut_long_runs("\u65e5\u672c\u3001" * 10_000) == ["\u65e5\u672c\u3001" * 10_000]


def test_many_runs_are_cut_in_linear_time() -> None:
    text = ("a" * (LONGEST_RUN - 1) + " ") * 128
    assert cut_long_runs(text) == [text]
