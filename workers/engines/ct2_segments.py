"""Cuts a text into sentences for a translator, which knows no more than one at a time; what lies between them
stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

# ruff: noqa: RUF001 - the marks of other scripts are meant
BEGIN = re.compile(r"\s*(?:[-*•–]\s+|\d{1,3}[.)]\s+)?")  # indentation and the mark of a list
END = re.compile(r"[.!?…]+[\"'”’»)\]]*(\s+)|[。！？]+[”’」』）]*(\s*)")
NO_END = re.compile(r"(?:^|[\s(\"'„“«])(?:\w|\d{1,2}|(?:\w\.)+\w)\.$")  # an initial, an ordinal, z.B., e.g.
ABBREVIATIONS = (
    *("bzw", "ca", "dr", "etc", "evtl", "fig", "ggf", "hr", "inkl", "jr", "mr", "mrs", "ms", "mt", "nr"),
    *("prof", "resp", "sr", "st", "str", "usw", "vgl", "vs"),
)
MIDDLES = (r"[;:]\s+", r"[,，、]\s*", r"\s+")
"""Where a sentence that is too long is cut, the best first."""

Piece = tuple[str, str]
"""Something to translate (nothing, where there is nothing), and what stands behind it."""


def pieces(text: str) -> Iterator[Piece]:
    """The sentences of a text. All pieces, joined, are the text."""
    for line in text.splitlines(keepends=True):
        indented = BEGIN.match(line)
        begin = indented.end() if indented else 0
        body = line[begin:].rstrip()
        if begin or not body:
            yield "", line[:begin] if body else line
        if body:
            yield from _sentences(body, line[begin + len(body) :])


def halves(sentence: str) -> tuple[Piece, Piece]:
    """A sentence of at least two letters in two parts: cut near its middle, at the best place."""
    middle = len(sentence) // 2
    for pattern in MIDDLES:
        found = [
            cut for cut in re.finditer(pattern, sentence) if cut.start() > 0 and cut.end() < len(sentence)
        ]
        if found:
            cut = min(found, key=lambda one: abs(one.end() - middle))
            if len(sentence) // 8 <= cut.end() <= len(sentence) * 7 // 8:
                gap = cut.group()[len(cut.group().rstrip()) :]
                return (sentence[: cut.end() - len(gap)], gap), (sentence[cut.end() :], "")
    return (sentence[:middle], ""), (sentence[middle:], "")


def _sentences(body: str, behind: str) -> Iterator[Piece]:
    ends = [found for found in END.finditer(body) if found.end() < len(body) and _is_end(body, found)]
    cuts = [
        (0, 0),
        *((found.end() - len(_gap(found)), found.end()) for found in ends),
        (len(body), len(body)),
    ]
    for (_, begin), (end, after) in pairwise(cuts):
        gap = body[end:after] if after < len(body) else behind
        sentence = body[begin:end]
        yield ("", sentence + gap) if not any(map(str.isalpha, sentence)) else (sentence, gap)


def _gap(found: re.Match[str]) -> str:
    return found.group(1) or found.group(2) or ""


def _is_end(body: str, found: re.Match[str]) -> bool:
    if body[found.end()].islower():
        return False
    before = body[: found.end()].rstrip()
    word = re.search(r"(\w+)\.$", before)
    return not NO_END.search(before) and not (word and word.group(1).lower() in ABBREVIATIONS)
