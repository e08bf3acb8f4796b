"""Bounds the regular expressions in clients' JSON Schemas (the keyword `pattern`).

Engines follow all paths by which an expression can go on from one character to the next, and some follow each
path as often as there are ways to it: `(a?b?)?` repeated a hundred times has 2^100 of them. This module reads
an expression once. It bounds its positions (characters to be matched, repetitions expanded) and those paths,
and says whether a character always decides which path goes on. An expression that it cannot read is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

MAX_CHARACTERS = 512
MAX_POSITIONS = 1000
MAX_PATHS = 32
MAX_GROUPS = 16  # within one another

_QUANTIFIER = re.compile(r"\{(\d{1,5})(,?)(\d{0,5})\}")
_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|[pP]\{[^{}]{1,64}\}|c[A-Za-z]|[^0-9kxucpP]|0)",
    re.DOTALL,
)
_GROUP_NAME = re.compile(r"P?<[A-Za-z_]\w{0,63}>")
_CLASS_CHARACTER = re.compile(rf"{_ESCAPE.pattern}|[^\]\\]", re.DOTALL)


class PatternError(ValueError):
    """Raised when an expression is refused; the text says why."""


@dataclass(frozen=True, slots=True)
class _Cost:
    """Bounds on an expression; a path reads no character. Sets of characters are bit masks, see `_ANY`.

    `positions`: characters it may have to match. `empty`: paths through it. `first`: paths to its first
    characters. `next`, `last`: paths from one of its characters to another one of them, and to its end;
    `tail`: as `next`, from those that may be its last one.
    `opening`: its first characters; `following`: those that may continue it where it may also end.
    `ambiguous`: whether one character may continue on two paths.
    """

    positions: int
    empty: int
    first: int
    next: int
    last: int
    opening: int = 0
    following: int = 0
    ambiguous: bool = False
    tail: int = 0

    def then(self, other: _Cost) -> _Cost:
        """The cost of this expression followed by another."""
        both = self.following | (self.opening if self.empty else 0)
        onward = self.tail + self.last * other.first
        return _Cost(
            self.positions + other.positions,
            self.empty * other.empty,
            self.first + self.empty * other.first,
            max(self.next, onward, other.next),
            max(self.last * other.empty, other.last),
            self.opening | (other.opening if self.empty else 0),
            other.following | (self.following | other.opening if other.empty else 0),
            self.ambiguous or other.ambiguous or bool(both & other.opening),
            max(onward, other.tail) if other.empty else other.tail,
        )

    def either(self, other: _Cost) -> _Cost:
        """The cost of one of two expressions."""
        return _Cost(
            self.positions + other.positions,
            self.empty + other.empty,
            self.first + other.first,
            max(self.next, other.next),
            max(self.last, other.last),
            self.opening | other.opening,
            self.following | other.following,
            self.ambiguous
            or other.ambiguous
            or bool(self.opening & other.opening)
            or self.empty + other.empty > 1,
            max(self.tail, other.tail),
        )

    def repeated(self, least: int, most: int | None) -> _Cost:
        """The cost of a repetition. Raises `PatternError`."""
        if (least, most) == (0, 1):
            return replace(self, empty=self.empty + 1, ambiguous=self.ambiguous or self.empty > 0)
        if least == most == 1:
            return self
        if self.empty:
            raise PatternError("repeats a part that may be empty")
        copies = max(least + 1 if most is None else most, 1)
        after = self.tail + self.last * self.first
        following = self.following | (0 if least == most else self.opening)
        ambiguous = self.ambiguous or bool(self.following & self.opening)
        return _Cost(
            self.positions * copies,
            int(least == 0),
            self.first,
            max(self.next, after),
            self.last,
            self.opening,
            following,
            ambiguous,
            after,
        )


_OTHER = 1 << 128
_ANY = (1 << 129) - 1
"""All characters: bit n is the ASCII character n, and bit 128 all others together."""

_EMPTY = _Cost(0, 1, 0, 0, 0)


def _mask(characters: str) -> int:
    return sum({1 << min(ord(character), 128) for character in characters})


_DIGITS = _mask("0123456789")
_WORD = _DIGITS | _mask("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SPACE = _mask(" \t\n\r\f\v") | _OTHER
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}


def _escaped(text: str) -> int:
    """The characters of an escape."""
    letter = text[1]
    if letter.lower() in _CLASSES:
        mask = _CLASSES[letter.lower()]
        return mask if letter.islower() else _ANY & ~mask | _OTHER
    if letter in "xu":
        return _mask(chr(min(int(text[2:].strip("{}"), 16), 128)))
    if letter in "pPc":
        return _ANY
    return _mask(_CONTROLS.get(letter, letter))


def check_pattern(pattern: str) -> None:
    """Check an expression. Raises `PatternError`."""
    _cost(pattern)


def is_form_unambiguous(form: str) -> bool:
    """As `is_unambiguous`, of an expression with its counts expanded, which may be longer.

    Raises `PatternError`.
    """
    return not _cost_of(form).ambiguous


def is_unambiguous(pattern: str) -> bool:
    """Whether an expression is accepted, and each character of a text decides which path goes on.

    Then any engine matches a text in time proportional to it.
    """
    try:
        return not _cost(pattern).ambiguous
    except PatternError:
        return False


def positions_of(pattern: str) -> int | None:
    """The characters that an expression may have to match, repetitions expanded; None if it is refused."""
    try:
        return _cost_of(pattern).positions
    except PatternError:
        return None


def _cost(pattern: str) -> _Cost:
    if len(pattern) > MAX_CHARACTERS:
        raise PatternError(f"is longer than {MAX_CHARACTERS} characters")
    return _cost_of(pattern)


def _cost_of(pattern: str) -> _Cost:
    reader = _Reader(pattern)
    cost = reader.alternatives(0)
    if reader.at < len(pattern):
        raise PatternError("has one closing parenthesis too many")
    return cost


def _character(mask: int) -> _Cost:
    return _Cost(1, 0, 1, 0, 1, mask)


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0

    def alternatives(self, depth: int) -> _Cost:
        """Read up to the end of the group, or of the expression. Raises `PatternError`."""
        if depth > MAX_GROUPS:
            raise PatternError(f"has groups nested deeper than {MAX_GROUPS} levels")
        cost = self._sequence(depth)
        while self._take("|"):
            cost = _checked(cost.either(self._sequence(depth)))
        return cost

    def _sequence(self, depth: int) -> _Cost:
        cost = _EMPTY
        while self.at < len(self._pattern) and self._pattern[self.at] not in "|)":
            cost = _checked(cost.then(self._quantified(depth)))
        return cost

    def _quantified(self, depth: int) -> _Cost:
        cost = self._atom(depth)
        while (bounds := self._quantifier()) is not None:
            cost = _checked(cost.repeated(*bounds))
        return cost

    def _quantifier(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("?", (0, 1)), ("*", (0, None)), ("+", (1, None))):
            if self._take(sign):
                return bounds
        found = _QUANTIFIER.match(self._pattern, self.at)
        if found is None:
            return None
        self.at = found.end()
        least = int(found[1])
        most = (int(found[3]) if found[3] else None) if found[2] else least
        if most is not None and most < least:
            raise PatternError("has a repetition with bounds in the wrong order")
        return least, most

    def _atom(self, depth: int) -> _Cost:
        letter = self._pattern[self.at]
        if letter == "(":
            return self._group(depth)
        if letter == "[":
            return self._class()
        if letter == "\\":
            found = self._match(_ESCAPE, "has a back reference or an unknown escape")
            return _EMPTY if found in (r"\b", r"\B") else _character(_escaped(found))
        if letter in "*+?":
            raise PatternError("has a quantifier with nothing before it")
        self.at += 1
        if letter == ".":
            return _character(_ANY)
        return _EMPTY if letter in "^$" else _character(_mask(letter))

    def _group(self, depth: int) -> _Cost:
        self.at += 1
        if self._take("?") and not self._take(":"):
            self._match(_GROUP_NAME, "has a lookaround or another special group")
        cost = self.alternatives(depth + 1)
        if not self._take(")"):
            raise PatternError("is missing a closing parenthesis")
        return cost

    def _class(self) -> _Cost:
        self.at += 1
        negated = self._take("^")
        mask, before = 0, ""
        while self.at < len(self._pattern) and self._pattern[self.at] != "]":
            found = self._match(_CLASS_CHARACTER, "has an unknown escape")
            if found == "-" and before and not self._pattern.startswith("]", self.at):
                found = self._match(_CLASS_CHARACTER, "has an unknown escape")
                mask |= _range(before, found)
                before = ""
            else:
                mask |= _set(found)
                before = found
        if not self._take("]"):
            raise PatternError("is missing a closing bracket")
        return _character(_ANY & ~mask | _OTHER if negated else mask)

    def _take(self, sign: str) -> bool:
        if not self._pattern.startswith(sign, self.at):
            return False
        self.at += 1
        return True

    def _match(self, expression: re.Pattern[str], otherwise: str) -> str:
        found = expression.match(self._pattern, self.at)
        if found is None:
            raise PatternError(otherwise)
        self.at = found.end()
        return found[0]


def _set(text: str) -> int:
    return _escaped(text) if text[0] == "\\" else _mask(text)


def _range(low: str, high: str) -> int:
    """The characters of a range in a class, or more."""
    first, last = _set(low), _set(high)
    if first.bit_count() != 1 or last.bit_count() != 1 or first > last:
        return _ANY
    return (last << 1) - first


def _checked(cost: _Cost) -> _Cost:
    if cost.positions > MAX_POSITIONS:
        raise PatternError(f"has more than {MAX_POSITIONS} positions, counted at each repetition")
    if max(cost.empty, cost.first, cost.next, cost.last) > MAX_PATHS:
        raise PatternError(f"has more than {MAX_PATHS} paths between two characters")
    return cost
