"""The host: one GPU's worker process, as the task bodies see it.

It claims jobs and gives them to engines, and keeps the ledger's picture of this worker true. It decides
nothing about whose turn it is.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

import orjson

from backends.base import Engine, Finish
from config.settings import Settings
from fleet.fleet import Fleet
from fleet.states import ReplicaState
from scheduler.errors import Failed, Fenced, StokerError
from scheduler.job import Claim, HeartbeatReply, Release, Status
from scheduler.ledger import Ledger
from scheduler.scripts import call_id
from tasks.generation import Generation
from workers.engine_probe import probe
from workers.engine_process.errors import EngineError, EngineLost
from workers.event_writer import EventWriter
from workers.replica import Replica
from workers.replicas import OVERDUE, Replicas
from workers.running_job import RunningJob

logger = logging.getLogger("workers")

DEAF_S = 3.0
"""An engine that still holds a generation so long after it was told to stop is killed."""

DOUBT_S = 5.0
"""After so long without a word a client may hang up because the engine hangs."""

STOPPED = {
    "cancelled": "the request was cancelled",
    "engine_stalled": "the engine said nothing for too long",
    "output_too_large": "the answer grew larger than limits.max_log_bytes",
    "storage_unavailable": "the shared store (Redis) was away for too long",
    "storage_full": "the shared store (Redis) refuses writes: its memory or disk is full",
    "unload_deadline": OVERDUE[1],
    "worker_shutdown": "the worker was shut down before this request ended",
}

Spawn = Callable[[Callable[[], object]], None]
"""Runs a call beside the caller."""


class Host:
    """Implements `tasks.worker_interface.Host`."""

    def __init__(self, worker: str, settings: Settings, ledger: Ledger, fleet: Fleet) -> None:
        self.worker = worker
        self.running: dict[str, RunningJob] = {}
        self.draining = False
        self.event_writer = EventWriter(ledger, self.stop_run)
        self.replicas = Replicas(worker, settings, ledger, fleet, self.stop_runs_of)
        self._settings = settings
        self._ledger = ledger
        self._taking: set[str] = set()
        self._lock = threading.Lock()

    def begin(self, incarnation: str) -> None:
        """Begin a life: this is its incarnation, given by the ledger at registration."""
        self.replicas.incarnation = self.replicas.memory_reporter.incarnation = incarnation
        self.event_writer.start()

    @property
    def incarnation(self) -> str:
        """This life's."""
        return self.replicas.incarnation

    def load(self, replica: str) -> str:
        """See `tasks.worker_interface.Host`."""
        return self.replicas.load(replica)

    def unload(self, replica: str) -> str:
        """See `tasks.worker_interface.Host`."""
        return self.replicas.unload(replica)

    # ---- one request

    def generate(self, id: str) -> str:
        """Claim the job and run it to its end (see `tasks.worker_interface.Host`)."""
        with self._lock:
            if id in self._taking:
                return "already here"
            self._taking.add(id)
        try:
            call = call_id()  # of a claim whose answer was lost, a repeat under the same name gets it again
            claim = self.replicas.retry.until_stopped(
                lambda: self._ledger.claim(self.worker, self.incarnation, id, call)
            )
            return self._run(claim) if claim else "nothing to do"
        except Fenced:
            return "fenced"
        finally:
            self._taking.discard(id)

    def _run(self, claim: Claim) -> str:
        run = RunningJob(claim)
        self.running[claim.id] = run
        try:
            release = _finished(run, self._in_engine(run))
        except EngineLost as error:
            self.replicas.lost(run.replica, error)
            release = _failed(run, error, retry=not run.said)
        except EngineError as error:
            release = _failed(run, error)
        except Exception:
            logger.exception("%s failed in a way no runtime foresaw", claim.id)
            release = _failed(run, EngineError("engine_error", "the engine failed"))
        finally:
            self.running.pop(claim.id, None)
        self.event_writer.end(run, release)
        return _outcome(release)

    def _in_engine(self, run: RunningJob) -> Finish:
        replica = self.replicas.get(run.replica)
        if replica is None or replica.engine is None:
            raise EngineLost("engine_crashed", "the engine is gone")
        generation = Generation.from_json(run.claim.generation)
        try:
            finish = replica.engine.generate(run.claim.id, generation, partial(self.event_writer.say, run))
        finally:
            run.ended = True
        if run.in_doubt and not replica.remote:
            self._probe(run, replica.engine, generation)
        return finish

    def _probe(self, run: RunningJob, engine: Engine, generation: Generation) -> None:
        """See that an engine still computes, before its slot goes to the next. Raises `EngineLost`."""
        id, began = f"{run.claim.id}/probe", time.monotonic()

        def give_up() -> None:
            others = [other for other in list(self.running.values()) if other.replica == run.replica]
            if any(other.said and not other.stop_code and other.last_heard > began for other in others):
                engine.cancel(id)  # it is busy with them
            else:
                self.replicas.lost(run.replica, EngineLost("engine_stalled", "the engine computes no more"))

        probe(engine, id, generation, self._settings.limits.probe_timeout_s, give_up)

    def stop_run(self, run: RunningJob, code: str) -> None:
        """Make one generation end, for that reason; the first reason stays."""
        if run.stop_code is None:
            run.stop_code, now = code, time.monotonic()
            silent = code == "cancelled" and now - run.last_heard > DOUBT_S
            run.in_doubt = silent or code == "engine_stalled"
            run.last_heard = now
            replica = self.replicas.get(run.replica)
            if replica and replica.engine:
                replica.engine.cancel(run.claim.id)

    def stop_id(self, id: str, code: str) -> None:
        """The same by id; unknown ids are ignored."""
        run = self.running.get(id)
        if run:
            self.stop_run(run, code)

    def stop_runs_of(self, replica: str, code: str) -> int:
        """The same for all of a replica; how many there were."""
        runs = [run for run in list(self.running.values()) if run.replica == replica]
        for run in runs:
            self.stop_run(run, code)
        return len(runs)

    # ---- keeping the picture true

    def follow(self, reply: HeartbeatReply, spawn: Spawn) -> None:
        """Do what a heartbeat says: stop what was cancelled, hear unheard bells, bring replicas to their state."""
        for id in reply.cancelled:
            self.stop_id(id, "cancelled")
        two_heartbeats = 2 * self._settings.lease.beat_ms / 1000
        for id, run in list(self.running.items()):
            if id not in reply.running and time.monotonic() - run.started > two_heartbeats:
                self.stop_run(run, "fenced")
        for id in reply.unclaimed:
            if id not in self._taking:
                logger.warning("%s was dispatched here and its bell was not heard: taking it", id)
                spawn(lambda id=id: self.generate(id))  # type: ignore[misc]
        for name, state in reply.replicas.items():
            self._bring(name, state, spawn)
        for entry in list(self.replicas.table.values()):
            if entry.name not in reply.replicas:
                self._let_go(entry, spawn)

    def _bring(self, name: str, state: str, spawn: Spawn) -> None:
        entry = self.replicas.get(name)
        if state == ReplicaState.ASSIGNED and entry is None and not self.draining:
            spawn(lambda: self.load(name))
        elif state == ReplicaState.STOPPING and entry is None:
            spawn(lambda: self.replicas.forget(name))
        elif state == ReplicaState.STOPPING and entry is not None:
            if entry.state is ReplicaState.STARTING:
                self.replicas.abandon(entry)
            elif entry.state is ReplicaState.UP:
                spawn(lambda: self.unload(name))

    def _let_go(self, entry: Replica, spawn: Spawn) -> None:
        """The ledger knows nothing of this replica: its load was given up, or its end was reported."""
        if entry.state is ReplicaState.STARTING:
            self.replicas.abandon(entry)
        elif entry.state is ReplicaState.UP and entry.go():
            logger.warning("%s is not the ledger's any more: stopping it", entry.name)
            spawn(lambda: self.replicas.stop(entry, "", ""))

    def check_stalls(self) -> None:
        """Stop generations whose engine says nothing, and kill engines that do not even stop."""
        limits, now = self._settings.limits, time.monotonic()
        for run in list(self.running.values()):
            silence = now - run.last_heard
            allowed = limits.idle_timeout_s if run.said else limits.first_event_timeout_s
            if run.ended:
                continue
            if run.stop_code is not None:
                self._insist(run, silence)
            elif silence > allowed:
                self.stop_run(run, "engine_stalled")

    def _insist(self, run: RunningJob, silence: float) -> None:
        replica = self.replicas.get(run.replica)
        if replica and replica.engine:
            # the first word may have come before the engine knew the request
            replica.engine.cancel(run.claim.id)
        if silence > DEAF_S:
            deaf = EngineLost("engine_stalled", "the engine did not stop a request when told to")
            self.replicas.lost(run.replica, deaf)

    # ---- the end

    def shut_down(self, timeout_s: float) -> None:
        """Let what runs finish for so long, then end it, and all engines with it."""
        self.draining = True
        try:
            self._ledger.drain(self.worker, self.incarnation)
        except StokerError:
            logger.warning("Redis is away; draining all the same")
        deadline = time.monotonic() + timeout_s
        self._wait_for_runs(deadline)
        for run in list(self.running.values()):
            self.stop_run(run, "worker_shutdown")
        self._wait_for_runs(time.monotonic() + 2)
        self.event_writer.wait_idle(2)
        self.replicas.stop_all()
        self.event_writer.wait_idle(1)
        try:
            self._ledger.deregister(self.worker, self.incarnation, f"worker {self.worker} was shut down")
        except StokerError:
            logger.warning("Redis is away; this worker's lease will run out")

    def kill(self) -> None:
        """End all engines at once: this life is over."""
        self.draining = True
        self.replicas.stop_all(timeout_s=0.0)

    def _wait_for_runs(self, deadline: float) -> None:
        while self.running and time.monotonic() < deadline:
            time.sleep(0.02)


