"""Checks that an engine can follow a grammar at a bounded cost: the next character always decides.

llama.cpp keeps a stack for each reading of the text so far, and merges equal stacks once a token is accepted.
But for each token of its vocabulary it follows the readings apart, one character after the other
(`llama_grammar_reject_candidates` in `src/llama-grammar.cpp`): two readings of a character that may come
again are 2^n readings of a token of n characters, in recursive rules and in repetitions alike. So each choice
of a grammar must be decided by the next character (LL(1)), after common beginnings of alternatives are taken
together. Then each place has a stack for each character or class that may come next, and reading any of them
makes the engine advance all, at a cost that grows with the square of their successors: `_check_load` bounds
that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from .gbnf_grammar import GbnfGrammar, GrammarRefused, Item, Ranges
from .gbnf_rules import are_apart, empty_rules, may_be_empty, name_of

MAX_RANGES = 128
"""The most ranges in one class of characters: the engine compares each with all tokens."""

MAX_NEXT = 64
"""The most places in a grammar, each a character or a class, that may read the next character."""

MAX_LOAD = 160.0
"""The most work for each character of the vocabulary's tokens (`Choices._check_load`).

The grammars of JSON in llama.cpp have 109 and 157. Text whose characters are in 3, 4 or 6 classes has 38, 90
and 302, and a choice among the 128,000 tokens of Llama 3 takes 0.16, 0.29 and 0.92 s of a processor then.
"""

Places = frozenset[int]
"""Characters or classes of a grammar, by their numbers."""

NONE: Places = frozenset()


def _share(ranges: Ranges) -> float:
    """About how often a character of a vocabulary's tokens is among these."""
    share = 0.0
    for low, high in ranges:
        for begin, end, each in _COMMON:
            share += max(0, min(high, end) - max(low, begin) + 1) * each
    return min(share, 1.0)


_COMMON = (
    (ord("a"), ord("z"), 1 / 27),
    (ord(" "), ord(" "), 1 / 27),
    (ord("A"), ord("Z"), 1 / 100),
    (0x00, 0x1F, 1 / 300),
    (0x21, 0x40, 1 / 300),
    (0x5B, 0x60, 1 / 300),
    (0x7B, 0x7F, 1 / 300),
    (0x80, 0xFFFF, 1 / 30_000),
    (0x10000, 0x1FFFF, 1 / 1_000_000),
)
"""Ranges of characters, and the share of each character in them."""


