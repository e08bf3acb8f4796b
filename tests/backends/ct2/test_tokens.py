"""Tokenizing a text within a limit, and the incremental decoder."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from backends.ct2.engine.tokens import (
    IncrementalDecoder,
    longest_token_bytes,
    split_within,
    without_surrogates,
)


class Words:
    """A tokenizer of words, at most eight characters each, that counts the characters it reads. Fulfils
    `Tokenizer`."""

    special_tokens = ()

    def __init__(self) -> None:
        self.read = 0

    def split(self, text: str) -> list[str]:
        self.read += len(text)
        return [word[i : i + 8] for word in text.split() for i in range(0, len(word), 8)]

    def join(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens)


def test_a_text_that_fits_has_all_its_tokens() -> None:
    assert split_within(Words().split, "one two three", 3, 8) == ["one", "two", "three"]


@pytest.mark.parametrize("count", [101, 105, 110])
def test_a_text_that_is_slightly_too_long_has_all_its_tokens(count: int) -> None:
    assert len(split_within(Words().split, "word " * count, 100, 8) or ()) == count


@pytest.mark.parametrize("longest", [8, 1_000_000])
def test_a_text_that_is_far_too_long_is_read_only_as_far_as_it_could_fit(longest: int) -> None:
    """It is measured by its bytes, or in a vocabulary with very long tokens by its beginning."""
    words = Words()
    assert split_within(words.split, "word " * 100_000, 100, longest) is None
    assert words.read <= 100 * 4 * 3


def test_a_text_with_few_tokens_for_its_length_fits() -> None:
    assert split_within(Words().split, "a" + " " * 1000 + "b", 100, 16) == ["a", "b"]


def test_the_longest_token_is_measured_in_bytes() -> None:
    assert longest_token_bytes({"abc", "日本", "a\ud800"}) == 6
    assert longest_token_bytes(()) == 0


def test_lone_surrogates_become_question_marks() -> None:
    assert without_surrogates("a\ud800b日😀") == "a?b日😀"


# the incremental decoder


class Bytes:
    """A tokenizer of single bytes in hexadecimal, like a byte-level vocabulary. Fulfils `Tokenizer`."""

    special_tokens = ("<end>", "<mark>")

    def split(self, text: str) -> list[str]:
        return [f"{byte:02x}" for byte in text.encode()]

    def join(self, tokens: Sequence[str]) -> str:
        return bytes.fromhex("".join(tokens)).decode("utf-8", "replace")


def test_a_character_is_returned_when_it_is_complete() -> None:
    text = "a€🔥ß"
    decoder = IncrementalDecoder(Bytes())
    pieces = [decoder.add(token) for token in Bytes().split(text)]
    assert [piece for piece in pieces if piece] == list(text)


def test_a_character_that_never_becomes_complete_is_omitted() -> None:
    decoder = IncrementalDecoder(Bytes())
    assert decoder.add("41") == "A"
    assert decoder.add("f0") == decoder.add("9f") == ""
    assert decoder.flush() == ""


def test_a_shown_special_token_is_no_part_of_a_character() -> None:
    decoder = IncrementalDecoder(Bytes(), shown=("<mark>",))
    assert [decoder.add(token) for token in ("41", "f0", "9f", "<mark>", "42")] == [
        "A",
        "",
        "",
        "<mark>",
        "B",
    ]


def test_bytes_that_are_no_character_do_not_block_the_text_behind_them() -> None:
    decoder = IncrementalDecoder(Bytes())
    text = "".join(decoder.add("ff") for _ in range(20)) + decoder.add("41")
    assert text.strip("\ufffd") == "A"


def test_special_tokens_are_no_text_unless_they_are_shown() -> None:
    decoder = IncrementalDecoder(Bytes(), shown=("<mark>",))
    assert [decoder.add(token) for token in ("41", "<end>", "<mark>", "42")] == ["A", "", "<mark>", "B"]
