"""The steps: what each computes, and what comes of it.

A step computes the next token of whoever answers, and with the room that is left reads prompts, in turn: one
that is not through when the room is used up goes to the end of the line.
"""

from __future__ import annotations

import sys
import traceback
from collections import deque
from time import perf_counter
from typing import Any

from ...shared.engine.step import Step
from .batch import Batch
from .pace import Pace
from .prefix_cache import Prefixes
from .run import Run
from .sequence import Sequence

LEAST_HARMLESS = -1
"""The library's codes: 1 no room, 2 aborted, -1 the batch makes no sense; below, something is broken."""

Part = tuple[Run, Sequence, int]
"""A run, its sequence, and how many of its tokens a step computes."""


class Steps:
    """The runs that take part, and the steps that they go."""

    def __init__(self, batch: Batch, pace: Pace, prefixes: Prefixes) -> None:
        self.running: list[Part] = []
        """In the order of their sequences; the counts are those of the last step."""
        self._batch = batch
        self._pace = pace
        self._prefixes = prefixes
        self._reading: deque[Run] = deque()  # whose prompts are not through, in turn
        self._next: list[int] | None = None  # the tokens of a step that is like the last one
        self._ended: list[Run] = []  # in this step

    def join(self, run: Run, sequence: Sequence) -> None:
        """Let a run take part from the next step on."""
        self.running.append((run, sequence, 0))
        self.running.sort(key=lambda part: part[1].id)
        self._reading.append(run)
        self._next = None

    def leave(self, run: Run, *, forget: bool = False) -> None:
        """A run takes part no more, and may be forgotten or remembered."""
        at = next(at for at, part in enumerate(self.running) if part[0] is run)
        self._prefixes.release(run, self.running.pop(at)[1], forget=forget)
        if run in self._reading:
            self._reading.remove(run)
        self._next = None

    def advance(self, step: Step) -> list[Run]:
        """Compute a step, and say what comes of it; the runs that have ended with it."""
        self._ended = []
        if self._next is not None:
            self._batch.again(self._next)
        else:
            self._plan()
        began = perf_counter()
        code = self._batch.compute()
        if code == 0:
            self._settle([part for part in self.running if part[2]], step)
            self._pace.took(self._batch.rows, perf_counter() - began)
        else:
            self._recover(code, step)
        return self._ended

    # what a step computes

    def _plan(self) -> None:
        """Fill the batch anew."""
        shares = self._shares()
        self.running = [(run, sequence, shares.get(run.number, 0)) for run, sequence, _ in self.running]
        self._batch.clear()
        for part in self.running:
            if part[2]:
                self._fill(part)

    def _shares(self) -> dict[int, int]:
        """How many tokens of whom the next step computes."""
        reading = self._reading
        shares = {run.number: 1 for run, _, _ in self.running if run not in reading}
        room = max(self._pace.tokens - len(shares), 1)
        for _ in range(len(reading)):
            if room == 0:
                break
            run = reading[0]
            shares[run.number] = count = min(room, run.next_stop - run.done)
            room -= count
            if run.done + count < run.length:
                reading.rotate(-1)
            else:
                reading.popleft()
        return shares

    def _fill(self, part: Part) -> None:
        run, sequence, count = part
        end = run.done + count
        self._batch.add(sequence.id, run.done, run.tokens[run.done : end], wanted=end == run.length)

    # what comes of it

    def _settle(self, parts: list[Part], step: Step) -> None:
        """Book what a step has computed, pick the next tokens and say them."""
        answering = []
        for run, sequence, count in parts:
            run.done += count
            self._prefixes.advanced(run, sequence)
            if run.done == run.length:
                answering.append(run)
        if not answering:
            self._next = None
            return
        logits = self._batch.logits()
        if all(run.answer.is_plain for run in answering):
            tokens = logits.argmax(axis=1).tolist()
        else:
            tokens = [self._picked(run, row) for run, row in zip(answering, logits, strict=True)]
        single = len(answering) == len(self.running) == self._batch.rows
        self._next = tokens if single else None
        for run, token in zip(answering, tokens, strict=True):
            self._say(run, token, step)

    def _picked(self, run: Run, logits: Any) -> int | None:
        """A run's next token; None when picking it failed."""
        try:
            return run.answer.pick(logits, run.said)
        except Exception:
            traceback.print_exc()
            return None

    def _say(self, run: Run, token: int | None, step: Step) -> None:
        """Let a run say a token. What goes wrong with that is the end of this run alone."""
        try:
            if token is not None:
                if run.take(token, step):
                    self._end(run)
                return
        except Exception:
            traceback.print_exc()
        self._fail(run, step)

    def _end(self, run: Run, *, forget: bool = False) -> None:
        self.leave(run, forget=forget)
        self._ended.append(run)

    def _fail(self, run: Run, step: Step) -> None:
        run.fail(step)
        self._end(run, forget=True)

    # when it fails

    def _recover(self, code: int, step: Step) -> None:
        """After a step that failed: compute each run's part alone, and end those for which that fails too."""
        print(f"llama_decode: {code}", file=sys.stderr, flush=True)
        if code < LEAST_HARMLESS:
            sys.exit("the library cannot go on")
        parts = [part for part in self.running if part[2]]
        for run, sequence, _ in parts:
            self._prefixes.rewind(run, sequence)
            if run not in self._reading and (run.said == 0 or run.length - run.done > 1):
                self._reading.append(run)
        for run, sequence, count in parts:
            if len(parts) == 1 or not self._computed_alone(run, sequence, count, step):
                self._prefixes.rewind(run, sequence)
                self._fail(run, step)
        self._next = None

    def _computed_alone(self, run: Run, sequence: Sequence, count: int, step: Step) -> bool:
        """Compute a run's part in a step of its own; false when that fails."""
        part = (run, sequence, min(count, run.next_stop - run.done))
        self._batch.clear()
        self._fill(part)
        if self._batch.compute() != 0:
            return False
        if run.done + part[2] == run.length and run in self._reading:
            self._reading.remove(run)
        self._settle([part], step)
        return True
