"""Cutting a text into sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.ct2.engine.segments import MAX_LENGTH, halves, pieces


def sentences(text: str) -> list[str]:
    return [sentence for sentence, _ in pieces(text) if sentence]


@given(st.text(alphabet="aB.!? \n\t-12。,"))
def test_all_pieces_joined_are_the_text(text: str) -> None:
    assert "".join(sentence + gap for sentence, gap in pieces(text)) == text


@given(st.text(alphabet="aB.!?…。 \n\r\v\x1c\x85\u2028\t-1"))
def test_no_sentence_spans_two_lines(text: str) -> None:
    """A text is cut like each of its lines alone."""
    lines = [piece for line in text.splitlines(keepends=True) for piece in pieces(line)]
    assert list(pieces(text)) == lines


WORDS = ["a", "B", "dr", "Prof", "z.B", "e.g.", "21", "- ", *'.!?…。」") (', " ", "  ", "x" * 50]


@given(st.lists(st.sampled_from(WORDS), max_size=40).map("".join))
def test_the_end_of_a_sentence_depends_only_on_the_last_characters_before_it(text: str) -> None:
    """Text further before has no influence on what follows."""
    before = "b" * 100 + "! "
    assert list(pieces(f"{before}B{text}"))[1:] == list(pieces(f"B{text}"))


@pytest.mark.parametrize("word", ["word ", "word", ".", "a.", ", ", "1", "日"])
def test_a_sentence_without_an_end_is_cut_before_its_tokens_are_counted(word: str) -> None:
    text = word * 10_000
    found = list(pieces(text))
    assert "".join(sentence + gap for sentence, gap in found) == text
    assert max(len(sentence) for sentence, _ in found) <= MAX_LENGTH


def test_sentences_are_found_lazily() -> None:
    """The work for the first sentences does not grow with the text: only one line of it is read."""
    found = pieces("One. Two.\n" + "Three. " * 100)
    assert [next(found), next(found)] == [("One.", " "), ("Two.", "\n")]
    assert sum(1 for _ in found) == 100


@pytest.mark.parametrize(
    "text",
    ["Aa bb. " * 50_000, "a" * 300_000 + ". B", "." * 300_000, "a.b." * 100_000 + " B", '."' * 150_000],
)
def test_the_time_for_a_long_line_grows_linearly(text: str) -> None:
    """Quadratic time would be hours."""
    assert sum(len(sentence) + len(gap) for sentence, gap in pieces(text)) == len(text)


@given(st.text(min_size=2))
def test_two_halves_joined_are_the_sentence(text: str) -> None:
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
