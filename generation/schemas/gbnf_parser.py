"""Reads grammars in llama.cpp's notation (GBNF) into `GbnfGrammar`.

Sources: llama.cpp, `grammars/README.md` and `src/llama-grammar.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .gbnf_grammar import COUNTS, Alternative, GbnfGrammar, GrammarRefused, Item, Ranges

MAX_BYTES = 16 * 1024
MAX_DEPTH = 32
MAX_COUNT = 1000
MAX_RULES = 1000
ROOT = "root"
_LETTERS: Ranges = ((1, 0xD7FF), (0xE000, 0x10FFFF))
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n"}
_SPACE = re.compile(r"(?:[ \t]+|#[^\r\n]*)*")
_SPACES = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_NAME = re.compile(r"[A-Za-z0-9-]+")
_CHARACTER = re.compile(
    r'\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([trn\\"\[\]-]))|([^\\])', re.DOTALL
)
_COUNT = re.compile(r"\{[ \t]*([0-9]{1,9})[ \t]*(?:(,)[ \t]*([0-9]{1,9})?[ \t]*)?\}")


def parse_grammar(text: str, root: str = ROOT) -> GbnfGrammar:
    """Read a grammar. Raises `GrammarRefused`."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise GrammarRefused(f"it has more than {MAX_BYTES} bytes")
    return Parser(text).parse(root)


@dataclass
class _Open:
    """A rule or group whose end has not come: its number and alternatives, and the items of the last one."""

    number: int
    alternatives: list[Alternative] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    last: int | None = None
    """Where the items begin that a repetition would repeat."""

    def end_alternative(self) -> None:
        """Begin the next alternative."""
        self.alternatives.append(tuple(self.items))
        self.items, self.last = [], None


class Parser:
    """Reads a text from its begin to its end, once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._grammar = GbnfGrammar()
        self._numbers: dict[str, int] = {}
        self._name = ""
        self.steps = 0

    def parse(self, root: str) -> GbnfGrammar:
        """The grammar with this root. Raises `GrammarRefused`."""
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
            return COUNTS[letter]
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


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges in their order, with those in one that touch; those without a character are left out."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(each for each in ranges if each[0] <= each[1]):
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
