"""Cuts a text into the sentences that are spoken one after the other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MIN_CHARACTERS = 12  # shorter sentences are spoken with the next one; some voices refuse single letters
MAX_CHARACTERS = 240  # of one sentence at speed 1: nothing stops the library within one
SPELLED = 6  # a sign that is spoken as a word counts as so many characters, which bounds memory and time
IDEOGRAPH = 4
IDEOGRAPHS = "\u2e80"  # and above
PLAIN = frozenset(" \n.,;:!?'\"()-")

END_OF_SENTENCE = re.compile(r"[.!?…][.!?…\"')\]]*(?=\s)|[。！？]+|\n")  # noqa: RUF001


def sentences(text: str, speed: float = 1.0) -> Iterator[tuple[str, int]]:
    """Yield each sentence, and how many characters of the text are done after it.

    None ends within MIN_CHARACTERS, and none is longer than MAX_CHARACTERS: a longer one is cut behind a
    comma, else at a space, else inside a word. Control and formatting characters become spaces. Markup is
    spoken as text. At a `speed` below 1 sentences are shorter, as their audio is longer.
    """
    text = cleaned(text)
    most = max(MIN_CHARACTERS, int(MAX_CHARACTERS * min(1.0, speed)))
    start = 0
    while start < len(text):
        limit = _limit(text, start, most)
        found = END_OF_SENTENCE.search(text, start + MIN_CHARACTERS, limit + 1)
        end = min(limit, found.end() if found else _cut(text, start, limit))
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


def _limit(text: str, start: int, most: int) -> int:
    """The place behind the last character that a sentence can have."""
    for at in range(start, min(len(text), start + most)):
        most -= _weight(text[at])
        if most < 0 and at >= start + 2:
            return at
    return min(len(text), at + 1)


def _weight(sign: str) -> int:
    """How many characters a sign counts as."""
    if sign.isalpha():
        return 1 if sign < IDEOGRAPHS else IDEOGRAPH
    return 1 if sign in PLAIN else SPELLED


def _cut(text: str, start: int, limit: int) -> int:
    """Where a sentence without an end before `limit` is cut."""
    if limit >= len(text):
        return len(text)
    for sign in (",", "，", ";", ":", " "):  # noqa: RUF001
        at = text.rfind(sign, start + (limit - start) // 4, limit)
        if at >= 0:
            return at + 1
    return limit
