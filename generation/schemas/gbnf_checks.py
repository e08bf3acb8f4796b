"""Checks that an engine can follow a grammar at a bounded cost: the next character always decides.

llama.cpp keeps a stack for each reading of the text so far, and merges equal stacks once a token is accepted.
But for each token of its vocabulary it follows the readings apart, one character after the other
(`llama_grammar_reject_candidates` in `src/llama-grammar.cpp`): two readings of a character that may come again
are 2^n readings of a token of n characters, in recursive rules and in repetitions alike. So each choice of a
grammar must be decided by the next character (LL(1)), after common beginnings of alternatives are taken
together. Then a stack is followed for each character that may come next, and their number is bounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from .gbnf_grammar import ROOT, Alternative, GbnfGrammar, GrammarRefused, Item, Ranges, parse_grammar

MAX_ELEMENTS = 20_000
"""The most characters, ranges and names of rules after the repetitions are multiplied out."""

MAX_RANGES = 128
"""The most ranges of characters that may come next at one place: the engine compares each with all tokens."""

Letters = frozenset[tuple[int, int]]
"""Ranges of characters, which may overlap."""

NONE: Letters = frozenset()


def safe_grammar(text: str, root: str = ROOT) -> str:
    """The text of a grammar in the form of `GbnfGrammar.text`. Raises `GrammarRefused`."""
    grammar = parse_grammar(text, root)
    _drop_unused(grammar)
    _check_ends(grammar)
    _check_size(grammar)
    _join_beginnings(grammar, _empty_rules(grammar))
    _check_size(grammar)
    _Choices(grammar).check()
    return grammar.text()


def _drop_unused(grammar: GbnfGrammar) -> None:
    used = [grammar.root]
    seen = set(used)
    for number in used:  # grows
        for atom in (item[0] for alternative in grammar.rules[number] for item in alternative):
            if isinstance(atom, int) and atom not in seen:
                seen.add(atom)
                used.append(atom)
    grammar.rules = {number: grammar.rules[number] for number in used}


def _check_size(grammar: GbnfGrammar) -> None:
    size = 0
    for alternatives in grammar.rules.values():
        for alternative in alternatives:
            size += 1
            for atom, least, most in alternative:
                size += (1 if isinstance(atom, int) else len(atom)) * (least + 1 if most is None else most)
    if size > MAX_ELEMENTS:
        raise GrammarRefused(f"it has more than {MAX_ELEMENTS} elements with its repetitions")


def _check_ends(grammar: GbnfGrammar) -> None:
    def needs(alternative: Alternative) -> set[int]:
        return {atom for atom, least, _ in alternative if isinstance(atom, int) and least}

    ending = _holding(grammar, needs)
    for number in grammar.rules:
        if number not in ending:
            raise GrammarRefused(f"a text of the rule {_name(grammar, number)} never ends")


def _empty_rules(grammar: GbnfGrammar) -> set[int]:
    """The rules whose text may be empty."""

    def needs(alternative: Alternative) -> set[int] | None:
        needed = [atom for atom, least, _ in alternative if least]
        return {each for each in needed if isinstance(each, int)} if _all_rules(needed) else None

    return _holding(grammar, needs)


def _all_rules(atoms: Sequence[Ranges | int]) -> bool:
    return all(isinstance(atom, int) for atom in atoms)


def _holding(grammar: GbnfGrammar, needs: Callable[[Alternative], set[int] | None]) -> set[int]:
    """The rules for which a property holds: one alternative has all that it needs (None: never)."""
    waiting: dict[int, list[list[int]]] = defaultdict(list)
    holding: set[int] = set()
    ready: list[int] = []
    for number, alternatives in grammar.rules.items():
        for needed in map(needs, alternatives):
            if needed is None:
                continue
            entry = [number, len(needed)]
            for each in needed:
                waiting[each].append(entry)
            if not needed:
                ready.append(number)
    while ready:
        number = ready.pop()
        if number in holding:
            continue
        holding.add(number)
        for entry in waiting[number]:
            entry[1] -= 1
            if not entry[1]:
                ready.append(entry[0])
    return holding


def _join_beginnings(grammar: GbnfGrammar, empty: set[int]) -> None:
    """Take the common first characters of a rule's alternatives together: `"ab" | "ac"` is `"a" ("b" | "c")`.

    Raises `GrammarRefused` where that makes too much of them.
    """
    work = list(grammar.rules)
    made = 0
    while work:
        number = work.pop()
        alternatives = list(dict.fromkeys(_without_marks(each, empty) for each in grammar.rules[number]))
        if any(each and all(_may_be_empty(item, empty) for item in each) for each in alternatives):
            alternatives = [each for each in alternatives if each]
        grammar.rules[number] = alternatives
        single = [each for each in alternatives if each and _is_letter(each[0])]
        if _are_apart([each[0][0] for each in single]):
            continue
        joined = [each for each in alternatives if not (each and _is_letter(each[0]))]
        for owners, ranges in _shared(single).items():
            made += len(owners)
            if made > MAX_ELEMENTS:
                name = _name(grammar, number)
                raise GrammarRefused(f"the alternatives of the rule {name} have too many common characters")
            tails = [single[owner][1:] for owner in owners]
            prefix: list[Item] = [(ranges, 1, 1)]
            if len(tails) == 1:
                joined.append((*prefix, *tails[0]))
                continue
            common = _common(tails)
            prefix += tails[0][:common]
            tail = grammar.add(grammar.names[number])
            grammar.rules[tail] = [each[common:] for each in tails]
            work.append(tail)
            joined.append((*prefix, (tail, 1, 1)))
        grammar.rules[number] = joined


def _without_marks(alternative: Alternative, empty: set[int]) -> Alternative:
    """An alternative in which nothing is optional that may be empty anyway."""
    return tuple((item[0], 1, 1) if item[0] in empty and item[1:] == (0, 1) else item for item in alternative)


def _common(tails: Sequence[Alternative]) -> int:
    """How many items all begin with."""
    count = 0
    for items in zip(*tails, strict=False):
        if any(item != items[0] for item in items):
            break
        count += 1
    return count


def _shared(alternatives: Sequence[Alternative]) -> dict[tuple[int, ...], Ranges]:
    """The first characters by the alternatives that begin with them."""
    events: list[tuple[int, int, int]] = []
    for owner, alternative in enumerate(alternatives):
        for low, high in alternative[0][0]:  # type: ignore[union-attr]
            events += [(low, 1, owner), (high + 1, 0, owner)]
    events.sort()
    shared: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    active: dict[int, None] = {}
    begin = steps = 0
    for at, opens, owner in events:
        if active and begin < at:
            steps += len(active)
            if steps > MAX_ELEMENTS:
                raise GrammarRefused("its alternatives have too many common characters")
            shared[tuple(sorted(active))].append((begin, at - 1))
        begin = at
        if opens:
            active[owner] = None
        else:
            del active[owner]
    return {owners: tuple(ranges) for owners, ranges in shared.items()}


def _is_letter(item: Item) -> bool:
    return not isinstance(item[0], int) and item[1] == item[2] == 1


def _may_be_empty(item: Item, empty: set[int]) -> bool:
    return not item[1] or item[0] in empty


def _are_apart(sets: Iterable[Iterable[tuple[int, int]]]) -> bool:
    """Whether no character is in two of the sets."""
    events: list[tuple[int, int]] = []
    for each in sets:
        end = -1
        for low, high in sorted(each):
            if high > end:
                events.append((max(low, end + 1), high))
                end = high
    events.sort()
    return all(before[1] < behind[0] for before, behind in zip(events, events[1:], strict=False))


def _name(grammar: GbnfGrammar, number: int) -> str:
    return grammar.names[number][:64]


class _Choices:
    """The characters that decide the choices of a grammar."""

    def __init__(self, grammar: GbnfGrammar) -> None:
        self._grammar = grammar
        self._empty = _empty_rules(grammar)
        self._first: dict[int, Letters] = {}
        self._behind: dict[int, set[tuple[int, int]]] = {number: set() for number in grammar.rules}

    def check(self) -> None:
        """Raises `GrammarRefused` unless the next character decides each choice."""
        for number in self._order():
            letters = (self._begin(each, NONE)[0] for each in self._grammar.rules[number])
            self._first[number] = self._bounded(number, NONE.union(*letters))
        self._find_behind()
        for number, alternatives in self._grammar.rules.items():
            self._check_rule(number, alternatives)

    def _order(self) -> Iterable[int]:
        """The rules, each after those that it may begin with."""
        graph: dict[int, set[int]] = {}
        for number, alternatives in self._grammar.rules.items():
            graph[number] = set()
            for alternative in alternatives:
                for item in alternative:
                    if isinstance(item[0], int):
                        graph[number].add(item[0])
                    if not _may_be_empty(item, self._empty):
                        break
        try:
            return tuple(TopologicalSorter(graph).static_order())
        except CycleError as error:
            name = _name(self._grammar, min(error.args[1]))
            raise GrammarRefused(f"the rule {name} begins with itself (left recursion)") from None

    def _letters(self, item: Item) -> Letters:
        return self._first[item[0]] if isinstance(item[0], int) else frozenset(item[0])

    def _begin(self, items: Sequence[Item], behind: Letters) -> tuple[Letters, bool]:
        """The first characters of items, and whether they may be empty; then those `behind` count, too."""
        found = NONE
        for item in items:
            found |= self._letters(item)
            if not _may_be_empty(item, self._empty):
                return found, False
        return found | behind, True

    def _bounded(self, number: int, letters: Letters) -> Letters:
        if len(letters) > MAX_RANGES:
            name = _name(self._grammar, number)
            raise GrammarRefused(
                f"more than {MAX_RANGES} ranges of characters may come next in the rule {name}"
            )
        return letters

    def _find_behind(self) -> None:
        """Find the characters that may come behind each rule."""
        passes: dict[int, set[int]] = defaultdict(set)
        for number, alternatives in self._grammar.rules.items():
            for alternative in alternatives:
                tail, ends = NONE, True
                for item in reversed(alternative):
                    atom = item[0]
                    if isinstance(atom, int):
                        self._behind[atom] |= tail | (self._first[atom] if item[2] != 1 else NONE)
                        if ends:
                            passes[number].add(atom)
                    may_be_empty = _may_be_empty(item, self._empty)
                    tail = self._bounded(number, self._letters(item) | (tail if may_be_empty else NONE))
                    ends = ends and may_be_empty
        work = [(number, each) for number, letters in self._behind.items() for each in letters]
        while work:
            number, letter = work.pop()
            for each in passes[number]:
                if letter not in self._behind[each]:
                    self._behind[each].add(letter)
                    self._bounded(each, self._behind[each])  # type: ignore[arg-type]
                    work.append((each, letter))

    def _check_rule(self, number: int, alternatives: Sequence[Alternative]) -> None:
        behind = frozenset(self._behind[number])
        begins = [self._begin(each, behind) for each in alternatives]
        if sum(empty for _, empty in begins) > 1:
            raise self._refusal(number, "several alternatives may be empty")
        if not _are_apart(letters for letters, _ in begins):
            raise self._refusal(number, "two alternatives may begin with the same character")
        for alternative in alternatives:
            tail = behind
            for item in reversed(alternative):
                atom, least, most = item
                if (least, most) != (1, 1):
                    if atom in self._empty:
                        raise self._refusal(number, "a repeated part may be empty")
                    if least != most and not _are_apart((self._letters(item), tail)):
                        raise self._refusal(
                            number, "a repeated or optional part begins with a character that may come behind it"
                        )
                tail = self._letters(item) | (tail if _may_be_empty(item, self._empty) else NONE)
                self._bounded(number, tail)

    def _refusal(self, number: int, reason: str) -> GrammarRefused:
        name = _name(self._grammar, number)
        return GrammarRefused(f"in the rule {name}, {reason}: the next character must decide")
