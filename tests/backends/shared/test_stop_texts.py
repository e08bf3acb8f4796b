"""Stop texts that are looked for in an answer in pieces."""

from __future__ import annotations

import itertools

import pytest

from backends.shared.stop_texts import StopTexts


def read(pieces: list[str], *stops: str) -> tuple[str, str | None]:
    """The text of an answer, and the stop text that ended it."""
    found, texts = StopTexts(stops), ""
    for piece in pieces:
        text, stop = found.feed(piece)
        texts += text
        if stop is not None:
            return texts, stop
    return texts + found.rest(), None


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        ((), ("one two three", None)),
        (("",), ("one two three", None)),
        (("two",), ("one ", "two")),
        (("e t", "ne"), ("o", "ne")),
        (("three!", "e two"), ("on", "e two")),
        (("two three", "o t"), ("one tw", "o t")),
        (("ee?",), ("one two three", None)),
    ],
)
def test_an_answer_ends_before_the_first_stop_text_wherever_it_is_cut(
    stops: tuple[str, ...], expected: tuple[str, str | None]
) -> None:
    text = "one two three"
    for first, second in itertools.combinations(range(len(text) + 1), 2):
        assert read([text[:first], text[first:second], text[second:]], *stops) == expected


def test_text_is_held_back_only_while_it_may_begin_a_stop_text() -> None:
    stops = StopTexts(("</end>",))
    assert stops.feed("a <") == ("a ", None)
    assert stops.feed("/en") == ("", None)
    assert stops.feed("try") == ("</entry", None)
    assert stops.rest() == ""
