"""Makes a client's grammar one that an engine can follow at a bounded cost, or refuses it.

Common beginnings of alternatives are taken together, before `gbnf_choices` checks each choice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from .gbnf_choices import Choices
from .gbnf_grammar import Alternative, GbnfGrammar, GrammarRefused, Item, Ranges
from .gbnf_parser import ROOT, parse_grammar
from .gbnf_rules import are_apart, empty_rules, holding_rules, may_be_empty, name_of

MAX_ELEMENTS = 20_000
"""The most characters, ranges and names of rules after the repetitions are multiplied out."""


def safe_grammar(text: str, root: str = ROOT) -> str:
    """The text of a grammar in the form of `GbnfGrammar.text`. Raises `GrammarRefused`."""
    grammar = parse_grammar(text, root)
    _drop_unused(grammar)
    _check_ends(grammar)
    _check_size(grammar)
    _join_beginnings(grammar, empty_rules(grammar))
    _check_size(grammar)
    Choices(grammar).check()
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

    ending = holding_rules(grammar, needs)
    for number in grammar.rules:
        if number not in ending:
            raise GrammarRefused(f"a text of the rule {name_of(grammar, number)} never ends")


def _join_beginnings(grammar: GbnfGrammar, empty: set[int]) -> None:
    """Take the common first characters of a rule's alternatives together: `"ab" | "ac"` is `"a" ("b" | "c")`.

    Raises `GrammarRefused` where that makes too much of them.
    """
    work = list(grammar.rules)
    made = 0
    while work:
        number = work.pop()
        alternatives = list(dict.fromkeys(_without_marks(each, empty) for each in grammar.rules[number]))
        if any(each and all(may_be_empty(item, empty) for item in each) for each in alternatives):
            alternatives = [each for each in alternatives if each]
        grammar.rules[number] = alternatives
        single = [each for each in alternatives if each and _is_letter(each[0])]
        if are_apart([each[0][0] for each in single]):  # type: ignore[misc]
            continue
        joined = [each for each in alternatives if not (each and _is_letter(each[0]))]
        for owners, ranges in _shared(single).items():
            made += len(owners)
            if made > MAX_ELEMENTS:
                name = name_of(grammar, number)
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
