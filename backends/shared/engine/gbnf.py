"""Grammar rules in llama.cpp's notation (GBNF), and the notations in which models write values."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from .syntax import QUOTE

MAX_RULES = 2000
MAX_SIZE = 400_000
SPECIAL = re.compile(r'["\\\x00-\x1f\x7f]')


class SchemaError(ValueError):
    """Raised when a schema cannot be converted to a grammar."""


@dataclass(frozen=True)
class Notation:
    """How a model writes values.

    `quote` delimits strings; `letter` is a rule for a piece of a string, `single` for one that is a single
    character, `blank` for optional space.
    """

    quote: str
    letter: str
    single: str
    blank: str
    escaped: bool
    """Whether strings are escaped as in JSON, and keys are strings."""

    @property
    def key(self) -> str:
        """A rule for any key."""
        return "string" if self.escaped else r"[^:{},\x00-\x1F]+"

    def encode_value(self, value: Any) -> str:
        """A value as the model writes it."""
        return json.dumps(value, ensure_ascii=False) if self.escaped else _gemma_notation(value)

    def encode_key(self, key: str) -> str:
        """A key as the model writes it."""
        return json.dumps(key, ensure_ascii=False) if self.escaped else key


# half of a surrogate pair is no character, and readers of JSON refuse it
_ESCAPED = r'"\\" (["\\/bfnrt] | "u" ([0-9abcefABCEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))'
_LETTER = rf'[^"\\\x00-\x1F\x7F] | {_ESCAPED}'
JSON = Notation('"', _LETTER, "letter", '" "?', escaped=True)
GEMMA = Notation(QUOTE, r'[^<\x00] | "<" [^|<\x00]', r"[^<\x00]", '""', escaped=False)


class Rules:
    """The rules of one grammar, without duplicates."""

    def __init__(self, notation: Notation) -> None:
        self.notation = notation
        self._names: dict[str, str] = {}  # by body
        self._bodies: dict[str, str] = {}
        self._size = 0
        quote = literal(notation.quote)
        for name, body in {
            "blank": notation.blank,
            "letter": notation.letter,
            "single": notation.single,
            "string": f"{quote} letter* {quote}",
            "integer": '"-"? ("0" | [1-9] [0-9]{0,17})',
            "number": 'integer ("." [0-9]{1,17})? ([eE] [-+]? [0-9]{1,2})?',
            "boolean": '"true" | "false"',
            "null": '"null"',
            "pair": f'{notation.key} ":" blank value',
            "object": '"{" blank (pair ("," blank pair)*)? blank "}"',
            "array": '"[" blank (value ("," blank value)*)? blank "]"',
            "value": "object | array | string | number | boolean | null",
        }.items():
            self._bodies[name] = body

    def reserve(self) -> str:
        """The name of a rule to be defined later. Raises `SchemaError` when there are too many."""
        if len(self._bodies) >= MAX_RULES:
            raise SchemaError("a schema is too large")
        name = f"r{len(self._bodies)}"
        self._bodies[name] = ""
        return name

    def define(self, name: str, body: str, copies: int = 0) -> str:
        """Define a reserved rule and return its name; `copies` counts the repetitions that llama.cpp expands.

        Raises `SchemaError` when the grammar becomes too large.
        """
        self._size += len(body) + 10 * copies
        if self._size > MAX_SIZE:
            raise SchemaError("a schema is too large")
        self._bodies[name] = body
        return name

    def rule(self, body: str, copies: int = 0) -> str:
        """The name of the rule with this body, which is defined if needed."""
        if body not in self._names:
            self._names[body] = self.define(self.reserve(), body, copies)
        return self._names[body]

    def text(self, root: str) -> str:
        """The grammar's text, with this root."""
        rules = "\n".join(f"{name} ::= {body}" for name, body in self._bodies.items())
        return f"root ::= {root}\n{rules}\n"


def literal(text: str) -> str:
    """A GBNF literal."""
    text = text.replace("\x00", "")
    return '"' + SPECIAL.sub(lambda found: code_point(found.group()), text) + '"'


def code_point(letter: str) -> str:
    """The escape of a character: two, four or eight hexadecimal digits (llama.cpp, grammars/README.md)."""
    number = ord(letter)
    if number <= 0xFF:
        return f"\\x{number:02X}"
    return f"\\u{number:04X}" if number <= 0xFFFF else f"\\U{number:08X}"


def _gemma_notation(value: Any) -> str:
    if isinstance(value, str):
        return f"{QUOTE}{value}{QUOTE}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_gemma_notation(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_gemma_notation, value)) + "]"
    return json.dumps(value)
