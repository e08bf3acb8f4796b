"""The steps of the engine: which tokens each computes, and how its results are applied.

A step computes the next token of each generating request, and reads prompts with the remaining capacity, in
rotation: a prompt that is not finished when the capacity is used up goes to the end of the rotation. The
requests of a step have one LoRA adapter, or none; where requests with different ones run, these take turns.
"""

from __future__ import annotations

import sys
import traceback
from collections import deque
from time import perf_counter
from typing import Any, NamedTuple

from ...shared.engine.pipe import Step
from .batch import Batch
from .loras import Loras
from .prefix_cache import PrefixCache
from .running_request import RunningRequest
from .sequence import CacheSequence

STEP_S = 0.8
"""The intended duration of a step. A cancelled request is removed between two steps, and every generating
request waits for each step."""

MIN_TOKENS = 64  # fewer tokens hardly take less time: attention on a CPU is slow for a few rows
LOWEST_RECOVERABLE = -1
"""Codes of llama_decode: 1 no free cell, 2 aborted, -1 invalid batch; lower codes are fatal."""


class StepShare(NamedTuple):
    """How many tokens of a request a step computes."""

    request: RunningRequest
    sequence: CacheSequence
    tokens: int


class StepBudget:
    """How many tokens a step may compute, so that it takes about `STEP_S`.

    The first budget follows from `single_s`, the seconds that a single token took: in a large batch a token
    takes about an eighth of that. `capacity` is the number of tokens that a batch holds.
    """

    def __init__(self, capacity: int, single_s: float) -> None:
        self._capacity = capacity
        self.tokens = self._within(int(8 * STEP_S / max(single_s, 1e-6)))

    def record(self, tokens: int, seconds: float) -> None:
        """Adapt to the measured duration of a step."""
        if tokens >= MIN_TOKENS:
            self.tokens = self._within(min(int(tokens * STEP_S / max(seconds, 1e-6)), 2 * self.tokens))

    def _within(self, tokens: int) -> int:
        return min(self._capacity, max(tokens, MIN_TOKENS))


