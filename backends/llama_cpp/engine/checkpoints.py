"""Checkpoints: what of a sequence's memory cannot be rolled back, as it was after some number of tokens.

A recurrent model has one state, that of its last token; a sliding window holds no more than the window. To
continue such a sequence from an earlier position, the checkpoint of this position is restored.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .sequence import CacheSequence, SequenceMemory

MAX_BYTES = 1 << 30  # of all checkpoints
MAX_CHECKPOINT_BYTES = MAX_BYTES // 8  # of one
MIN_STEP = 512
"""The fewest tokens between two checkpoints that are made without another reason."""


def regular_positions(length: int, most: int) -> range:
    """Positions in a prompt of `length` tokens, at most so many: the multiples of a step.

    The step is MIN_STEP times a power of two, so that a longer prompt has some of the same positions.
    """
    step = MIN_STEP
    while most and length // step > most:
        step *= 2
    return range(step, length, step) if most else range(0)


class Checkpoints:
    """The checkpoints of all sequences: at most `most` of each, and MAX_BYTES together.

    Beyond the bytes, the least recently used ones are dropped.
    """

    def __init__(self, memory: SequenceMemory, most: int) -> None:
        self.most = most
        self._memory = memory
        self._saved: OrderedDict[tuple[CacheSequence, int], Any] = OrderedDict()  # by count of tokens
        self._bytes = 0

    @property
    def size(self) -> int:
        """Bytes of all checkpoints."""
        return self._bytes

    def save(self, sequence: CacheSequence) -> None:
        """Save a sequence's current state."""
        at = (sequence, sequence.length)
        if at in self._saved or self._memory.state_size(sequence) > MAX_CHECKPOINT_BYTES:
            return
        state = self._memory.state(sequence)
        if state is not None:
            self._put(at, state)

    def latest(self, sequence: CacheSequence, count: int) -> int:
        """The largest token count up to `count` that has a checkpoint; 0 without one."""
        return max((at for at in self._positions(sequence) if at <= count), default=0)

    def restore_at(self, source: CacheSequence, target: CacheSequence, count: int) -> bool:
        """Restore `target` to the state of `source` after `count` tokens."""
        state = self._saved[(source, count)]
        self._saved.move_to_end((source, count))
        if not self._memory.restore(target, state):
            return False
        if source is not target:
            self._put((target, count), state)
        return self._memory.truncate(target, count)

    def forget(self, sequence: CacheSequence, count: int) -> None:
        """Drop the checkpoints after more than `count` tokens: those tokens are replaced."""
        for at in self._positions(sequence):
            if at > count:
                self._drop((sequence, at))

    def _positions(self, sequence: CacheSequence) -> list[int]:
        return sorted(at for owner, at in self._saved if owner is sequence)

    def _put(self, at: tuple[CacheSequence, int], state: Any) -> None:
        self._saved[at] = state
        self._bytes += len(state)
        positions = self._positions(at[0])
        if len(positions) > self.most:
            self._drop((at[0], nearest_to_another(positions)))
        while self._bytes > MAX_BYTES:
            self._drop(next(iter(self._saved)))

    def _drop(self, at: tuple[CacheSequence, int]) -> None:
        self._bytes -= len(self._saved.pop(at))


def nearest_to_another(positions: list[int]) -> int:
    """The position, but not the last, that is the least loss: the one before it is the nearest."""
    gaps = zip(positions[:-1], [0, *positions], strict=False)
    return min(gaps, key=lambda gap: gap[0] - gap[1], default=(positions[-1], 0))[0]
