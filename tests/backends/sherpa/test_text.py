"""The sentences of a text."""

from __future__ import annotations

import pytest

from backends.sherpa.engine.text import MAX_CHARACTERS, sentences


def spoken(text: str) -> list[str]:
    return [sentence for sentence, _ in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "This is the first. The second one! And a third?",
            ["This is the first.", "The second one!", "And a third?"],
        ),
        ('And he said "no." Then left.', ['And he said "no."', "Then left."]),
        ("One. Two. Three and four. Five.", ["One. Two. Three and four.", "Five."]),
        ("It is 3.5 metres", ["It is 3.5 metres"]),
        ("一" * 20 + "。" + "二" * 20 + "！", ["一" * 20 + "。", "二" * 20 + "！"]),  # noqa: RUF001 - full-width signs
        ("a title without end\nb", ["a title without end", "b"]),
        ("a\0\x1b[31m\u200bb", ["a [31m b"]),
        ("<speak>a</speak>", ["<speak>a</speak>"]),
        ("", []),
        (" \n\t\u200b", []),
    ],
)
def test_a_text_is_cut_into_sentences(text: str, expected: list[str]) -> None:
    assert spoken(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a" * 5000,
        "word " * 2000,
        "a, " * 2000,
        "😀" * 3000,
        "." * 5000,
        "a" * 239 + ". b",
        "\u200d" * 4000 + "a",
    ],
)
def test_no_sentence_is_longer_than_the_limit_and_nothing_is_lost(text: str) -> None:
    cut = list(sentences(text))
    assert max(len(sentence) for sentence, _ in cut) <= MAX_CHARACTERS
    assert "".join("".join(spoken(text)).split()) == "".join(text.replace("\u200d", "").split())
    ends = [end for _, end in cut]
    assert ends == sorted(ends)
    assert ends[-1] <= len(text)


def test_a_word_is_not_cut_where_a_space_is_near() -> None:
    assert set(" ".join(spoken("word " * 500)).split()) == {"word"}


@pytest.mark.parametrize(
    ("text", "longest"), [("7" * 900, 40), ("😀" * 900, 40), ("#" * 900, 40), ("字" * 900, 60)]
)
def test_signs_that_are_spoken_as_words_make_a_sentence_shorter(text: str, longest: int) -> None:
    assert max(map(len, spoken(text))) == longest


def test_sentences_are_shorter_at_a_low_speed() -> None:
    cut = [sentence for sentence, _ in sentences("word " * 500, 0.25)]
    assert max(map(len, cut)) <= MAX_CHARACTERS / 4
