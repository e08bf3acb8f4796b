"""Writes the output and the ends of all running jobs to Redis, one call for each step of an engine.

All runs on the worker's event loop, and nothing waits for Redis: what the engines produce in one iteration of
the loop forms one `step` call, and what they produce during the call forms the next one, with adjacent pieces
of text merged into one event. While Redis is unreachable or refuses writes, a call is repeated (it is
idempotent) and deltas are buffered, up to a limit; beyond it the jobs are stopped.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from scheduler.job import AppendRequest, Claim, Release, StepReply
from scheduler.ledger import AsyncLedger
from store.errors import StokerError
from streams.events import Delta, merge_pieces
from workers.running_job import RunningJob

logger = logging.getLogger("workers")

MAX_PENDING_DELTAS = 200_000
"""Deltas buffered while Redis is unreachable or refuses writes; ten minutes of a busy worker's output."""

MAX_DELTAS_PER_STEP = 5_000
"""Redis runs one script at a time: a longer one would delay all its other clients."""

MAX_ENDS_PER_STEP = 100
"""For the same reason: each end also dispatches the next job."""

STEP_INTERVAL_S = 0.001
"""The least time between two calls (libuv's timers count milliseconds): the jobs of one engine step may emit
in several iterations of the loop, and share a call."""

SPARSE_S = 0.004
DEFER_S = 0.05
"""Where calls are further apart than `SPARSE_S`, the reply to a call that frees no slot is read together with
the next output, or after `DEFER_S`. It saves a wake-up of the worker for each step."""

RETRY_DELAYS_S = (0.05, 0.1, 0.2, 0.4, 0.5)

STOP_CODES = {"cancel": "cancelled"}

EMPTY_REPLY = StepReply({}, ())


