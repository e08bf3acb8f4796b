"""Cuts a text into sentences, since a translator translates one at a time.

The text between the sentences is preserved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# ruff: noqa: RUF001 - the punctuation of other scripts is intended
LINE_BREAKS = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029"
LINE = re.compile(rf"[^{LINE_BREAKS}]*(?:\r\n|[{LINE_BREAKS}]|\Z)")  # the line breaks of str.splitlines
BEGIN = re.compile(r"\s*(?:[-*•–]\s+|\d{1,3}[.)]\s+)?")  # indentation and a list marker
END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’»)\]]*(\s+)|[。！？]+[”’」』）]*(\s*)")
NO_END = re.compile(r"(?:^|[\s(\"'„“«])(?:\w|\d{1,2}|(?:\w\.)+\w)\.$")  # an initial, an ordinal, z.B., e.g.
WORD = re.compile(r"\b(\w+)\.$")
LOOKBEHIND = 40  # characters before a possible end that decide whether it is one
MAX_LENGTH = 2000  # characters of a sentence; longer ones are cut before their tokens are counted
ABBREVIATIONS = (
    *("bzw", "ca", "dr", "etc", "evtl", "fig", "ggf", "hr", "inkl", "jr", "mr", "mrs", "ms", "mt", "nr"),
    *("prof", "resp", "sr", "st", "str", "usw", "vgl", "vs"),
)
CUTS = (r"[;:]\s+", r"[,，、]\s*", r"\s+")
"""Patterns for the places where a sentence that is too long is cut, the best first."""

Piece = tuple[str, str]
"""A sentence to translate (empty if there is none), and the text behind it that is not translated."""


def pieces(text: str) -> Iterator[Piece]:
    """The sentences of a text, one by one. All pieces joined are the text."""
    for found in LINE.finditer(text):
        line = found.group()
        indented = BEGIN.match(line)
        begin = indented.end() if indented else 0
        body = line[begin:].rstrip()
        if line and (begin or not body):
            yield "", line[:begin] if body else line
        if body:
            yield from _sentences(body, line[begin + len(body) :])


def halves(sentence: str) -> tuple[Piece, Piece]:
    """A sentence of at least two characters in two parts: cut near its middle, at the best place."""
    middle = len(sentence) // 2
    for pattern in CUTS:
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
    begin = 0
    for found in END.finditer(body):
        end = found.end() - len(_gap(found))
        if found.end() < len(body) and _is_end(body, end, found.end()):
            yield from _slices(body[begin:end], _gap(found))
            begin = found.end()
    yield from _slices(body[begin:], behind)


def _slices(sentence: str, behind: str) -> Iterator[Piece]:
    """A sentence, or if it is too long, its parts."""
    begin = 0
    while len(sentence) - begin > MAX_LENGTH:
        end, after = _last_cut(sentence[begin : begin + MAX_LENGTH])
        yield _piece(sentence[begin : begin + end], sentence[begin + end : begin + after])
        begin += after
    yield _piece(sentence[begin:], behind)


def _last_cut(window: str) -> tuple[int, int]:
    """Where to cut in the second half of a window: the end of the first part, the start of the second."""
    for pattern in CUTS:
        found = [*re.compile(pattern).finditer(window, len(window) // 2)]
        if found:
            return found[-1].start() + len(found[-1].group().rstrip()), found[-1].end()
    return len(window), len(window)


def _piece(sentence: str, gap: str) -> Piece:
    return (sentence, gap) if any(map(str.isalpha, sentence)) else ("", sentence + gap)


def _gap(found: re.Match[str]) -> str:
    return found.group(1) or found.group(2) or ""


def _is_end(body: str, end: int, after: int) -> bool:
    """Whether a sentence ends at `end`, where the next would begin at `after`."""
    if body[after].islower():
        return False
    begin = max(0, end - LOOKBEHIND)
    word = WORD.search(body, begin, end)
    return not NO_END.search(body, begin, end) and not (word and word.group(1).lower() in ABBREVIATIONS)
