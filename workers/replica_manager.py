"""Loads and unloads the replicas of one worker: starts, drains and stops them, and reports each step."""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from backends.base import Adapter, CancellationToken, HasFacts, Launch, LoadError, Progress
from backends.catalogue import BACKENDS, secret_values
from backends.registry import adapter
from config.fixed_ports import models_with_port_of
from config.settings import ModelDefinition, Settings
from engines.engine_process.errors import EngineLost, Exit
from engines.engine_process.process import LOG_NAME
from fleet.engine_properties import encode_properties
from fleet.fleet import Fleet
from fleet.load_request import ReplicaStart
from fleet.model_row import effective_options
from fleet.operation import DOWNLOAD_SHARE
from fleet.shared_files import OtherFolder, check_mark
from fleet.states import ReplicaState
from fleet.worker_reports import ENGINE_CRASHED
from generation.job_folder import files_root
from scheduler.ledger import Ledger
from store.errors import Failed, StokerError
from store.scripts import call_id
from workers.approved_files import check_approved_files
from workers.downloads.download import with_local_files
from workers.downloads.latest_report import LatestReport
from workers.downloads.records import FOLDER
from workers.engine_log_shipper import EngineLogShipper
from workers.engine_reporter import report_of
from workers.log_redaction import Redaction
from workers.memory_reporter import MemoryMeasurement, MemoryReporter
from workers.model_files import change_digest
from workers.out_of_memory import CODE as OUT_OF_MEMORY
from workers.out_of_memory import lacked_memory
from workers.replica import Replica
from workers.retry import Retry
from workers.running_job import UNLOAD_DEADLINE
from workers.states.engine_folders import new_engine_folder

logger = logging.getLogger("workers")

STOP_TIMEOUT_S = 10.0
JOBS_END_S = 2.0  # how long jobs that an unload stopped may take to end
PROGRESS_INTERVAL_S = 0.2
MAX_OLD_ENGINE_LOGS = 50

REPORT_LOST = EngineLost("load_interrupted", "Redis lost what the worker had reported about this replica")
"""The end of a replica whose state contradicts the ledger's. It is no crash: it is loaded again at once."""


