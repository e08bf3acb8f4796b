"""Detects engines that produce no output: stops their jobs, probes the engines, and kills those that hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from backends.base import Engine, GenerationError
from config.settings import LimitSettings
from tasks.generation import Generation, Message, Sampling, text_content
from workers.engine_process.errors import EngineLost
from workers.replica_manager import ReplicaManager
from workers.running_job import RunningJob

CANCEL_TIMEOUT_S = 3.0
"""An engine that has not ended a generation this long after the request to stop it is killed."""


class StallDetector:
    """Watches the `running` jobs of a worker. `stop_job(job, code)` stops one of them."""

    def __init__(
        self,
        limits: LimitSettings,
        running: Mapping[str, RunningJob],
        replicas: ReplicaManager,
        stop_job: Callable[[RunningJob, str], None],
    ) -> None:
        self._limits = limits
        self._running = running
        self._replicas = replicas
        self._stop_job = stop_job

    def check(self) -> None:
        """Stop jobs without output for too long, and kill engines that do not end a stopped job."""
        limits, now = self._limits, time.monotonic()
        for job in list(self._running.values()):
            if job.left_engine:
                continue
            silence_s = now - job.last_activity
            allowed_s = limits.idle_timeout_s if job.has_output else limits.first_event_timeout_s
            if job.stop_code is not None:
                self._enforce_stop(job, silence_s)
            elif silence_s > allowed_s:
                self._stop_job(job, "engine_stalled")

    def _enforce_stop(self, job: RunningJob, since_stop_s: float) -> None:
        replica = self._replicas.get(job.replica)
        if replica and replica.engine:
            # repeated: the first cancel may have come before the engine knew the job
            replica.engine.cancel(job.claim.id)
        if since_stop_s > CANCEL_TIMEOUT_S:
            error = EngineLost("engine_stalled", "the engine did not stop a request when asked to")
            self._replicas.report_lost(job.replica, error)

    def probe(self, job: RunningJob, engine: Engine, generation: Generation) -> None:
        """Make sure that the engine of a suspect job still computes, before the next job gets its slot.

        Raises `EngineLost` when the engine produces no token within `limits.probe_timeout_s` while it
        produces output for no other job either.
        """
        id, began = f"{job.claim.id}/probe", time.monotonic()

        def on_timeout() -> None:
            others = [other for other in list(self._running.values()) if other.replica == job.replica]
            if any(
                other.has_output and not other.stop_code and other.last_activity > began for other in others
            ):
                engine.cancel(id)  # it computes for other jobs
            else:
                error = EngineLost("engine_stalled", "the engine no longer computes")
                self._replicas.report_lost(job.replica, error)

        request_one_token(engine, id, generation, self._limits.probe_timeout_s, on_timeout)


def request_one_token(
    engine: Engine, id: str, like: Generation, timeout_s: float, on_timeout: Callable[[], None]
) -> None:
    """Let an engine generate one token with the model of `like`, in the calling thread.

    A health check is not enough: an engine's server can answer one, and even a cancel, while the part that
    computes hangs (a frozen core process, a kernel that does not return).

    `on_timeout` is called from another thread when there is no token after `timeout_s`; it has to cancel the
    generation `id` or stop the engine. Raises `EngineLost`.
    """
    probe = replace(
        like,
        messages=(Message("user", text_content("Hi")),),
        sampling=Sampling(max_tokens=1),
        tools=(),
        tool_choice="auto",
    )
    timer = threading.Timer(timeout_s, on_timeout)
    timer.daemon = True
    timer.start()
    try:
        engine.generate(id, probe, lambda _: timer.cancel())
    except GenerationError:
        pass  # the engine refuses this generation, so it works
    finally:
        timer.cancel()
