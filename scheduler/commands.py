"""The ledger's commands as values: the script with its arguments by name, and the meaning of its reply.

`Ledger` executes them in a thread, `AsyncLedger` in a coroutine; `scheduler/lua/` documents the arguments.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from config.limits import Budget, Limits
from config.rate_limit import RateLimit
from config.settings import Settings
from scheduler import resumable
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
from scheduler.prefix_table import prefix_fields
from scheduler.rejections import conflict, limits_of_job, rejection
from store import errors
from store.calls import Call, Read
from store.limit_state import LimitState
from store.script_arguments import Argument, NamedArguments

IDEMPOTENCY_S = 900
"""How long an Idempotency-Key refers to its first response."""

JOB_FIELDS = (
    "tenant",
    "model",
    "dialect",
    "status",
    "echo",
    "store",
    "admitted_us",
    "attempts",
    "replica",
    "ended_us",
    "resumable",
    "person",
)
"""The fields of a job's hash that `parse_job` reads."""


# ---- called by the API


def admit(job: Job, settings: Settings) -> Call[Admission]:
    """Admit a job: it runs at once or is queued. Raises a subclass of `Rejected` when it is refused."""
    queue, limits = settings.queue, limits_of_job(job, settings)
    max_requests, request_window_us = _window(limits.rate_limit)
    max_tokens, token_window_us = _window(limits.token_limit)
    arguments: NamedArguments = {
        "id": job.id,
        "tenant": job.tenant,
        "weight": job.weight,
        "model": job.model,
        "priority": job.queue_priority,
        "dialect": job.dialect,
        "generation": job.generation,
        "echo": job.echo,
        "subscriber": job.subscriber or "",
        "store": int(job.store),
        "retention_s": _retention_s(job, settings),
        "cost": job.cost,
        "max_wait_us": _max_wait_ms(job, settings) * 1000,
        "max_run_us": int(settings.limits.request_timeout_s * 1e6),
        "max_depth": queue.max_depth,
        "max_tenant_depth": limits.max_waiting,
        "idempotency_key": _own_key(job),
        "body_hash": job.body_hash or "",
        "key_ttl_s": IDEMPOTENCY_S,
        "max_tenant_bytes": limits.max_bytes,
        "max_bytes": settings.responses.max_bytes,
        "unknown_name": job.unknown_name or "",
        "time_limit_us": "" if job.time_limit_ms is None else job.time_limit_ms * 1000,
        "reserve_one_in": queue.reserve_one_in or 0,
        "max_running": limits.max_running or 0,
        "max_requests": max_requests,
        "request_window_us": request_window_us,
        "max_tokens": max_tokens,
        "token_window_us": token_window_us,
        "receipt": job.receipt or "",
        "batch_fence": job.batch_fence,
        "replaces": job.replaces or "",
        "prompt_bytes": job.prompt_bytes,
        "resume_hash": resumable.stream_hash(job.resume_id, job.person) if job.resume_id else "",
        "resume_models": resumable.models_hash_of(job.resume_id or "", job.person),
        "resume_id": job.resume_id or "",
        "detached": int(job.detached),
        "wanted_replica": job.wanted_replica or "",
        "background_reserve": queue.background_reserve,
        "load_on_demand": int(bool(job.load_on_demand)),
        "prefix_keys": prefix_fields(job.tenant, job.prefix_keys, is_measured=job.is_measured),
        "deficit": _deficit(job, settings),
        "cached_weight": queue.cached_token_weight,
        "may_grow": int(job.may_grow),
        "key": job.key,
        "client": job.client,
        **_budget(limits),
        "prompt_text": job.prompt_text,
        "person": job.person,
    }
    return Call("admit", arguments, partial(_parse_admission, job=job, settings=settings))


def check_limits(job: Job, limits: Limits, settings: Settings) -> Call[Admission]:
    """Check whether the limits of the job's tenant admit it; it counts for none. Raises `Rejected`."""
    max_requests, request_window_us = _window(limits.rate_limit)
    max_tokens, token_window_us = _window(limits.token_limit)
    arguments: NamedArguments = {
        "id": job.id,
        "tenant": job.tenant,
        "unknown_name": job.unknown_name or "",
        "cost": job.cost,
        "max_requests": max_requests,
        "request_window_us": request_window_us,
        "max_tokens": max_tokens,
        "token_window_us": token_window_us,
        **_budget(limits),
    }
    return Call("check_limits", arguments, partial(_parse_admission, job=job, settings=settings))


def _budget(limits: Limits) -> NamedArguments:
    """Return the budget in tokens, and in microseconds in slots; zeros without one."""
    budget = limits.budget or Budget()
    return {"budget_tokens": budget.tokens or 0, "budget_us": (budget.gpu_s or 0) * 1_000_000}


