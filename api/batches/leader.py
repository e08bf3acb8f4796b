"""Runs all batches, in one API process at a time: that with the lease in Redis, which any process takes over.

A process without the lease asks once a second whether a batch has not ended. So a platform without batches
spends one command a second and process on them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from api.batches.allowance import BatchAllowance
from api.batches.jobs import LedgerJobs
from api.batches.line_job import caller_of
from api.batches.run import INPUT, BatchRun
from api.files.store import FileStore
from api.services import AppServices
from config.settings import Settings
from scheduler.batches import LEASE_MS, BatchRow, BatchStore
from store.errors import Fenced, StokerError

logger = logging.getLogger("api")

BUSY_S = 0.1
"""Between two turns while jobs of batches wait or run."""

QUIET_S = 0.5
"""The same while all lines wait for something."""

IDLE_S = 1.0
"""Between two questions of a process that does not run the batches."""

ROWS_S = 0.5
"""How often the runner reads which batches there are, and which are to be cancelled."""

RETRY_S = 10.0
"""After a fault of a run, until it is tried again; also until a process that can run nothing asks again."""

MAX_STORING = 4
"""Batches whose results are stored at a time, one of each tenant."""


class BatchLeader:
    """Takes the lease when there is work, and gives it back after that."""

    def __init__(self, services: AppServices) -> None:
        self._services = services
        self._store = services[BatchStore]
        self._window = BatchAllowance(services[Settings])
        self._jobs = LedgerJobs(services)
        self._fence = ""
        self._held_at = 0.0
        self._rows_at = float("-inf")
        self._rows: list[BatchRow] = []
        self._runs: dict[str, BatchRun] = {}
        self._not_before: dict[str, float] = {}
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="api-batches")
        self._storing = ThreadPoolExecutor(MAX_STORING, thread_name_prefix="api-batch-results")
        self._turn = threading.Lock()
        self._stopped = False
        self._is_reachable = True

    async def run(self) -> None:
        """Run batches until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            pause_s = await loop.run_in_executor(self._thread, self._safe_turn)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), pause_s)
            self._wake.clear()

    def wake(self) -> None:
        """Look for new batches now. Thread-safe."""
        self._rows_at = float("-inf")
        self._services.loop.call_soon_threadsafe(self._wake.set)

    def stop(self) -> None:
        """Let another process take over at once."""
        self._stopped = True
        with self._turn:
            self._drop_all()
            if self._fence:
                try:
                    self._store.hold(self._fence, give_back=True)
                except StokerError:
                    logger.info("the lease of the batches ends by itself")
        self._thread.shutdown(wait=False)
        self._storing.shutdown(wait=False, cancel_futures=True)

    def _safe_turn(self) -> float:
        with self._turn:
            if self._stopped:
                return IDLE_S
            try:
                pause_s = self.turn(time.time())
                self._is_reachable = True
            except StokerError as error:
                if self._is_reachable:
                    logger.warning("batches are paused: %s", error.message)
                self._is_reachable = False
                self._drop_all()
                return IDLE_S
            except Exception:
                logger.exception("the batches cannot be run")
                self._drop_all()
                return RETRY_S
            return pause_s

    def turn(self, now: float) -> float:
        """Do what is due; returns the time until the next turn (seconds)."""
        if not self._hold(now):
            return IDLE_S
        if now - self._rows_at >= ROWS_S:
            self._rows, self._rows_at = self._store.active(), now
            self._match(now)
            if not self._runs:
                return self._give_back()
        self._window.begin_turn()
        try:
            for step in (BatchRun.poll, lambda run: run.advance(now)):
                for run in list(self._runs.values()):
                    self._step(run, step, now)
        except Fenced:
            self._drop_all()
            self._fence = ""
            return QUIET_S
        self._rotate()
        return BUSY_S if any(run.is_busy for run in self._runs.values()) else QUIET_S

    def _give_back(self) -> float:
        """Let another process run what is there, if anything is: one of a host that has the inputs."""
        self._store.hold(self._fence, give_back=True)
        self._fence, self._rows_at = "", float("-inf")
        return RETRY_S if self._rows else IDLE_S

    def _hold(self, now: float) -> bool:
        """Whether this process is the runner; it becomes it if there is work for one."""
        if self._fence and now - self._held_at < LEASE_MS / 4000:
            return True
        if not self._fence and not self._store.any_active():
            return False
        fence = self._store.hold(self._fence)
        if fence is None:
            self._drop_all()
        self._fence, self._held_at = fence or "", now
        return fence is not None

    def _renew(self) -> None:
        """Renew the lease in a turn that takes long. Raises `Fenced`."""
        if self._stopped or not self._hold(time.time()):
            raise Fenced(self._fence)

    def _match(self, now: float) -> None:
        """Let there be a run for each batch whose input is here, and for no other."""
        rows = {row.id: row for row in self._rows}
        for id in self._runs.keys() - rows.keys():
            self._runs.pop(id).close()
        for id, row in rows.items():
            run = self._runs.get(id)
            if run is not None:
                if row.cancel_us is not None:
                    run.cancel()
            elif self._not_before.get(id, 0.0) <= now:
                if (self._services[FileStore].folder(row.tenant) / id / INPUT).exists():
                    self._runs[id] = self._begin(row)
                else:
                    self._not_before[id] = now + RETRY_S
                    logger.warning("the input of the batch %s is not in data_dir of this host", id)

    def _begin(self, row: BatchRow) -> BatchRun:
        services = self._services
        return BatchRun(
            row,
            fence=self._fence,
            jobs=self._jobs,
            store=self._store,
            files=services[FileStore],
            window=self._window,
            caller=lambda tenant, record: caller_of(services, tenant, record),
            max_line_bytes=services[Settings].api.max_body_bytes,
            tick=self._renew,
            in_background=self._storing.submit,
        )

    def _step(self, run: BatchRun, step: Callable[[BatchRun], None], now: float) -> None:
        """Do a step of one run. A fault of its own concerns this run only."""
        if run.id not in self._runs:
            return
        try:
            step(run)
        except (Fenced, StokerError):
            raise
        except LookupError:
            self._forget(run, now)
            shutil.rmtree(run.folder, ignore_errors=True)  # its record was deleted
            return
        except Exception:
            logger.exception("the batch %s is paused", run.id)
            self._forget(run, now)
            return
        if run.progress.has_ended:
            self._forget(run, now)

    def _forget(self, run: BatchRun, now: float) -> None:
        self._runs.pop(run.id).close()
        self._not_before[run.id] = now + RETRY_S

    def _rotate(self) -> None:
        """Let another run be the first to use the window's room, and forget what is no more."""
        if len(self._runs) > 1:
            first = next(iter(self._runs))
            self._runs[first] = self._runs.pop(first)
        active = {row.id for row in self._rows}
        self._not_before = {id: at for id, at in self._not_before.items() if id in active}

    def _drop_all(self) -> None:
        for run in self._runs.values():
            run.close()
        self._runs.clear()
        self._rows_at = float("-inf")
