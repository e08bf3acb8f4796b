"""The steps of the engine: which tokens each computes, and how its results are applied.

A step computes the next token of each generating request, and reads prompts with the remaining capacity, in
rotation: a prompt that is not finished when the capacity is used up goes to the end of the rotation.
"""

from __future__ import annotations

import sys
import traceback
from collections import deque
from time import perf_counter
from typing import Any

from ...shared.engine.pipe import Step
from .batch import Batch
from .prefix_cache import PrefixCache
from .running_request import RunningRequest
from .sequence import Sequence
from .step_budget import StepBudget

LOWEST_RECOVERABLE = -1
"""Codes of llama_decode: 1 no free cell, 2 aborted, -1 invalid batch; lower codes are fatal."""

Part = tuple[RunningRequest, Sequence, int]
"""A request, its sequence, and how many of its tokens a step computes."""


class Steps:
    """The running requests and the batch of the next step."""

    def __init__(self, batch: Batch, pace: StepBudget, prefix_cache: PrefixCache) -> None:
        self.running: list[Part] = []
        """Ordered by sequence id; the counts are those of the last step."""
        self._batch = batch
        self._budget = pace
        self._prefix_cache = prefix_cache
        self._reading: deque[RunningRequest] = deque()  # requests with unread prompt, in rotation
        self._next: list[int] | None = None  # the tokens, when the next batch has the shape of the last one
        self._ended: list[RunningRequest] = []  # by this step

    def add(self, run: RunningRequest, sequence: Sequence) -> None:
        """Let a request take part from the next step on."""
        self.running.append((run, sequence, 0))
        self.running.sort(key=lambda part: part[1].id)
        self._reading.append(run)
        self._next = None

    def remove(self, run: RunningRequest, *, forget: bool = False) -> None:
        """Remove a request; its sequence stays in the prefix cache unless `forget`."""
        at = next(at for at, part in enumerate(self.running) if part[0] is run)
        self._prefix_cache.release(run, self.running.pop(at)[1], forget=forget)
        if run in self._reading:
            self._reading.remove(run)
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
            self._apply_results([part for part in self.running if part[2]], step)
            self._budget.record(self._batch.rows, perf_counter() - began)
        else:
            self._recover_from_failure(code, step)
        return self._ended

    # ---- the batch of a step

    def _fill_batch(self) -> None:
        """Fill the batch from the running requests."""
        shares = self._token_shares()
        self.running = [(run, sequence, shares.get(run.number, 0)) for run, sequence, _ in self.running]
        self._batch.clear()
        for part in self.running:
            if part[2]:
                self._add_to_batch(part)

    def _token_shares(self) -> dict[int, int]:
        """How many tokens of each request the next step computes, by request number."""
        reading = self._reading
        shares = {run.number: 1 for run, _, _ in self.running if run not in reading}
        capacity = max(self._budget.tokens - len(shares), 1)
        for _ in range(len(reading)):
            if capacity == 0:
                break
            run = reading[0]
            shares[run.number] = count = min(capacity, run.next_stop - run.done)
            capacity -= count
            if run.done + count < run.length:
                reading.rotate(-1)
            else:
                reading.popleft()
        return shares

    def _add_to_batch(self, part: Part) -> None:
        run, sequence, count = part
        end = run.done + count
        self._batch.add(sequence.id, run.done, run.tokens[run.done : end], wanted=end == run.length)

    # ---- the results of a step

    def _apply_results(self, parts: list[Part], step: Step) -> None:
        """Advance the requests by their computed tokens, pick the next tokens and write them."""
        generating = []
        for run, sequence, count in parts:
            run.done += count
            self._prefix_cache.on_advance(run, sequence)
            if run.done == run.length:
                generating.append(run)
        if not generating:
            self._next = None
            return
        logits = self._batch.logits()
        if all(run.output.is_plain for run in generating):
            tokens = logits.argmax(axis=1).tolist()
        else:
            tokens = [self._pick_token(run, row) for run, row in zip(generating, logits, strict=True)]
        single = len(generating) == len(self.running) == self._batch.rows
        self._next = tokens if single else None
        for run, token in zip(generating, tokens, strict=True):
            self._write_token(run, token, step)

    def _pick_token(self, run: RunningRequest, logits: Any) -> int | None:
        """The next token of a request; None when picking it failed."""
        try:
            return run.output.pick(logits, run.generated)
        except Exception:
            traceback.print_exc()
            return None

    def _write_token(self, run: RunningRequest, token: int | None, step: Step) -> None:
        """Write a token of a request. An exception ends this request alone."""
        try:
            if token is not None:
                if run.add_token(token, step):
                    self._end(run)
                return
        except Exception:
            traceback.print_exc()
        self._fail(run, step)

    def _end(self, run: RunningRequest, *, forget: bool = False) -> None:
        self.remove(run, forget=forget)
        self._ended.append(run)

    def _fail(self, run: RunningRequest, step: Step) -> None:
        run.fail(step)
        self._end(run, forget=True)

    # ---- recovery

    def _recover_from_failure(self, code: int, step: Step) -> None:
        """After a failed step: compute each request's part alone, and end the requests that fail again."""
        print(f"llama_decode: {code}", file=sys.stderr, flush=True)
        if code < LOWEST_RECOVERABLE:
            sys.exit("the library cannot go on")
        parts = [part for part in self.running if part[2]]
        for run, sequence, _ in parts:
            self._prefix_cache.rewind(run, sequence)
            if run not in self._reading and (run.generated == 0 or run.length - run.done > 1):
                self._reading.append(run)
        for run, sequence, count in parts:
            if len(parts) == 1 or not self._compute_alone(run, sequence, count, step):
                self._prefix_cache.rewind(run, sequence)
                self._fail(run, step)
        self._next = None

    def _compute_alone(self, run: RunningRequest, sequence: Sequence, count: int, step: Step) -> bool:
        """Compute a request's part in a step of its own; false when that fails."""
        part = (run, sequence, min(count, run.next_stop - run.done))
        self._batch.clear()
        self._add_to_batch(part)
        if self._batch.compute() != 0:
            return False
        if run.done + part[2] == run.length and run in self._reading:
            self._reading.remove(run)
        self._apply_results([part], step)
        return True
