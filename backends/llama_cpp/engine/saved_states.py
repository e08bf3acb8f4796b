"""States of sequences that cannot be rolled back, kept from the places where prompts are likely to part.

A recurrent model has one state, that of its last token; a sliding window remembers no more than the window.
To begin again further up, a sequence is brought back to a state that was kept there.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .sequence import Memory, Sequence

MAX_BYTES = 1 << 30
MAX_ONE = MAX_BYTES // 8


class States:
    """The kept states of all sequences; the oldest go when there are too many bytes of them."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._kept: OrderedDict[tuple[int, int], Any] = OrderedDict()  # by sequence and count of tokens
        self._bytes = 0

    def keep(self, sequence: Sequence) -> None:
        """Keep a sequence's state as it is now."""
        at = (sequence.id, sequence.length)
        if at in self._kept or self._memory.state_size(sequence) > MAX_ONE:
            return
        state = self._memory.state(sequence)
        if state is not None:
            self._put(at, state)

    def best(self, sequence: Sequence, count: int) -> int:
        """The most tokens, of the first `count`, that a state was kept behind; 0 when none was."""
        return max((at for id, at in self._kept if id == sequence.id and at <= count), default=0)

    def bring_back(self, source: Sequence, target: Sequence, count: int) -> bool:
        """Bring a sequence to the state that was kept behind the first `count` tokens of one."""
        state = self._kept[(source.id, count)]
        self._kept.move_to_end((source.id, count))
        if not self._memory.restore(target, state):
            return False
        if source is not target:
            self._put((target.id, count), state)
        return self._memory.keep(target, count)

    def forget(self, sequence: Sequence, count: int) -> None:
        """Drop what was kept behind more than the first `count` tokens: they are others now."""
        for at in [at for at in self._kept if at[0] == sequence.id and at[1] > count]:
            self._bytes -= len(self._kept.pop(at))

    def _put(self, at: tuple[int, int], state: Any) -> None:
        self._kept[at] = state
        self._bytes += len(state)
        while self._bytes > MAX_BYTES:
            self._bytes -= len(self._kept.popitem(last=False)[1])
