"""Where a text is cut for a translator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.engines.ct2_segments import halves, pieces


def sentences(text: str) -> list[str]:
    return [sentence for sentence, _ in pieces(text) if sentence]


@given(st.text(alphabet="aB.!? \n\t-12。,"))
def test_all_pieces_together_are_the_text(text: str) -> None:
    assert "".join(sentence + gap for sentence, gap in pieces(text)) == text


@given(st.text(min_size=2))
def test_two_halves_are_the_whole(text: str) -> None:
    (left, gap), (right, rest) = halves(text)
    assert left + gap + right + rest == text
    assert left
    assert right


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello. How are you? Fine!", ["Hello.", "How are you?", "Fine!"]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("First line\nsecond line", ["First line", "second line"]),
        ("Ask Dr. Weber, e.g. On Monday.", ["Ask Dr. Weber, e.g. On Monday."]),
        ("J. S. Bach was born on the 21. March.", ["J. S. Bach was born on the 21. March."]),
        ("Version 2.5 is out. it runs.", ["Version 2.5 is out. it runs."]),
        ("今日は。元気？はい", ["今日は。", "元気？", "はい"]),  # noqa: RUF001 - Japanese
        ("- one\n  * two\n3) three", ["one", "two", "three"]),
        ("---\n\n12.50\n", []),
        ("", []),
    ],
)
def test_a_text_is_cut_where_sentences_and_lines_end(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("sentence", "left", "right"),
    [
        ("one two three; four five six", "one two three;", "four five six"),
        ("one two, three four", "one two,", "three four"),
        ("one two three four", "one two", "three four"),
        ("onetwo", "one", "two"),
        ("a; and then a very long rest of it", "a; and then a very", "long rest of it"),
    ],
)
def test_a_long_sentence_is_cut_at_the_best_place_near_its_middle(
    sentence: str, left: str, right: str
) -> None:
    (first, _), (second, _) = halves(sentence)
    assert (first, second) == (left, right)
