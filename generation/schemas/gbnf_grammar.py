"""Reads grammars in llama.cpp's notation (GBNF), and writes them again in a form that an engine can follow.

Sources: llama.cpp, `grammars/README.md` and `src/llama-grammar.cpp`. An engine follows all readings of a text
at once, for each token of its vocabulary: `gbnf_checks` permits one reading only. The engine's parser sees
the text that is written here, never the client's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MAX_BYTES = 64 * 1024
MAX_RULES = 1000
MAX_DEPTH = 32
MAX_COUNT = 1000
ROOT = "root"

Ranges = tuple[tuple[int, int], ...]
"""Characters as ranges of code points, sorted and apart."""

Item = tuple[Ranges | int, int, int | None]
"""A character or the number of a rule, and how often it comes: at least, and at most (None: without limit)."""

Alternative = tuple[Item, ...]

_LETTERS: Ranges = ((1, 0xD7FF), (0xE000, 0x10FFFF))
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n"}
_COUNTS: Mapping[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_SPACE = re.compile(r"(?:[ \t]+|#[^\r\n]*)*")
_SPACES = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_NAME = re.compile(r"[A-Za-z0-9-]+")
_CHARACTER = re.compile(
    r'\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([trn\\"\[\]-]))|([^\\])', re.DOTALL
)
_COUNT = re.compile(r"\{[ \t]*([0-9]{1,9})[ \t]*(?:(,)[ \t]*([0-9]{1,9})?[ \t]*)?\}")


class GrammarRefused(ValueError):
    """Raised for a grammar that is malformed, too large, or not safe; the text is for the client."""


@dataclass
class GbnfGrammar:
    """The rules of a grammar: the alternatives of each by its number. Groups are rules, too.

    `names` are the client's names of the rules; a group has the name of its rule.
    """

    rules: dict[int, list[Alternative]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    root: int = 0

    def add(self, name: str) -> int:
        """The number of a new rule."""
        self.names.append(name)
        return len(self.names) - 1

    def text(self) -> str:
        """The grammar in GBNF: the root is `g0`, the others are numbered as they come."""
        numbers = {self.root: 0}
        order, lines = [self.root], []
        for rule in order:  # grows
            written = []
            for alternative in self.rules[rule]:
                for atom, _, _ in alternative:
                    if isinstance(atom, int) and atom not in numbers:
                        numbers[atom] = len(numbers)
                        order.append(atom)
                written.append(_written(alternative, numbers))
            lines.append(f"g{numbers[rule]} ::= {' | '.join(written)}\n")
        return "".join(lines)


def parse_grammar(text: str, root: str = ROOT) -> GbnfGrammar:
    """Read a grammar. Raises `GrammarRefused`."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise GrammarRefused(f"it has more than {MAX_BYTES} bytes")
    return _Parser(text).parse(root)


@dataclass
class _Open:
    """A rule or group whose end has not come: its number and alternatives, and the items of the last one."""

    number: int
    alternatives: list[Alternative] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    last: int | None = None
    """Where the items begin that a repetition would repeat."""

    def end_alternative(self) -> None:
        self.alternatives.append(tuple(self.items))
        self.items, self.last = [], None


