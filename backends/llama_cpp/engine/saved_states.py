"""Saved states of sequences that cannot be rolled back, at the places where prompts are likely to diverge.

A recurrent model has one state, that of its last token; a sliding window holds no more than the window. To
continue from an earlier place, a sequence is restored to a state that was saved there.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .sequence import Sequence, SequenceMemory

MAX_BYTES = 1 << 30
MAX_ONE = MAX_BYTES // 8


class SavedStates:
    """The saved states of all sequences, at most `MAX_BYTES`; the least recently used are dropped first."""

    def __init__(self, memory: SequenceMemory) -> None:
        self._memory = memory
        self._saved: OrderedDict[tuple[int, int], Any] = OrderedDict()  # by sequence and count of tokens
        self._bytes = 0

    def save(self, sequence: Sequence) -> None:
        """Save a sequence's current state."""
        at = (sequence.id, sequence.length)
        if at in self._saved or self._memory.state_size(sequence) > MAX_ONE:
            return
        state = self._memory.state(sequence)
        if state is not None:
            self._put(at, state)

    def best(self, sequence: Sequence, count: int) -> int:
        """The largest token count up to `count` at which a state was saved; 0 without one."""
        return max((at for id, at in self._saved if id == sequence.id and at <= count), default=0)

    def restore_at(self, source: Sequence, target: Sequence, count: int) -> bool:
        """Restore `target` to the state of `source` that was saved after `count` tokens."""
        state = self._saved[(source.id, count)]
        self._saved.move_to_end((source.id, count))
        if not self._memory.restore(target, state):
            return False
        if source is not target:
            self._put((target.id, count), state)
        return self._memory.truncate(target, count)

    def forget(self, sequence: Sequence, count: int) -> None:
        """Drop the states saved after more than `count` tokens: those tokens are replaced."""
        for at in [at for at in self._saved if at[0] == sequence.id and at[1] > count]:
            self._bytes -= len(self._saved.pop(at))

    def _put(self, at: tuple[int, int], state: Any) -> None:
        self._saved[at] = state
        self._bytes += len(state)
        while self._bytes > MAX_BYTES:
            self._bytes -= len(self._saved.popitem(last=False)[1])