class Choices:
    """The places of a grammar that decide its choices, by the characters that they read."""

    def __init__(self, grammar: GbnfGrammar) -> None:
        self._grammar = grammar
        self._empty = empty_rules(grammar)
        self._first: dict[int, Places] = {}
        self._behind: dict[int, set[int]] = {number: set() for number in grammar.rules}
        self._ranges: list[Ranges] = []
        self._next: dict[int, Places] = {}
        self._items: dict[int, list[list[tuple[Item, int]]]] = {
            number: [[(item, self._place(number, item)) for item in each] for each in alternatives]
            for number, alternatives in grammar.rules.items()
        }

    def _place(self, number: int, item: Item) -> int:
        """The number of an item's place; -1 for a rule."""
        if isinstance(item[0], int):
            return -1
        if len(item[0]) > MAX_RANGES:
            name = name_of(self._grammar, number)
            raise GrammarRefused(
                f"a class of the rule {name} has more than {MAX_RANGES} ranges of characters"
            )
        self._ranges.append(item[0])
        return len(self._ranges) - 1

    def check(self) -> None:
        """Raises `GrammarRefused` unless the next character decides each choice, at a bounded cost."""
        for number in self._order():
            begins = (self._begin(each, NONE)[0] for each in self._items[number])
            self._first[number] = self._bounded(number, NONE.union(*begins))
        self._find_behind()
        for number, alternatives in self._items.items():
            self._check_rule(number, alternatives)
        self._check_load()

    def _order(self) -> Iterable[int]:
        """The rules, each after those that it may begin with."""
        graph: dict[int, set[int]] = {}
        for number, alternatives in self._grammar.rules.items():
            graph[number] = set()
            for alternative in alternatives:
                for item in alternative:
                    if isinstance(item[0], int):
                        graph[number].add(item[0])
                    if not may_be_empty(item, self._empty):
                        break
        try:
            return tuple(TopologicalSorter(graph).static_order())
        except CycleError as error:
            name = name_of(self._grammar, min(error.args[1]))
            raise GrammarRefused(f"the rule {name} begins with itself (left recursion)") from None

    def _places(self, item: Item, place: int) -> Places:
        return self._first[item[0]] if isinstance(item[0], int) else frozenset((place,))

    def _begin(self, items: Sequence[tuple[Item, int]], behind: Places) -> tuple[Places, bool]:
        """The first places of items, and whether they may be empty; then those `behind` count, too."""
        found = NONE
        for item, place in items:
            found |= self._places(item, place)
            if not may_be_empty(item, self._empty):
                return found, False
        return found | behind, True

    def _bounded(self, number: int, places: Places) -> Places:
        if len(places) > MAX_NEXT:
            name = name_of(self._grammar, number)
            raise GrammarRefused(
                f"more than {MAX_NEXT} characters or classes may come next in the rule {name}"
            )
        return places

    def _find_behind(self) -> None:
        """Find the places that may come behind each rule."""
        passes: dict[int, set[int]] = defaultdict(set)
        for number, alternatives in self._items.items():
            for alternative in alternatives:
                tail, ends = NONE, True
                for item, place in reversed(alternative):
                    atom = item[0]
                    if isinstance(atom, int):
                        self._behind[atom] |= tail | (self._first[atom] if item[2] != 1 else NONE)
                        if ends:
                            passes[number].add(atom)
                    can_be_empty = may_be_empty(item, self._empty)
                    tail = self._bounded(number, self._places(item, place) | (tail if can_be_empty else NONE))
                    ends = ends and can_be_empty
        work = [(number, each) for number, places in self._behind.items() for each in places]
        while work:
            number, place = work.pop()
            for each in passes[number]:
                if place not in self._behind[each]:
                    self._behind[each].add(place)
                    self._bounded(each, self._behind[each])  # type: ignore[arg-type]
                    work.append((each, place))

    def _check_rule(self, number: int, alternatives: Sequence[Sequence[tuple[Item, int]]]) -> None:
        behind = frozenset(self._behind[number])
        begins = [self._begin(each, behind) for each in alternatives]
        if sum(empty for _, empty in begins) > 1:
            raise self._refusal(number, "several alternatives may be empty")
        if not self._decide(places for places, _ in begins):
            raise self._refusal(
                number, "two alternatives may begin with the same character: the next one must decide"
            )
        for alternative in alternatives:
            tail = behind
            for item, place in reversed(alternative):
                atom, least, most = item
                places = self._places(item, place)
                if (least, most) != (1, 1):
                    if atom in self._empty:
                        raise self._refusal(number, "a repeated part may be empty")
                    if least != most and not self._decide((places, tail)):
                        raise self._refusal(
                            number,
                            "a repeated or optional part begins with a character that may come behind it",
                        )
                if place >= 0:
                    self._next[place] = tail if most == 1 else tail | places
                tail = self._bounded(number, places | (tail if may_be_empty(item, self._empty) else NONE))

    def _decide(self, sets: Iterable[Places]) -> bool:
        """Whether no character is read by places of two of the sets."""
        return are_apart([letters for place in each for letters in self._ranges[place]] for each in sets)

    def _check_load(self) -> None:
        """Bound the work for each character of the vocabulary's tokens that a place reads.

        Of each place that may come next, the engine makes the stacks of its successors, and compares these
        with one another.
        """
        work = {
            place: float(sum(len(self._next[each]) ** 2 for each in n)) for place, n in self._next.items()
        }
        loads: dict[Places, float] = {}
        for number, alternatives in self._items.items():
            for place in (place for alternative in alternatives for _, place in alternative if place >= 0):
                places = self._next[place]
                if places not in loads:
                    loads[places] = sum(_share(self._ranges[each]) * work[each] for each in places)
                if loads[places] > MAX_LOAD:
                    raise self._refusal(number, "too many characters or classes may come in a row")

    def _refusal(self, number: int, reason: str) -> GrammarRefused:
        name = name_of(self._grammar, number)
        return GrammarRefused(f"in the rule {name}, {reason}")
