"""The ledger: the state of every job, in Redis. Each command is one Lua script of the same name.

Guarantees (tested by tests/scheduler): an admitted job ends with exactly one terminal event; a slot is freed
exactly once; a client never receives the same text twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import redis

from config.settings import Settings
from scheduler import LUA, commands, queue_view
from scheduler.job import (
    Admission,
    AppendRequest,
    Claim,
    Expired,
    HeartbeatReply,
    Job,
    JobRow,
    Release,
    Status,
    StepReply,
)
from scheduler.job_listing import MOST_JOBS_READ, JobCursor, JobPage, page_arguments, parse_page
from scheduler.queue_choice import LOOK, JobExplanation, parse_explanation
from scheduler.queue_view import Cancelled, ModelQueue, QueueOrder
from scheduler.waits import MINUTES, Waits, parse_waits
from store.scripts import Scripts, redis_errors_translated


class Ledger:
    """Admits, cancels and expires jobs; workers register, heartbeat and write their steps through it.

    Every method raises `StorageUnavailable` when Redis cannot be reached, and `StorageFull` when it refuses
    writes.
    """

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.settings = settings
        self.scripts = Scripts(client, settings.redis.prefix, LUA)
        self._lease_us = settings.lease.lease_ms * 1000

    def notify_channel(self, worker: str) -> str:
        """The pub/sub channel on which the scripts send a worker `cancel <job id>`."""
        return f"{self.scripts.prefix}notify:{worker}"

    # ---- called by the API

    def admit(self, job: Job) -> Admission:
        """Admit a job: it runs at once or is queued. Raises a subclass of `Rejected` when it is refused."""
        reply = self.scripts.run("admit", *commands.admit_arguments(job, self.settings))
        return commands.parse_admission(reply, job, self.settings)

    def cancel(self, id: str, tenant: str) -> Status | None:
        """Cancel a job; returns its status after the call, None when the tenant has no such job.

        A queued job is cancelled at once. A running job (RUNNING is returned) is cancelled by its worker.
        """
        return commands.parse_status(self.scripts.run("cancel", id, tenant))

    def delete(self, id: str, tenant: str) -> bool:
        """Delete a stored response; returns False when the tenant has no such response."""
        return bool(self.scripts.run("delete", id, tenant))

    def lookup(self, id: str, tenant: str) -> JobRow | None:
        """Return the current state of a job, None when the tenant has no such job."""
        with redis_errors_translated():
            values = self.scripts.client.hmget(
                commands.job_key(self.scripts.prefix, id), *commands.JOB_FIELDS
            )
        return commands.parse_job(id, tenant, values)

    def subscribe(self, id: str, subscriber: str) -> Status | None:
        """Publish later events of a job to `subscriber`, too; returns its status, None for an unknown job."""
        return commands.parse_status(self.scripts.run("subscribe", id, subscriber))

    def queue_order(self, model: str) -> QueueOrder:
        """Return the next jobs of a model's queue, and what they wait for."""
        return queue_view.parse_order(self.scripts.run("queue_order", model, queue_view.MOST_IN_ORDER))

    def queue_listing(self, model: str) -> ModelQueue:
        """Return what waits and runs of a model, by tenant."""
        reply = self.scripts.run("list_queue", model, queue_view.MOST_TENANTS, queue_view.MOST_RUNNING)
        return queue_view.parse_listing(model, reply)

    def list_jobs(
        self,
        model: str,
        *,
        tenant: str | None = None,
        status: Status | None = None,
        cursor: JobCursor = JobCursor(),  # noqa: B008 - immutable
        most: int = MOST_JOBS_READ,
    ) -> JobPage:
        """Return a page of the jobs of a model: those that run, then those that wait, the oldest first.

        A page may have fewer jobs, or none, and another one follow.
        """
        reply = self.scripts.run("list_jobs", *page_arguments(model, tenant, status, cursor, most))
        return parse_page(reply)

    def explain_job(self, id: str) -> JobExplanation | None:
        """Return a job, and why it waits; None for an unknown one."""
        return parse_explanation(self.scripts.run("explain_job", id, LOOK))

    def owner(self, id: str) -> str | None:
        """Return the tenant of a job, None for an unknown job."""
        with redis_errors_translated():
            tenant = self.scripts.client.hget(commands.job_key(self.scripts.prefix, id), "tenant")
        return tenant.decode() if tenant else None

    def cancel_tenant(self, tenant: str, model: str, *, running: bool = False) -> Cancelled:
        """Cancel the jobs of a tenant that wait for a model, and with `running` those that run, too.

        About 100 waiting jobs are cancelled at once; `expire` cancels those that are left.
        """
        return Cancelled(*map(int, self.scripts.run("cancel_tenant", tenant, model, int(running))))

    # ---- called by workers

    def register(self, worker: str, device: str, description: str = "{}") -> str:
        """Register a worker; returns its incarnation. Replicas of the former incarnation are lost."""
        incarnation = self.scripts.run("register", worker, self._lease_us, device, description)
        return str(incarnation.decode())

    def claims_key(self, incarnation: str) -> str:
        """The list from which an incarnation of a worker takes its claim messages, the oldest first."""
        return commands.claims_key(self.scripts.prefix, incarnation)

    def drain(self, worker: str, incarnation: str) -> None:
        """Dispatch no more jobs to this worker."""
        self.scripts.run("deregister", worker, incarnation, "drain", "")

    def deregister(self, worker: str, incarnation: str, message: str) -> None:
        """Remove a worker; its remaining replicas are lost with that message."""
        self.scripts.run("deregister", worker, incarnation, "gone", message)

    def take_claims(self, worker: str, incarnation: str, known: Collection[str]) -> list[Claim]:
        """Return the claims of the jobs that run on this worker and are not `known` to it. Raises `Fenced`.

        Their claim messages were lost, or are still on their way: a claim may arrive twice. A reply has a
        limited size, but at least one claim: ask again until it is empty.
        """
        reply = self.scripts.run("take_claims", *commands.take_claims_arguments(worker, incarnation, known))
        return commands.parse_claims(reply, worker)

    def heartbeat(self, worker: str, incarnation: str) -> HeartbeatReply:
        """Renew the leases of the worker and its jobs; returns the state it should have. Raises `Fenced`."""
        return commands.parse_heartbeat(
            self.scripts.run("heartbeat", worker, incarnation, self._lease_us), worker
        )

    def step(
        self,
        incarnation: str,
        appends: Sequence[AppendRequest],
        releases: Sequence[Release],
    ) -> StepReply:
        """Append events, then end jobs and give their slots to the next ones; see `AsyncLedger.step`."""
        reply = self.scripts.run_once("step", *commands.step_arguments(incarnation, appends, releases))
        return commands.parse_step(reply)

    def jobs_on_replica(self, replica: str) -> int:
        """Return how many slots of a replica are taken."""
        with redis_errors_translated():
            return int(self.scripts.client.hlen(f"{self.scripts.prefix}slots:{replica}"))

    # ---- called by every process

    def waits(self) -> Waits:
        """How long the jobs waited that ended in the last minutes."""
        return parse_waits(self.scripts.run("read_waits", MINUTES))

    def ping(self) -> None:
        """Check that Redis accepts writes. Raises `StorageUnavailable` or `StorageFull`."""
        with redis_errors_translated():
            self.scripts.client.set(f"{self.scripts.prefix}probe", "1", ex=60)

    def expire(self, interval_us: int = 0) -> Expired:
        """End jobs, loads and workers past their deadline or lease, and continue unfinished work.

        Idempotent; every process calls it every `lease.reap_ms`. It does nothing when another process ran it
        less than `interval_us` ago.
        """
        gap_us = max(2_000_000, self.settings.lease.reap_ms * 4000)
        ended, more = self.scripts.run("expire", gap_us, self._lease_us, interval_us)
        return Expired(int(ended), bool(more))
