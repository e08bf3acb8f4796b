"""The reports of the workers: their memory, the sizes of model files, and the state of their replicas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import orjson
import redis

from config.hub_artifact import HubArtifact
from config.settings import Settings
from fleet import LUA
from fleet.catalogue import ModelCatalogue
from fleet.engine_log import EngineLogs
from fleet.engine_report import EngineReport
from fleet.file_work import FileWork
from fleet.flush import ALIVE_US, WAIT_US, FlushCount
from fleet.load_request import ReplicaStart, mib_argument
from fleet.memory import DeviceMemory
from fleet.obstacle import Obstacle, encode_obstacles
from fleet.worker_registry import WorkerRegistry
from store.scripts import Scripts, call_id, redis_errors_translated

NO_REPORT = EngineReport()
NO_SHAPES: Mapping[str, bytes] = {}

FlushTurn = Literal["go", "wait", "over"]
"""When a replica's engine may flush: now, later (some API process uses the old epochs), or not any more."""

ENGINE_CRASHED = ("engine_crashed", "the engine that ran this request ended")
"""The error code and message of jobs that ran on an engine that ended."""

MAX_REGISTERED = 1_000
"""Registered models, with those whose files are being downloaded."""

RESTART_WINDOW_S = 3_600.0
"""How long a crash counts towards `restart.max_restarts`. A model that crashes less often is still useful."""

FIRST_RESTART_S, LONGEST_RESTART_S = 1.0, 60.0
"""The delay after the first crash, which each further one doubles, and the longest delay. A crash by chance
costs a second; a model that crashes at each request is loaded once a minute at most."""