def _max_wait_ms(job: Job, settings: Settings) -> int:
    """Return the longest wait: a model that is loaded on demand may have to be loaded, also again."""
    if job.max_wait_ms is not None:
        return job.max_wait_ms
    return settings.on_demand.timeout_ms if job.load_on_demand else settings.queue.timeout_ms


def _deficit(job: Job, settings: Settings) -> int | str:
    """By how many tokens a tenant may go ahead of another for a cached prompt: -1 for none, "" for off."""
    if job.locality == "off":
        return ""
    return settings.queue.locality_deficit_tokens if job.locality == "fair" else -1


def _retention_s(job: Job, settings: Settings) -> int:
    if job.retention_s is not None:
        return job.retention_s
    responses = settings.responses
    stored_s = responses.retention_s if job.store else 60
    if not job.resume_id:
        return stored_s
    resumable_s = responses.resumable_retention_s if job.store else 60
    return max(stored_s, resumable_s, settings.streams.session_ttl_s)


def _window(limit: RateLimit | None) -> tuple[int, int]:
    """Return the most requests or tokens, and the window in microseconds; zeros without a limit."""
    return (0, 0) if limit is None else (limit.most, limit.window_s * 1_000_000)


def _own_key(job: Job) -> str:
    """Return the SHA-256 of the Idempotency-Key: a client's text must not become part of a Redis key.

    A person has keys of its own: with another's it would get another's answer.
    """
    if not job.idempotency_key:
        return ""
    key = f"{job.person} {job.idempotency_key}" if job.person else job.idempotency_key
    return hashlib.sha256(key.encode()).hexdigest()


def _parse_admission(reply: Sequence[Any], job: Job, settings: Settings) -> Admission:
    """Return the result of `admit`. Raises a subclass of `Rejected` when the job was refused."""
    result, limits = reply[0], tuple[LimitState, ...]()
    if isinstance(reply[-1], list):
        *reply, state = reply
        limits = parse_limits(state)
    if result == b"ok":
        return Admission(job.id, depth=reply[2], limits=limits, wants_load=reply[3:] == [b"load"])
    if result == b"replayed":
        return Admission(reply[1].decode(), replayed=True, limits=limits)
    if result == b"fenced":
        raise errors.Fenced(job.batch_fence)
    error = rejection(job, result.decode(), reply[1:], limits, settings)
    error.limits = limits
    raise error


def parse_limits(state: Sequence[int]) -> tuple[LimitState, ...]:
    """Return the states of limits: for each the most (0: no limit), what remains, and the reset (us)."""
    return tuple(
        LimitState(kind, most, remaining, reset_us / 1e6)
        for kind, most, remaining, reset_us in zip(
            ("requests", "tokens"), state[::3], state[1::3], state[2::3], strict=True
        )
        if most
    )


def earlier(job: Job) -> Read[str | None]:
    """Read the id of the job that used the job's Idempotency-Key; None when there is none.

    Raises `IdempotencyConflict` when it was of another body.
    """
    key = f"idempotency:{job.tenant}:{_own_key(job)}"
    return Read([("HMGET", key, "id", "body")], partial(_parse_earlier, job=job))


def _parse_earlier(replies: list[Any], job: Job) -> str | None:
    id, body = replies[0]
    if id is None:
        return None
    if body != (job.body_hash or "").encode():
        raise conflict()
    return str(id.decode())


def wait_ms(id: str) -> Read[int | None]:
    """Read how long (ms) a job waited until its dispatch; None while it waits, and for an unknown job."""

    def parse(replies: Sequence[Any]) -> int | None:
        admitted_us, claimed_us = replies[0]
        return None if claimed_us is None else (int(claimed_us) - int(admitted_us)) // 1000

    return Read([("HMGET", f"job:{id}", "admitted_us", "claimed_us")], parse)


def have_results(ids: Sequence[str]) -> Read[bool]:
    """Read whether all these jobs have a result, or will have one."""
    return Read(
        [("HMGET", f"job:{id}", "status", "cancel") for id in ids],
        lambda states: all(_has_result(*state) for state in states),
    )


def _has_result(status: bytes | None, cancel: bytes | None) -> bool:
    """Whether a repeat gets this job's response, as in `admit.lua`: it has one, or will have one."""
    if status is None or status in (b"failed", b"cancelled"):
        return False
    return not (status == b"running" and cancel == b"1")


