"""How a text becomes tokens, and how one that has too many is found out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from backends.ct2.engine.tokens import longest_of, split_within, whole


class Words:
    """A tokenizer of words, at most eight letters each, that counts what it reads. Fulfils `Tokens`."""

    hidden = ()

    def __init__(self) -> None:
        self.read = 0

    def split(self, text: str) -> list[str]:
        self.read += len(text)
        return [word[i : i + 8] for word in text.split() for i in range(0, len(word), 8)]

    def join(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens)


def test_a_text_that_fits_has_all_its_tokens() -> None:
    assert split_within(Words(), "one two three", 3, 8) == ["one", "two", "three"]


@pytest.mark.parametrize("count", [101, 105, 110])
def test_a_text_that_is_a_little_too_long_has_them_too(count: int) -> None:
    assert len(split_within(Words(), "word " * count, 100, 8) or ()) == count


@pytest.mark.parametrize("longest", [8, 1_000_000])
def test_of_a_text_that_is_far_too_long_no_more_is_read_than_could_fit(longest: int) -> None:
    """By its bytes, or where a vocabulary has very long tokens, by its beginning."""
    words = Words()
    assert split_within(words, "word " * 100_000, 100, longest) is None
    assert words.read <= 100 * 4 * 3


def test_a_text_with_few_tokens_for_its_length_fits() -> None:
    assert split_within(Words(), "a" + " " * 1000 + "b", 100, 16) == ["a", "b"]


def test_the_longest_token_is_measured_in_bytes() -> None:
    assert longest_of({"abc", "日本", "a\ud800"}) == 6
    assert longest_of(()) == 0


def test_half_letters_become_question_marks() -> None:
    assert whole("a\ud800b日😀") == "a?b日😀"
