"""Reads the regular expressions that `generation.schemas.pattern_form` writes, for grammars and examples."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\(\?:|\)|\||\[[^\]]*\]|[?*+]|\{\d+(?:,\d*)?\}")
_COUNTS = {"?": (0, 1), "*": (0, None), "+": (1, None)}

Alternatives = list[list[tuple["str | Alternatives", int, int | None]]]
"""Sequences, of classes or groups, each with the least and the largest number of times."""


def pattern_expression(pattern: str) -> str:
    """The expression in llama.cpp's notation: classes and counts are the same, groups are `(...)`."""
    return pattern[1:-1].replace("(?:", "(")


def positions(pattern: str) -> int:
    """The characters to be matched, with repetitions expanded: the rules that llama.cpp makes of it."""
    return _positions(_read(pattern))


def shortest_text(pattern: str) -> str:
    """A text that fits the expression: the first alternatives, as few times as possible."""
    return _text(_read(pattern))


def _read(pattern: str) -> Alternatives:
    return _alternatives(_TOKEN.findall(pattern[1:-1])[::-1])


def _alternatives(words: list[str]) -> Alternatives:
    """Read up to the end of a group; `words` has the next one last."""
    found: Alternatives = [[]]
    while words and (word := words.pop()) != ")":
        if word == "|":
            found.append([])
        elif word[0] in "?*+{":
            part, _, _ = found[-1].pop()
            found[-1].append((part, *_count(word)))
        else:
            found[-1].append((_alternatives(words) if word == "(?:" else word, 1, 1))
    return found


def _count(word: str) -> tuple[int, int | None]:
    if word in _COUNTS:
        return _COUNTS[word]
    least, comma, most = word[1:-1].partition(",")
    return int(least), int(most or 0) or None if comma else int(least)


def _positions(found: Alternatives) -> int:
    return sum(
        (1 if isinstance(part, str) else _positions(part)) * (least + 1 if most is None else most)
        for sequence in found
        for part, least, most in sequence
    )


def _text(found: Alternatives) -> str:
    return "".join(
        (_letter(part) if isinstance(part, str) else _text(part)) * least for part, least, _ in found[0]
    )


def _letter(part: str) -> str:
    """The first character of a class."""
    return chr(int(part[3:5], 16)) if part[1] == "\\" else part[1]
