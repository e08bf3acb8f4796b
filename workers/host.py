"""The host: one GPU's worker process, as the task bodies see it.

It claims tickets and gives them to engines, starts and stops engines, and keeps the ledger's picture of this
worker true. It decides nothing about whose turn it is.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import orjson

from config.settings import Settings
from fleet.models import Fleet
from fleet.states import ReplicaState
from scheduler.errors import Evicted, Failed, Fenced, StokerError
from scheduler.ledger import Ledger
from scheduler.ticket import Claim, Pulse, Release, Status
from tasks.wire import Generation
from workers.flusher import Flusher
from workers.replica import Replica
from workers.running import Running
from workers.runtimes.base import EngineError, EngineLost, Exit, Finish, Launch, LoadError
from workers.runtimes.registry import runtime

logger = logging.getLogger("workers")

T = TypeVar("T")

STOP_TIMEOUT_S = 10.0
PROGRESS_EVERY_S = 0.2
DEAF_S = 3.0
"""An engine that still holds a generation so long after it was told to stop is killed."""

STOPPED = {
    "cancelled": "the request was cancelled",
    "engine_stalled": "the engine said nothing for too long",
    "output_too_large": "the answer grew larger than limits.max_log_bytes",
    "storage_unavailable": "the shared store (Redis) was away for too long",
    "storage_full": "the shared store (Redis) refuses writes: its memory or disk is full",
    "unload_deadline": "the model was unloaded before this request ended",
    "worker_shutdown": "the worker was shut down before this request ended",
}


class Host:
    """Implements `tasks.host.Host`. `incarnation` is this life's, given by the ledger at registration."""

    def __init__(self, worker: str, settings: Settings, ledger: Ledger, fleet: Fleet) -> None:
        self.worker = worker
        self.incarnation = ""
        self.replicas: dict[str, Replica] = {}
        self.running: dict[str, Running] = {}
        self.draining = False
        self._settings = settings
        self._ledger = ledger
        self._fleet = fleet
        self._taking: set[str] = set()
        self._lock = threading.Lock()
        self.flusher = Flusher(ledger, self.stop_run)

    # ---- one request

    def generate(self, id: str) -> str:
        """Claim the ticket and run it to its end (see `tasks.host.Host`)."""
        with self._lock:
            if id in self._taking:
                return "already here"
            self._taking.add(id)
        try:
            claim = self._ledger.claim(self.worker, self.incarnation, id)
            return self._run(claim) if claim else "nothing to do"
        except Fenced:
            return "fenced"
        finally:
            self._taking.discard(id)

    def _run(self, claim: Claim) -> str:
        run = Running(claim, self.flusher)
        self.running[claim.id] = run
        try:
            release = self._finished(run, self._engine_run(run))
        except EngineLost as error:
            self._lost(run.replica, error)
            release = self._failed(run, error, retry=not run.said)
        except EngineError as error:
            release = self._failed(run, error, retry=False)
        except Exception:
            logger.exception("%s failed in a way no runtime foresaw", claim.id)
            release = self._failed(run, EngineError("engine_error", "the engine failed"), retry=False)
        finally:
            self.running.pop(claim.id, None)
        run.end(release)
        return _outcome(release)

    def _engine_run(self, run: Running) -> Finish:
        replica = self.replicas.get(run.replica)
        if replica is None or replica.engine is None:
            raise EngineLost("engine_crashed", "the engine is gone")
        return replica.engine.generate(run.claim.id, Generation.from_json(run.claim.generation), run.emit)

    def _finished(self, run: Running, finish: Finish) -> Release:
        usage = finish.usage
        if finish.reason == "cancelled" or run.stop_code:
            code = run.stop_code or "cancelled"
            status = Status.CANCELLED if code == "cancelled" else Status.FAILED
        else:
            code = ""
            status = Status.INCOMPLETE if finish.reason == "length" else Status.COMPLETED
        return Release(
            run.claim.id,
            run.claim.fence,
            status,
            finish_reason="" if code else finish.reason,
            code=code,
            message=STOPPED.get(code, ""),
            usage=orjson.dumps(usage),
            tokens=usage.total_tokens,
        )

    @staticmethod
    def _failed(run: Running, error: EngineError, *, retry: bool) -> Release:
        code = run.stop_code or error.code
        status = Status.CANCELLED if code == "cancelled" else Status.FAILED
        message = STOPPED.get(code, str(error))
        return Release(
            run.claim.id,
            run.claim.fence,
            status,
            code=code,
            message=message,
            retry=retry and not run.stop_code,
        )

    def stop_run(self, run: Running, code: str) -> None:
        """Make one generation end, for that reason; the first reason stays."""
        if run.stop_code is None:
            run.stop_code = code
            replica = self.replicas.get(run.replica)
            if replica and replica.engine:
                replica.engine.cancel(run.claim.id)

    def stop_id(self, id: str, code: str) -> None:
        """The same by id; unknown ids are ignored."""
        run = self.running.get(id)
        if run:
            self.stop_run(run, code)

    # ---- one replica

    def load(self, replica: str) -> str:
        """Start a replica's engine (see `tasks.host.Host`). Raises `Failed` when it does not come up."""
        try:
            name = self._persist(lambda: self._fleet.replica_starting(replica, self.worker, self.incarnation))
            if name is None:
                return "nothing to do"
            return self._start(replica, name)
        except LoadError as error:
            logger.warning("%s did not load: %s", replica, error)
            self._report_down(replica, error.code, str(error))
            raise Failed(str(error), code=error.code) from None

    def _start(self, name: str, model_name: str) -> str:
        model = self._settings.models.get(model_name)
        if model is None:
            raise LoadError("load_failed", f"model {model_name} is not configured on worker {self.worker}")
        slots = self._room(model.target_inflight)
        try:
            adapter = runtime(model.backend)
        except (KeyError, ValueError, ImportError) as error:
            raise LoadError("load_failed", f"backend {model.backend} cannot run here: {error}") from error
        entry = self.replicas[name] = Replica(name, model, adapter, slots=slots)
        directory = self._settings.data_dir / "engines" / name.replace("/", "_").replace("#", "-")
        directory.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        try:
            entry.engine = adapter.start(self._launch(entry, directory))
        except LoadError:
            self.replicas.pop(name, None)
            raise
        entry.slots = min(slots, entry.engine.slots)
        entry.state = ReplicaState.UP
        engine = entry.engine
        up = self._persist(
            lambda: self._fleet.replica_up(name, self.worker, self.incarnation, entry.slots, engine.pid)
        )
        if not up:
            self._stop(entry, "load_cancelled", "the load was given up")
            return "given up"
        logger.info(
            "%s is up: pid %d, %d slots, %.1f s", name, engine.pid, entry.slots, time.monotonic() - started
        )
        return f"{entry.slots} slots"

    def _launch(self, entry: Replica, directory: Path) -> Launch:
        reported = 0.0

        def progress(done: float, stage: str) -> None:
            nonlocal reported
            now = time.monotonic()
            if now - reported < PROGRESS_EVERY_S and done < 1:
                return
            reported = now
            try:
                wanted = self._fleet.replica_progress(entry.name, done, stage)
            except StokerError:
                return
            if not wanted:
                entry.abandoned = True
                entry.runtime.cancel_start(entry.name)

        return Launch(
            model=entry.model,
            replica=entry.name,
            slots=entry.slots,
            directory=directory,
            progress=progress,
            on_exit=lambda exit: self._exited(entry, exit),
        )

    def _room(self, wanted: int) -> int:
        """Slots for one more replica: each running request holds a thread of the pool."""
        taken = sum(replica.slots for replica in list(self.replicas.values()))
        room = self._settings.worker.threads - taken
        if room < 1:
            raise LoadError("load_failed", "no threads are left on this worker: raise worker.threads")
        return min(wanted, room)

    def unload(self, replica: str) -> str:
        """Drain and stop a replica (see `tasks.host.Host`)."""
        entry = self.replicas.get(replica)
        if entry is None or not entry.begin_stopping():
            return "nothing to do"
        self._drain(entry)
        self._stop(entry, "unloaded", "the model was unloaded")
        return "unloaded"

    def _drain(self, entry: Replica) -> None:
        deadline = time.monotonic() + self._settings.limits.request_timeout_s
        while time.monotonic() < deadline and not self.draining:
            if self._persist(lambda: self._ledger.held(entry.name)) == 0 and not self._runs_of(entry.name):
                return
            time.sleep(0.05)
        for run in self._runs_of(entry.name):
            self.stop_run(run, "unload_deadline")

    def _runs_of(self, replica: str) -> list[Running]:
        return [run for run in list(self.running.values()) if run.replica == replica]

    def _stop(self, entry: Replica, code: str, message: str) -> None:
        if entry.engine is not None:
            entry.engine.stop(STOP_TIMEOUT_S)
        self.replicas.pop(entry.name, None)
        if entry.go():
            self._report_down(entry.name, code, message)

    def _exited(self, entry: Replica, exit: Exit) -> None:
        """An engine's process is gone: asked for (then whoever asked reports it), while loading, or by itself."""
        if exit.expected or entry.state is ReplicaState.STARTING:
            return
        self._lost(entry.name, EngineLost("engine_crashed", f"the engine of {entry.model.name} was {exit}"))

    def _lost(self, name: str, error: EngineLost) -> None:
        """Take a replica whose engine is lost out of service, before its tickets are given back."""
        entry = self.replicas.get(name)
        if entry is None or not entry.go():
            return
        logger.error("%s is lost: %s", name, error)
        self._persist(
            lambda: self._fleet.replica_down(
                name,
                self.worker,
                self.incarnation,
                code=error.code,
                message=str(error),
                ticket_code=error.code,
                ticket_message=str(error),
            )
        )
        self.replicas.pop(name, None)
        if entry.engine is not None:
            entry.engine.stop(0.0)

    def _report_down(self, replica: str, code: str, message: str) -> None:
        self._persist(
            lambda: self._fleet.replica_down(
                replica, self.worker, self.incarnation, code=code, message=message
            )
        )

    def _persist(self, call: Callable[[], T]) -> T:
        """Repeat a report until Redis takes it: what it says stays true meanwhile."""
        while True:
            try:
                return call()
            except StokerError as error:
                if self.draining:
                    raise
                logger.warning("%s", error.message)
                time.sleep(0.3)

    # ---- keeping the picture true

    def follow(self, pulse: Pulse, spawn: Callable[[Callable[[], object]], None]) -> None:
        """Do what a beat says: stop the cancelled and the fenced, hear unheard bells, start and stop replicas."""
        for id in pulse.cancelled:
            self.stop_id(id, "cancelled")
        two_beats = 2 * self._settings.lease.beat_ms / 1000
        for id, run in list(self.running.items()):
            if id not in pulse.running and time.monotonic() - run.started > two_beats:
                self.stop_run(run, "fenced")
        for id in pulse.unheard:
            logger.warning("%s was dispatched here and its bell was not heard: taking it", id)
            spawn(lambda id=id: self.generate(id))  # type: ignore[misc]
        for name, state in pulse.replicas.items():
            entry = self.replicas.get(name)
            if state == ReplicaState.ASSIGNED and entry is None and not self.draining:
                spawn(lambda name=name: self.load(name))  # type: ignore[misc]
            elif state == ReplicaState.STOPPING and entry is None:
                spawn(lambda name=name: self._report_down(name, "unloaded", "it was not running"))  # type: ignore[misc]
            elif state == ReplicaState.STOPPING and entry is not None:
                self._leave(entry, spawn)
        for name, entry in list(self.replicas.items()):
            if name not in pulse.replicas and entry.state is not ReplicaState.STOPPING and entry.go():
                logger.warning("%s is not the ledger's any more: stopping it", name)
                entry.abandoned = True
                spawn(lambda entry=entry: self._stop(entry, "", ""))  # type: ignore[misc]

    def _leave(self, entry: Replica, spawn: Callable[[Callable[[], object]], None]) -> None:
        if entry.state is ReplicaState.STARTING:
            entry.abandoned = True
            entry.runtime.cancel_start(entry.name)
        elif entry.state is ReplicaState.UP:
            spawn(lambda: self.unload(entry.name))

    def check_stalls(self) -> None:
        """Stop generations whose engine says nothing, and kill engines that do not even stop."""
        limits, now = self._settings.limits, time.monotonic()
        for run in list(self.running.values()):
            silence = now - run.last_heard
            allowed = limits.idle_timeout_s if run.said else limits.first_event_timeout_s
            if run.stop_code is None and silence > allowed:
                run.last_heard = now
                self.stop_run(run, "engine_stalled")
            elif run.stop_code is not None and silence > DEAF_S:
                self._lost(
                    run.replica,
                    EngineLost("engine_stalled", "the engine did not stop a request when told to"),
                )

    # ---- the end

    def shut_down(self, timeout_s: float) -> None:
        """Let what runs finish for so long, then end it, and all engines with it."""
        self.draining = True
        try:
            self._ledger.drain(self.worker, self.incarnation)
        except StokerError:
            logger.warning("Redis is away; draining all the same")
        deadline = time.monotonic() + timeout_s
        while self.running and time.monotonic() < deadline:
            time.sleep(0.02)
        for run in list(self.running.values()):
            self.stop_run(run, "worker_shutdown")
        while self.running and time.monotonic() < deadline + 2:
            time.sleep(0.02)
        self.flusher.wait_idle(2)
        self._stop_all(list(self.replicas.values()))
        self.flusher.wait_idle(1)
        try:
            self._ledger.deregister(self.worker, self.incarnation, f"worker {self.worker} was shut down")
        except StokerError:
            logger.warning("Redis is away; this worker's lease will run out")

    def kill(self) -> None:
        """End all engines at once: this life is over."""
        self.draining = True
        self._stop_all(list(self.replicas.values()), timeout_s=0.0)

    @staticmethod
    def _stop_all(entries: Iterable[Replica], timeout_s: float = STOP_TIMEOUT_S) -> None:
        threads = []
        for entry in entries:
            entry.go()
            if entry.engine is None:
                entry.runtime.cancel_start(entry.name)
                continue
            thread = threading.Thread(target=entry.engine.stop, args=(timeout_s,))
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join(timeout_s + 2)


def _outcome(release: Release) -> str:
    """What Flower shows; a failed ticket is a failed task."""
    if release.status is Status.FAILED:
        family = Evicted if release.retry else Failed
        raise family(release.message, code=release.code)
    return str(release.status)