class WorkerReports:
    """The half of `Fleet` that workers call to report. Methods raise `StorageUnavailable`.

    `incarnation` is the worker's own, as `registry` gave it at registration: Redis ignores the reports of an
    earlier incarnation.
    """

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.settings = settings
        self.client: Any = client
        self.catalogue = ModelCatalogue(client, settings)
        self.scripts = Scripts(client, settings.redis.prefix, LUA)
        self.engine_logs = EngineLogs(self.scripts)
        self.registry = WorkerRegistry(self.scripts, settings.lease, settings.history)

    @property
    def restart_window_us(self) -> int:
        """How long a crash counts, in microseconds."""
        return int(1e6 * RESTART_WINDOW_S)

    def report_memory(self, worker: str, incarnation: str, memory: DeviceMemory) -> None:
        """Report the memory of a worker's device."""
        id = memory.id if memory.total_mib else ""
        self.scripts.run(
            "report_memory",
            worker=worker,
            incarnation=incarnation,
            id=id,
            free_mib=memory.free_mib,
            memory=memory.to_json(),
        )

    def report_obstacles(self, worker: str, incarnation: str, obstacles: Mapping[str, Obstacle]) -> None:
        """Report why a worker cannot load some models."""
        self.scripts.run(
            "report_obstacles",
            worker=worker,
            incarnation=incarnation,
            obstacles=encode_obstacles(obstacles),
        )

    def report_load_error(self, name: str, message: str) -> None:
        """Report why a model that should be loaded could not be; shown while the model is unloaded."""
        self.scripts.run("report_load_error", model=name, message=message)

    def report_artifacts(self, sizes_mib: Mapping[str, int], shapes: Mapping[str, bytes] = NO_SHAPES) -> None:
        """Report the size of the files of these models, and the shapes of those that have one."""
        if sizes_mib:
            sizes = [item for name, mib in sizes_mib.items() for item in (name, mib, shapes.get(name, b""))]
            self.scripts.run("report_artifacts", sizes=sizes)

    def report_files(self, host: str, digests: Mapping[str, str]) -> None:
        """Report the digests of the files of these models on a host, "" for a model that has none there."""
        if digests:
            pairs = [item for pair in digests.items() for item in pair]
            self.scripts.run("report_files", host=host, digests=pairs)

    def replica_starting(
        self, replica: str, worker: str, incarnation: str, call: str | None = None
    ) -> ReplicaStart | None:
        """Begin to start a replica that is assigned to this worker; None if it is not, or was begun before.

        A caller that repeats the call after an error passes the same `call` id and gets the same result.
        """
        answer = self.scripts.run(
            "replica_starting",
            replica=replica,
            worker=worker,
            incarnation=incarnation,
            call=call or call_id(),
        )
        if not answer:
            return None
        return ReplicaStart(answer[0].decode(), orjson.loads(answer[1]), answer[2].decode())

    def replica_progress(
        self, replica: str, progress: float, stage: str, download_left_s: float | None = None
    ) -> bool:
        """Report the progress (0 to 1) of a load or unload; False if the operation is over.

        `download_left_s` is set while the model's files are downloaded.
        """
        left = "" if download_left_s is None else round(download_left_s * 1000)
        noted = self.scripts.run(
            "replica_progress",
            replica=replica,
            progress=f"{progress:.3f}",
            stage=stage,
            download_left_ms=left,
        )
        return bool(noted)

    def replica_up(  # noqa: PLR0913 - these properties describe one engine
        self,
        replica: str,
        worker: str,
        incarnation: str,
        slots: int,
        pid: int | None,
        *,
        memory_mib: int | None = None,
        engine: EngineReport = NO_REPORT,
        properties: bytes = b"",
    ) -> bool:
        """Report that a replica's engine accepts requests; False if the engine has to be stopped again.

        `pid` is None for an engine without a process on this machine, `memory_mib` None if its memory could
        not be measured. `properties` is the result of `encode_properties`.
        """
        answer: Any = self.scripts.run(
            "replica_up",
            replica=replica,
            worker=worker,
            incarnation=incarnation,
            slots=slots,
            pid=pid or "",
            memory_mib=mib_argument(memory_mib),
            context=engine.context or "",
            longest_token=engine.longest_token or "",
            cache_capacity=engine.cache_capacity or "",
            cache_unit=engine.cache_unit or "",
            engine=engine.to_json(),
            properties=properties,
        )
        return bool(answer != b"gone")

    def report_engines(
        self, worker: str, incarnation: str, engines: Mapping[str, tuple[EngineReport, bool]]
    ) -> None:
        """Report what engines report about themselves, by replica, and whether each makes no progress."""
        arguments: list[bytes | str | int] = []
        for replica, (engine, stalled) in engines.items():
            arguments += [replica, engine.to_json(), int(stalled)]
        self.scripts.run("report_engines", worker=worker, incarnation=incarnation, engines=arguments)

    def drains_fully(self, replica: str) -> bool:
        """Whether a replica that stops makes room for another model: its running requests are never cut."""
        with redis_errors_translated():
            return bool(self.client.hget(f"{self.scripts.prefix}replica:{replica}", "drains_fully") == b"1")

    def replica_down(  # noqa: PLR0913 - operators and tenants each get a code and a message
        self,
        replica: str,
        worker: str,
        incarnation: str,
        *,
        code: str,
        message: str,
        job: tuple[str, str] = ENGINE_CRASHED,
        freed_mib: int | None = None,
    ) -> None:
        """Report that a replica's engine has ended. If it crashed, a restart is due, within the limits.

        `code` and `message` are shown to operators; `job` has the code and message for the jobs that ran on
        it. `freed_mib` is the memory that the engine held before it was stopped, None if it was not measured.
        """
        self.scripts.run(
            "replica_down",
            replica=replica,
            worker=worker,
            incarnation=incarnation,
            code=code,
            message=message,
            job_code=job[0],
            job_message=job[1],
            max_restarts=self.settings.restart.max_restarts,
            window_us=self.restart_window_us,
            delay_us=int(1e6 * FIRST_RESTART_S),
            max_delay_us=int(1e6 * LONGEST_RESTART_S),
            freed_mib=mib_argument(freed_mib),
        )

    def flush_turn(self, replica: str, operation: str) -> FlushTurn:
        """Ask whether a replica's engine may drop what a flush concerns; see `FlushTurn`."""
        turn: bytes = self.scripts.run(
            "flush_due", replica=replica, operation=operation, max_age_us=ALIVE_US, max_wait_us=WAIT_US
        )
        return "go" if turn == b"go" else "wait" if turn == b"wait" else "over"

    def replica_flushed(
        self, replica: str, worker: str, incarnation: str, operation: str, count: FlushCount
    ) -> None:
        """Report what a replica's engine removed in a flush. A second report of it has no effect."""
        memory_kib = None if count.memory_mib is None else round(count.memory_mib * 1024)
        self.scripts.run(
            "replica_flushed",
            replica=replica,
            worker=worker,
            incarnation=incarnation,
            operation=operation,
            entries="" if count.entries is None else count.entries,
            memory_kib=mib_argument(memory_kib),
            reason=count.reason or "",
        )

    # ---- downloads and removals (`fleet.registry`)

    def file_work(self, worker: str, operation: str) -> FileWork | None:
        """What a worker has to do for a download or removal; None: nothing any more.

        Raises `ValueError` for the work of another version of the platform.
        """
        with redis_errors_translated():
            data = self.client.hget(f"{self.scripts.prefix}file_work:{worker}", operation)
        return None if data is None else FileWork.from_json(data)

    def artifacts_under_way(self) -> list[HubArtifact]:
        """The artifacts of the downloads under way."""
        with redis_errors_translated():
            pipeline = self.client.pipeline(transaction=False)
            for operation in self.client.hvals(f"{self.scripts.prefix}file_operations"):
                pipeline.hget(f"{self.scripts.prefix}operation:{operation.decode()}", "work")
            works = [FileWork.from_json(data) for data in pipeline.execute() if data]
        return [artifact for work in works for artifact in work.artifacts]

    def download_progress(
        self, operation: str, worker: str, progress: float, stage: str, left_s: float | None = None
    ) -> bool:
        """Report the progress (0 to 1) of a download; False if it is over for this worker."""
        noted = self.scripts.run(
            "download_progress",
            operation=operation,
            worker=worker,
            progress=f"{progress:.3f}",
            stage=stage,
            left_ms="" if left_s is None else round(left_s * 1000),
        )
        return bool(noted)

    def download_ended(self, operation: str, worker: str, failure: tuple[str, str] = ("", "")) -> None:
        """Report that a model's files are there, which registers it, or a code and a message why not."""
        code, message = failure
        self.scripts.run(
            "end_download",
            operation=operation,
            worker=worker,
            code=code,
            message=message,
            max_models=MAX_REGISTERED,
        )

    def removal_ended(  # noqa: PLR0913 - what a worker has deleted
        self,
        operation: str,
        worker: str,
        files: int = 0,
        size: int = 0,
        *,
        reason: str = "",
        gone: bool = False,
    ) -> None:
        """Report how many files of a removed model were deleted, their size in bytes, and why some stay.

        `gone`: the worker does not run, and is not waited for.
        """
        self.scripts.run(
            "end_removal",
            operation=operation,
            worker=worker,
            files=files,
            bytes=size,
            reason=reason,
            gone=int(gone),
        )
