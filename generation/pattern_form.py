"""Converts the `pattern` of a string into a form that every engine can enforce.

The form is a regular expression of classes, groups, alternatives and counts only:
`^[A-Z]{2}(?:[\\x2D][0-9]+){0,1}$`. Its characters are printable ASCII but the quote and the backslash, which
JSON would escape: `.` and negated classes mean those. Each character of a text decides how the
expression goes on (`schema_pattern.is_unambiguous`), so that engines follow it in time proportional to the
text. An expression that is not anchored at both ends is refused: what comes before or after is any text then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from generation.schema_pattern import PatternError, check_pattern, is_unambiguous

SAFE = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}
OPTIONAL = "{0,1}"
"""In the place of `?`: xgrammar repeats what is within a group before it, as with other counts."""

_DIGITS = frozenset("0123456789")
_WORD = _DIGITS | frozenset("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SETS = {"d": _DIGITS, "w": _WORD, "s": frozenset(" ")}
_WHITE = frozenset(" \t\n\r\f\v")
_CODE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))")
_COUNT = re.compile(r"[?*+]|\{\d{1,4}(?:,\d{0,4})?\}")
_GROUP = re.compile(r"\((?:\?:|\?<[A-Za-z_]\w{0,63}>)?")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}


def pattern_form(pattern: str) -> str:
    """The form of an expression. Raises `PatternError`."""
    check_pattern(pattern)
    if not (pattern.startswith("^") and pattern.endswith("$")):
        raise PatternError("must begin with ^ and end with $")
    reader = _Reader(pattern[1:-1])
    form = reader.alternatives()
    if reader.has_alternatives:
        raise PatternError("must have its alternatives in a group: ^(a|b)$")
    if reader.rest:
        raise PatternError("has one closing parenthesis too many")
    found = f"^{form}$"
    check_pattern(found)
    if not is_unambiguous(found):
        raise PatternError("continues in several ways after the same character, which engines cannot enforce")
    return found


class _Reader:
    """Reads an expression from left to right, and writes its form."""

    def __init__(self, rest: str) -> None:
        self.rest = rest
        self.has_alternatives = False
        """Whether the alternatives that were read last are more than one."""

    def alternatives(self) -> str:
        """Read up to the end of the group, or of the expression."""
        found = [self._sequence()]
        while self._take("|"):
            found.append(self._sequence())
        self.has_alternatives = len(found) > 1
        return "|".join(found)

    def _sequence(self) -> str:
        parts = []
        while self.rest and self.rest[0] not in "|)":
            atom, count = self._atom(), self._count()
            if atom.endswith(")") and count.startswith("{") and count != OPTIONAL:
                raise PatternError("has a count after a group, which only ?, * or + may follow")
            parts.append(atom + count)
        if not parts:
            raise PatternError("has an empty alternative: use ? or an enum")
        return "".join(parts)

    def _count(self) -> str:
        found = _COUNT.match(self.rest)
        if found is None:
            return ""
        self.rest = self.rest[found.end() :]
        self._take("?")  # lazy: of no effect on what is matched as a whole
        if _COUNT.match(self.rest):
            raise PatternError("has a quantifier after another quantifier")
        return OPTIONAL if found[0] == "?" else found[0]

    def _atom(self) -> str:
        if (group := _GROUP.match(self.rest)) is not None:
            self.rest = self.rest[group.end() :]
            inner = self.alternatives()
            if not self._take(")"):
                raise PatternError("is missing a closing parenthesis")
            return f"(?:{inner})"
        if self._take("["):
            return _class(self._members())
        if self._take("."):
            return _class(SAFE)
        if self.rest[0] in "^$":
            raise PatternError("has an anchor in the middle")
        if self.rest[0] in "{}]*+?":
            raise PatternError(f"has a {self.rest[0]} in the wrong place")
        members, explicit = self._member()
        return _class(_checked(members) if explicit else members)

    def _members(self) -> frozenset[str]:
        """The characters of a class."""
        negated, found = self._take("^"), frozenset[str]()
        while not self._take("]"):
            members, explicit = self._member()
            if explicit and self.rest.startswith("-") and not self.rest.startswith("-]"):
                self._take("-")
                members, explicit = _range(members, self._member()[0]), False
            found |= members if negated or not explicit else _checked(members)
        return SAFE - found if negated else found & SAFE

    def _member(self) -> tuple[frozenset[str], bool]:
        """A character, or the set that an escape names; and whether it is a single character."""
        if (code := _CODE.match(self.rest)) is not None:
            self.rest = self.rest[code.end() :]
            return frozenset(chr(int(code[1] or code[2], 16))), True
        if not self._take("\\"):
            letter, self.rest = self.rest[:1], self.rest[1:]
            return frozenset(letter), True
        letter, self.rest = self.rest[:1], self.rest[1:]
        if (known := _SETS.get(letter.lower())) is not None:
            without = _WHITE if letter == "S" else known
            return (known, False) if letter.islower() else (SAFE - without, False)
        if not letter or letter in _WORD - _CONTROLS.keys():
            raise PatternError(f"has the escape \\{letter}, which cannot be enforced on answers")
        return frozenset(_CONTROLS.get(letter, letter)), True

    def _take(self, sign: str) -> bool:
        if not self.rest.startswith(sign):
            return False
        self.rest = self.rest[len(sign) :]
        return True


def _checked(members: frozenset[str]) -> frozenset[str]:
    if not members <= SAFE:
        raise PatternError("has a character that is not printable ASCII, a quote or a backslash")
    return members


def _range(first: frozenset[str], last: frozenset[str]) -> frozenset[str]:
    if len(last) != 1:
        raise PatternError("has a range that ends with a set")
    (low,), (high,) = first, last
    return frozenset(map(chr, range(ord(low), min(ord(high), 0x7F) + 1)))


def _class(members: Iterable[str]) -> str:
    """The class of some characters, as ranges."""
    numbers = sorted(map(ord, members))
    if not numbers:
        raise PatternError("has a class without a printable ASCII character")
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return "[" + "".join(map(_written, ranges)) + "]"


def _written(bounds: list[int]) -> str:
    low, high = bounds
    first, last = (chr(code) if chr(code).isalnum() else f"\\x{code:02X}" for code in (low, high))
    return first if low == high else f"{first}-{last}"
