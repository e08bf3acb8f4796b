"""The ledger: the truth about every request, in Redis. Each method is one Lua script of the same name.

Promises (held by tests/scheduler and the chaos suite): an admitted job ends with exactly one terminal
event; a slot is given back exactly once; what a client may have read is never said twice.
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

RECOVERABLE_CODES = ("worker_lost", "load_interrupted")
"""Why a model may have failed without a fault of its own: a worker that comes (back) loads it again."""

ROW = ("tenant", "model", "dialect", "status", "echo", "store", "admitted_us", "attempts", "replica")


class Ledger:
    """Admit, claim, append, release, cancel, expire; and the workers' register and heartbeat.

    Every method raises `StorageUnavailable` or `StorageFull` when Redis is away or full.
    """

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.settings = settings
        self.scripts = Scripts(client, settings.redis.prefix)
        self._lease_us = settings.lease.lease_ms * 1000

    # ---- the API's side

    def admit(self, job: Job) -> Admission:
        """Let a request into line, or raise the `Rejected` that says why not."""
        queue, responses = self.settings.queue, self.settings.responses
        answer = self.scripts.run(
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
        verdict = answer[0]
        if verdict == b"ok":
            return Admission(job.id, depth=answer[2])
        if verdict == b"replayed":
            return Admission(answer[1].decode(), replayed=True)
        raise self._rejection(job, verdict.decode(), answer[1:])

    def _rejection(self, job: Job, verdict: str, rest: Sequence[Any]) -> errors.Rejected:
        if verdict == "state":
            return model_rejection(job.model, rest[0].decode(), rest[1].decode())
        if verdict == "conflict":
            return errors.IdempotencyConflict("this Idempotency-Key was used with another body")
        depth, wait_ms = int(rest[0]), int(rest[1])
        most = self.settings.queue.max_depth
        whose = f"Queue depth {depth}/{most}"
        if verdict == "tenant_full":
            whose = f"Queue depth of tenant {job.tenant} {depth}/{self.settings.queue.max_depth_per_tenant}"
        after = max(1, min(60, -(-wait_ms // 1000)))
        return errors.QueueFull(
            f"{whose}, retry in {after} seconds",
            retry_after_s=after,
            details={"queueDepth": depth, "avgWaitMs": wait_ms},
        )

    def cancel(self, id: str, tenant: str) -> Status | None:
        """Ask for the end of a job; the status after the call, None when the tenant has no such job.

        A waiting job is cancelled at once; a running one (RUNNING is returned) when its worker hears it.
        """
        answer = self.scripts.run("cancel", id, tenant)
        return Status(answer.decode()) if answer else None

    def delete(self, id: str, tenant: str) -> bool:
        """Forget a stored response; False when the tenant has no such one."""
        return bool(self.scripts.run("delete", id, tenant))

    def lookup(self, id: str, tenant: str) -> JobRow | None:
        """The job as it is now, None when the tenant has no such job."""
        with redis_errors_translated():
            raw = self.scripts.client.hmget(f"{self.scripts.prefix}job:{id}", *ROW)
        if raw[0] is None or raw[0].decode() != tenant:
            return None
        return JobRow(
            id=id,
            tenant=tenant,
            model=raw[1].decode(),
            dialect=raw[2].decode(),
            status=Status(raw[3].decode()),
            echo=raw[4] or b"{}",
            store=raw[5] == b"1",
            created_at=int(raw[6]) / 1e6,
            attempts=int(raw[7]),
            replica=raw[8].decode() if raw[8] else None,
        )

    def subscribe(self, id: str, subscriber: str) -> Status | None:
        """Let one more subscriber hear what the response says from now on; its status, None when unknown."""
        answer = self.scripts.run("subscribe", id, subscriber)
        return Status(answer.decode()) if answer else None

    # ---- the worker's side

    def register(
        self, worker: str, wake_up_list: str, wake_up_message: str, device: str, about: str = "{}"
    ) -> str:
        """Begin a worker's life; returns its incarnation. What an earlier one held ends in the same step."""
        answer = self.scripts.run(
            "register", worker, self._lease_us, wake_up_list, wake_up_message, device, about
        )
        return str(answer.decode())

    def drain(self, worker: str, incarnation: str) -> None:
        """Let nothing more be dispatched to this worker."""
        self.scripts.run("deregister", worker, incarnation, "drain", "")

    def deregister(self, worker: str, incarnation: str, message: str) -> None:
        """End a worker's life; what it still held is lost with that message."""
        self.scripts.run("deregister", worker, incarnation, "gone", message)

    def claim(self, worker: str, incarnation: str, id: str, call: str | None = None) -> Claim | None:
        """Take a dispatched job; None when there is nothing to take. Raises `Fenced`.

        Whoever repeats the call after an error says the same `call` again, and gets the first one's claim.
        """
        longest_us = int(self.settings.limits.request_timeout_s * 1e6)
        answer = self.scripts.run(
            "claim", worker, incarnation, id, self._lease_us, longest_us, call or call_id()
        )
        if answer[0] == b"fenced":
            raise errors.Fenced(worker)
        if answer[0] == b"gone":
            return None
        return Claim(id, answer[1].decode(), answer[2].decode(), answer[3])

    def heartbeat(self, worker: str, incarnation: str) -> HeartbeatReply:
        """Renew the leases of the worker and its jobs. Raises `Fenced`."""
        answer = self.scripts.run(
            "heartbeat", worker, incarnation, self._lease_us, self.settings.lease.beat_ms * 1000
        )
        if answer[0] == b"fenced":
            raise errors.Fenced(worker)
        _, running, cancelled, unclaimed, replicas = answer
        names = [item.decode() for item in replicas]
        return HeartbeatReply(
            running=frozenset(item.decode() for item in running),
            cancelled=tuple(item.decode() for item in cancelled),
            unclaimed=tuple(item.decode() for item in unclaimed),
            replicas=dict(zip(names[::2], names[1::2], strict=True)),
        )

    def append_and_release(
        self, entries: Sequence[AppendRequest], releases: Sequence[Release]
    ) -> dict[str, str]:
        """Append what was said and end what ended, in one round trip.

        Returns id -> fenced, cancel or full for those whose generation must stop.
        """
        commands = []
        if entries:
            commands.append(self.scripts.command("append", self._append_arguments(entries)))
        commands += [self.scripts.command("release", _release_arguments(release)) for release in releases]
        try:
            answers = self.scripts.exchange(commands)
            if any(isinstance(answer, redis.exceptions.NoScriptError) for answer in answers):
                # Redis lost its scripts (a restart, SCRIPT FLUSH): nothing of this call was done in part,
                # since events and ends that are there already are passed over
                self.scripts.load()
                return self.append_and_release(entries, releases)
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
        except Exception as error:
            raise translate_redis_error(error) from error
        verdicts = answers[0] if entries else []
        names = [item.decode() for item in verdicts]
        return dict(zip(names[::2], names[1::2], strict=True))

    def _append_arguments(self, entries: Sequence[AppendRequest]) -> list[Any]:
        arguments: list[Any] = [self.settings.limits.max_log_bytes]
        for entry in entries:
            arguments += (entry.id, entry.fence, entry.number, len(entry.events), *entry.events)
        return arguments

    def jobs_on_replica(self, replica: str) -> int:
        """How many slots of a replica are taken."""
        with redis_errors_translated():
            return int(self.scripts.client.scard(f"{self.scripts.prefix}slots:{replica}"))

    # ---- everybody's side

    def ping(self) -> None:
        """Raises `StorageUnavailable` or `StorageFull` when nothing could be written now."""
        with redis_errors_translated():
            self.scripts.client.set(f"{self.scripts.prefix}probe", "1", ex=60)

    def expire(self) -> int:
        """Close what nobody closed. Idempotent; every process calls it every `lease.reap_ms`."""
        gap_us = max(2_000_000, self.settings.lease.reap_ms * 4000)
        return int(self.scripts.run("expire", gap_us, self._lease_us))


def _hashed(key: str | None) -> str:
    """A client's own text never becomes a part of one of our keys as it is."""
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
    """Why a model in that state takes no requests."""
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
