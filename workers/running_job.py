"""A job that runs in an engine of this worker, and the release that ends it."""

from __future__ import annotations

import time

import orjson

from backends.base import Finish
from scheduler.job import Claim, Release, Status
from workers.engine_process.errors import EngineError

SUSPECT_AFTER_S = 5.0
"""When a client cancels after this long without output, the engine may hang and is probed."""

UNLOAD_DEADLINE = ("unload_deadline", "the model was unloaded before this request ended")
"""Code and message for jobs that still run when an unload exceeds `limits.unload_timeout_s`."""

STOP_MESSAGES = {
    "cancelled": "the request was cancelled",
    "engine_stalled": "the engine produced no output for too long",
    "output_too_large": "the answer grew larger than limits.max_log_bytes",
    "storage_unavailable": "the shared store (Redis) was unreachable for too long",
    "storage_full": "the shared store (Redis) refuses writes: its memory or disk is full",
    UNLOAD_DEADLINE[0]: UNLOAD_DEADLINE[1],
    "worker_shutdown": "the worker was shut down before this request ended",
}


class RunningJob:
    """A claimed job while it runs.

    `events_written` counts the events handed to Redis; only the event writer's thread changes it.
    `has_output` says whether the engine has produced any output. `last_activity` is the time
    (`time.monotonic()`) of the latest output, or of the stop if that was later. `left_engine` is set when the
    engine's call has returned. `suspect` is set when the job was stopped after a long silence: the engine may
    hang.

    `stop_code` is None while the job may run, then the first reason to stop it: cancelled, fenced,
    engine_stalled, engine_error, output_too_large, storage_unavailable, storage_full, unload_deadline or
    worker_shutdown.
    """

    __slots__ = (
        "claim",
        "events_written",
        "has_output",
        "last_activity",
        "left_engine",
        "replica",
        "started",
        "stop_code",
        "suspect",
    )

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.replica = claim.replica
        self.events_written = 0
        self.has_output = False
        self.left_engine = False
        self.suspect = False
        self.started = self.last_activity = time.monotonic()
        self.stop_code: str | None = None

    def note_output(self) -> None:
        """Record that the engine produced output now."""
        self.last_activity = time.monotonic()
        self.has_output = True

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


def release_after_finish(job: RunningJob, finish: Finish) -> Release:
    """The release of a job whose generation ended regularly, by itself or because it was stopped."""
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
        usage=orjson.dumps(finish.usage),
        tokens=finish.usage.total_tokens,
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
    )
