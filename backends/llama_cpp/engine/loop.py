"""The loop: each iteration computes one step for all running requests and writes one frame to the worker.

A new request takes part from the next step on; a cancelled one is removed before it.
"""

from __future__ import annotations

import gc
import select
import sys
from collections import deque
from typing import Any

from ...shared.engine.pipe import CacheUse, Pipe, Step
from ...shared.engine.text_tasks import TextResult
from .prefix_cache import PrefixCache
from .running_request import RunningRequest
from .state_commands import StateCommands
from .step_runner import StepRunner
from .tokenizer_pool import TokenizerPool

MIB = 1 << 20
SWITCH_INTERVAL_S = 0.0005  # how long a tokenizer thread may hold the interpreter lock


class LlamaCppLoop:
    """Holds every request that has not ended."""

    def __init__(
        self,
        pipe: Pipe,
        tokenizer_pool: TokenizerPool,
        prefix_cache: PrefixCache,
        step_runner: StepRunner,
        state_commands: StateCommands,
    ) -> None:
        self._pipe = pipe
        self._tokenizers = tokenizer_pool
        self._prefix_cache = prefix_cache
        self._step_runner = step_runner
        self._run_state_command = state_commands.run
        self._requests: dict[int, RunningRequest | None] = {}  # None: not tokenized yet, or a text result
        self._tokenizing: dict[int, str | None] = {}  # the namespaces of those
        self._waiting: deque[RunningRequest] = deque()  # for a sequence
        self._results: deque[TextResult] = deque()  # each in turn sends one part
        self._cache_use = CacheUse()
        self._poll = select.poll()
        for source in (pipe, tokenizer_pool):
            self._poll.register(source.fileno(), select.POLLIN)

    def run(self) -> None:
        """Compute steps until the worker closes the pipe."""
        gc.collect()
        gc.freeze()  # the objects that exist now are permanent: the collector can skip them
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        while True:
            step = Step()
            if not self._read_input(step):
                return
            if self._waiting:
                self._admit(step)
            if self._step_runner.running:
                for request in self._step_runner.advance(step):
                    del self._requests[request.number]
                self._cache_use.add_to(step, self._prefix_cache.use, idle=not self._step_runner.running)
            if self._results:
                self._send_result(step)
            if step.frame:
                self._pipe.write(step.frame)

    def _read_input(self, step: Step) -> bool:
        """Read requests and cancels, blocking when nothing is running; false when the pipe was closed."""
        busy = self._step_runner.running or self._waiting or self._results
        for fd, _ in self._poll.poll(0 if busy else None):
            if fd == self._tokenizers.fileno():
                self._accept_ready(step)
            elif not self._pipe.receive(
                self._begin,
                self._cancel,
                self._flush,
                step,
                state=self._run_state_command,
                end_reasoning=self._end_reasoning,
            ):
                return False
        return True

    def _begin(self, number: int, body: dict[str, Any], _: Step) -> None:
        self._requests[number] = None
        self._tokenizing[number] = body.get("cache_namespace")
        self._tokenizers.submit(number, body)

    def _accept_ready(self, step: Step) -> None:
        """Accept tokenized requests; drop those that were cancelled meanwhile."""
        for number, request, refused in self._tokenizers.collect():
            namespace = self._tokenizing.pop(number)
            if number not in self._requests:
                if isinstance(request, RunningRequest):
                    request.output.close()
            elif isinstance(request, TextResult):
                self._results.append(request)
            elif request is not None and request.count_only:
                del self._requests[number]
                request.end_counted(step)
            elif request is not None:
                request.namespace = namespace  # None if it was flushed meanwhile
                self._requests[number] = request
                self._waiting.append(request)
            elif refused is not None:
                del self._requests[number]
                step.add_error(number, refused.code, str(refused))

    def _send_result(self, step: Step) -> None:
        """Send the next part of the text result whose turn it is, unless it was cancelled."""
        result = self._results.popleft()
        if result.number not in self._requests:
            return
        if result.advance(step):
            del self._requests[result.number]
        else:
            self._results.append(result)

    def _cancel(self, number: int, step: Step) -> None:
        if number not in self._requests:
            return
        request = self._requests.pop(number)
        if request is None:
            step.add_end(number, "cancelled", (0, 0, 0, 0))
            return
        request.cancel(step)
        if request in self._waiting:
            self._waiting.remove(request)
        else:
            self._step_runner.remove(request)

    def _end_reasoning(self, number: int, _: Step) -> None:
        if (request := self._requests.get(number)) is not None:
            request.end_reasoning()

    def _flush(self, number: int, kept: frozenset[str], step: Step) -> None:
        """Empty the sequences of other namespaces; the requests of these run on and leave nothing behind."""
        for waiting, namespace in self._tokenizing.items():
            if namespace not in kept:
                self._tokenizing[waiting] = None
        for request in self._waiting:
            if request.namespace not in kept:
                request.namespace = None
        count, size = self._prefix_cache.flush(kept)
        step.add_flushed(number, count, size / MIB)
        self._cache_use.add_to(step, self._prefix_cache.use, idle=not self._step_runner.running)

    def _admit(self, step: Step) -> None:
        """Give free sequences to waiting requests."""
        for request in list(self._waiting):
            sequence = self._prefix_cache.claim(request)
            if sequence is not None:
                self._waiting.remove(request)
                request.begin(step)
                self._step_runner.add(request, sequence)
