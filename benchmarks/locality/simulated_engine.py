"""A model of an engine with continuous batching, and of what it has in its prefix cache.

An iteration computes at most `CHUNK_TOKENS` of prompts, and one token for each job that is past its prompt.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

BLOCK_TOKENS = 64
CHUNK_TOKENS = 512
ITERATION_S, DECODE_S, PREFILL_S = 0.010, 0.0003, 0.00025
"""The time of an iteration: a constant, each token of an answer, each token of a prompt that is computed."""

MIN_SIMILARITY = 0.1
"""A slot engine continues a sequence that agrees with so much of the prompt, else it replaces the oldest."""

Block = tuple[object, ...]
"""What identifies the content of a block: two prompts with the same first blocks have the same prefix."""


@dataclass(slots=True, eq=False)
class SimulatedRequest:
    """A request. `blocks` are those of its prompt of `tokens` tokens; its answer has `answer_tokens`.

    `keys` are its prefix keys. Of its prompt, the replica has `cached` tokens, and any replica has computed
    `known` before. Times are seconds of virtual time; its first token came `first_s` after it had begun.
    """

    id: str
    tenant: str
    tokens: int
    blocks: tuple[Block, ...]
    answer_tokens: int
    keys: list[tuple[bytes, int]]
    sent_s: float
    begun_s: float = 0.0
    first_s: float = 0.0
    cached: int = 0
    known: int = 0
    left: int = 0
    generated: int = 0
    has_output: bool = False


class BlockCache:
    """An LRU of blocks, as engines with paged memory have: `capacity` in tokens."""

    unit = "tokens"

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._blocks: OrderedDict[Block, None] = OrderedDict()

    def begin(self, request: SimulatedRequest) -> int:
        """Return how many of the prompt's first blocks are there; they count as used now."""
        count = 0
        for block in request.blocks:
            if block not in self._blocks:
                break
            self._blocks.move_to_end(block)
            count += 1
        return count

    def prompt_computed(self, request: SimulatedRequest) -> None:
        """Other requests may reuse the prompt from now on."""
        self._store(request.blocks)

    def end(self, _request: SimulatedRequest, blocks: tuple[Block, ...]) -> None:
        """The request has ended with these blocks, its answer's included."""
        self._store(blocks)

    def _store(self, blocks: tuple[Block, ...]) -> None:
        for block in reversed(blocks):  # the first blocks are dropped last
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self.capacity // BLOCK_TOKENS:
            self._blocks.popitem(last=False)


@dataclass(slots=True, eq=False)
class _Sequence:
    blocks: tuple[Block, ...] = ()
    used: int = 0
    is_busy: bool = False


class SequenceCache:
    """One sequence for each slot, as llama-server has; a request continues the most similar one."""

    unit = "sequences"

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._sequences = [_Sequence() for _ in range(capacity)]
        self._by_request: dict[str, _Sequence] = {}
        self._clock = 0

    def begin(self, request: SimulatedRequest) -> int:
        """Return how many of the prompt's first blocks the sequence has that the request continues."""
        free = [sequence for sequence in self._sequences if not sequence.is_busy]
        best = max(free, key=lambda sequence: _common(sequence.blocks, request.blocks))
        count = _common(best.blocks, request.blocks)
        if count < MIN_SIMILARITY * len(request.blocks):
            best = min(free, key=lambda sequence: sequence.used)
            count = _common(best.blocks, request.blocks)
        best.is_busy = True
        self._by_request[request.id] = best
        return count

    def prompt_computed(self, request: SimulatedRequest) -> None:
        """Nothing changes: a sequence serves one request at a time."""

    def end(self, request: SimulatedRequest, blocks: tuple[Block, ...]) -> None:
        """The request has ended with these blocks, its answer's included."""
        sequence = self._by_request.pop(request.id)
        self._clock += 1
        sequence.blocks, sequence.used, sequence.is_busy = blocks, self._clock, False


PrefixCache = BlockCache | SequenceCache


@dataclass(slots=True)
class Iteration:
    """An iteration that takes `duration_s`: prompts that are complete with it, and jobs that get a token."""

    duration_s: float
    prompts: list[SimulatedRequest]


@dataclass(slots=True, eq=False)
class SimulatedEngine:
    """The engine of one replica."""

    cache: PrefixCache
    prefill_s: float = PREFILL_S
    is_busy: bool = False
    _prefill: deque[SimulatedRequest] = field(default_factory=deque)
    _decode: list[SimulatedRequest] = field(default_factory=list)

    def begin(self, request: SimulatedRequest) -> None:
        """Accept a request: `cached` is how much of its prompt is not computed, at most all but one token."""
        request.cached = min(self.cache.begin(request) * BLOCK_TOKENS, request.tokens - 1)
        request.left = request.tokens - request.cached
        self._prefill.append(request)

    def running(self) -> list[SimulatedRequest]:
        """The requests that it has not finished."""
        return [*self._prefill, *self._decode]

    def next_iteration(self) -> Iteration | None:
        """Begin an iteration; None when there is nothing to compute."""
        budget, prompts = CHUNK_TOKENS, []
        while self._prefill and budget:
            request = self._prefill[0]
            computed = min(budget, request.left)
            request.left -= computed
            budget -= computed
            if not request.left:
                prompts.append(self._prefill.popleft())
        computed = CHUNK_TOKENS - budget
        if not computed and not self._decode:
            return None
        return Iteration(ITERATION_S + DECODE_S * len(self._decode) + self.prefill_s * computed, prompts)

    def finish(self, iteration: Iteration) -> list[SimulatedRequest]:
        """End an iteration: its `prompts` have their first token. Returns the requests that have ended."""
        ended: list[SimulatedRequest] = []
        running: list[SimulatedRequest] = []
        for request in self._decode:
            request.generated += 1
            (ended if request.generated >= request.answer_tokens else running).append(request)
        for request in iteration.prompts:
            request.generated = 1
            self.cache.prompt_computed(request)
        self._decode = running + iteration.prompts
        return ended


def _common(one: Iterable[Block], other: Iterable[Block]) -> int:
    """How many first blocks agree."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
