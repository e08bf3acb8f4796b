"""Which sequence a prompt is read into, so that as little as possible of it has to be read again.

What was answered stays in its sequence until that is needed. A new prompt goes on in the sequence that begins
like it or, where that is in use or worth keeping, in a copy of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .run import Run
from .saved_states import States
from .sequence import Memory, Sequence

LEAST_AHEAD = 64  # tokens that must be saved by waiting for another prompt to be read
LEAST_COPIED = 32
COPY_SHARE = 128  # a copy moves a whole sequence: so much of a long one must be saved
LEAST_KEPT = 64  # tokens behind which a state is worth keeping
PARTING = 8  # tokens before its end up to which a prompt stays the same in the next turn


@dataclass(frozen=True)
class Offer:
    """What a sequence could spare a prompt: `count` tokens, with `state` only by way of a kept one.

    `same` is how many they begin with in common.
    """

    sequence: Sequence
    count: int
    same: int
    state: bool = False


class Prefixes:
    """The context's sequences and what they remember. Without `reuse` they remember nothing."""

    def __init__(self, memory: Memory, count: int, context: int, *, reuse: bool) -> None:
        self.all = [Sequence(id) for id in range(count)]
        self._memory = memory
        self._states = States(memory)
        self._partial = memory.exact or memory.window > 0
        self._least_copied = max(LEAST_COPIED, context // COPY_SHARE)
        self._reuse = reuse
        self._turns = 0

    def claim(self, run: Run) -> Sequence | None:
        """Give a run a sequence; None when it has to wait, for a free one or for what another run reads."""
        idle = [sequence for sequence in self.all if sequence.run is None]
        if not idle or run.waits:
            return None
        target = min(idle, key=lambda sequence: sequence.used)
        if self._reuse:
            prompt = run.tokens[: run.prompt - 1]  # the last one is always read: its logits are wanted
            offers = [self._offer(sequence, prompt) for sequence in self.all]
            best = max(offers, key=lambda one: (one.count, one.sequence.run is None))
            if self._is_being_read(run, prompt, best.count):
                return None
            if best.sequence.run is None and (len(idle) == 1 or 2 * best.count >= best.sequence.length):
                target = best.sequence
            own = offers[target.id]
            if best.count - own.count >= self._least_copied and (self._memory.exact or not best.state):
                self._copy(best, target)
            else:
                self._go_on(own)
            self._mark(run, target, max(offer.same for offer in offers))
        else:
            self._memory.keep(target, 0)
        run.sequence, target.run, target.tokens = target, run, run.tokens
        run.done = run.cached = target.length
        self._touch(target)
        return target

    def advanced(self, run: Run, sequence: Sequence) -> None:
        """A run has read further; the state of its sequence is kept where that is wanted."""
        sequence.length = run.done
        if run.marks and run.done == run.marks[0]:
            run.marks.pop(0)
            self._states.keep(sequence)

    def rewind(self, run: Run, sequence: Sequence) -> None:
        """Take a sequence back to where it stood before a step that failed; at worst to its beginning."""
        if self._memory.keep(sequence, run.done) and not self._memory.reaches(sequence, run.done):
            self._memory.keep(sequence, 0)
        self._states.forget(sequence, sequence.length)
        run.done = sequence.length

    def release(self, run: Run, sequence: Sequence, *, forget: bool = False) -> None:
        """A run has ended."""
        sequence.run = run.sequence = None
        self._touch(sequence)
        if forget or not self._reuse:
            self._memory.keep(sequence, 0)
            self._states.forget(sequence, 0)
            sequence.used = 0

    def _touch(self, sequence: Sequence) -> None:
        self._turns += 1
        sequence.used = self._turns

    def _offer(self, sequence: Sequence, prompt: Any) -> Offer:
        same = sequence.shared(prompt)
        whole = same == sequence.length
        if not self._partial or same == 0 or whole:
            return Offer(sequence, same, same)
        if not self._memory.exact and self._memory.reaches(sequence, same):
            return Offer(sequence, same, same)
        return Offer(sequence, self._states.best(sequence, same), same, state=True)

    def _is_being_read(self, run: Run, prompt: Any, count: int) -> bool:
        """Whether it pays to wait: another run is about to read more of the same prompt."""
        if self._partial:
            return False
        for sequence in self.all:
            other = sequence.run
            if other is not None and other.done < other.prompt:
                same = sequence.shared(prompt, other.prompt)
                if same > other.done and same - count >= LEAST_AHEAD:
                    run.wait_for(other, same)
                    return True
        return False

    def _go_on(self, offer: Offer) -> None:
        """Keep of a sequence what it spares."""
        sequence = offer.sequence
        if offer.state and offer.count and not self._states.bring_back(sequence, sequence, offer.count):
            self._memory.keep(sequence, 0)
        elif not offer.state or not offer.count:
            self._memory.keep(sequence, offer.count)
        self._states.forget(sequence, sequence.length)

    def _copy(self, offer: Offer, target: Sequence) -> None:
        self._states.forget(target, 0)
        self._memory.copy(offer.sequence, target)
        if offer.state:
            if not self._states.bring_back(offer.sequence, target, offer.count):
                self._memory.keep(target, 0)
        else:
            self._memory.keep(target, offer.count)

    def _mark(self, run: Run, sequence: Sequence, same: int) -> None:
        """Where a state will be of use: where the next turn parts from this prompt, and where this one parted
        from another.
        """
        if self._partial and run.prompt >= LEAST_KEPT:
            least = sequence.length + LEAST_KEPT
            run.marks = sorted({at for at in (same, run.prompt - PARTING) if at >= least})
