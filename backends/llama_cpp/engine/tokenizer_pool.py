"""Tokenizes requests in threads beside the loop, so that a long prompt does not delay the other requests."""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from ...shared.engine.text_tasks import TextResult
from .request import LlamaRequestBuilder, LlamaRequestError
from .running_request import RunningRequest

WORKERS = 2

Tokenized = tuple[int, RunningRequest | TextResult | None, LlamaRequestError | None]
"""The number of a request, and the running request, the result of its text task or the error."""


class TokenizerPool:
    """Threads that turn request bodies into running requests."""

    def __init__(self, builder: LlamaRequestBuilder) -> None:
        self._builder = builder
        self._in: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._out: deque[Tokenized] = deque()
        self._ready_fd, self._signal_fd = os.pipe()
        for fd in (self._ready_fd, self._signal_fd):
            os.set_blocking(fd, False)
        for _ in range(WORKERS):
            threading.Thread(target=self._work, name="tokenizer", daemon=True).start()

    def fileno(self) -> int:
        """A file descriptor that is readable when a request is ready."""
        return self._ready_fd

    def submit(self, number: int, body: Any) -> None:
        """Queue a request body."""
        self._in.put((number, body))

    def collect(self) -> list[Tokenized]:
        """The requests that are ready. Does not wait."""
        try:
            os.read(self._ready_fd, 4096)
        except BlockingIOError:
            return []
        ready = []
        while self._out:
            ready.append(self._out.popleft())
        return ready

    def _work(self) -> None:
        while True:
            number, body = self._in.get()
            try:
                self._out.append((number, self._builder.build(number, body), None))
            except LlamaRequestError as error:
                self._out.append((number, None, error))
            with suppress(BlockingIOError):  # the descriptor is readable already
                os.write(self._signal_fd, b"!")
