"""The automaton of a regular expression in the form of `generation.schemas.pattern_form`.

The automaton is Glushkov's: a state is a position, a character class of the expression with its counts
expanded. Engines follow all paths that a text so far allows, and some follow paths that meet again
separately. So an expression is enforced only if no text allows more than `MAX_PATHS` paths. Source: Glushkov,
"The abstract theory of automata" (1961).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

MAX_PATHS = 8
"""Paths that a text may allow at a time; two that lead to the same state count twice."""

MAX_STATES = 500
"""Sets of states that are looked at: an expression with more is treated as one with too many paths."""

_TOKEN = re.compile(r"\(\?:|\)|\||\[[^\]]*\]|[?*+]|\{\d+(?:,\d*)?\}")
_RANGE = re.compile(r"(\\x[0-9A-F]{2}|.)(?:-(\\x[0-9A-F]{2}|.))?")
_COUNTS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}


@dataclass
class Automaton:
    """The positions of an expression; characters are bits of `letters`, by their code."""

    letters: list[int] = field(default_factory=list)
    follow: list[set[int]] = field(default_factory=list)
    first: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)
    empty: bool = True

    def following(self, states: Iterable[int | None]) -> dict[int, int]:
        """The positions that may come next, each with the number of paths to it; None is the beginning."""
        found: Counter[int] = Counter()
        for state in states:
            found.update(self.first if state is None else self.follow[state])
        return found

    def accepts(self, states: Iterable[int | None]) -> bool:
        """Whether the text that led to these states fits."""
        return any(self.empty if state is None else state in self.last for state in states)

    def lengths(self) -> tuple[int, int | None]:
        """The lengths of the shortest and of the longest text; None if there is no longest one."""
        least: int | None = 0 if self.empty else None
        reached, at = set(self.first), 0
        seen: set[int] = set()
        while reached and at <= len(self.letters):
            at += 1
            if least is None and reached & self.last:
                least = at
            seen |= reached
            reached = {state for before in reached for state in self.follow[before]}
        longest = None if reached else at
        return least or 0, longest


@lru_cache(maxsize=256)
def automaton(form: str) -> Automaton:
    """The automaton of an expression between its anchors, which `schema_pattern` has bounded."""
    return _Builder(form).build()


@lru_cache(maxsize=256)
def has_few_paths(form: str) -> bool:
    """Whether no text allows more than `MAX_PATHS` paths through the expression."""
    found = automaton(form)
    start: tuple[int | None, ...] = (None,)
    seen, waiting = {start}, [start]
    while waiting:
        following = found.following(waiting.pop())
        for letters in atoms(found.letters[state] for state in following):
            paths = [
                state
                for state, number in following.items()
                if found.letters[state] & letters
                for _ in range(number)
            ]
            if len(paths) > MAX_PATHS:
                return False
            states = tuple(sorted(paths))
            if states not in seen:
                seen.add(states)
                waiting.append(states)
        if len(seen) > MAX_STATES:
            return False
    return True


def atoms(masks: Iterable[int]) -> list[int]:
    """The sets of characters between which no mask distinguishes, without those in no mask."""
    found: list[int] = []
    for mask in set(masks):
        rest, split = mask, []
        for atom in found:
            both = atom & rest
            split += [part for part in (both, atom & ~both) if part]
            rest &= ~both
        found = [*split, rest] if rest else split
    return found


class _Builder:
    """Builds an automaton from left to right."""

    def __init__(self, form: str) -> None:
        self._words = _TOKEN.findall(form)
        self._at = 0
        self._found = Automaton()

    def build(self) -> Automaton:
        first, last, empty = self._part(self._read())
        self._found.first, self._found.last, self._found.empty = first, last, empty
        return self._found

    def _read(self) -> list[list[tuple[object, int, int | None]]]:
        """The alternatives up to the end of a group: sequences of classes or groups with their counts."""
        found: list[list[tuple[object, int, int | None]]] = [[]]
        while self._at < len(self._words):
            word = self._words[self._at]
            self._at += 1
            if word == ")":
                break
            if word == "|":
                found.append([])
            elif word[0] in "?*+{":
                found[-1].append((found[-1].pop()[0], *_count(word)))
            else:
                found[-1].append((self._read() if word == "(?:" else mask_of(word), 1, 1))
        return found

    def _part(self, part: object) -> tuple[set[int], set[int], bool]:
        """Add the positions of a class or of a group; return the first ones, the last ones, and whether it
        may be empty."""
        if isinstance(part, int):
            self._found.letters.append(part)
            self._found.follow.append(set())
            return {len(self._found.letters) - 1}, {len(self._found.letters) - 1}, False
        assert isinstance(part, list)  # noqa: S101 - for the type checker
        first, last, empty = set[int](), set[int](), False
        for sequence in part:
            found = self._sequence(list(_copies(sequence)))
            first, last, empty = first | found[0], last | found[1], empty or found[2]
        return first, last, empty

    def _sequence(self, items: Sequence[tuple[object, bool, bool]]) -> tuple[set[int], set[int], bool]:
        first, last, empty = set[int](), set[int](), True
        for part, optional, repeated in items:
            begins, ends, may_be_empty = self._part(part)
            for state in ends if repeated else ():
                self._found.follow[state] |= begins
            for state in last:
                self._found.follow[state] |= begins
            first |= begins if empty else set()
            skips = optional or may_be_empty
            last = ends | last if skips else ends
            empty = empty and skips
        return first, last, empty


def _copies(sequence: Sequence[tuple[object, int, int | None]]) -> Iterator[tuple[object, bool, bool]]:
    """The parts with their counts expanded: each with whether it is optional, and whether it repeats."""
    for part, least, most in sequence:
        yield from ((part, False, most is None and at == least - 1) for at in range(least))
        if most is None and not least:
            yield part, True, True
        yield from ((part, True, False) for _ in range((most or least) - least))


def _count(word: str) -> tuple[int, int | None]:
    if word in _COUNTS:
        return _COUNTS[word]
    least, comma, most = word[1:-1].partition(",")
    return int(least), (int(most) if most else None) if comma else int(least)


def mask_of(word: str) -> int:
    """The characters of a class `[...]`, as bits."""
    mask = 0
    for found in _RANGE.finditer(word[1:-1]):
        low, high = _code(found[1]), _code(found[2] or found[1])
        mask |= (1 << (high + 1)) - (1 << low)
    return mask


def _code(text: str) -> int:
    return int(text[2:], 16) if len(text) > 1 else ord(text)