def cancel(id: str, tenant: str, *, disconnected: bool = False) -> Call[Status | None]:
    """Cancel a job; its status after the call, None when the tenant has no such job.

    A queued job is cancelled at once. A running job (RUNNING is returned) is cancelled by its worker. A
    detached job goes on if the reason is that its client is `disconnected`.
    """
    arguments: NamedArguments = {"id": id, "tenant": tenant, "disconnected": int(disconnected)}
    return Call("cancel", arguments, _parse_status)


def detach(id: str, tenant: str) -> Call[Status | None]:
    """Let a job go on when its client is gone; its status, None when the tenant has no such job."""
    return Call("detach", {"id": id, "tenant": tenant}, _parse_status)


def end_reasoning(id: str, tenant: str) -> Call[bool]:
    """Tell the worker of a running job to end its reasoning; whether it got the message."""
    return Call("end_reasoning", {"id": id, "tenant": tenant}, bool)


def delete(id: str, tenant: str) -> Call[bool]:
    """Delete a stored response; False when the tenant has no such response."""
    return Call("delete", {"id": id, "tenant": tenant}, bool)


def subscribe(id: str, subscriber: str) -> Call[Status | None]:
    """Publish later events of a job to `subscriber`, too; its status, None for an unknown job."""
    return Call("subscribe", {"id": id, "subscriber": subscriber}, _parse_status)


def _parse_status(reply: bytes | None) -> Status | None:
    return Status(reply.decode()) if reply else None


def lookup(id: str, tenant: str, person: str = "") -> Read[JobRow | None]:
    """Read the current state of a job, None when the tenant, or the `person` of it, has no such job."""
    return Read(
        [("HMGET", f"job:{id}", *JOB_FIELDS)], lambda replies: parse_job(id, tenant, replies[0], person)
    )


def model_state(model: str) -> Read[str | None]:
    """Read the state of a model; None for one that was never loaded."""
    return Read([("HGET", f"model:{model}", "state")], lambda replies: replies[0] and replies[0].decode())


def ready_replicas(model: str) -> Read[tuple[str, ...]]:
    """Read the names of the replicas that accept a model's jobs."""
    return Read(
        [("ZRANGE", f"ready:{model}", "0", "-1")],
        lambda replies: tuple(sorted(name.decode() for name in replies[0])),
    )


def lookup_many(ids: Sequence[str], tenant: str, person: str = "") -> Read[list[JobRow | None]]:
    """Read the current states of jobs as `lookup`."""
    return Read(
        [("HMGET", f"job:{id}", *JOB_FIELDS) for id in ids],
        lambda replies: [
            parse_job(id, tenant, values, person) for id, values in zip(ids, replies, strict=True)
        ],
    )


def lookup_with_generation(
    id: str, tenant: str, person: str = ""
) -> Read[tuple[JobRow, bytes | None] | None]:
    """Read a job as `lookup`, and its generation; that is None after the end of a job that is not stored."""

    def parse(replies: list[Any]) -> tuple[JobRow, bytes | None] | None:
        *fields, generation = replies[0]
        row = parse_job(id, tenant, fields, person)
        return None if row is None else (row, generation)

    return Read([("HMGET", f"job:{id}", *JOB_FIELDS, "generation")], parse)


def parse_job(id: str, tenant: str, values: Sequence[bytes | None], person: str = "") -> JobRow | None:
    """Return a job from the values of `JOB_FIELDS`, None when the tenant has no such job.

    `person`: the id of a person of the tenant, who has the jobs that the same person made; "" for a key,
    which has all of the tenant.
    """
    row: dict[str, Any] = dict(zip(JOB_FIELDS, values, strict=True))
    if row["tenant"] is None or row["tenant"].decode() != tenant:
        return None
    if person and row["person"] != person.encode():
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
        ended_at=int(row["ended_us"]) / 1e6 if row["ended_us"] else None,
        conversation=row["resumable"].decode().split(" ", 3)[3] if row["resumable"] else None,
    )


def states(ids: Sequence[str]) -> Read[list[tuple[Status, int] | None]]:
    """Read the status of each job, and its number of attempts; None for an unknown one."""

    def parse(replies: list[Any]) -> list[tuple[Status, int] | None]:
        return [
            None if status is None else (Status(status.decode()), int(attempts or 0))
            for status, attempts in replies
        ]

    return Read([("HMGET", f"job:{id}", "status", "attempts") for id in ids], parse)


def owner(id: str) -> Read[str | None]:
    """Read the tenant of a job, None for an unknown job."""
    return Read([("HGET", f"job:{id}", "tenant")], lambda replies: replies[0] and replies[0].decode())


# ---- called by workers


