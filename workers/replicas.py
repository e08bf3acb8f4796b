"""The replicas of this worker: starts their engines, drains and stops them, reports what became of them."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from backends.base import Adapter, Bounded, Launch, LoadError, Progress
from backends.registry import adapter
from config.settings import ModelDefinition, Settings
from fleet.fleet import Fleet
from fleet.load_request import ReplicaStart
from fleet.model_row import effective_options
from fleet.states import ReplicaState
from fleet.worker_reports import ENGINE_CRASHED
from scheduler.errors import Failed, StokerError
from scheduler.ledger import Ledger
from scheduler.scripts import call_id
from workers.engine_process.errors import EngineLost, Exit
from workers.memory_reporter import MemoryMeasurement, MemoryReporter
from workers.replica import Replica
from workers.retry import Retry

logger = logging.getLogger("workers")

STOP_TIMEOUT_S = 10.0
ENDING_S = 2.0  # how long those that are stopped may take to end
PROGRESS_EVERY_S = 0.2
ENGINE_LOGS_KEPT = 50

OVERDUE = ("unload_deadline", "the model was unloaded before this request ended")
"""The same as `ENGINE_CRASHED`, where an unload took too long."""


class Replicas:
    """What is loaded on this worker. `stop_runs(replica, code)` ends the requests that run on one."""

    def __init__(
        self,
        worker: str,
        settings: Settings,
        ledger: Ledger,
        fleet: Fleet,
        stop_runs: Callable[[str, str], int],
    ) -> None:
        self.worker = worker
        self.incarnation = ""
        self.table: dict[str, Replica] = {}
        self.retry = Retry()
        self.memory_reporter = MemoryReporter(worker, fleet)
        self.on_end: Callable[[], object] = lambda: None
        """Called when a replica has ended: a load may wait for its memory."""
        self._settings = settings
        self._ledger = ledger
        self._fleet = fleet
        self._stop_runs = stop_runs
        self._taking: set[str] = set()  # those that are being taken up, so that a heartbeat takes none twice
        self._lock = threading.Lock()

    def get(self, name: str) -> Replica | None:
        """The replica of that name, if it is here."""
        return self.table.get(name)

    # ---- coming

    def load(self, name: str) -> str:
        """Start the engine of a replica assigned to this worker. Raises `Failed` when it does not come up."""
        with self._lock:
            if name in self._taking:
                return "already here"
            self._taking.add(name)
        try:
            call = call_id()  # a repeat after a lost answer is still the first one
            start = self.retry.until_stopped(
                lambda: self._fleet.replica_starting(name, self.worker, self.incarnation, call)
            )
            if start is None:
                return "nothing to do"
            try:
                return self._start(name, start)
            except Exception as error:
                raise self._did_not_start(name, error) from None
        finally:
            self._taking.discard(name)

    def _did_not_start(self, name: str, error: Exception) -> Failed:
        """Report what went wrong, whatever it was: a replica must not stay on its way."""
        if not isinstance(error, LoadError):
            logger.exception("%s did not start in a way no runtime foresaw", name, exc_info=error)
            error = LoadError(
                "load_failed", f"the engine could not be started: {error or type(error).__name__}"
            )
        else:
            logger.warning("%s did not load: %s", name, error)
        entry = self.table.pop(name, None)
        if entry is not None and entry.engine is not None:
            entry.engine.stop(0.0)
        if entry is None or entry.go():
            self._report_down(name, error.code, str(error))
        self.on_end()
        return Failed(str(error), code=error.code)

    def _start(self, name: str, start: ReplicaStart) -> str:
        model = self._settings.models.get(start.model)
        if model is None:
            raise LoadError("load_failed", f"model {start.model} is not configured on worker {self.worker}")
        model = replace(model, options=effective_options(model, start.override))
        adapter = _adapter(model)
        entry = self.table[name] = Replica(name, model, slots=self._room(model))
        started = time.monotonic()
        with self.memory_reporter.moving(here=not entry.remote) as measurement:
            engine = entry.engine = adapter.start(self._launch(entry, measurement))
            memory_mib = self.memory_reporter.taken(measurement, engine.pid)
        entry.slots = min(entry.slots, engine.slots)
        entry.state = ReplicaState.UP
        up = self.retry.until_stopped(
            lambda: self._fleet.replica_up(
                name,
                self.worker,
                self.incarnation,
                entry.slots,
                engine.pid,
                memory_mib=memory_mib,
                context=engine.context if isinstance(engine, Bounded) else None,
            )
        )
        if not up:
            self.stop(entry, "load_cancelled", "the load was given up")
            return "given up"
        took = time.monotonic() - started
        where = "elsewhere" if engine.pid is None else f"pid {engine.pid}"
        logger.info("%s is up: %s, %d slots, %.1f s", name, where, entry.slots, took)
        return f"{entry.slots} slots"

    def _room(self, model: ModelDefinition) -> int:
        """Slots for one more replica: each running request holds a thread of the pool."""
        taken = sum(replica.slots for replica in list(self.table.values()))
        room = self._settings.worker.threads - taken
        if room < 1:
            raise LoadError("load_failed", "no threads are left on this worker: raise worker.threads")
        return min(model.target_inflight, room)

    def _launch(self, entry: Replica, measurement: MemoryMeasurement) -> Launch:
        engines = self._settings.data_dir / "engines" / self.worker
        directory = engines / _folder(entry.name)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._prune(engines)
        except OSError as error:
            raise LoadError("load_failed", f"cannot write to {directory}: {error.strerror}") from error
        return Launch(
            model=entry.model,
            replica=entry.name,
            slots=entry.slots,
            directory=directory,
            environments=self._settings.runtimes_dir,
            progress=self._progress(entry),
            on_exit=lambda exit: self._exited(entry, exit),
            on_process=measurement.belongs_to,
            cancellation=entry.cancellation,
        )

    def _prune(self, engines: Path) -> None:
        """Keep the logs of the engines that are here, and of the latest that were."""
        here = {_folder(name) for name in self.table}
        with suppress(OSError):  # another start may be doing the same
            gone = [directory for directory in engines.iterdir() if directory.name not in here]
            gone.sort(key=lambda directory: directory.stat().st_mtime)
            for directory in gone[:-ENGINE_LOGS_KEPT]:
                shutil.rmtree(directory, ignore_errors=True)

    def _progress(self, entry: Replica) -> Progress:
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
                self.abandon(entry)

        return progress

    def abandon(self, entry: Replica) -> None:
        """End a load that nobody waits for any more."""
        entry.cancellation.cancel()

    # ---- going

    def unload(self, name: str) -> str:
        """Drain and stop a replica."""
        entry = self.table.get(name)
        if entry is not None and entry.state is ReplicaState.STARTING:
            self.abandon(entry)  # whoever starts it reports its end
            return "given up"
        if entry is None or not entry.begin_stopping():
            return "nothing to do"
        try:
            self._drain(entry)
        finally:
            self.stop(entry, "unloaded", "the model was unloaded")
        return "unloaded"

    def _drain(self, entry: Replica) -> None:
        deadline = time.monotonic() + self._settings.limits.unload_timeout_s
        most = told = 0
        while time.monotonic() < deadline:
            held = self.retry.until_stopped(lambda: self._ledger.jobs_on_replica(entry.name))
            if held == 0:
                return
            if held != told:
                most, told = max(most, held), held
                self._tell_drain(entry, held, most)
            time.sleep(0.05)
        entry.overdue = True
        self._stop_runs(entry.name, "unload_deadline")
        # those it stops say so themselves; an engine that ended under them would look like a crash
        until = time.monotonic() + ENDING_S
        while time.monotonic() < until and self.retry.until_stopped(
            lambda: self._ledger.jobs_on_replica(entry.name)
        ):
            time.sleep(0.05)

    def _tell_drain(self, entry: Replica, held: int, most: int) -> None:
        requests = "1 request runs" if held == 1 else f"{held} requests run"
        with suppress(StokerError):
            self._fleet.replica_progress(entry.name, 1 - held / most, f"draining: {requests}")

    def stop(self, entry: Replica, code: str, message: str) -> None:
        """Stop an engine and report the replica's end."""
        try:
            if entry.engine is not None:
                with self.memory_reporter.moving(here=not entry.remote):
                    entry.engine.stop(STOP_TIMEOUT_S)
        finally:
            self.table.pop(entry.name, None)
            if entry.go():
                self._report_down(entry.name, code, message, OVERDUE if entry.overdue else ENGINE_CRASHED)
                self.on_end()

    def stop_all(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop all engines at once; the ledger hears of it from the worker's own end."""
        self.retry.end()
        threads = []
        for entry in list(self.table.values()):
            entry.go()
            if entry.engine is None:
                self.abandon(entry)
                continue
            thread = threading.Thread(target=entry.engine.stop, args=(timeout_s,))
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join(timeout_s + 2)

    # ---- dying

    def _exited(self, entry: Replica, exit: Exit) -> None:
        """An engine's process is gone. One that was asked to go is reported by whoever asked."""
        if not exit.expected:
            ended = EngineLost("engine_crashed", f"the engine of {entry.model.name} ended by itself: {exit}")
            self.lost(entry.name, ended)

    def lost(self, name: str, error: EngineLost) -> None:
        """Take a replica whose engine is lost out of service, before its jobs are given back."""
        entry = self.table.get(name)
        if entry is None or not entry.go():
            return
        logger.error("%s is lost: %s", name, error)
        job = OVERDUE if entry.overdue else (error.code, str(error))
        self._report_down(name, error.code, str(error), job)
        self.table.pop(name, None)
        if entry.engine is not None:
            with self.memory_reporter.moving(here=not entry.remote):
                entry.engine.stop(0.0)
        self.on_end()

    def forget(self, name: str) -> None:
        """Tell the ledger that a replica it takes for ours is not here."""
        self._report_down(name, "unloaded", "it was not running")

    def _report_down(self, name: str, code: str, message: str, job: tuple[str, str] = ENGINE_CRASHED) -> None:
        """Say that a replica's engine is gone; `job` is what those hear that still ran on it."""
        self.retry.until_stopped(
            lambda: self._fleet.replica_down(
                name, self.worker, self.incarnation, code=code, message=message, job=job
            )
        )


def _folder(replica: str) -> str:
    return replica.replace("/", "_").replace("#", "-")


def _adapter(model: ModelDefinition) -> Adapter:
    try:
        return adapter(model.backend)
    except (LookupError, ValueError, ImportError) as error:
        raise LoadError("load_failed", f"backend {model.backend} cannot run here: {error}") from error
