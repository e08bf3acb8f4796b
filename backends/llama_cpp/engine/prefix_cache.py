"""Chooses the sequence that a prompt is read into, so that as little of it as possible is read again.

A finished conversation stays in its sequence until the sequence is needed. A new prompt continues in the
sequence with the longest common prefix or, where that one is in use or worth keeping, in a copy of it. Only
sequences of the request's own cache namespace count; those of others are emptied before they are used.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from .checkpoints import Checkpoints, regular_positions
from .placement import Placement
from .running_request import RunningRequest
from .sequence import CacheSequence, SequenceMemory

MIN_TOKENS_TO_WAIT_FOR = 64  # the fewest tokens that make it worth to wait for another request's prompt
MIN_TOKENS_TO_COPY = 32
COPY_SHARE = 128  # a copy copies a whole sequence: it must save at least 1/128 of the context
MIN_TOKENS_TO_SAVE = 64  # the fewest tokens that make it worth to make a checkpoint
STABLE_SUFFIX = 8  # a prompt stays the same in the next turn, except for this many tokens at its end


@dataclass(frozen=True)
class PrefixMatch:
    """How much of a prompt a sequence has read already.

    `common` is the length of the common prefix in tokens. `reusable` of them need not be read again; with
    `from_checkpoint`, a checkpoint has to be restored for that.
    """

    sequence: CacheSequence
    reusable: int
    common: int
    from_checkpoint: bool = False


class PrefixCache:
    """The `count` sequences of the context, each of `context` tokens; `reuse` False disables the cache.

    At most so many `checkpoints` of each sequence are kept.
    """

    def __init__(
        self, memory: SequenceMemory, count: int, context: int, *, reuse: bool, checkpoints: int = 8
    ) -> None:
        self._sequences = [CacheSequence(id) for id in range(count)]
        self._memory = memory
        self._checkpoints = Checkpoints(memory, checkpoints)
        self._placement = Placement(memory, self._sequences)
        self._limited = memory.is_recurrent or memory.window > 0  # cannot be rolled back to every position
        self._min_copied = max(MIN_TOKENS_TO_COPY, context // COPY_SHARE)
        self._reuse = reuse
        self._capacity = count * context
        self._clock = 0

    def claim(self, request: RunningRequest) -> CacheSequence | None:
        """Assign a sequence to a request. None when the request has to wait: no sequence is free, or another
        request is reading the same prefix.
        """
        idle = [sequence for sequence in self._sequences if sequence.request is None]
        if not idle or request.is_waiting:
            return None
        target = min(idle, key=lambda sequence: sequence.last_used)
        if self._reuse and request.namespace is not None:
            # the last token is always read: its logits are needed
            prompt = request.tokens[: request.prompt_length - 1]
            matches = {one: self._match(one, prompt, request.namespace) for one in self._sequences}
            best = max(matches.values(), key=lambda match: (match.reusable, match.sequence.request is None))
            if self._should_wait_for_another(request, prompt, best.reusable):
                return None
            mostly_reusable = 2 * best.reusable >= best.sequence.length
            if best.sequence.request is None and (len(idle) == 1 or mostly_reusable):
                target = best.sequence
            target_match = matches[target]
            can_copy = self._memory.is_recurrent or not best.from_checkpoint
            if can_copy and best.reusable - target_match.reusable >= self._min_copied:
                self._begin_in(target)
                self._copy(best, target)
            else:
                self._continue_in(target_match)
            self._mark_save_points(request, target, max(match.common for match in matches.values()))
        else:
            self._begin_in(target)
        request.sequence, target.request, target.tokens = target, request, request.tokens
        target.namespace, target.conversation = request.namespace, request.conversation
        request.done = request.cached = target.length
        self._mark_used(target)
        return target

    def on_advance(self, request: RunningRequest, sequence: CacheSequence) -> None:
        """Record that a request has read more tokens; make a checkpoint of its sequence at a save point."""
        sequence.length = request.done
        if request.save_points and request.done == request.save_points[0]:
            request.save_points.pop(0)
            self._checkpoints.save(sequence)

    def rewind(self, request: RunningRequest, sequence: CacheSequence) -> None:
        """Truncate a sequence to its length before a failed step, or empty it if that is not possible."""
        done = request.done
        if self._memory.truncate(sequence, done) and not self._memory.holds_window(sequence, done):
            self._memory.truncate(sequence, 0)
        self._checkpoints.forget(sequence, sequence.length)
        request.done = sequence.length

    def release(self, request: RunningRequest, sequence: CacheSequence, *, forget: bool = False) -> None:
        """Free the sequence of a request that has ended; `forget` empties it."""
        sequence.request = request.sequence = None
        self._mark_used(sequence)
        if forget or not self._reuse or sequence.namespace is None:
            self._empty(sequence)
            sequence.last_used = 0

    def flush(self, kept: Collection[str]) -> tuple[int, int]:
        """Empty the sequences of all namespaces but these. Returns how many, and the bytes that they took.

        A sequence in use belongs to its request alone from now on, whose end empties it.
        """
        count, size = 0, self._checkpoints.size
        for sequence in self._sequences:
            if sequence.namespace in kept:
                continue
            sequence.namespace = None
            if sequence.request is not None:
                sequence.request.namespace = None
            elif sequence.length:
                count += 1
                size += self._memory.size(sequence)
                self._empty(sequence)
                size -= self._memory.size(sequence)
                sequence.last_used = 0
        return count, size - self._checkpoints.size

    # ---- states that are saved and restored

    def sequences_of(self, namespace: str, conversation: str | None) -> list[CacheSequence]:
        """The sequences with tokens of a namespace, or of a conversation in it, the last used first."""
        found = [
            one
            for one in self._sequences
            if one.namespace == namespace and one.length and conversation in (None, one.conversation)
        ]
        return sorted(found, key=lambda sequence: -sequence.last_used)

    def sequence_for(self, namespace: str, conversation: str | None) -> CacheSequence | None:
        """An empty sequence for what is restored: an idle one of the same conversation, else the least used.

        None if all are in use.
        """
        idle = [one for one in self._sequences if one.request is None]
        same = [
            one
            for one in idle
            if conversation is not None and (one.namespace, one.conversation) == (namespace, conversation)
        ]
        target = min(same or idle, key=lambda sequence: sequence.last_used, default=None)
        if target is not None:
            self.erase(target)
        return target

    def adopt(
        self, sequence: CacheSequence, tokens: Any, count: int, namespace: str, conversation: str | None
    ) -> None:
        """Let the next prompts of a namespace continue the tokens that were restored into a sequence."""
        sequence.tokens, sequence.length = tokens, count
        sequence.namespace, sequence.conversation = namespace, conversation
        self._mark_used(sequence)

    def erase(self, sequence: CacheSequence) -> None:
        """Empty an idle sequence."""
        self._empty(sequence)
        sequence.namespace, sequence.last_used = None, 0

    # ---- measurements

    def use(self) -> float:
        """The share of the cache's cells that hold tokens, of running requests and of ended ones."""
        return sum(sequence.length for sequence in self._sequences) / self._capacity

    def _empty(self, sequence: CacheSequence) -> None:
        self._memory.truncate(sequence, 0)
        self._checkpoints.forget(sequence, 0)

    def _mark_used(self, sequence: CacheSequence) -> None:
        self._clock += 1
        sequence.last_used = self._clock

    def _match(self, sequence: CacheSequence, prompt: Any, namespace: str) -> PrefixMatch:
        if sequence.namespace != namespace:
            return PrefixMatch(sequence, 0, 0)
        common = sequence.common_prefix(prompt)
        whole = common == sequence.length
        if not self._limited or common == 0 or whole:
            return PrefixMatch(sequence, common, common)
        if not self._memory.is_recurrent and self._memory.holds_window(sequence, common):
            return PrefixMatch(sequence, common, common)
        return PrefixMatch(sequence, self._checkpoints.latest(sequence, common), common, from_checkpoint=True)

    def _should_wait_for_another(self, request: RunningRequest, prompt: Any, count: int) -> bool:
        """Whether it is worth to wait because another request is about to read more of the same prefix."""
        if self._limited:
            return False
        for sequence in self._sequences:
            other = sequence.request
            if sequence.namespace != request.namespace:
                continue
            if other is not None and other.done < other.prompt_length:
                common = sequence.common_prefix(prompt, other.prompt_length)
                if common > other.done and common - count >= MIN_TOKENS_TO_WAIT_FOR:
                    request.wait_for_prefix(other, common)
                    return True
        return False

    def _begin_in(self, sequence: CacheSequence) -> None:
        """Empty a sequence, and move it beside those of running requests."""
        self._empty(sequence)
        self._placement.move_beside_running(sequence)

    def _continue_in(self, match: PrefixMatch) -> None:
        """Truncate a sequence to its reusable prefix, and move it beside those of running requests.

        It does not move where a checkpoint is restored: the library copies tokens later than it restores one.
        """
        sequence = match.sequence
        if not match.reusable:
            self._begin_in(sequence)
        elif not match.from_checkpoint:
            self._memory.truncate(sequence, match.reusable)
            if (room := self._placement.free_room(sequence)) is not None:
                self._empty(room)
                room.last_used = 0
            self._placement.move_beside_running(sequence)
        elif not self._checkpoints.restore_at(sequence, sequence, match.reusable):
            self._memory.truncate(sequence, 0)
        self._checkpoints.forget(sequence, sequence.length)

    def _copy(self, match: PrefixMatch, target: CacheSequence) -> None:
        self._checkpoints.forget(target, 0)
        self._memory.copy(match.sequence, target)
        if match.from_checkpoint:
            if not self._checkpoints.restore_at(match.sequence, target, match.reusable):
                self._memory.truncate(target, 0)
        else:
            self._memory.truncate(target, match.reusable)

    def _mark_save_points(self, request: RunningRequest, sequence: CacheSequence, common: int) -> None:
        """Choose the save points: where the next turn will diverge from this prompt, where this prompt
        diverges from another sequence, and some at regular distances, for prompts that are not known yet.
        """
        most = self._checkpoints.most
        if self._limited and most and request.prompt_length >= MIN_TOKENS_TO_SAVE:
            earliest = sequence.length + MIN_TOKENS_TO_SAVE
            points = {common, request.prompt_length - STABLE_SUFFIX}
            points.update(regular_positions(request.prompt_length - STABLE_SUFFIX, most // 2))
            request.save_points = sorted(at for at in points if at >= earliest)