class StepRunner:
    """Runs the steps: holds the running requests and the batch of the next step."""

    def __init__(self, batch: Batch, budget: StepBudget, prefix_cache: PrefixCache, loras: Loras) -> None:
        self.running: list[StepShare] = []
        """Ordered by sequence id; the token counts are those of the last step."""
        self._batch = batch
        self._budget = budget
        self._prefix_cache = prefix_cache
        self._loras = loras
        self._reading: deque[RunningRequest] = deque()  # requests with unread prompt, in rotation
        # the tokens of the next batch if it has the rows of the last one, each a position further
        self._next: list[int] | None = None
        self._ended: list[RunningRequest] = []  # in the current step

    def add(self, request: RunningRequest, sequence: CacheSequence) -> None:
        """Let a request take part from the next step on."""
        self.running.append(StepShare(request, sequence, 0))
        self.running.sort(key=lambda share: share.sequence.id)
        self._reading.append(request)
        self._next = None

    def remove(self, request: RunningRequest, *, forget: bool = False) -> None:
        """Remove a request; its sequence stays in the prefix cache unless `forget`."""
        at = next(at for at, share in enumerate(self.running) if share.request is request)
        self._prefix_cache.release(request, self.running.pop(at).sequence, forget=forget)
        if request in self._reading:
            self._reading.remove(request)
        self._next = None

    def advance(self, step: Step) -> list[RunningRequest]:
        """Compute one step and write its output into `step`. Returns the requests that ended with it."""
        self._ended = []
        if self._next is not None:
            self._batch.advance(self._next)
        else:
            self._fill_batch()
        began = perf_counter()
        code = self._batch.compute()
        if code == 0:
            self._apply_results([share for share in self.running if share.tokens], step)
            self._budget.record(self._batch.rows, perf_counter() - began)
        else:
            self._recover_from_failure(code, step)
        return self._ended

    # ---- the batch of a step

    def _fill_batch(self) -> None:
        """Fill the batch from the running requests."""
        shares = self._token_shares(self._loras.use_next({share.request.lora for share in self.running}))
        self.running = [share._replace(tokens=shares.get(share.request.number, 0)) for share in self.running]
        self._batch.clear()
        for share in self.running:
            if share.tokens:
                self._add_to_batch(share)

    def _token_shares(self, lora: str | None) -> dict[int, int]:
        """How many tokens of each request with this LoRA adapter the next step computes, by its number."""
        reading = self._reading
        shares = {
            request.number: 1
            for request, _, _ in self.running
            if request.lora == lora and request not in reading
        }
        capacity = max(self._budget.tokens - len(shares), 1)
        for _ in range(len(reading)):
            if capacity == 0:
                break
            request = reading[0]
            if request.lora != lora:
                reading.rotate(-1)
                continue
            shares[request.number] = count = min(capacity, request.next_stop - request.done)
            capacity -= count
            if request.done + count < request.length:
                reading.rotate(-1)
            else:
                reading.popleft()
        return shares

    def _add_to_batch(self, share: StepShare) -> None:
        request, sequence, count = share
        end = request.done + count
        tokens = request.tokens[request.done : end]
        self._batch.add(sequence.id, request.done, tokens, with_logits=end == request.length)

    # ---- the results of a step

    def _apply_results(self, shares: list[StepShare], step: Step) -> None:
        """Advance the requests by their computed tokens, pick the next tokens and write them."""
        generating = []
        for request, sequence, count in shares:
            request.done += count
            self._prefix_cache.on_advance(request, sequence)
            if request.reports_progress and not request.generated:
                request.add_progress(step)
            if request.done == request.length:
                generating.append(request)
        if not generating:
            self._next = None
            return
        logits = self._batch.logits()
        if all(request.output.is_plain for request in generating):
            tokens = logits.argmax(axis=1).tolist()
        else:
            tokens = [self._pick_token(request, row) for request, row in zip(generating, logits, strict=True)]
        single = len(generating) == len(self.running) == self._batch.rows
        self._next = tokens if single else None
        for request, token in zip(generating, tokens, strict=True):
            self._write_token(request, token, step)

    def _pick_token(self, request: RunningRequest, logits: Any) -> int | None:
        """The next token of a request; None when picking it failed."""
        try:
            return request.output.pick(logits, request.generated)
        except Exception:
            traceback.print_exc()
            return None

    def _write_token(self, request: RunningRequest, token: int | None, step: Step) -> None:
        """Write a token of a request. An exception ends this request alone."""
        try:
            if token is not None:
                if request.add_token(token, step):
                    self._end(request)
                return
        except Exception:
            traceback.print_exc()
        self._fail(request, step)

    def _end(self, request: RunningRequest, *, forget: bool = False) -> None:
        self.remove(request, forget=forget)
        self._ended.append(request)

    def _fail(self, request: RunningRequest, step: Step) -> None:
        request.fail(step)
        self._end(request, forget=True)

    # ---- recovery

    def _recover_from_failure(self, code: int, step: Step) -> None:
        """Compute the share of each request alone, after a failed step; end the requests that fail again."""
        print(f"llama_decode: {code}", file=sys.stderr, flush=True)
        if code < LOWEST_RECOVERABLE:
            sys.exit("the library cannot continue")
        shares = [share for share in self.running if share.tokens]
        for request, sequence, _ in shares:
            self._prefix_cache.rewind(request, sequence)
            if request not in self._reading and (request.generated == 0 or request.length - request.done > 1):
                self._reading.append(request)
        for share in shares:
            if len(shares) == 1 or not self._compute_alone(share, step):
                self._prefix_cache.rewind(share.request, share.sequence)
                self._fail(share.request, step)
        self._next = None

    def _compute_alone(self, share: StepShare, step: Step) -> bool:
        """Compute the share of one request in a step of its own; false when that fails."""
        request = share.request
        share = share._replace(tokens=min(share.tokens, request.next_stop - request.done))
        self._batch.clear()
        self._add_to_batch(share)
        if self._batch.compute() != 0:
            return False
        if request.done + share.tokens == request.length and request in self._reading:
            self._reading.remove(request)
        self._apply_results([share], step)
        return True
