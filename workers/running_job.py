"""One generation in a worker's hands."""

from __future__ import annotations

import time

from scheduler.job import Claim


class RunningJob:
    """A claimed job, its event counter, and why it was stopped, if it was.

    `stop_code` is None while it may run; the first reason stays: cancelled, fenced, engine_stalled,
    output_too_large, storage_unavailable, storage_full, unload_deadline or worker_shutdown. It is `in_doubt`
    when it was stopped after a silence, so that the engine may hang.
    """

    __slots__ = (
        "claim",
        "ended",
        "in_doubt",
        "last_heard",
        "number",
        "replica",
        "said",
        "started",
        "stop_code",
    )

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.replica = claim.replica
        self.number = 0  # of the last event handed to Redis; the flusher's alone
        self.said = False
        self.ended = False  # in the engine
        self.in_doubt = False
        self.started = self.last_heard = time.monotonic()
        self.stop_code: str | None = None

    def hear(self) -> None:
        """The engine said something."""
        self.last_heard = time.monotonic()
        self.said = True
