"""The parsed form of a grammar in llama.cpp's notation (GBNF), and its text in one form.

Source: llama.cpp, `grammars/README.md`. The engine's parser sees the text that is written here, never the
client's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Ranges = tuple[tuple[int, int], ...]
"""Characters as ranges of code points, sorted and apart."""

Item = tuple[Ranges | int, int, int | None]
"""A character or the number of a rule, and how often it comes: at least, at most (None: without limit)."""

Alternative = tuple[Item, ...]

COUNTS: Mapping[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


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
    for sign, counts in COUNTS.items():
        if (least, most) == counts:
            return sign
    return f"{{{least},{'' if most is None else most}}}"


def _escaped(code: int) -> str:
    if code < 128 and (chr(code).isalnum() or code == ord(" ")):
        return chr(code)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
