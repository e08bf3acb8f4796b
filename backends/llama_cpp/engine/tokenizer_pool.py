"""Makes runs of requests beside the loop: to tell a long prompt apart into tokens takes a while, and nobody
else should have to wait for that.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from .request import RefusedError, Requests
from .run import Run

CLERKS = 2

Ready = tuple[int, Run | None, RefusedError | None]
"""A request's number, and its run or why there is none."""


class Desk:
    """Takes requests in and gives out runs."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._in: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._out: deque[Ready] = deque()
        self._bell, self._ringing = os.pipe()
        for fd in (self._bell, self._ringing):
            os.set_blocking(fd, False)
        for _ in range(CLERKS):
            threading.Thread(target=self._work, name="desk", daemon=True).start()

    def fileno(self) -> int:
        """Can be read from when something is ready to be taken."""
        return self._bell

    def give(self, number: int, body: Any) -> None:
        """Hand in a request."""
        self._in.put((number, body))

    def take(self) -> list[Ready]:
        """What is ready."""
        try:
            os.read(self._bell, 4096)
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
                self._out.append((number, self._requests.run(number, body), None))
            except RefusedError as error:
                self._out.append((number, None, error))
            with suppress(BlockingIOError):  # it rings already
                os.write(self._ringing, b"!")