class EventWriter:
    """Collects deltas and releases, and writes them with one `AsyncLedger.step` at a time.

    `stop_job(job, code)` is called when a job has to stop, with the code fenced, cancelled, output_too_large
    (its log is larger than `max_log_bytes`), engine_error or storage_unavailable. `begin_jobs` receives the
    claims in the replies; `recover_claims` is called when a reply, and perhaps claims with it, was lost.
    """

    def __init__(
        self,
        ledger: AsyncLedger,
        max_log_bytes: int,
        stop_job: Callable[[RunningJob, str], None],
        begin_jobs: Callable[[Sequence[Claim]], None],
        recover_claims: Callable[[], object],
    ) -> None:
        self._ledger = ledger
        self._max_log_bytes = max_log_bytes
        self._incarnation = ""
        self._stop_job = stop_job
        self._begin_jobs = begin_jobs
        self._recover_claims = recover_claims
        self._unwritten: list[RunningJob] = []  # the jobs that have deltas
        self._count = 0  # of their deltas
        self._releases: dict[str, tuple[RunningJob, Release]] = {}
        self._in_step: list[Release] = []
        self._writing = False
        self._deferring = False  # whether the reply to the call under way is read with the next output
        self._written_at = 0.0
        self._wake: asyncio.Future[None] | None = None  # set while `run` waits for output
        self._pause: asyncio.Future[None] | None = None  # set while `run` waits for more output

    def begin(self, incarnation: str) -> None:
        """Start under this incarnation of the worker, on the loop."""
        self._incarnation = incarnation
        self._task = asyncio.ensure_future(self._run())

    @property
    def releasing(self) -> set[str]:
        """The ids of the jobs that have ended here, and perhaps not yet in the ledger."""
        return {*self._releases, *(release.id for release in self._in_step)}

    def write(self, job: RunningJob, delta: Delta) -> None:
        """Queue a delta of a job's engine."""
        if not job.deltas:
            self._unwritten.append(job)
        job.deltas.append(delta)
        self._count += 1
        self._wake_up()
        if self._count > MAX_PENDING_DELTAS:
            self._stop_job(job, "storage_unavailable")

    def end(self, job: RunningJob, release: Release) -> None:
        """Queue a job's release, after all its deltas."""
        self._releases[job.claim.id] = (job, release)
        self._wake_up()
        if self._pause is not None and not self._pause.done():
            self._pause.set_result(None)  # a release is not delayed: it frees a slot for the next job

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait, in another thread than the loop's, until everything is written. False after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while self._unwritten or self._releases or self._writing:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def _wake_up(self) -> None:
        # `run` continues in the next iteration of the loop: with all output of this one
        if self._wake is not None:
            self._wake.set_result(None)
            self._wake = None
        elif self._deferring:
            self._deferring = False
            self._ledger.read_now()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self._unwritten and not self._releases:
                wake = self._wake = loop.create_future()
                await wake
            early_s = self._written_at + STEP_INTERVAL_S - time.monotonic()
            if early_s > 0 and not self._releases:
                await self._wait_for_more(early_s)
            self._writing = True  # before the output is taken: see `wait_idle`
            try:
                await self._write_step()
            except Exception:
                logger.exception("a step of the event writer failed")
            finally:
                self._writing = False

    async def _wait_for_more(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        pause = self._pause = loop.create_future()
        timer = loop.call_later(seconds, _set, pause)
        await pause
        self._pause = None
        timer.cancel()

    async def _write_step(self) -> None:
        jobs = self._take_deltas()
        appends = [append for job, deltas in jobs.items() if (append := self._append_request(job, deltas))]
        by_id = {job.claim.id: job for job in jobs}
        written = ((job, release) for job, release in self._releases.values() if not job.deltas)
        self._in_step = [
            replace(release, last=job.last_event, log_bytes=job.log_bytes)
            for job, release in islice(written, MAX_ENDS_PER_STEP)
        ]
        for release in self._in_step:
            del self._releases[release.id]
        began_at = time.monotonic()
        self._deferring = not self._in_step and began_at - self._written_at > SPARSE_S
        defer_s = DEFER_S if self._deferring else 0.0
        reply = await self._send(appends, self._in_step, defer_s)
        self._written_at = began_at if defer_s else time.monotonic()
        self._deferring = False
        self._in_step = []
        for id, verdict in reply.stopped.items():
            if id in by_id:
                self._stop_job(by_id[id], STOP_CODES.get(verdict, verdict))
        if reply.claims:
            self._begin_jobs(reply.claims)

    def _take_deltas(self) -> dict[RunningJob, list[Delta]]:
        """Take the deltas of the next call, by job. The surplus stays for the call after it."""
        taken: dict[RunningJob, list[Delta]] = {}
        jobs, self._unwritten = self._unwritten, []
        newest = {job.claim.id: job for job in jobs}  # of several runs of a job, the last wrote last
        free = MAX_DELTAS_PER_STEP
        for index, job in enumerate(jobs):
            if len(job.deltas) <= free:
                deltas, job.deltas = job.deltas, []
            else:
                deltas, job.deltas = job.deltas[:free], job.deltas[free:]
            free -= len(deltas)
            # Redis refuses the events of a fenced run. It names runs by the id of their job: two in one call
            # could not be distinguished.
            if job.stop_code != "fenced" and newest[job.claim.id] is job:
                taken[job] = deltas
            if free == 0:
                self._unwritten = [unwritten for unwritten in jobs[index:] if unwritten.deltas]
                break
        self._count -= MAX_DELTAS_PER_STEP - free
        return taken

    def _append_request(self, job: RunningJob, deltas: list[Delta]) -> AppendRequest | None:
        try:
            if len(deltas) == 1:  # the usual case
                events: tuple[bytes, ...] = (deltas[0].encode(),)
            else:
                events = tuple([delta.encode() for delta in merge_pieces(deltas)])
        except Exception:
            extra = {"response_id": job.claim.id}
            logger.exception("the output of a job cannot be encoded", extra=extra)
            self._stop_job(job, "engine_error")
            return None
        number = job.last_event + 1
        job.last_event += len(events)
        job.log_bytes += sum(map(len, events))
        if job.log_bytes > self._max_log_bytes:
            self._stop_job(job, "output_too_large")
        return AppendRequest(job.claim.id, job.claim.replica, job.claim.fence, number, events)

    async def _send(
        self, appends: list[AppendRequest], releases: list[Release], defer_s: float = 0.0
    ) -> StepReply:
        """Write, repeatedly while Redis is unreachable."""
        if not appends and not releases:
            return EMPTY_REPLY
        attempt = 0
        while True:
            try:
                reply = await self._ledger.step(self._incarnation, appends, releases, defer_s=defer_s)
            except StokerError as error:
                if attempt == 0:
                    logger.warning("%s", error.message)
            except Exception:
                logger.exception("a write failed and cannot be repeated")
                reply = await self._send([], releases) if appends else EMPTY_REPLY
                return StepReply({append.id: "storage_unavailable" for append in appends}, reply.claims)
            else:
                if attempt:
                    self._recover_claims()
                return reply
            await asyncio.sleep(RETRY_DELAYS_S[min(attempt, len(RETRY_DELAYS_S) - 1)])
            attempt += 1


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