class ReplicaManager:
    """The replicas of one worker, by their names in `by_name`.

    `stop_jobs(replica, code)` stops the jobs that run on a replica. `on_end` is called when a replica has
    ended: a load of another model may wait for its memory. Engines get the worker's event loop `loop`. Any
    thread may use it; only `get` and `cancel_start` do not block, as the loop requires.
    """

    def __init__(
        self,
        worker: str,
        settings: Settings,
        ledger: Ledger,
        fleet: Fleet,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.worker = worker
        self.incarnation = ""
        self.by_name: dict[str, Replica] = {}
        self.retry = Retry()
        self.memory_reporter = MemoryReporter(worker, fleet)
        self.logs = EngineLogShipper(worker, fleet.engine_logs)
        self.on_end: Callable[[], object] = lambda: None
        self.stop_jobs: Callable[[str, str], None] = lambda _replica, _code: None
        self._settings = settings
        self._ledger = ledger
        self._fleet = fleet
        self._loop = loop
        self._starts: dict[str, CancellationToken] = {}  # by replica, while `load` runs for it
        self._lock = threading.Lock()

    def get(self, name: str) -> Replica | None:
        """The replica with that name, None when it is not on this worker."""
        return self.by_name.get(name)

    # ---- loading

    def load(self, name: str) -> str:
        """Start the engine of a replica assigned to this worker. Raises `Failed` when that fails."""
        with self._lock:
            if name in self._starts:  # a heartbeat asks again
                return "already here"
            cancellation = self._starts[name] = CancellationToken()
        try:
            call = call_id()  # a call whose answer was lost is repeated under the same id and granted again
            start = self.retry.retry_until_stopped(
                lambda: self._fleet.replica_starting(name, self.worker, self.incarnation, call)
            )
            if start is None:
                return "nothing to do"
            try:
                return self._start(name, start, cancellation)
            except Exception as error:
                raise self._report_failed_start(name, error) from None
        finally:
            del self._starts[name]

    def _report_failed_start(self, name: str, error: Exception) -> Failed:
        """Report any failure of a start, expected or not: otherwise the replica would stay `starting`."""
        if isinstance(error, LoadError):
            error = self._without_secrets(name, error)
        if not isinstance(error, LoadError):
            logger.exception("%s did not start: unexpected error", name, exc_info=error)
            words = f"the engine could not be started: {error or type(error).__name__}"
            error = self._without_secrets(name, LoadError("load_failed", words))
        elif error.code == "load_cancelled":
            logger.info("%s: %s", name, error)
        else:
            logger.warning("%s did not load: %s", name, error)
        error = self._with_cause(name, error)
        replica = self.by_name.pop(name, None)
        if replica is not None and replica.engine is not None:
            replica.engine.stop(0.0)
        self.logs.finish(name)  # the log is there when the failure is seen
        if replica is None or replica.claim_end():
            self._report_down(name, error.code, str(error))
        self.on_end()
        return Failed(str(error), code=error.code)

    def _without_secrets(self, name: str, error: LoadError) -> LoadError:
        """The error, which may repeat a line of the engine's log, without the secrets of the model."""
        replica = self.by_name.get(name)
        secrets = secret_values(replica.model) if replica is not None else ()
        return LoadError(error.code, Redaction(secrets).apply(str(error)))

    def _with_cause(self, name: str, error: LoadError) -> LoadError:
        """The error, with a code of its own if the engine did not start for lack of memory."""
        lacks = error.code == "load_failed" and lacked_memory(str(error), self._directory(name))
        return LoadError(OUT_OF_MEMORY, str(error)) if lacks else error

    def _directory(self, name: str) -> Path:
        return self._settings.data_dir / "engines" / self.worker / _folder_name(name)

    def _start(self, name: str, start: ReplicaStart, cancellation: CancellationToken) -> str:
        model = self._definition(start.model)
        model = replace(model, options=effective_options(model, start.override))
        adapter = _adapter(model)
        replica = Replica(name, model, slots=model.target_inflight, cancellation=cancellation)
        self.by_name[name] = replica
        self._follow_log(replica, start.operation)
        downloaded = self._download(replica)
        started = time.monotonic()
        with self.memory_reporter.measuring(remote=replica.remote) as measurement:
            launch = self._launch(replica, measurement)
            if downloaded:
                launch = replace(launch, progress=_after_download(launch.progress))
            engine = replica.engine = adapter.start(launch)
            memory_mib = self.memory_reporter.taken_mib(measurement, engine.pid)
        replica.slots = min(replica.slots, engine.slots)
        replica.state = ReplicaState.UP
        properties = encode_properties(engine.facts.properties if isinstance(engine, HasFacts) else None)
        up = self.retry.retry_until_stopped(
            lambda: self._fleet.replica_up(
                name,
                self.worker,
                self.incarnation,
                replica.slots,
                engine.pid,
                memory_mib=memory_mib,
                engine=report_of(engine),
                properties=properties,
            )
        )
        if not up:
            self.stop(replica, "load_cancelled", "the load was cancelled")
            return "cancelled"
        took_s = time.monotonic() - started
        where = "remote" if engine.pid is None else f"pid {engine.pid}"
        logger.info("%s is up: %s, %d slots, %.1f s", name, where, replica.slots, took_s)
        return f"{replica.slots} slots"

    def _follow_log(self, replica: Replica, operation: str) -> None:
        if not replica.remote:
            model, path = replica.model, self._directory(replica.name) / LOG_NAME
            self.logs.follow(replica.name, model.name, operation, path, Redaction(secret_values(model)))

    def _definition(self, name: str) -> ModelDefinition:
        self.retry.retry_until_stopped(self._fleet.catalogue.refresh)
        model = self._fleet.catalogue.get(name)
        if model is None:
            raise LoadError("load_failed", f"model {name} is not configured on worker {self.worker}")
        return model

    def _download(self, replica: Replica) -> bool:
        """Check the model's files, or download them if they are on a hub: the replica gets their path here.

        Returns whether something was downloaded. Raises `LoadError`.
        """
        model, hub, downloads = replica.model, self._settings.hub, False
        folder = self._settings.data_dir / FOLDER

        def report(done: float, stage: str, left_s: float | None) -> None:
            nonlocal downloads
            downloads = downloads or done < 1
            with suppress(StokerError):
                share = done * DOWNLOAD_SHARE
                if not self._fleet.replica_progress(replica.name, share, stage, left_s or 0.0):
                    self.cancel_start(replica.name)

        check_approved_files(model, self._settings)
        with LatestReport(report, PROGRESS_INTERVAL_S) as progress:
            replica.model = with_local_files(model, hub, replica.cancellation, progress.take, records=folder)
        if downloads:
            with suppress(StokerError):  # the usual duration of a load counts from here
                self._fleet.replica_progress(replica.name, DOWNLOAD_SHARE, "downloaded", 0.0)
        return downloads

    def _launch(self, replica: Replica, measurement: MemoryMeasurement) -> Launch:
        directory = self._directory(replica.name)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._remove_old_logs(directory.parent)
        except OSError as error:
            raise LoadError("load_failed", f"cannot write to {directory}: {error.strerror}") from error
        try:
            states = new_engine_folder(self._settings.state, replica.name)
            replica.files = change_digest(replica.model) if states else ""
        except OSError as error:
            raise LoadError("load_failed", f"cannot write to state.directory: {error.strerror}") from error
        if BACKENDS[replica.model.backend].media_tasks(replica.model.options):
            self._check_files()
        return Launch(
            model=replica.model,
            replica=replica.name,
            slots=replica.slots,
            directory=directory,
            environments=self._settings.runtimes_dir,
            progress=self._progress(replica),
            on_exit=lambda exit: self._exited(replica, exit),
            on_process=measurement.set_group,
            cancellation=replica.cancellation,
            loop=self._loop,
            same_port=models_with_port_of(replica.model, self._fleet.catalogue.models),
            states=states,
            files=files_root(self._settings),
        )

    def _check_files(self) -> None:
        """Check that the files of jobs are in a folder that the API's processes share. Raises `LoadError`."""
        client, prefix = self._fleet.client, self._settings.redis.prefix
        root = files_root(self._settings)
        try:
            self.retry.retry_until_stopped(lambda: check_mark(client, prefix, root))
        except OtherFolder as error:
            raise LoadError("load_failed", str(error)) from error
        except OSError as error:
            raise LoadError("load_failed", f"cannot read or write {root}: {error.strerror}") from error

    def _remove_old_logs(self, engines: Path) -> None:
        """Remove the folders of engines that ended, except the latest `MAX_OLD_ENGINE_LOGS`."""
        current = {_folder_name(name) for name in self.by_name}
        with suppress(OSError):  # another start may be doing the same
            old = [directory for directory in engines.iterdir() if directory.name not in current]
            old.sort(key=lambda directory: directory.stat().st_mtime)
            for directory in old[:-MAX_OLD_ENGINE_LOGS]:
                shutil.rmtree(directory, ignore_errors=True)

    def _progress(self, replica: Replica) -> Progress:
        reported_at = 0.0

        def progress(done: float, stage: str) -> None:
            nonlocal reported_at
            now = time.monotonic()
            if now - reported_at < PROGRESS_INTERVAL_S and done < 1:
                return
            reported_at = now
            try:
                wanted = self._fleet.replica_progress(replica.name, done, stage)
            except StokerError:
                return
            if not wanted:
                self.cancel_start(replica.name)

        return progress

    def cancel_start(self, name: str) -> bool:
        """Kill an engine that starts: its load was cancelled. The thread that starts it reports its end.

        False if the replica does not start here. An engine that is up already is not affected.
        """
        cancellation = self._starts.get(name)
        if cancellation is not None:
            cancellation.cancel()
        return cancellation is not None

    def starts(self, name: str) -> bool:
        """Whether the replica is being started, up to the report of its start's outcome."""
        return name in self._starts

    # ---- unloading

    def unload(self, name: str) -> str:
        """Drain and stop a replica, or cancel its start."""
        replica = self.by_name.get(name)
        if (replica is None or replica.state is ReplicaState.STARTING) and self.cancel_start(name):
            return "cancelled"
        if replica is None or not replica.begin_stopping():
            return "nothing to do"
        try:
            self._drain(replica)
        finally:
            self.stop(replica, "unloaded", "the model was unloaded")
        return "unloaded"

    def _drain(self, replica: Replica) -> None:
        limits = self._settings.limits
        limit_s = limits.unload_limit_s(replica.model)
        if self.retry.retry_until_stopped(lambda: self._fleet.drains_fully(replica.name)):
            limit_s = max(limit_s, limits.request_timeout_s)  # its requests end in their own time
        deadline = time.monotonic() + limit_s
        most = reported = 0
        while time.monotonic() < deadline:
            jobs = self._count_jobs(replica)
            if jobs == 0:
                return
            if jobs != reported:
                most, reported = max(most, jobs), jobs
                self._report_drain(replica, jobs, most)
            time.sleep(0.05)
        replica.overdue = True
        self.stop_jobs(replica.name, "unload_deadline")
        # the stopped jobs report their ends; if their engine ended first, that would look like a crash
        deadline = time.monotonic() + JOBS_END_S
        while time.monotonic() < deadline and self._count_jobs(replica):
            time.sleep(0.05)

    def _count_jobs(self, replica: Replica) -> int:
        return self.retry.retry_until_stopped(lambda: self._ledger.jobs_on_replica(replica.name))

    def _report_drain(self, replica: Replica, jobs: int, most: int) -> None:
        requests = "1 request is running" if jobs == 1 else f"{jobs} requests are running"
        with suppress(StokerError):
            self._fleet.replica_progress(replica.name, 1 - jobs / most, f"draining: {requests}")

    def stop(self, replica: Replica, code: str, message: str) -> None:
        """Stop a replica's engine and report its end with this code and message."""
        freed_mib: int | None = None
        try:
            if replica.engine is not None:
                with self.memory_reporter.measuring(remote=replica.remote) as measurement:
                    held_mib = self.memory_reporter.held_mib(replica.engine.pid)
                    replica.engine.stop(STOP_TIMEOUT_S)
                    freed_mib = self.memory_reporter.freed_mib(measurement, held_mib)
        finally:
            self.logs.finish(replica.name)
            is_claimed = replica.claim_end()
            try:
                if is_claimed:
                    job = UNLOAD_DEADLINE if replica.overdue else ENGINE_CRASHED
                    self._report_end(replica, code, message, job, freed_mib)
            finally:  # not before: a replica that is not here is reported as missing, without `freed_mib`
                self.by_name.pop(replica.name, None)
            if is_claimed:
                self.on_end()

    def stop_all(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop all engines at once. Only the end of the worker is reported, not that of each replica."""
        self.retry.stop()
        threads = []
        for replica in list(self.by_name.values()):
            replica.claim_end()
            replica.end_reported.set()
            if replica.engine is None:
                self.cancel_start(replica.name)
                continue
            thread = threading.Thread(target=replica.engine.stop, args=(timeout_s,))
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join(timeout_s + 2)
        self.logs.finish_all()

    # ---- losing an engine

    def _exited(self, replica: Replica, exit: Exit) -> None:
        """Called when an engine's process has ended. An expected end is reported by the caller of `stop`."""
        if not exit.expected:
            message = f"the engine of {replica.model.name} ended by itself: {exit}"
            self.report_lost(replica.name, EngineLost("engine_crashed", message))

    def report_lost(self, name: str, error: EngineLost) -> None:
        """Report that a replica's engine is lost, before its jobs are released, and stop the engine.

        When another thread reports its end already, this one waits for that report. The end of a replica that
        is not here was reported, and the report is lost: it is reported again. Raises `StokerError` only
        after the worker has begun to stop.
        """
        replica = self.by_name.get(name)
        if replica is None:
            self._report_down(name, REPORT_LOST.code, str(REPORT_LOST))
            return
        if not replica.claim_end():
            replica.end_reported.wait()
            return
        logger.error("%s is lost: %s", name, error)
        job = UNLOAD_DEADLINE if replica.overdue else (error.code, str(error))
        lacks = error.code == "engine_crashed" and lacked_memory("", self._directory(name))
        self._report_end(replica, OUT_OF_MEMORY if lacks else error.code, str(error), job)
        self.by_name.pop(name, None)
        if replica.engine is not None:
            with self.memory_reporter.measuring(remote=replica.remote):
                replica.engine.stop(0.0)
        self.logs.finish(name)
        self.on_end()

    def report_missing(self, name: str) -> None:
        """Report the end of a replica that the ledger assigns to this worker and that does not exist here.

        If it is about to start, this cancels the start instead.
        """
        if not self.cancel_start(name):
            self._report_down(name, "unloaded", "it was not running")

    def _report_end(
        self,
        replica: Replica,
        code: str,
        message: str,
        job: tuple[str, str],
        freed_mib: int | None = None,
    ) -> None:
        try:
            self._report_down(replica.name, code, message, job, freed_mib)
        finally:
            replica.end_reported.set()

    def _report_down(
        self,
        name: str,
        code: str,
        message: str,
        job: tuple[str, str] = ENGINE_CRASHED,
        freed_mib: int | None = None,
    ) -> None:
        """Report a replica's end; `job` is the code and message with which jobs that still run on it end."""
        self.retry.retry_until_stopped(
            lambda: self._fleet.replica_down(
                name,
                self.worker,
                self.incarnation,
                code=code,
                message=message,
                job=job,
                freed_mib=freed_mib,
            )
        )


def _after_download(progress: Progress) -> Progress:
    """The progress of an engine's start after a download, which is the larger part."""
    return lambda done, stage: progress(DOWNLOAD_SHARE + done * (1 - DOWNLOAD_SHARE), stage)


def _folder_name(replica: str) -> str:
    return replica.replace("/", "_").replace("#", "-")


def _adapter(model: ModelDefinition) -> Adapter:
    try:
        return adapter(model.backend)
    except (LookupError, ValueError, ImportError) as error:
        raise LoadError("load_failed", f"backend {model.backend} cannot run here: {error}") from error
