"""Converts the `pattern` of a string into a form that every engine can enforce.

The form is a regular expression of classes, groups, alternatives and counts only:
`^[A-Z]{2}(?:[\\x2D][0-9]+){0,1}$`. Its characters are printable ASCII but the quote and the backslash, which
JSON would escape: `.` and negated classes mean those. A text allows a few paths through the expression at a
time (`pattern_automaton.has_few_paths`), so that engines follow it in time proportional to the text. A count
after a group is expanded. Where an expression is not anchored, any text comes before or after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from generation.schemas.pattern_automaton import automaton, has_few_paths
from generation.schemas.pattern_inclusion import includes
from generation.schemas.schema_pattern import PatternError, check_pattern, is_form_unambiguous

SAFE = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}
OPTIONAL = "{0,1}"
"""In the place of `?`: xgrammar repeats what is within a group before it, as with other counts."""

MAX_FORM = 4096
"""Characters of a form."""

_DIGITS = frozenset("0123456789")
_WORD = _DIGITS | frozenset("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SETS = {"d": _DIGITS, "w": _WORD, "s": frozenset(" ")}
_WHITE = frozenset(" \t\n\r\f\v")
_CODE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))")
_COUNT = re.compile(r"[?*+]|\{\d{1,4}(?:,\d{0,4})?\}")
_GROUP = re.compile(r"\((?:\?:|\?<[A-Za-z_]\w{0,63}>)?")
_LOOKAHEAD = re.compile(r"\(\?([=!])")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}


@lru_cache(maxsize=512)
def pattern_form(pattern: str) -> str:
    """The form of an expression. Raises `PatternError`."""
    check_pattern(pattern)
    body = _unanchored(pattern, exact=True)
    form = f"^{body}$"
    if not (is_form_unambiguous(form) or has_few_paths(body)):
        raise PatternError("continues in several ways after the same character, which engines cannot enforce")
    return form


def _translated(body: str, *, exact: bool) -> str:
    """The form of what is between the anchors. Raises `PatternError`."""
    reader = _Reader(body, exact=exact)
    form = reader.alternatives()
    if reader.has_alternatives:
        raise PatternError("must have its alternatives in a group: ^(a|b)$")
    if reader.rest:
        raise PatternError("has one closing parenthesis too many")
    return form


@lru_cache(maxsize=512)
def fits_pattern(form: str, pattern: str) -> bool:
    """Whether every text of a form fits an expression, which may begin with lookaheads.

    False for an expression that cannot be read, and where it takes too long to find out.
    """
    try:
        rest, lookaheads = _without_lookaheads(pattern)
        check_pattern(rest)
        core = automaton(_unanchored(rest, exact=False))
        ahead = [
            (is_wanted, automaton(_translated(inner.removesuffix("$"), exact=False)), inner.endswith("$"))
            for is_wanted, inner in lookaheads
        ]
        return includes(automaton(form[1:-1]), core, ahead)
    except PatternError:
        return False


def _unanchored(pattern: str, *, exact: bool) -> str:
    """The form between anchors of an expression that may lack them. Raises `PatternError`."""
    is_ended = pattern.endswith("$") and not pattern.endswith("\\$")
    body = pattern.removeprefix("^")
    body = body.removesuffix("$") if is_ended else body
    begins, ends = body.startswith(".*"), body.endswith(".*") and not body.endswith("\\.*")
    before = "" if pattern.startswith("^") or begins else _class(SAFE) + "*"
    after = "" if is_ended or ends else _class(SAFE) + "*"
    return f"{before}{_translated(body, exact=exact)}{after}"


def _without_lookaheads(pattern: str) -> tuple[str, list[tuple[bool, str]]]:
    """An expression without the lookaheads at its beginning, and these, each with whether it is wanted."""
    found: list[tuple[bool, str]] = []
    rest = pattern.removeprefix("^")
    while (begun := _LOOKAHEAD.match(rest)) and rest is not pattern:
        inner = rest[begun.end() : _closing(rest, begun.end())]
        check_pattern(inner)
        found.append((begun[1] == "=", inner))
        rest = rest[begun.end() + len(inner) + 1 :]
    return ("^" + rest if found else pattern), found


def _closing(text: str, at: int) -> int:
    """The index of the parenthesis that closes a group whose content begins at `at`."""
    depth, in_class = 0, False
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            at += 1
        elif in_class:
            in_class = letter != "]"
        elif letter == "[":
            in_class = True
        elif letter == "(":
            depth += 1
        elif letter == ")":
            if depth == 0:
                return at
            depth -= 1
        at += 1
    raise PatternError("is missing a closing parenthesis")


class _Reader:
    """Reads an expression from left to right, and writes its form.

    One that is not `exact` may name characters outside of `SAFE`: no text of the form has them.
    """

    def __init__(self, rest: str, *, exact: bool) -> None:
        self.rest = rest
        self._exact = exact
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
            parts.append(_repeated(atom, count) if atom.endswith(")") else atom + count)
            if sum(map(len, parts)) > MAX_FORM:
                raise PatternError(f"is longer than {MAX_FORM} characters with its counts expanded")
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
            return self._class(self._members())
        if self._take("."):
            return self._class(SAFE)
        if self.rest[0] in "^$":
            raise PatternError("has an anchor in the middle")
        if self.rest[0] in "{}*+?":
            raise PatternError(f"has a {self.rest[0]} in the wrong place")
        members, explicit = self._member()
        return self._class(self._checked(members) if explicit else members)

    def _members(self) -> frozenset[str]:
        """The characters of a class."""
        negated, found = self._take("^"), frozenset[str]()
        while not self._take("]"):
            members, explicit = self._member()
            if explicit and self.rest.startswith("-") and not self.rest.startswith("-]"):
                self._take("-")
                members, explicit = _range(members, self._member()[0]), False
            found |= members if negated or not explicit else self._checked(members)
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

    def _checked(self, members: frozenset[str]) -> frozenset[str]:
        if self._exact and not members <= SAFE:
            raise PatternError("has a character that is not printable ASCII, a quote or a backslash")
        return members

    def _class(self, members: frozenset[str]) -> str:
        members &= SAFE
        if self._exact and not members:
            raise PatternError("has a class without a printable ASCII character")
        return _class(members)

    def _take(self, sign: str) -> bool:
        if not self.rest.startswith(sign):
            return False
        self.rest = self.rest[len(sign) :]
        return True


def _repeated(group: str, count: str) -> str:
    """A group with a count, written out."""
    if not count.startswith("{") or count == OPTIONAL:
        return group + count
    least, comma, most = count[1:-1].partition(",")
    more = 0 if not comma else int(most or 0) - int(least)
    if (int(least) + max(more, 0)) * len(group) > MAX_FORM:
        raise PatternError(f"is longer than {MAX_FORM} characters with its counts expanded")
    optional = ""
    for _ in range(more):
        optional = f"(?:{group}{optional}){OPTIONAL}"
    return group * int(least) + (f"{group}*" if comma and not most else optional)


def _range(first: frozenset[str], last: frozenset[str]) -> frozenset[str]:
    if len(last) != 1:
        raise PatternError("has a range that ends with a set")
    (low,), (high,) = first, last
    return frozenset(map(chr, range(ord(low), min(ord(high), 0x7F) + 1)))


def _class(members: Iterable[str]) -> str:
    """The class of some characters, as ranges."""
    numbers = sorted(map(ord, members))
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