def claims_key(prefix: str, incarnation: str) -> str:
    """Return the key of the list of claim messages for one incarnation of a worker."""
    return f"{prefix}claims:{incarnation}"


def decode_claim(message: bytes) -> Claim:
    """Decode a claim message: a line `<id> <fence> <replica> <last> <attempt>`, then the generation."""
    line, _, generation = message.partition(b"\n")
    id, fence, replica, last, attempt = line.decode().split(" ")
    return Claim(id, fence, replica, generation, int(last), int(attempt))


def step(incarnation: str, appends: Sequence[AppendRequest], releases: Sequence[Release]) -> Call[StepReply]:
    """Append events, then end jobs; each freed slot is given to the next job.

    Returns the jobs whose run must stop, and the claims of this worker's next jobs.

    A call whose reply is lost (`StorageUnavailable`) may have been executed. The caller repeats it, which
    changes nothing then; the claims in the lost reply are returned by `take_claims` only.
    """
    sections: dict[str, list[AppendRequest]] = {}
    ending = {release.id for release in releases}
    for append in appends:
        sections.setdefault("" if append.id in ending else append.replica, []).append(append)
    if "" in sections:
        sections[""] = sections.pop("")  # the last one
    output: list[Argument] = []
    for replica, group in sections.items():
        output += (replica, len(group))
        output += [append.id for append in group]
        output += [append.fence for append in group]
        output += [append.number for append in group]
        output += [len(append.events) for append in group]
        output += [event for append in group for event in append.events]
    for release in releases:
        output += (
            release.id,
            release.fence,
            release.status.value,
            release.finish_reason,
            release.code,
            release.message,
            release.usage,
            "" if release.tokens is None else release.tokens,
            int(release.retry),
            "" if release.last is None else release.last,
            "" if release.log_bytes is None else release.log_bytes,
            "" if release.first_ms is None else release.first_ms,
            release.stop_sequence,
            "" if release.work is None else release.work,
        )
    arguments: NamedArguments = {"incarnation": incarnation, "section_count": len(sections), "output": output}
    return Call("step", arguments, _parse_step, repeats=False)


def _parse_step(reply: Sequence[Any]) -> StepReply:
    stopped, claims = reply
    words = [item.decode() for item in stopped]
    return StepReply(
        stopped=dict(zip(words[::2], words[1::2], strict=True)),
        claims=tuple([decode_claim(message) for message in claims]),
    )


def take_claims(worker: str, incarnation: str, known: Collection[str]) -> Call[list[Claim]]:
    """Return the claims of the jobs that run on this worker and are not `known` to it. Raises `Fenced`.

    Their claim messages were lost, or are still on their way: a claim may arrive twice. A reply has a limited
    size, but at least one claim: ask again until it is empty.
    """
    arguments: NamedArguments = {"worker": worker, "incarnation": incarnation, "known": tuple(known)}
    return Call("take_claims", arguments, partial(_parse_claims, worker=worker))


def _parse_claims(reply: Sequence[Any], worker: str) -> list[Claim]:
    if reply[0] == b"fenced":
        raise errors.Fenced(worker)
    return [decode_claim(message) for message in reply[1:]]


def heartbeat(
    worker: str, incarnation: str, lease_us: int, tokens: TokenReport = NO_TOKENS
) -> Call[HeartbeatReply]:
    """Renew the leases of the worker and its jobs, and count the tokens that its engines have processed.

    Returns the state it should have. A repeat counts no tokens again. Raises `Fenced`.
    """
    arguments: NamedArguments = {
        "worker": worker,
        "incarnation": incarnation,
        "lease_us": lease_us,
        "report": tokens.number,
        "tokens": [item for count in tokens.counts for item in count],
    }
    return Call("heartbeat", arguments, partial(_parse_heartbeat, worker=worker))


def _parse_heartbeat(reply: Sequence[Any], worker: str) -> HeartbeatReply:
    if reply[0] == b"fenced":
        raise errors.Fenced(worker)
    _, running, cancelled, replicas, file_work = reply
    words = [item.decode() for item in replicas]
    return HeartbeatReply(
        running=frozenset([item.decode() for item in running]),
        cancelled=tuple([item.decode() for item in cancelled]),
        replicas=dict(zip(words[::3], words[1::3], strict=True)),
        flushes={
            name: tuple(flushes.split(" "))
            for name, flushes in zip(words[::3], words[2::3], strict=True)
            if flushes
        },
        file_work=tuple([item.decode() for item in file_work]),
    )


def jobs_on_replica(replica: str) -> Read[int]:
    """Read how many slots of a replica are taken."""
    return Read([("HLEN", f"slots:{replica}")], lambda replies: int(replies[0]))
