"""Cuts a text into the sentences that are spoken one after the other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MIN_CHARACTERS = 12  # shorter sentences are spoken with the next one; some voices refuse single letters
MAX_CHARACTERS = 240  # of one sentence: nothing stops the library within one

END_OF_SENTENCE = re.compile(r"[.!?…][.!?…\"')\]]*(?=\s)|[。！？]+|\n")  # noqa: RUF001


def sentences(text: str) -> Iterator[tuple[str, int]]:
    """Yield each sentence, and how many characters of the text are done after it.

    None ends within MIN_CHARACTERS, and none is longer than MAX_CHARACTERS: a longer one is cut behind a
    comma, else at a space, else inside a word. Control and formatting characters become spaces. Markup is
    spoken as text.
    """
    text = cleaned(text)
    start = 0
    while start < len(text):
        found = END_OF_SENTENCE.search(text, start + MIN_CHARACTERS, start + MAX_CHARACTERS + 1)
        end = found.end() if found else _cut(text, start)
        end = min(end, start + MAX_CHARACTERS)
        sentence = " ".join(text[start:end].split())
        if sentence:
            yield sentence, end
        start = end


def cleaned(text: str) -> str:
    """The text with a space in place of each control, formatting, private and unassigned character.

    Line breaks stay, and the text keeps its length.
    """
    return "".join(
        letter if letter == "\n" or unicodedata.category(letter)[0] != "C" else " " for letter in text
    )


def _cut(text: str, start: int) -> int:
    """Where a sentence without an end within MAX_CHARACTERS is cut."""
    limit = start + MAX_CHARACTERS
    if limit >= len(text):
        return len(text)
    for sign in (",", ";", ":", " "):
        at = text.rfind(sign, start + MAX_CHARACTERS // 4, limit)
        if at >= 0:
            return at + 1
    return limit
