"""Says whether one expression allows only texts that another one allows."""

from __future__ import annotations

from collections.abc import Sequence

from generation.schemas.pattern_automaton import Automaton, atoms

MAX_WORK = 30_000
"""States of all automata that are looked at, once for each time: with more, the answer is no."""

States = frozenset[int | None]

Lookahead = tuple[bool, Automaton, bool]
"""Whether it is wanted, its expression, and whether that has to reach the end of the text."""


def includes(inner: Automaton, outer: Automaton, lookaheads: Sequence[Lookahead] = ()) -> bool:
    """Whether each text of `inner` fits `outer`, and all of the lookaheads at its beginning."""
    begin: States = frozenset({None})
    start = (begin, begin, tuple(begin for _ in lookaheads))
    seen, waiting, work = {start}, [start], 0
    while waiting:
        states, others, ahead = waiting.pop()
        work += len(states) + len(others) + sum(map(len, ahead))
        if work > MAX_WORK:
            return False
        settled = []
        for (is_wanted, found, to_end), within in zip(lookaheads, ahead, strict=True):
            is_met = within is _MET or (not to_end and found.accepts(within))
            if is_met and not is_wanted:
                return False
            settled.append(_MET if is_met else within)
        if inner.accepts(states):
            if not outer.accepts(others):
                return False
            for (is_wanted, found, _), within in zip(lookaheads, settled, strict=True):
                if is_wanted != (within is _MET or found.accepts(within)):
                    return False
        following = inner.following(states)
        masks = [inner.letters[at] for at in following]
        known = [_masks(outer, others)]
        known += [_masks(found, within) for (_, found, _), within in zip(lookaheads, settled, strict=True)]
        for letters in atoms([*masks, *(mask for part in known for mask in part)]):
            reached = _step(inner, states, letters)
            if not reached:
                continue
            parts = zip(lookaheads, settled, strict=True)
            after = tuple(
                within if within is _MET else _step(found, within, letters) for (_, found, _), within in parts
            )
            state = (reached, _step(outer, others, letters), after)
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return True


_MET: States = frozenset({-1})
"""In the place of the states of a lookahead that has been met."""


def _masks(found: Automaton, states: States) -> list[int]:
    return [] if states is _MET else [found.letters[at] for at in found.following(states)]


def _step(found: Automaton, states: States, letters: int) -> States:
    return frozenset(at for at in found.following(states) if found.letters[at] & letters)
