"""A job that runs in an engine of this worker, and the release that ends it."""

from __future__ import annotations

import time
from typing import Protocol

from backends.base import Finish
from engines.engine_process.errors import EngineError
from generation.generation import TraceContext
from scheduler.job import Claim, Release, Status
from streams.events import Delta, PromptProgress
from streams.media_events import WorkProgress
from workers.processed_tokens import JobTokens

SUSPECT_AFTER_S = 5.0
"""When a client cancels after this long without output, the engine may hang and is probed."""

UNLOAD_DEADLINE = ("unload_deadline", "the model was unloaded before this request ended")
"""Code and message for jobs that still run when an unload exceeds `limits.unload_timeout_s`."""

STOP_MESSAGES = {
    "cancelled": "the request was cancelled",
    "engine_stalled": "the engine produced no output for too long",
    "log_lost": "a part of the output was lost",
    "output_too_large": "the answer grew larger than limits.max_log_bytes",
    "storage_unavailable": "the shared store (Redis) was unreachable for too long",
    UNLOAD_DEADLINE[0]: UNLOAD_DEADLINE[1],
    "worker_shutdown": "the worker was shut down before this request ended",
}


NO_OUTPUT = (PromptProgress, WorkProgress)
"""The deltas that are no output of the model."""


class JobOwner(Protocol):
    """Receives what a running job's engine produces. Called on the worker's event loop."""

    def job_delta(self, job: RunningJob, delta: Delta) -> None:
        """The engine produced a delta."""
        ...

    def job_left_engine(self, job: RunningJob, outcome: Finish | EngineError) -> None:
        """The generation has ended in the engine."""
        ...


class RunningJob:
    """A claimed job while it runs, and the sink of its engine (see `backends.base.Sink`).

    All of it belongs to the thread of the worker's event loop.

    `deltas` are those that the event writer has not taken yet; `last_event` is the number of the last event
    handed to Redis, `log_bytes` the size of this run's events. `has_output` says whether the engine has
    produced any output; the progress of a prompt is none. `last_activity` is the time (`time.monotonic()`)
    of the latest delta, or of the stop if that was later. `left_engine` is set when the generation has ended
    in the engine. `suspect` is set when the job was stopped after a long silence: the engine may hang.

    `stop_code` is None while the job may run, then the first reason to stop it: cancelled, fenced,
    engine_stalled, engine_error, output_too_large, storage_unavailable, unload_deadline or worker_shutdown.
    The tokens of a job that `counts_only` count for no usage. `tokens` are those processed so far, None of
    one that processes none. The progress of the prompt is passed on if the job `shows_progress`.
    `trace` is the span that the job belongs to; `first_output_at` the Unix time of its first delta.
    """

    __slots__ = (
        "_owner",
        "began_at",
        "claim",
        "counts_only",
        "deltas",
        "first_output_at",
        "has_output",
        "last_activity",
        "last_event",
        "left_engine",
        "log_bytes",
        "replica",
        "shows_progress",
        "started",
        "stop_code",
        "suspect",
        "tokens",
        "trace",
    )

    def __init__(self, claim: Claim, owner: JobOwner) -> None:
        self._owner = owner
        self.claim = claim
        self.replica = claim.replica
        self.deltas: list[Delta] = []
        self.last_event = claim.last
        self.log_bytes = 0
        self.has_output = False
        self.first_output_at: float | None = None
        self.left_engine = False
        self.suspect = False
        self.began_at = time.time()
        self.started = self.last_activity = time.monotonic()
        self.stop_code: str | None = None
        self.trace: TraceContext | None = None
        self.counts_only = False
        self.shows_progress = True
        self.tokens: JobTokens | None = None

    @property
    def first_ms(self) -> int | None:
        """The time from the claim to the first output (ms); None before it."""
        if self.first_output_at is None:
            return None
        return max(0, int((self.first_output_at - self.began_at) * 1000))

    def delta(self, delta: Delta) -> None:
        """Take a delta from the engine and pass it to the job's owner."""
        self.last_activity = time.monotonic()
        if self.tokens is not None:
            self.tokens.count(delta)
        if not self.shows_progress and type(delta) is PromptProgress:
            return
        if not self.has_output and type(delta) not in NO_OUTPUT:
            self.has_output = True
            self.first_output_at = time.time()
        if self.stop_code is None:
            self._owner.job_delta(self, delta)

    def finish(self, finish: Finish) -> None:
        """Report the end of the generation to the job's owner."""
        self._leave_engine(finish)

    def fail(self, error: EngineError) -> None:
        """Report the failure of the generation to the job's owner."""
        self._leave_engine(error)

    def _leave_engine(self, outcome: Finish | EngineError) -> None:
        if not self.left_engine:
            self.left_engine = True
            self._owner.job_left_engine(self, outcome)

    def stop(self, code: str) -> bool:
        """Record why the job has to stop. False when it was stopped before: the first reason stays."""
        if self.stop_code is not None:
            return False
        now = time.monotonic()
        cancelled_after_silence = code == "cancelled" and now - self.last_activity > SUSPECT_AFTER_S
        self.suspect = cancelled_after_silence or code == "engine_stalled"
        self.last_activity = now
        self.stop_code = code
        return True


def release_after_finish(job: RunningJob, finish: Finish, cached_weight: float = 1.0) -> Release:
    """The release of a job whose generation ended regularly, by itself or because it was stopped.

    `cached_weight` is what a token of a reused prefix counts for fair share.
    """
    code = job.stop_code or ("cancelled" if finish.reason == "cancelled" else "")
    if code:
        status = Status.CANCELLED if code == "cancelled" else Status.FAILED
    else:
        cut_off = finish.reason in ("length", "content_filter")
        status = Status.INCOMPLETE if cut_off else Status.COMPLETED
    return Release(
        job.claim.id,
        job.claim.fence,
        status,
        finish_reason="" if code else finish.reason,
        code=code,
        message=STOP_MESSAGES.get(code, ""),
        usage=finish.usage.encode(),
        tokens=None if job.counts_only else finish.usage.units,
        work=None if job.counts_only else finish.usage.work(cached_weight),
        first_ms=job.first_ms,
        stop_sequence="" if code else finish.stop_sequence or "",
    )


def release_after_error(job: RunningJob, error: EngineError, *, retry: bool = False) -> Release:
    """The release of a job whose generation failed; with `retry` it may run again on another replica."""
    code = job.stop_code or error.code
    return Release(
        job.claim.id,
        job.claim.fence,
        Status.CANCELLED if code == "cancelled" else Status.FAILED,
        code=code,
        message=STOP_MESSAGES.get(code, str(error)),
        retry=retry and job.stop_code is None,
        first_ms=job.first_ms,
    )
