"""Keeps the sequences of running requests side by side.

The library computes neighbouring sequence ids in one pass over the model's weights, and each further group of
neighbours in a pass of its own (`llama_batch_allocr::split_equal` for a cache that is split by sequence): 32
requests in every second sequence run at a sixth of their speed. So a request that begins gets an id beside
those that run, and the conversation that was cached there moves to another id.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .sequence import CacheSequence, SequenceMemory

MIN_SEQUENCES_FOR_ROOM = 8
"""From this number of sequences on, a cached conversation may be dropped to make room for moves: it is one of
many, and the sequence stays empty for the moves that follow."""


class Placement:
    """Moves idle sequences, so that the ids in use are neighbours."""

    def __init__(self, memory: SequenceMemory, sequences: Sequence[CacheSequence]) -> None:
        self._memory = memory
        self._sequences = sequences

    def free_room(self, target: CacheSequence) -> CacheSequence | None:
        """The sequence to be emptied if `target` is to move with its tokens; None if the move needs none, is
        useless or impossible.
        """
        other = self._sequence_beside_running(target)
        if other is None or self._empty_one(target, other) or len(self._sequences) < MIN_SEQUENCES_FOR_ROOM:
            return None
        idle = [one for one in self._sequences if one.request is None and one is not target]
        return min(idle, key=lambda sequence: sequence.last_used)

    def move_beside_running(self, target: CacheSequence) -> None:
        """Give an idle sequence, with its tokens, the id that leaves the fewest groups of ids in use.

        It keeps its id where no empty sequence is there to make room.
        """
        other = self._sequence_beside_running(target)
        if other is None:
            return
        if target.length == 0:
            self._memory.move(other, target)
        elif room := self._empty_one(target, other):
            if room is not other:
                self._memory.move(other, room)
            self._memory.move(target, room)

    def _sequence_beside_running(self, target: CacheSequence) -> CacheSequence | None:
        """The idle sequence whose id `target` should have; None if its own is as good."""
        running = {one.id for one in self._sequences if one.request is not None}
        idle = {one.id: one for one in self._sequences if one.request is None}
        best = best_id(running, idle, target.id)
        return None if best == target.id else idle[best]

    def _empty_one(self, target: CacheSequence, other: CacheSequence) -> CacheSequence | None:
        """An empty idle sequence, `other` if it is one."""
        if other.length == 0:
            return other
        return next(
            (one for one in self._sequences if one.request is None and one.length == 0 and one is not target),
            None,
        )


def best_id(running: Collection[int], idle: Collection[int], current: int) -> int:
    """The idle id that joins the most groups of running ids: `current` if none is better, else the lowest."""

    def neighbours(id: int) -> int:
        return (id - 1 in running) + (id + 1 in running)

    return max(idle, key=lambda id: (neighbours(id), id == current, -id))
