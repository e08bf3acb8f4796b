"""The loop: each turn is a step of the model for all that runs, and one frame to the worker.

Whoever comes, joins at the next step; whoever is cancelled, leaves before it.
"""

from __future__ import annotations

import gc
import select
import sys
from collections import deque
from typing import Any

from ...shared.engine.pipe import Pipe
from ...shared.engine.step import Step
from .prefix_cache import Prefixes
from .run import Run
from .steps import Steps
from .tokenizer_pool import Desk

SWITCH_S = 0.0005  # so long at most does the desk keep the loop waiting


class Engine:
    """Everything that was asked for and has not ended."""

    def __init__(self, pipe: Pipe, desk: Desk, prefixes: Prefixes, steps: Steps) -> None:
        self._pipe = pipe
        self._desk = desk
        self._prefixes = prefixes
        self._steps = steps
        self._known: dict[int, Run | None] = {}  # None: still at the desk
        self._waiting: deque[Run] = deque()  # for a sequence
        self._poll = select.poll()
        for source in (pipe, desk):
            self._poll.register(source.fileno(), select.POLLIN)

    def loop(self) -> None:
        """Step until the worker hangs up."""
        gc.collect()
        gc.freeze()  # what is there now stays: it need not be looked through again
        sys.setswitchinterval(SWITCH_S)
        while True:
            step = Step()
            if not self._listen(step):
                return
            if self._waiting:
                self._admit()
            if self._steps.running:
                for run in self._steps.advance(step):
                    del self._known[run.number]
            if step.frame:
                self._pipe.write(step.frame)

    def _listen(self, step: Step) -> bool:
        """Take what came in, waiting for it when there is nothing to do; false at the end."""
        busy = self._steps.running or self._waiting
        for fd, _ in self._poll.poll(0 if busy else None):
            if fd == self._desk.fileno():
                self._welcome(step)
            elif not self._pipe.hear(self._begin, self._cancel, step):
                return False
        return True

    def _begin(self, number: int, body: dict[str, Any], _: Step) -> None:
        self._known[number] = None
        self._desk.give(number, body)

    def _welcome(self, step: Step) -> None:
        """Take what the desk has ready; nobody waits any more for what was cancelled there."""
        for number, run, refused in self._desk.take():
            if number not in self._known:
                if run is not None:
                    run.answer.close()
            elif run is not None:
                self._known[number] = run
                self._waiting.append(run)
            elif refused is not None:
                del self._known[number]
                step.error(number, refused.code, str(refused))

    def _cancel(self, number: int, step: Step) -> None:
        if number not in self._known:
            return
        run = self._known.pop(number)
        if run is None:
            step.end(number, "cancelled", (0, 0, 0, 0))
            return
        run.cancel(step)
        if run in self._waiting:
            self._waiting.remove(run)
        else:
            self._steps.leave(run)

    def _admit(self) -> None:
        """Give sequences to those who wait, as far as there are any."""
        for run in list(self._waiting):
            sequence = self._prefixes.claim(run)
            if sequence is not None:
                self._waiting.remove(run)
                self._steps.join(run, sequence)