def _finished(run: RunningJob, finish: Finish) -> Release:
    """The release of a generation that came to an end, its own or one we asked for."""
    code = run.stop_code or ("cancelled" if finish.reason == "cancelled" else "")
    if code:
        status = Status.CANCELLED if code == "cancelled" else Status.FAILED
    else:
        cut_off = finish.reason in ("length", "content_filter")
        status = Status.INCOMPLETE if cut_off else Status.COMPLETED
    return Release(
        run.claim.id,
        run.claim.fence,
        status,
        finish_reason="" if code else finish.reason,
        code=code,
        message=STOPPED.get(code, ""),
        usage=orjson.dumps(finish.usage),
        tokens=finish.usage.total_tokens,
    )


def _failed(run: RunningJob, error: EngineError, *, retry: bool = False) -> Release:
    code = run.stop_code or error.code
    return Release(
        run.claim.id,
        run.claim.fence,
        Status.CANCELLED if code == "cancelled" else Status.FAILED,
        code=code,
        message=STOPPED.get(code, str(error)),
        retry=retry and run.stop_code is None,
    )


def _outcome(release: Release) -> str:
    """What Flower shows; a failed job is a failed task."""
    if release.status is Status.FAILED:
        raise Failed(release.message, code=release.code)
    return str(release.status)
