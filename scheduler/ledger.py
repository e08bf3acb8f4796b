"""The ledger: the state of every job, in Redis. Each command is one Lua script of the same name.

Guarantees (tested by tests/scheduler): an admitted job ends with exactly one terminal event; a slot is freed
exactly once; a client never receives the same text twice.

`commands.py` and its neighbours say what a command is; the classes here execute it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import redis

from config.settings import Settings
from scheduler import (
    LUA,
    commands,
    job_listing,
    queue_choice,
    queue_view,
    request_history,
    request_texts,
    resumable,
    waits,
)
from scheduler.job import (
    NO_TOKENS,
    Admission,
    AppendRequest,
    Claim,
    HeartbeatReply,
    Job,
    JobRow,
    Release,
    Status,
    StepReply,
    TokenReport,
)
from scheduler.job_listing import JobCursor, JobPage
from scheduler.large_admissions import LARGE_BYTES, LargeAdmissions, size_of
from scheduler.queue_choice import JobExplanation
from scheduler.queue_view import Cancelled, ModelQueue, QueueOrder
from scheduler.request_history import RecordCursor, RecordFilter, RecordPage, RequestRecord
from scheduler.request_texts import RequestTexts
from store.async_connection import AsyncConnection
from store.scripts import AsyncScripts, Scripts, redis_errors_translated


class Ledger:
    """Admits, cancels and looks up jobs; workers heartbeat through it. For threads.

    Every method raises `StorageUnavailable` when Redis cannot be reached, and `StorageFull` when it refuses
    writes.
    """

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.settings = settings
        self.scripts = Scripts(client, settings.redis.prefix, LUA)
        self._lease_us = settings.lease.lease_ms * 1000

    # ---- called by the API

    def admit(self, job: Job) -> Admission:
        """Admit a job: it runs at once or is queued. Raises a subclass of `Rejected` when it is refused."""
        return self.scripts.execute(commands.admit(job, self.settings))

    def cancel(self, id: str, tenant: str) -> Status | None:
        """Cancel a job; returns its status after the call, None when the tenant has no such job."""
        return self.scripts.execute(commands.cancel(id, tenant))

    def lookup(self, id: str, tenant: str) -> JobRow | None:
        """Return the current state of a job, None when the tenant has no such job."""
        return self.scripts.execute(commands.lookup(id, tenant))

    def states(self, ids: Sequence[str]) -> list[tuple[Status, int] | None]:
        """Return the status of each job and its number of attempts; None for an unknown one."""
        return self.scripts.execute(commands.states(ids))

    def owner(self, id: str) -> str | None:
        """Return the tenant of a job, None for an unknown job."""
        return self.scripts.execute(commands.owner(id))

    def queue_listing(self, model: str) -> ModelQueue:
        """Return what waits and runs of a model, by tenant."""
        return self.scripts.execute(queue_view.queue_listing(model))

    def cancel_tenant(self, tenant: str, model: str, *, running: bool = False) -> Cancelled:
        """Cancel the jobs of a tenant that wait for a model, and with `running` those that run, too."""
        return self.scripts.execute(queue_view.cancel_tenant(tenant, model, running=running))

    # ---- called by workers

    def notify_channel(self, worker: str) -> str:
        """The pub/sub channel on which the scripts send a worker `cancel <job id>`."""
        return f"{self.scripts.prefix}notify:{worker}"

    def claims_key(self, incarnation: str) -> str:
        """The list from which an incarnation of a worker takes its claim messages, the oldest first."""
        return commands.claims_key(self.scripts.prefix, incarnation)

    def heartbeat(self, worker: str, incarnation: str, tokens: TokenReport = NO_TOKENS) -> HeartbeatReply:
        """Renew the leases of the worker and its jobs, and count the tokens that its engines have processed.

        Returns the state that the worker should have. Raises `Fenced`.
        """
        return self.scripts.execute(commands.heartbeat(worker, incarnation, self._lease_us, tokens))

    def jobs_on_replica(self, replica: str) -> int:
        """Return how many slots of a replica are taken."""
        return self.scripts.execute(commands.jobs_on_replica(replica))

    # ---- called by every process

    def waits(self) -> Mapping[str, waits.WaitTimes]:
        """Return, by model, how long the jobs waited that ended in the last minutes."""
        return self.scripts.execute(waits.read_waits())

    def ping(self) -> None:
        """Check that Redis accepts writes. Raises `StorageUnavailable` or `StorageFull`."""
        with redis_errors_translated():
            self.scripts.client.set(f"{self.scripts.prefix}probe", "1", ex=60)


class AsyncLedger:
    """Admits, looks up, cancels and deletes jobs for the API; takes claims and writes steps for a worker.

    For the coroutines of one event loop. Raises what `Ledger` raises. Large requests are admitted over the
    connection `large`, if there is one. `person` is the id of the person who asks, and has what the same
    person has made; "" for a key, which has all of its tenant. An id has one owner for ever: what is to be
    changed for a person is looked up before.
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
        """Admit a job: it runs at once or is queued. Raises a subclass of `Rejected` when it is refused.

        That is `ServerBusy` when too many large requests wait to be admitted.
        """
        command = commands.admit(job, self.settings)
        if self._large is None or size_of(job) < LARGE_BYTES:
            return await self.scripts.execute(command)
        async with self._large_admissions.turn(job):
            return await self._large.execute(command)

    async def earlier(self, job: Job) -> Admission | None:
        """Return the admission that used the job's Idempotency-Key; None when there is none, or no key.

        `admit` finds it, too: this is for requests whose job costs more to make than this command. Raises
        `IdempotencyConflict`.
        """
        if job.idempotency_key is None:
            return None
        id = await self.scripts.execute(commands.earlier(job))
        if id is None or not await self.have_results([id]):
            return None
        return Admission(id, replayed=True)

    async def check_limits(self, job: Job) -> None:
        """Raise what `admit` raises if the limits of the job's tenant admit it no more; it counts for none.

        For a request whose job costs more to make than this command: `admit` checks them, too.
        """
        limits = job.limits
        if limits is not None and (limits.rate_limit or limits.token_limit or limits.budget):
            await self.scripts.execute(commands.check_limits(job, limits, self.settings))

    async def wait_ms(self, id: str) -> int | None:
        """Return how long (ms) a job waited until its dispatch; None while it waits."""
        return await self.scripts.execute(commands.wait_ms(id))

    async def have_results(self, ids: Sequence[str]) -> bool:
        """Return whether all these jobs have a result, or will have one."""
        return await self.scripts.execute(commands.have_results(ids))

    async def cancel(self, id: str, tenant: str, *, disconnected: bool = False) -> Status | None:
        """Cancel a job; returns its status after the call, None when the tenant has no such job.

        A detached job goes on if the reason is that its client is `disconnected`.
        """
        return await self.scripts.execute(commands.cancel(id, tenant, disconnected=disconnected))

    async def detach(self, id: str, tenant: str) -> Status | None:
        """Let a job go on when its client is gone; its status, None when the tenant has no such job."""
        return await self.scripts.execute(commands.detach(id, tenant))

    async def end_reasoning(self, id: str, tenant: str) -> bool:
        """Tell the worker of a running job to end its reasoning; returns whether it got the message."""
        return await self.scripts.execute(commands.end_reasoning(id, tenant))

    async def model_state(self, model: str) -> str | None:
        """Return the state of a model (`fleet.states.ModelState`); None for one that was never loaded."""
        return await self.scripts.execute(commands.model_state(model))

    async def delete(self, id: str, tenant: str) -> bool:
        """Delete a stored response; returns False when the tenant has no such response."""
        return await self.scripts.execute(commands.delete(id, tenant))

    async def subscribe(self, id: str, subscriber: str) -> Status | None:
        """Publish later events of a job to `subscriber`, too; returns its status, None for an unknown job."""
        return await self.scripts.execute(commands.subscribe(id, subscriber))

    async def lookup(self, id: str, tenant: str, person: str = "") -> JobRow | None:
        """Return the current state of a job, None when the tenant, or the person, has no such job."""
        return await self.scripts.execute(commands.lookup(id, tenant, person))

    async def lookup_many(self, ids: Sequence[str], tenant: str, person: str = "") -> list[JobRow | None]:
        """Return the current states of jobs as `lookup`."""
        return await self.scripts.execute(commands.lookup_many(ids, tenant, person)) if ids else []

    async def find_stream(self, conversation: str, tenant: str, person: str = "") -> JobRow | None:
        """Return the job whose stream a conversation of the tenant has, None for an unknown conversation."""
        id = await self.scripts.execute(resumable.stream_job(conversation, tenant, person))
        return None if id is None else await self.lookup(id, tenant, person)

    async def find_stream_by_hash(self, hash: str, tenant: str, person: str = "") -> JobRow | None:
        """The same by the hash of the conversation's id."""
        id = await self.scripts.execute(resumable.stream_job_of(hash, tenant, person))
        return None if id is None else await self.lookup(id, tenant, person)

    async def ready_replicas(self, model: str) -> tuple[str, ...]:
        """The names of the replicas that accept a model's jobs."""
        return await self.scripts.execute(commands.ready_replicas(model))

    async def find_streams(
        self, conversations: Sequence[str], tenant: str, person: str = ""
    ) -> dict[str, JobRow]:
        """Return the jobs by conversation id: of these, and of the same with a model's name behind them."""
        named = await self.scripts.execute(resumable.ids_with_models(conversations, tenant, person))
        ids = list(dict.fromkeys([*conversations, *named]))
        found = await self.scripts.execute(resumable.stream_jobs(ids, tenant, person))
        rows = await self.lookup_many(list(found.values()), tenant, person)
        return {id: row for id, row in zip(found, rows, strict=True) if row is not None}

    async def end_stream(self, conversation: str, tenant: str, person: str = "") -> Status | None:
        """Forget the stream of a conversation, and cancel its job; its status before, None without one."""
        return await self.scripts.execute(resumable.end_stream(conversation, tenant, person))

    async def lookup_with_generation(
        self, id: str, tenant: str, person: str = ""
    ) -> tuple[JobRow, bytes | None] | None:
        """Return a job and its generation, which is None after the end of a job that is not stored."""
        scripts = self._large or self.scripts  # it may be as large as a request's body
        return await scripts.execute(commands.lookup_with_generation(id, tenant, person))

    async def queue_order(self, model: str) -> QueueOrder:
        """Return the next jobs of a model's queue, and what they wait for."""
        return await self.scripts.execute(queue_view.queue_order(model))

    async def queue_ranks(self, model: str, ids: Sequence[str]) -> list[int | None]:
        """Return the places (from 0) of jobs among all that wait for a model, by age; None for others."""
        return await self.scripts.execute(queue_view.queue_ranks(model, ids))

    async def list_jobs(
        self, model: str, tenant: str | None, status: Status | None, cursor: JobCursor, most: int
    ) -> JobPage:
        """Return a page of the jobs of a model: those that run, then those that wait, the oldest first."""
        return await self.scripts.execute(job_listing.list_jobs(model, tenant, status, cursor, most))

    async def explain_job(self, id: str) -> JobExplanation | None:
        """Return a job, and why it waits; None for an unknown one."""
        return await self.scripts.execute(queue_choice.explain_job(id))

    async def list_requests(self, wanted: RecordFilter, cursor: RecordCursor | None, most: int) -> RecordPage:
        """Return a page of the history of requests, the latest end first."""
        return await self.scripts.execute(
            request_history.list_requests(wanted, cursor, most, self.settings.history)
        )

    async def read_texts(self, id: str) -> RequestTexts | None:
        """Return the prompt and the answer of a request; None if the history does not have them."""
        return await self.scripts.execute(request_texts.read_texts(id, self.settings.history))

    async def read_request(self, id: str) -> RequestRecord | None:
        """Return the record of a request; None for one that the history does not have."""
        return await self.scripts.execute(request_history.read_request(id))

    # ---- called by workers

    async def take_claims(self, worker: str, incarnation: str, known: Collection[str]) -> list[Claim]:
        """Return the claims of jobs that run on this worker and are not `known` to it. Raises `Fenced`."""
        return await self.scripts.execute(commands.take_claims(worker, incarnation, known))

    async def step(
        self,
        incarnation: str,
        appends: Sequence[AppendRequest],
        releases: Sequence[Release],
        *,
        defer_s: float = 0.0,
    ) -> StepReply:
        """Append events, then end jobs. With `defer_s` it returns at a call of `read_now` or after that time.

        A call whose reply is lost (`StorageUnavailable`) may have been executed; the caller repeats it.
        """
        return await self.scripts.execute(commands.step(incarnation, appends, releases), defer_s=defer_s)

    def read_now(self) -> None:
        """Read the reply that a call of `step` has deferred."""
        self.scripts.read_now()
