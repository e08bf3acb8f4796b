"""The ledger for the coroutines of one event loop; see `scheduler.ledger.Ledger`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from config.settings import Settings
from scheduler import LUA, commands, queue_view
from scheduler.job import Admission, AppendRequest, Claim, Job, JobRow, Release, Status, StepReply
from scheduler.job_listing import JobCursor, JobPage, page_arguments, parse_page
from scheduler.large_admissions import LARGE_BYTES, LargeAdmissions, size_of
from scheduler.queue_choice import LOOK, JobExplanation, parse_explanation
from scheduler.queue_view import QueueOrder
from store.async_connection import AsyncConnection
from store.scripts import AsyncScripts, redis_errors_translated, without_errors


class AsyncLedger:
    """Admits, looks up, cancels and deletes jobs for the API; takes claims and writes steps for a worker.

    Raises what `Ledger` raises. Large requests are admitted over the connection `large`, if there is one.
    """

    def __init__(
        self, connection: AsyncConnection, settings: Settings, large: AsyncConnection | None = None
    ) -> None:
        self.settings = settings
        self.scripts = AsyncScripts(connection, settings.redis.prefix, LUA)
        self._large = None if large is None else AsyncScripts(large, settings.redis.prefix, LUA)
        self._large_admissions = LargeAdmissions()

    # ---- called by the API

    async def admit(self, job: Job) -> Admission:
        """See `Ledger.admit`. Raises `ServerBusy` when too many large requests wait to be admitted."""
        arguments = commands.admit_arguments(job, self.settings)
        if self._large is None or size_of(job) < LARGE_BYTES:
            reply = await self.scripts.run("admit", *arguments)
        else:
            async with self._large_admissions.turn(job):
                reply = await self._large.run("admit", *arguments)
        return commands.parse_admission(reply, job, self.settings)

    async def earlier(self, job: Job) -> Admission | None:
        """Return the admission that used the job's Idempotency-Key; None when there is none, or no key.

        `admit` finds it, too: this is for requests whose job costs more to make than this command. Raises
        `IdempotencyConflict`.
        """
        if job.idempotency_key is None:
            return None
        command = commands.idempotency_command(job, self.scripts.prefix)
        with redis_errors_translated():
            (key,) = without_errors(await self.scripts.exchange([command]))
        id = commands.parse_earlier(key, job)
        if id is None or not await self.have_results([id]):
            return None
        return Admission(id, replayed=True)

    async def check_limits(self, job: Job) -> None:
        """Raise `RateLimited` if the limits of the job's tenant admit it no more; it counts for none.

        For a request whose job costs more to make than this command: `admit` checks them, too.
        """
        limits = job.limits
        if limits is not None and (limits.rate_limit or limits.token_limit):
            reply = await self.scripts.run("check_limits", *commands.limit_arguments(job, limits))
            commands.parse_admission(reply, job, self.settings)

    async def have_results(self, ids: Sequence[str]) -> bool:
        """Return whether all these jobs have a result, or will have one; see `commands.has_result`."""
        reads = [("HMGET", commands.job_key(self.scripts.prefix, id), "status", "cancel") for id in ids]
        with redis_errors_translated():
            states = without_errors(await self.scripts.exchange(reads))
        return all(commands.has_result(*state) for state in states)

    async def cancel(self, id: str, tenant: str) -> Status | None:
        """See `Ledger.cancel`."""
        return commands.parse_status(await self.scripts.run("cancel", id, tenant))

    async def delete(self, id: str, tenant: str) -> bool:
        """See `Ledger.delete`."""
        return bool(await self.scripts.run("delete", id, tenant))

    async def subscribe(self, id: str, subscriber: str) -> Status | None:
        """See `Ledger.subscribe`."""
        return commands.parse_status(await self.scripts.run("subscribe", id, subscriber))

    async def lookup(self, id: str, tenant: str) -> JobRow | None:
        """See `Ledger.lookup`."""
        key = commands.job_key(self.scripts.prefix, id)
        with redis_errors_translated():
            (values,) = await self.scripts.exchange([("HMGET", key, *commands.JOB_FIELDS)])
            if isinstance(values, Exception):
                raise values
        return commands.parse_job(id, tenant, values)

    async def lookup_with_generation(self, id: str, tenant: str) -> tuple[JobRow, bytes | None] | None:
        """See `lookup`; with the generation, which is None after the end of a job that is not stored."""
        key = commands.job_key(self.scripts.prefix, id)
        scripts = self._large or self.scripts  # it may be as large as a request's body
        with redis_errors_translated():
            (values,) = without_errors(
                await scripts.exchange([("HMGET", key, *commands.JOB_FIELDS, "generation")])
            )
        return commands.parse_job_with_generation(id, tenant, values)

    async def queue_order(self, model: str) -> QueueOrder:
        """See `Ledger.queue_order`."""
        return queue_view.parse_order(await self.scripts.run("queue_order", model, queue_view.MOST_IN_ORDER))

    async def queue_ranks(self, model: str, ids: Sequence[str]) -> list[int | None]:
        """Return the places (from 0) of jobs among all that wait for a model, by age; None for others."""
        key = f"{self.scripts.prefix}waiting:{model}"
        with redis_errors_translated():
            return without_errors(await self.scripts.exchange([("ZRANK", key, id) for id in ids]))

    async def list_jobs(
        self, model: str, tenant: str | None, status: Status | None, cursor: JobCursor, most: int
    ) -> JobPage:
        """See `Ledger.list_jobs`."""
        arguments = page_arguments(model, tenant, status, cursor, most)
        return parse_page(await self.scripts.run("list_jobs", *arguments))

    async def explain_job(self, id: str) -> JobExplanation | None:
        """See `Ledger.explain_job`."""
        return parse_explanation(await self.scripts.run("explain_job", id, LOOK))

    # ---- called by workers

    def claims_key(self, incarnation: str) -> str:
        """See `Ledger.claims_key`."""
        return commands.claims_key(self.scripts.prefix, incarnation)

    async def take_claims(self, worker: str, incarnation: str, known: Collection[str]) -> list[Claim]:
        """See `Ledger.take_claims`."""
        reply = await self.scripts.run(
            "take_claims", *commands.take_claims_arguments(worker, incarnation, known)
        )
        return commands.parse_claims(reply, worker)

    async def step(
        self,
        incarnation: str,
        appends: Sequence[AppendRequest],
        releases: Sequence[Release],
        *,
        defer_s: float = 0.0,
    ) -> StepReply:
        """Append events, then end jobs; each freed slot is given to the next job.

        Returns the jobs whose run must stop, and the claims of this worker's next jobs. With `defer_s`, after
        a call of `read_now` or after that time (seconds).

        A call whose reply is lost (`StorageUnavailable`) may have been executed. The caller repeats it, which
        changes nothing then; the claims in the lost reply are returned by `take_claims` only.
        """
        arguments = commands.step_arguments(incarnation, appends, releases)
        return commands.parse_step(await self.scripts.run_once("step", *arguments, defer_s=defer_s))

    def read_now(self) -> None:
        """Read the reply that a call of `step` has deferred."""
        self.scripts.read_now()
