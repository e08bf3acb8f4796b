"""Runs the jobs of one worker: claims them, runs them in engines, and reports how they ended.

The scheduler decides which job runs next; the executor decides nothing about order.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import partial

from backends.base import Finish
from config.settings import Settings
from fleet.fleet import Fleet
from scheduler.errors import Failed, Fenced, StokerError
from scheduler.job import Claim, Release, Status
from scheduler.ledger import Ledger
from scheduler.scripts import call_id
from tasks.generation import Generation
from workers.engine_process.errors import EngineError, EngineLost
from workers.event_writer import EventWriter
from workers.replica_manager import ReplicaManager
from workers.running_job import RunningJob, release_after_error, release_after_finish
from workers.stall_detector import StallDetector

logger = logging.getLogger("workers")


class Executor:
    """Implements `tasks.worker_interface.WorkerInterface`.

    `running` holds the jobs in engines by id; `claiming` the ids of the jobs from their claim to their end;
    `draining` is set when the worker shuts down and takes no new replicas.
    """

    def __init__(self, worker: str, settings: Settings, ledger: Ledger, fleet: Fleet) -> None:
        self.worker = worker
        self.running: dict[str, RunningJob] = {}
        self.claiming: set[str] = set()
        self.draining = False
        self.event_writer = EventWriter(ledger, self.stop_job)
        self.replicas = ReplicaManager(worker, settings, ledger, fleet, self.stop_jobs_on)
        self.stall_detector = StallDetector(settings.limits, self.running, self.replicas, self.stop_job)
        self._ledger = ledger
        self._lock = threading.Lock()

    def begin(self, incarnation: str) -> None:
        """Start under the incarnation that the ledger gave at registration."""
        self.replicas.incarnation = self.replicas.memory_reporter.incarnation = incarnation
        self.event_writer.start()

    @property
    def incarnation(self) -> str:
        """The incarnation given to `begin`."""
        return self.replicas.incarnation

    def load(self, replica: str) -> str:
        """See `tasks.worker_interface.WorkerInterface`."""
        return self.replicas.load(replica)

    def unload(self, replica: str) -> str:
        """See `tasks.worker_interface.WorkerInterface`."""
        return self.replicas.unload(replica)

    # ---- one job

    def generate(self, id: str) -> str:
        """Claim the job and run it to its end (see `tasks.worker_interface.WorkerInterface`)."""
        with self._lock:
            if id in self.claiming:
                return "already here"
            self.claiming.add(id)
        try:
            call = call_id()  # a claim whose answer was lost is repeated under the same id and granted again
            claim = self.replicas.retry.retry_until_stopped(
                lambda: self._ledger.claim(self.worker, self.incarnation, id, call)
            )
            return self._run(claim) if claim else "nothing to do"
        except Fenced:
            return "fenced"
        finally:
            self.claiming.discard(id)

    def _run(self, claim: Claim) -> str:
        job = RunningJob(claim)
        self.running[claim.id] = job
        try:
            release = release_after_finish(job, self._run_in_engine(job))
        except EngineLost as error:
            self.replicas.report_lost(job.replica, error)
            release = release_after_error(job, error, retry=not job.has_output)
        except EngineError as error:
            release = release_after_error(job, error)
        except Exception:
            logger.exception("%s failed with an unexpected error", claim.id)
            release = release_after_error(job, EngineError("engine_error", "the engine failed"))
        finally:
            self.running.pop(claim.id, None)
        self.event_writer.end(job, release)
        return _task_result(release)

    def _run_in_engine(self, job: RunningJob) -> Finish:
        replica = self.replicas.get(job.replica)
        if replica is None or replica.engine is None:
            raise EngineLost("engine_crashed", "the engine is gone")
        generation = Generation.from_json(job.claim.generation)
        try:
            finish = replica.engine.generate(job.claim.id, generation, partial(self.event_writer.write, job))
        finally:
            job.left_engine = True
        if job.suspect and not replica.remote:
            self.stall_detector.probe(job, replica.engine, generation)
        return finish

    # ---- stopping jobs

    def stop_job(self, job: RunningJob, code: str) -> None:
        """Stop a running job with a reason `code` (see `RunningJob.stop_code`); the first reason stays."""
        if job.stop(code):
            replica = self.replicas.get(job.replica)
            if replica and replica.engine:
                replica.engine.cancel(job.claim.id)

    def stop_job_id(self, id: str, code: str) -> None:
        """Stop the job with that id; unknown ids are ignored."""
        job = self.running.get(id)
        if job:
            self.stop_job(job, code)

    def stop_jobs_on(self, replica: str, code: str) -> None:
        """Stop all jobs that run on a replica."""
        for job in list(self.running.values()):
            if job.replica == replica:
                self.stop_job(job, code)

    # ---- shutting down

    def shut_down(self, timeout_s: float) -> None:
        """Let running jobs finish for up to `timeout_s`, stop the rest, then stop all engines."""
        self.draining = True
        try:
            self._ledger.drain(self.worker, self.incarnation)
        except StokerError:
            logger.warning("Redis is unreachable; draining all the same")
        self._wait_for_jobs(time.monotonic() + timeout_s)
        for job in list(self.running.values()):
            self.stop_job(job, "worker_shutdown")
        self._wait_for_jobs(time.monotonic() + 2)
        self.event_writer.wait_idle(2)
        self.replicas.stop_all()
        self.event_writer.wait_idle(1)
        try:
            self._ledger.deregister(self.worker, self.incarnation, f"worker {self.worker} was shut down")
        except StokerError:
            logger.warning("Redis is unreachable; this worker's lease will run out")

    def kill(self) -> None:
        """Kill all engines at once, because this incarnation is over."""
        self.draining = True
        self.replicas.stop_all(timeout_s=0.0)

    def _wait_for_jobs(self, deadline: float) -> None:
        while self.running and time.monotonic() < deadline:
            time.sleep(0.02)


def _task_result(release: Release) -> str:
    """The Celery task's result, shown in Flower. Raises `Failed` for a failed job: its task fails too."""
    if release.status is Status.FAILED:
        raise Failed(release.message, code=release.code)
    return str(release.status)
