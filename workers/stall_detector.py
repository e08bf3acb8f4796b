"""Detects engines that produce no output: stops their jobs, probes the engines, and kills those that hang.

All runs on the worker's event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from backends.base import Engine, Finish
from config.settings import LimitSettings
from engines.engine_process.errors import EngineError, EngineLost
from generation.generation import Generation, Message, Sampling, text_content
from streams.events import Delta
from workers.replica_manager import ReplicaManager
from workers.running_job import RunningJob

CANCEL_TIMEOUT_S = 3.0
"""An engine that has not ended a generation this long after the request to stop it is killed."""


class StallDetector:
    """Watches the `running` jobs of a worker.

    `stop_job(job, code)` stops one of them; `lose_engine(replica, error)` begins to report an engine as lost
    and to kill it.
    """

    def __init__(
        self,
        limits: LimitSettings,
        running: Mapping[str, RunningJob],
        replicas: ReplicaManager,
        stop_job: Callable[[RunningJob, str], None],
        lose_engine: Callable[[str, EngineLost], object],
    ) -> None:
        self._limits = limits
        self._running = running
        self._replicas = replicas
        self._stop_job = stop_job
        self._lose_engine = lose_engine

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
            replica.engine.cancel(job.claim.id)  # repeated: a full pipe does not take the first one
        if since_stop_s > CANCEL_TIMEOUT_S:
            error = EngineLost("engine_stalled", "the engine did not stop a request when asked to")
            self._lose_engine(job.replica, error)

    async def probe(self, job: RunningJob, engine: Engine) -> None:
        """Make sure that the engine of a suspect job still computes: let it generate one token.

        A health check is not enough: an engine's server can answer one, and even a cancel, while the part
        that computes hangs (a frozen core process, a kernel that does not return).

        Raises `EngineLost` when the engine produces no token within `limits.probe_timeout_s` while it
        produces output for no other job either.
        """
        id, began = f"{job.claim.id}/probe", time.monotonic()

        def on_timeout() -> None:
            others = [other for other in self._running.values() if other.replica == job.replica]
            if any(
                other.has_output and not other.stop_code and other.last_activity > began for other in others
            ):
                engine.cancel(id)  # it computes for other jobs
            else:
                error = EngineLost("engine_stalled", "the engine no longer computes")
                self._lose_engine(job.replica, error)

        sink = _ProbeSink(self._limits.probe_timeout_s, on_timeout)
        engine.submit(id, one_token_like(Generation.from_json(job.claim.generation)), sink)
        await sink.ended


def one_token_like(generation: Generation) -> Generation:
    """A generation of one token with the same model."""
    return replace(
        generation,
        messages=(Message("user", text_content("Hi")),),
        sampling=Sampling(max_tokens=1),
        tools=(),
        tool_choice="auto",
        truncate=False,
        reports_progress=False,  # only a token shows that the engine computes
    )


class _ProbeSink:
    """The sink of a probe: `ended` is done at its end, with `EngineLost` if the engine is lost.

    `on_timeout` is called when there is no token after `timeout_s`; it has to cancel the generation or stop
    the engine.
    """

    def __init__(self, timeout_s: float, on_timeout: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._timer = loop.call_later(timeout_s, on_timeout)

    def delta(self, _delta: Delta) -> None:
        self._timer.cancel()

    def finish(self, _finish: Finish) -> None:
        self._timer.cancel()
        self.ended.set_result(None)

    def fail(self, error: EngineError) -> None:
        self._timer.cancel()
        if isinstance(error, EngineLost):
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)  # the engine refuses this generation, so it works
