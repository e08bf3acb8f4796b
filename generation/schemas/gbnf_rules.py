"""Properties of a grammar's rules and items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from .gbnf_grammar import Alternative, GbnfGrammar, Item, Ranges


def empty_rules(grammar: GbnfGrammar) -> set[int]:
    """The rules whose text may be empty."""

    def needs(alternative: Alternative) -> set[int] | None:
        needed = [atom for atom, least, _ in alternative if least]
        return {each for each in needed if isinstance(each, int)} if _all_rules(needed) else None

    return holding_rules(grammar, needs)


def _all_rules(atoms: Sequence[Ranges | int]) -> bool:
    return all(isinstance(atom, int) for atom in atoms)


def holding_rules(grammar: GbnfGrammar, needs: Callable[[Alternative], set[int] | None]) -> set[int]:
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


def may_be_empty(item: Item, empty: set[int]) -> bool:
    """Whether an item's text may be empty; `empty` are the rules whose text may be."""
    return not item[1] or item[0] in empty


def are_apart(sets: Iterable[Iterable[tuple[int, int]]]) -> bool:
    """Whether no character is in two of the sets."""
    events: list[tuple[int, int]] = []
    for each in sets:
        end = -1
        for low, high in sorted(each):
            if high > end:
                events.append((max(low, end + 1), high))
                end = high
    events.sort()
    return all(before[1] < behind[0] for before, behind in pairwise(events))


def name_of(grammar: GbnfGrammar, number: int) -> str:
    """The client's name of a rule, of a bounded length."""
    return grammar.names[number][:64]
