"""One generation in a worker's hands."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scheduler.ticket import Claim, Release
from streams.events import Delta

if TYPE_CHECKING:
    from workers.flusher import Flusher


class Running:
    """A claimed ticket, its event counter, and why it was stopped, if it was.

    `stop_code` is None while it may run; the first reason stays: cancelled, fenced, engine_stalled,
    output_too_large, storage_unavailable, unload_deadline, worker_shutdown, runtime's own otherwise.
    """

    __slots__ = (
        "_flusher",
        "claim",
        "last_heard",
        "number",
        "pending_bytes",
        "replica",
        "said",
        "started",
        "stop_code",
    )

    def __init__(self, claim: Claim, flusher: Flusher) -> None:
        self.claim = claim
        self.replica = claim.replica
        self.number = 0  # of the last event handed to Redis; the flusher's alone
        self.said = False
        self.started = self.last_heard = time.monotonic()
        self.stop_code: str | None = None
        self._flusher = flusher

    def emit(self, delta: Delta) -> None:
        """Take a delta from the engine. Never waits for Redis."""
        self.last_heard = time.monotonic()
        self.said = True
        if self.stop_code is None:
            self._flusher.say(self, delta.encode())

    def end(self, release: Release) -> None:
        """Take the end; nothing is emitted after it."""
        self._flusher.end(self, release)
