"""Chooses the sequence that a prompt is read into, so that as little of it as possible is read again.

A finished conversation stays in its sequence until the sequence is needed. A new prompt continues in the
sequence with the longest common prefix or, where that one is in use or worth keeping, in a copy of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .running_request import RunningRequest
from .saved_states import SavedStates
from .sequence import Sequence, SequenceMemory

MIN_TOKENS_TO_WAIT_FOR = 64  # tokens that waiting for another prompt must save
MIN_TOKENS_TO_COPY = 32
COPY_SHARE = 128  # a copy moves a whole sequence: it must save this fraction of the context
MIN_TOKENS_TO_SAVE = 64  # the fewest tokens after which saving a state pays
STABLE_SUFFIX = 8  # a prompt stays the same in the next turn, except for this many tokens at its end


@dataclass(frozen=True)
class PrefixMatch:
    """How much of a prompt a sequence has already: `count` tokens can be reused, with `state` only by
    restoring a saved state; `same` is the length of the common prefix.
    """

    sequence: Sequence
    count: int
    same: int
    state: bool = False


class PrefixCache:
    """The context's sequences and their contents. Without `reuse` nothing is reused."""

    def __init__(self, memory: SequenceMemory, count: int, context: int, *, reuse: bool) -> None:
        self.all = [Sequence(id) for id in range(count)]
        self._memory = memory
        self._states = SavedStates(memory)
        self._partial = memory.exact or memory.window > 0
        self._least_copied = max(MIN_TOKENS_TO_COPY, context // COPY_SHARE)
        self._reuse = reuse
        self._clock = 0

    def claim(self, run: RunningRequest) -> Sequence | None:
        """Give a request a sequence; None when it has to wait for one or for another request's prefix."""
        idle = [sequence for sequence in self.all if sequence.run is None]
        if not idle or run.is_waiting:
            return None
        target = min(idle, key=lambda sequence: sequence.used)
        if self._reuse:
            prompt = run.tokens[: run.prompt - 1]  # the last token is always read: its logits are needed
            matches = [self._match(sequence, prompt) for sequence in self.all]
            best = max(matches, key=lambda one: (one.count, one.sequence.run is None))
            if self._should_wait_for_another(run, prompt, best.count):
                return None
            if best.sequence.run is None and (len(idle) == 1 or 2 * best.count >= best.sequence.length):
                target = best.sequence
            own = matches[target.id]
            if best.count - own.count >= self._least_copied and (self._memory.exact or not best.state):
                self._copy(best, target)
            else:
                self._continue_in(own)
            self._mark_save_points(run, target, max(match.same for match in matches))
        else:
            self._memory.truncate(target, 0)
        run.sequence, target.run, target.tokens = target, run, run.tokens
        run.done = run.cached = target.length
        self._touch(target)
        return target

    def on_advance(self, run: RunningRequest, sequence: Sequence) -> None:
        """A request has read further: save the state of its sequence at a save point."""
        sequence.length = run.done
        if run.save_points and run.done == run.save_points[0]:
            run.save_points.pop(0)
            self._states.save(sequence)

    def rewind(self, run: RunningRequest, sequence: Sequence) -> None:
        """Take a sequence back to its length before a failed step; at worst to its beginning."""
        if self._memory.truncate(sequence, run.done) and not self._memory.reaches(sequence, run.done):
            self._memory.truncate(sequence, 0)
        self._states.forget(sequence, sequence.length)
        run.done = sequence.length

    def release(self, run: RunningRequest, sequence: Sequence, *, forget: bool = False) -> None:
        """A request has ended: its sequence is free."""
        sequence.run = run.sequence = None
        self._touch(sequence)
        if forget or not self._reuse:
            self._memory.truncate(sequence, 0)
            self._states.forget(sequence, 0)
            sequence.used = 0

    def _touch(self, sequence: Sequence) -> None:
        self._clock += 1
        sequence.used = self._clock

    def _match(self, sequence: Sequence, prompt: Any) -> PrefixMatch:
        same = sequence.shared(prompt)
        whole = same == sequence.length
        if not self._partial or same == 0 or whole:
            return PrefixMatch(sequence, same, same)
        if not self._memory.exact and self._memory.reaches(sequence, same):
            return PrefixMatch(sequence, same, same)
        return PrefixMatch(sequence, self._states.best(sequence, same), same, state=True)

    def _should_wait_for_another(self, run: RunningRequest, prompt: Any, count: int) -> bool:
        """Whether it pays to wait because another request is about to read more of the same prefix."""
        if self._partial:
            return False
        for sequence in self.all:
            other = sequence.run
            if other is not None and other.done < other.prompt:
                same = sequence.shared(prompt, other.prompt)
                if same > other.done and same - count >= MIN_TOKENS_TO_WAIT_FOR:
                    run.wait_for_prefix(other, same)
                    return True
        return False

    def _continue_in(self, match: PrefixMatch) -> None:
        """Truncate a sequence to its reusable prefix."""
        sequence = match.sequence
        if match.state and match.count and not self._states.restore_at(sequence, sequence, match.count):
            self._memory.truncate(sequence, 0)
        elif not match.state or not match.count:
            self._memory.truncate(sequence, match.count)
        self._states.forget(sequence, sequence.length)

    def _copy(self, match: PrefixMatch, target: Sequence) -> None:
        self._states.forget(target, 0)
        self._memory.copy(match.sequence, target)
        if match.state:
            if not self._states.restore_at(match.sequence, target, match.count):
                self._memory.truncate(target, 0)
        else:
            self._memory.truncate(target, match.count)

    def _mark_save_points(self, run: RunningRequest, sequence: Sequence, same: int) -> None:
        """Choose the save points: where the next turn will diverge from this prompt, and where this
        prompt diverges from another sequence.
        """
        if self._partial and run.prompt >= MIN_TOKENS_TO_SAVE:
            least = sequence.length + MIN_TOKENS_TO_SAVE
            run.save_points = sorted({at for at in (same, run.prompt - STABLE_SUFFIX) if at >= least})