class _Parser:
    """Reads a text from its begin to its end, once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._grammar = GbnfGrammar()
        self._numbers: dict[str, int] = {}
        self._name = ""
        self.steps = 0

    def parse(self, root: str) -> GbnfGrammar:
        self._skip(lines=True)
        while self._at < len(self._text):
            self._rule()
            self._skip(lines=True)
        grammar = self._grammar
        if root not in self._numbers or self._numbers[root] not in grammar.rules:
            raise GrammarRefused(f"it has no rule {root}")
        for name, number in self._numbers.items():
            if number not in grammar.rules:
                raise GrammarRefused(f"the rule {name} is not defined")
        grammar.root = self._numbers[root]
        return grammar

    def _rule(self) -> None:
        self._name = self._read_name()
        self._skip()
        if not self._text.startswith("::=", self._at):
            raise self._refusal(f"::= is expected {self._place}")
        number = self._number(self._name)
        if number in self._grammar.rules:
            raise self._refusal("it is defined twice")
        self._at += 3
        self._skip(lines=True)
        opened = [_Open(number)]
        while opened:
            self.steps += 1
            part = opened[-1]
            letter = self._text[self._at : self._at + 1]
            nested = len(opened) > 1
            if letter == "|":
                self._at += 1
                part.end_alternative()
                nested = True  # an alternative may begin on the next line
            elif letter == "(":
                if len(opened) > MAX_DEPTH:
                    raise self._refusal(f"its groups are nested more than {MAX_DEPTH} levels deep")
                self._at += 1
                opened.append(_Open(self._new_rule()))
                nested = True
            elif letter == ")" and nested:
                self._at += 1
                self._close(opened)
                nested = len(opened) > 1
            elif letter in ("", "\r", "\n") and not nested:
                self._close(opened)
                return
            else:
                self._item(part, letter)
            self._skip(lines=nested)

    def _close(self, opened: list[_Open]) -> None:
        part = opened.pop()
        part.end_alternative()
        self._grammar.rules[part.number] = part.alternatives
        if opened:
            parent = opened[-1]
            parent.last = len(parent.items)
            parent.items.append((part.number, 1, 1))

    def _item(self, part: _Open, letter: str) -> None:
        if letter in ("*", "+", "?", "{"):
            self._repeat(part, *self._counts(letter))
            return
        part.last = len(part.items)
        if letter == '"':
            self._at += 1
            while (code := self._character('"')) is not None:
                is_plain = 0 < code <= _LETTERS[0][1]
                letter_of = ((code, code),) if is_plain else self._letters([(code, code)])
                part.items.append((letter_of, 1, 1))
        elif letter == "[":
            part.items.append((self._class(), 1, 1))
        elif letter == ".":
            self._at += 1
            part.items.append((_LETTERS, 1, 1))
        elif letter in ("<", "!"):
            raise self._refusal("it names a token, which is not supported")
        elif letter == "":
            raise self._refusal("its end is missing")
        else:
            part.items.append((self._number(self._read_name()), 1, 1))

    def _counts(self, letter: str) -> tuple[int, int | None]:
        if letter != "{":
            self._at += 1
            return _COUNTS[letter]
        found = _COUNT.match(self._text, self._at)
        if found is None:
            raise self._refusal(f"a repetition is malformed {self._place}")
        self._at = found.end()
        least = int(found[1])
        most = int(found[3]) if found[3] else None if found[2] else least
        if max(least, most or 0) > MAX_COUNT:
            raise self._refusal(f"it repeats something more than {MAX_COUNT} times")
        if most is not None and not 0 < max(least, 1) <= most:
            raise self._refusal("the counts of a repetition exclude each other")
        return least, most

    def _repeat(self, part: _Open, least: int, most: int | None) -> None:
        if part.last is None or part.last == len(part.items):
            raise self._refusal(f"nothing is repeated {self._place}")
        repeated, part.items = part.items[part.last :], part.items[: part.last]
        atom = repeated[0][0]
        if len(repeated) > 1:
            atom = self._new_rule()
            self._grammar.rules[atom] = [tuple(repeated)]
        part.items.append((atom, least, most))
        part.last = None

    def _class(self) -> Ranges:
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        found: list[tuple[int, int]] = []
        while (low := self._character("]")) is not None:
            high = low
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                high = self._character("") or 0
            if high < low:
                raise self._refusal("a range of characters ends before it begins")
            found.append((low, high))
        return self._letters(_complement(found) if negated else found)

    def _letters(self, found: Sequence[tuple[int, int]]) -> Ranges:
        """The characters that a text can have among these."""
        ranges = _merged(
            (max(low, first), min(high, last)) for low, high in found for first, last in _LETTERS
        )
        if not ranges:
            raise self._refusal("no character fits one of its places")
        return ranges

    def _character(self, end: str) -> int | None:
        """The next character's code point; None at the `end`, which is skipped."""
        self.steps += 1
        if end and self._text.startswith(end, self._at):
            self._at += 1
            return None
        found = _CHARACTER.match(self._text, self._at)
        if found is None:
            raise self._refusal(f"a character is missing or malformed {self._place}")
        self._at = found.end()
        if found[4]:
            return ord(_ESCAPES.get(found[4], found[4]))
        if found[5]:
            return ord(found[5])
        return int(found[1] or found[2] or found[3], 16)

    def _read_name(self) -> str:
        found = _NAME.match(self._text, self._at)
        if found is None:
            raise self._refusal(f"a name is expected {self._place}")
        self._at = found.end()
        return found.group()

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = self._grammar.add(name)
            self._check_count()
        return self._numbers[name]

    def _new_rule(self) -> int:
        number = self._grammar.add(self._name)
        self._check_count()
        return number

    def _check_count(self) -> None:
        if len(self._grammar.names) > MAX_RULES:
            raise GrammarRefused(f"it has more than {MAX_RULES} rules and groups")

    def _skip(self, *, lines: bool = False) -> None:
        found = (_SPACES if lines else _SPACE).match(self._text, self._at)
        self._at = found.end() if found else self._at

    @property
    def _place(self) -> str:
        return f"in line {self._text.count(chr(10), 0, self._at) + 1}"

    def _refusal(self, reason: str) -> GrammarRefused:
        return GrammarRefused(f"in the rule {self._name[:64]}, {reason}" if self._name else reason)


def _merged(ranges: object) -> Ranges:
    """Ranges in their order, with those in one that touch; those without a character are left out."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(each for each in ranges if each[0] <= each[1]):  # type: ignore[attr-defined]
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found, begin = [], 0
    for low, high in _merged(ranges):
        found.append((begin, low - 1))
        begin = high + 1
    return [*found, (begin, 0x10FFFF)]


def _written(alternative: Alternative, numbers: Mapping[int, int]) -> str:
    parts: list[str] = []
    letters = ""
    for atom, least, most in alternative:
        count = _written_count(least, most)
        if not isinstance(atom, int) and not count and len(atom) == 1 and atom[0][0] == atom[0][1]:
            letters += _escaped(atom[0][0])
            continue
        if letters:
            parts.append(f'"{letters}"')
            letters = ""
        if isinstance(atom, int):
            parts.append(f"g{numbers[atom]}{count}")
        else:
            ranges = (_escaped(low) + (f"-{_escaped(high)}" if high > low else "") for low, high in atom)
            parts.append(f"[{''.join(ranges)}]{count}")
    if letters or not parts:
        parts.append(f'"{letters}"')
    return " ".join(parts)


def _written_count(least: int, most: int | None) -> str:
    if (least, most) == (1, 1):
        return ""
    for sign, counts in _COUNTS.items():
        if (least, most) == counts:
            return sign
    return f"{{{least},{'' if most is None else most}}}"


def _escaped(code: int) -> str:
    if code < 128 and (chr(code).isalnum() or code == ord(" ")):
        return chr(code)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
