"""The worker agent: heartbeats, and repairs of the fleet's state."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Mapping

from config.settings import ModelDefinition
from engines.nvml import device_type
from fleet.catalogue import POLL_S
from fleet.errors import InsufficientMemory
from fleet.estimates import encode_shape
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome
from fleet.obstacle import Obstacle
from fleet.on_demand.service import OnDemand
from fleet.recovery import Recovery
from fleet.scaling.scaling import Scaling
from scheduler.ledger import Ledger
from store.errors import Fenced, StokerError
from tasks.definitions import notify_workers
from workers.downloads.old_parts import remove_old_parts
from workers.downloads.records import FOLDER
from workers.engine_reporter import EngineReporter
from workers.executor import Executor
from workers.io_loop import IoLoop
from workers.model_files import change_digest, model_shape, size_mib
from workers.obstacles import ObstacleScan
from workers.reconciler import Reconciler, spawn_thread

logger = logging.getLogger("workers")

EX_TEMPFAIL = 75
"""The exit code of a worker that cannot go on; its supervisor starts a fresh one."""

LOOP_SILENCE_S = 10.0
"""A worker whose event loop has run nothing for this long has ended its work: it exits."""

GIVEN_UP = "worker %s was given up or another one took its name: ending, so that a fresh one can start"
LOOP_HANGS = "the event loop of worker %s hangs: ending, so that a fresh one can start"

RECOVERY_INTERVAL_S = 2.0
FILE_INTERVAL_S = 5.0
PARTS_INTERVAL_S = 3600.0


class WorkerAgent:
    """Three threads: the heartbeat, the recovery loop, and one that sends the engines' logs.

    `io` is the loop that the executor's jobs run on.
    """

    def __init__(self, executor: Executor, ledger: Ledger, fleet: Fleet, io: IoLoop) -> None:
        self._executor = executor
        self._io = io
        self._ledger = ledger
        self._fleet = fleet
        self._heartbeat_s = ledger.settings.lease.heartbeat_ms / 1000
        self._reconciler = Reconciler(executor, self._heartbeat_s, spawn_thread)
        self._engine_reporter = EngineReporter(fleet, executor.replicas.by_name, executor.running)
        self._scaling = Scaling(fleet)
        self._recovery = Recovery(fleet)
        self._on_demand = OnDemand(fleet)
        self._stopping = threading.Event()  # of the recovery loop
        self._ended = threading.Event()  # of all threads
        self._replica_ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._logged_obstacles: dict[str, str] = {}  # model -> error code
        self._file_digests: dict[str, str] = {}
        self._obstacles = ObstacleScan(ledger.settings)
        self._reported_obstacles: tuple[str, dict[str, Obstacle]] = ("", {})
        executor.replicas.on_end = self._replica_ended.set

    def start(self) -> None:
        """Start the threads, and the measurements of the engines."""
        self._io.spawn(self._engine_reporter.run())
        for target in (self._heartbeat, self._recover, self._ship_logs):
            thread = threading.Thread(target=target, name=target.__name__.strip("_"), daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop the recovery loop. Heartbeats go on until the process ends, since jobs may still drain."""
        self._stopping.set()
        self._replica_ended.set()

    def end(self) -> None:
        """End the threads and wait for them, in a process that continues without this worker."""
        self.stop()
        self._ended.set()
        for thread in self._threads:
            thread.join()

    # ---- heartbeat

    def _heartbeat(self) -> None:
        redis_away = False
        while not self._ended.wait(self._heartbeat_s):
            try:
                silence_s = self._io.silence_s()
                if silence_s > LOOP_SILENCE_S:
                    self._exit(LOOP_HANGS)
                self._io.loop.call_soon_threadsafe(self._executor.stall_detector.check)
                reply = self._executor.heartbeat(self._ledger)
                self._io.loop.call_soon_threadsafe(self._reconciler.apply, reply)
                self._report_engines(silence_s)
                redis_away = False
            except Fenced:
                if not self._executor.draining:
                    self._exit(GIVEN_UP)
            except StokerError as error:
                if not redis_away:
                    logger.warning("%s", error.message)
                redis_away = True
            except Exception:
                logger.exception("a heartbeat failed; the next one follows")

    def _report_engines(self, silence_s: float) -> None:
        """Report the engines; a loop that is silent nearly as long as a lease counts as hanging."""
        executor = self._executor
        hangs = silence_s + self._heartbeat_s >= self._ledger.settings.lease.lease_ms / 1000
        self._engine_reporter.report(executor.worker, executor.incarnation, hangs=hangs)

    def _exit(self, message: str) -> None:
        logger.error(message, self._executor.worker)
        self._executor.kill()
        os._exit(EX_TEMPFAIL)

    def _ship_logs(self) -> None:
        self._executor.replicas.logs.run(self._ended)

    # ---- recovery

    def _recover(self) -> None:
        """Report memory and file sizes, continue interrupted loads, and load missing models."""
        files_due = parts_due = 0.0
        # other workers may be registering at this moment: replicas are spread better over all of them
        self._stopping.wait(self._heartbeat_s / 2)
        while not self._stopping.is_set():
            try:
                self._executor.replicas.memory_reporter.report()
                if time.monotonic() >= files_due:
                    self._report_files()
                    files_due = time.monotonic() + FILE_INTERVAL_S
                if time.monotonic() >= parts_due:
                    remove_old_parts(self._ledger.settings.data_dir / FOLDER)
                    parts_due = time.monotonic() + PARTS_INTERVAL_S
                if self._recovery.is_due(RECOVERY_INTERVAL_S):
                    self._look_for_work()
            except StokerError as error:
                logger.debug("%s", error.message)  # the heartbeat logs it as a warning
            except Exception:
                logger.exception("recovery failed; trying again")
            self._replica_ended.wait(RECOVERY_INTERVAL_S)
            self._replica_ended.clear()

    def _look_for_work(self) -> None:
        """Continue interrupted loads, load missing and wanted models, and let replicas follow the load."""
        resumed = (
            *self._recovery.resume_pending(),
            *self._recovery.replace_lost(),
            *self._fleet.registered.resume(),
        )
        for outcome in resumed:
            self._notify(outcome)
        lacking = [
            name for name in self._recovery.missing() if self._reload(name) == InsufficientMemory.default_code
        ]
        for outcome in (*(self._on_demand.look() or ()), *self._scaling.look(lacking)):
            self._notify(outcome)

    def _report_files(self) -> None:
        """Report the models' files that changed since the last report: their digests, and their sizes."""
        self._fleet.catalogue.refresh(after_s=POLL_S)
        models = self._fleet.catalogue.models
        digests = {name: change_digest(model) for name, model in models.items()}
        changed = {name: digest for name, digest in digests.items() if self._file_digests.get(name) != digest}
        sizes = {name: size_mib(models[name]) for name in changed}
        shapes = {name: shape for name in changed if (shape := model_shape(models[name])) is not None}
        device = self._executor.replicas.memory_reporter.device
        self._fleet.report_artifacts(
            {name: size for name, size in sizes.items() if size},
            {name: encode_shape(shape, device) for name, shape in shapes.items()},
        )
        self._fleet.report_files(socket.gethostname(), changed)
        self._report_obstacles(models, digests)
        self._file_digests = digests

    def _report_obstacles(self, models: Mapping[str, ModelDefinition], files: Mapping[str, str]) -> None:
        """Report why models cannot be loaded here, if that changed."""
        devices = ("auto", device_type())
        mine = {name: model for name, model in models.items() if model.device.partition(":")[0] in devices}
        worker, incarnation = self._executor.worker, self._executor.incarnation
        found = self._obstacles.scan(mine, files)
        if (incarnation, found) != self._reported_obstacles:
            self._fleet.report_obstacles(worker, incarnation, found)
            self._reported_obstacles = incarnation, found

    def _reload(self, name: str) -> str | None:
        """Load a model that should be loaded. Returns the code of an obstacle, which is reported once."""
        try:
            outcome = self._recovery.reload(name)
        except StokerError as error:
            if self._logged_obstacles.get(name) != error.code:
                logger.warning("%s should be loaded but is not: %s", name, error.message)
                self._fleet.report_load_error(name, error.message)
            self._logged_obstacles[name] = error.code
            return error.code
        self._logged_obstacles.pop(name, None)
        self._notify(outcome)
        return None

    def _notify(self, outcome: LoadOutcome) -> None:
        """Send the workers their tasks for a load or unload that the recovery loop began."""
        for item in outcome.assignments[:1]:
            logger.info("recovery: %sing %s", outcome.kind, item.replica.partition("#")[0])
        notify_workers(outcome)
