"""The ledger: the state of every job, in Redis. Each command is one Lua script of the same name.

Guarantees (tested by tests/scheduler): an admitted job ends with exactly one terminal event; a slot is freed
exactly once; a client never receives the same text twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import redis

from config.settings import Settings
from scheduler import errors
from scheduler.job import Admission, AppendRequest, Claim, HeartbeatReply, Job, JobRow, Release, Status
from scheduler.scripts import Scripts, call_id, redis_errors_translated, translate_redis_error

IDEMPOTENCY_S = 900
"""How long an Idempotency-Key refers to its first response."""

RECOVERABLE_CODES = ("worker_lost", "load_interrupted")
"""Failure codes of models whose worker was lost: the next worker with free memory loads the model again."""

JOB_FIELDS = ("tenant", "model", "dialect", "status", "echo", "store", "admitted_us", "attempts", "replica")
"""The fields of a job's hash that `Ledger.lookup` reads."""


class Ledger:
    """Admits, cancels and expires jobs; workers register, heartbeat, claim, append and release through it.

    Every method raises `StorageUnavailable` when Redis cannot be reached, and `StorageFull` when it refuses
    writes.
    """

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.settings = settings
        self.scripts = Scripts(client, settings.redis.prefix)
        self._lease_us = settings.lease.lease_ms * 1000

    def notify_channel(self, worker: str) -> str:
        """The pub/sub channel on which the scripts send a worker `cancel <job id>`."""
        return f"{self.scripts.prefix}notify:{worker}"

    # ---- called by the API

    def admit(self, job: Job) -> Admission:
        """Queue a job. Raises a subclass of `Rejected` when it is refused."""
        queue, responses = self.settings.queue, self.settings.responses
        reply = self.scripts.run(
            "admit",
            job.id,
            job.tenant,
            job.weight,
            job.model,
            job.priority,
            job.dialect,
            job.generation,
            job.echo,
            job.subscriber or "",
            int(job.store),
            responses.retention_s if job.store else 60,
            job.cost,
            queue.timeout_ms * 1000,
            queue.max_depth,
            queue.max_depth_per_tenant,
            _hashed(job.idempotency_key),
            job.body_hash or "",
            IDEMPOTENCY_S,
        )
        result = reply[0]
        if result == b"ok":
            return Admission(job.id, depth=reply[2])
        if result == b"replayed":
            return Admission(reply[1].decode(), replayed=True)
        raise self._rejection(job, result.decode(), reply[1:])

    def _rejection(self, job: Job, result: str, rest: Sequence[Any]) -> errors.Rejected:
        if result == "state":
            return model_rejection(job.model, rest[0].decode(), rest[1].decode())
        if result == "conflict":
            return errors.IdempotencyConflict("this Idempotency-Key was used with another body")
        depth, wait_ms = int(rest[0]), int(rest[1])
        text = f"Queue depth {depth}/{self.settings.queue.max_depth}"
        if result == "tenant_full":
            text = f"Queue depth of tenant {job.tenant} {depth}/{self.settings.queue.max_depth_per_tenant}"
        retry_after_s = max(1, min(60, -(-wait_ms // 1000)))
        return errors.QueueFull(
            f"{text}, retry in {retry_after_s} seconds",
            retry_after_s=retry_after_s,
            details={"queueDepth": depth, "avgWaitMs": wait_ms},
        )

    def cancel(self, id: str, tenant: str) -> Status | None:
        """Cancel a job; returns its status after the call, None when the tenant has no such job.

        A waiting job is cancelled at once. A running job (RUNNING is returned) is cancelled by its worker.
        """
        status = self.scripts.run("cancel", id, tenant)
        return Status(status.decode()) if status else None

    def delete(self, id: str, tenant: str) -> bool:
        """Delete a stored response; returns False when the tenant has no such response."""
        return bool(self.scripts.run("delete", id, tenant))

    def lookup(self, id: str, tenant: str) -> JobRow | None:
        """Return the current state of a job, None when the tenant has no such job."""
        with redis_errors_translated():
            values = self.scripts.client.hmget(f"{self.scripts.prefix}job:{id}", *JOB_FIELDS)
        row = dict(zip(JOB_FIELDS, values, strict=True))
        if row["tenant"] is None or row["tenant"].decode() != tenant:
            return None
        return JobRow(
            id=id,
            tenant=tenant,
            model=row["model"].decode(),
            dialect=row["dialect"].decode(),
            status=Status(row["status"].decode()),
            echo=row["echo"] or b"{}",
            store=row["store"] == b"1",
            created_at=int(row["admitted_us"]) / 1e6,
            attempts=int(row["attempts"]),
            replica=row["replica"].decode() if row["replica"] else None,
        )

    def subscribe(self, id: str, subscriber: str) -> Status | None:
        """Publish later events of a job to `subscriber`, too; returns its status, None for an unknown job."""
        status = self.scripts.run("subscribe", id, subscriber)
        return Status(status.decode()) if status else None

    # ---- called by workers

    def register(
        self, worker: str, wake_up_list: str, wake_up_message: str, device: str, description: str = "{}"
    ) -> str:
        """Register a worker; returns its incarnation. Replicas of the former incarnation are lost."""
        incarnation = self.scripts.run(
            "register", worker, self._lease_us, wake_up_list, wake_up_message, device, description
        )
        return str(incarnation.decode())

    def drain(self, worker: str, incarnation: str) -> None:
        """Dispatch no more jobs to this worker."""
        self.scripts.run("deregister", worker, incarnation, "drain", "")

    def deregister(self, worker: str, incarnation: str, message: str) -> None:
        """Remove a worker; its remaining replicas are lost with that message."""
        self.scripts.run("deregister", worker, incarnation, "gone", message)

    def claim(self, worker: str, incarnation: str, id: str, call: str | None = None) -> Claim | None:
        """Claim a job that was dispatched to this worker; None when there is no such job. Raises `Fenced`.

        To repeat a call after an error, pass the same `call` again: it returns the claim of the first call.
        """
        longest_us = int(self.settings.limits.request_timeout_s * 1e6)
        reply = self.scripts.run(
            "claim", worker, incarnation, id, self._lease_us, longest_us, call or call_id()
        )
        if reply[0] == b"fenced":
            raise errors.Fenced(worker)
        if reply[0] == b"gone":
            return None
        return Claim(id, reply[1].decode(), reply[2].decode(), reply[3])

    def heartbeat(self, worker: str, incarnation: str) -> HeartbeatReply:
        """Renew the leases of the worker and its jobs; returns the state it should have. Raises `Fenced`."""
        reply = self.scripts.run(
            "heartbeat", worker, incarnation, self._lease_us, self.settings.lease.beat_ms * 1000
        )
        if reply[0] == b"fenced":
            raise errors.Fenced(worker)
        _, running, cancelled, unclaimed, replicas = reply
        words = [item.decode() for item in replicas]
        return HeartbeatReply(
            running=frozenset(item.decode() for item in running),
            cancelled=tuple(item.decode() for item in cancelled),
            unclaimed=tuple(item.decode() for item in unclaimed),
            replicas=dict(zip(words[::2], words[1::2], strict=True)),
        )

    def append_and_release(
        self, appends: Sequence[AppendRequest], releases: Sequence[Release]
    ) -> dict[str, str]:
        """Append events and release jobs, in one round trip.

        Returns {job id: "fenced", "cancel" or "full"} for the jobs whose generation must stop.
        """
        commands = []
        if appends:
            commands.append(self.scripts.command("append", self._append_arguments(appends)))
        commands += [self.scripts.command("release", _release_arguments(release)) for release in releases]
        try:
            replies = self.scripts.exchange(commands)
            if any(isinstance(reply, redis.exceptions.NoScriptError) for reply in replies):
                # Redis lost its scripts (a restart, SCRIPT FLUSH). All of the call can be repeated, since
                # events that are in the log and jobs that have ended are skipped.
                self.scripts.load()
                return self.append_and_release(appends, releases)
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        except Exception as error:
            raise translate_redis_error(error) from error
        words = [item.decode() for item in replies[0]] if appends else []
        return dict(zip(words[::2], words[1::2], strict=True))

    def _append_arguments(self, appends: Sequence[AppendRequest]) -> list[Any]:
        arguments: list[Any] = [self.settings.limits.max_log_bytes]
        for append in appends:
            arguments += (append.id, append.fence, append.number, len(append.events), *append.events)
        return arguments

    def jobs_on_replica(self, replica: str) -> int:
        """Return how many slots of a replica are taken."""
        with redis_errors_translated():
            return int(self.scripts.client.scard(f"{self.scripts.prefix}slots:{replica}"))

    # ---- called by every process

    def ping(self) -> None:
        """Check that Redis accepts writes. Raises `StorageUnavailable` or `StorageFull`."""
        with redis_errors_translated():
            self.scripts.client.set(f"{self.scripts.prefix}probe", "1", ex=60)

    def expire(self) -> int:
        """End jobs, loads and workers past their deadline or lease; returns how many.

        Idempotent; every process calls it every `lease.reap_ms`. Returns -1 when it extended all leases
        instead, because Redis was down.
        """
        gap_us = max(2_000_000, self.settings.lease.reap_ms * 4000)
        return int(self.scripts.run("expire", gap_us, self._lease_us))


def _hashed(key: str | None) -> str:
    """Return the key's SHA-256: a client's text must not become part of a Redis key."""
    return hashlib.sha256(key.encode()).hexdigest() if key else ""


def _release_arguments(release: Release) -> list[Any]:
    return [
        release.id,
        release.fence,
        str(release.status),
        release.finish_reason,
        release.code,
        release.message,
        release.usage,
        "" if release.tokens is None else release.tokens,
        int(release.retry),
    ]


def model_rejection(model: str, state: str, code: str = "") -> errors.Rejected:
    """Return the error for a request to a model in that state; `code` is the code of its failure."""
    if state == "loading":
        return errors.ModelLoading(
            f"model {model} is being loaded; retry soon", param="model", retry_after_s=5
        )
    if state == "unloading":
        return errors.ModelUnloading(f"model {model} is being unloaded", param="model")
    if state == "failed" and code in RECOVERABLE_CODES:
        message = f"model {model} lost its worker; another one is taking over, retry soon"
        return errors.ModelFailed(message, param="model", retry_after_s=5)
    if state == "failed":
        return errors.ModelFailed(f"model {model} failed; an operator has to load it again", param="model")
    return errors.ModelNotLoaded(f"model {model} is not loaded", param="model")
