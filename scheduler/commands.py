"""The arguments of the ledger's scripts, and the meaning of their replies.

Pure functions, which `Ledger` and `AsyncLedger` share. `scheduler/lua/*.lua` document the order of the
arguments.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Any

from config.limits import Limits, limits_of
from config.rate_limit import RateLimit
from config.settings import Settings, Tenant
from scheduler.job import (
    Admission,
    AppendRequest,
    Claim,
    HeartbeatReply,
    Job,
    JobRow,
    Release,
    Status,
    StepReply,
)
from store import errors
from store.limit_state import LimitState

Argument = str | bytes | int | float

MIB = 1024 * 1024

IDEMPOTENCY_S = 900
"""How long an Idempotency-Key refers to its first response."""

RECOVERABLE_CODES = ("worker_lost", "load_interrupted")
"""Failure codes of models whose worker was lost: the next worker with free memory loads the model again."""

JOB_FIELDS = ("tenant", "model", "dialect", "status", "echo", "store", "admitted_us", "attempts", "replica")
"""The fields of a job's hash that `parse_job` reads."""


# ---- called by the API


def admit_arguments(job: Job, settings: Settings) -> list[Argument]:
    """Return the arguments of `admit`."""
    queue, limits = settings.queue, _limits(job, settings)
    return [
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
        _retention_s(job, settings),
        job.cost,
        (queue.timeout_ms if job.max_wait_ms is None else job.max_wait_ms) * 1000,
        int(settings.limits.request_timeout_s * 1e6),
        queue.max_depth,
        limits.max_waiting,
        _hashed(job.idempotency_key),
        job.body_hash or "",
        IDEMPOTENCY_S,
        limits.max_bytes,
        settings.responses.max_bytes,
        "" if job.time_limit_ms is None else job.time_limit_ms * 1000,
        queue.reserve_one_in or 0,
        limits.max_running or 0,
        *_window(limits.rate_limit),
        *_window(limits.token_limit),
        job.receipt or "",
        job.batch_fence,
        job.replaces or "",
    ]


def limit_arguments(job: Job, limits: Limits) -> list[Argument]:
    """Return the arguments of `check_limits`."""
    return [job.id, job.tenant, job.cost, *_window(limits.rate_limit), *_window(limits.token_limit)]


def _retention_s(job: Job, settings: Settings) -> int:
    if job.retention_s is not None:
        return job.retention_s
    return settings.responses.retention_s if job.store else 60


def _limits(job: Job, settings: Settings) -> Limits:
    """Return the limits of the job's tenant."""
    return job.limits or limits_of(Tenant(job.tenant), settings)


def _window(limit: RateLimit | None) -> tuple[int, int]:
    """Return the most requests or tokens, and the window in microseconds; zeros without a limit."""
    return (0, 0) if limit is None else (limit.most, limit.window_s * 1_000_000)


def _hashed(key: str | None) -> str:
    """Return the key's SHA-256: a client's text must not become part of a Redis key."""
    return hashlib.sha256(key.encode()).hexdigest() if key else ""


def parse_admission(reply: Sequence[Any], job: Job, settings: Settings) -> Admission:
    """Return the result of `admit`. Raises a subclass of `Rejected` when the job was refused."""
    result, limits = reply[0], tuple[LimitState, ...]()
    if isinstance(reply[-1], list):
        *reply, state = reply
        limits = parse_limits(state)
    if result == b"ok":
        return Admission(job.id, depth=reply[2], limits=limits)
    if result == b"replayed":
        return Admission(reply[1].decode(), replayed=True, limits=limits)
    if result == b"fenced":
        raise errors.Fenced(job.batch_fence)
    error = _rejection(job, result.decode(), reply[1:], limits, settings)
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


def idempotency_command(job: Job, prefix: str) -> tuple[str, ...]:
    """Return the command that reads what the job's Idempotency-Key stands for."""
    return ("HMGET", f"{prefix}idempotency:{job.tenant}:{_hashed(job.idempotency_key)}", "id", "body")


def parse_earlier(reply: Sequence[bytes | None], job: Job) -> str | None:
    """Return the id of the job that used the job's Idempotency-Key, None when there is none.

    Raises `IdempotencyConflict` when it was of another body.
    """
    id, body = reply
    if id is None:
        return None
    if body != (job.body_hash or "").encode():
        raise _conflict()
    return id.decode()


def has_result(status: bytes | None, cancel: bytes | None) -> bool:
    """Whether a repeat gets this job's response, as in `admit.lua`: it has one, or will have one."""
    if status is None or status in (b"failed", b"cancelled"):
        return False
    return not (status == b"running" and cancel == b"1")


def _conflict() -> errors.IdempotencyConflict:
    return errors.IdempotencyConflict("this Idempotency-Key was used with another body")


def _rejection(
    job: Job, result: str, rest: Sequence[Any], states: tuple[LimitState, ...], settings: Settings
) -> errors.Rejected:
    limits = _limits(job, settings)
    if result in ("requests_limited", "tokens_limited"):
        kind = result.removesuffix("_limited")
        state = next(state for state in states if state.kind == kind)
        limit = limits.rate_limit if kind == "requests" else limits.token_limit
        return _rate_limited(job, state, str(limit), *(int(time_us) for time_us in rest))
    if result == "state":
        return model_rejection(job.model, *(item.decode() for item in rest))
    if result == "conflict":
        return _conflict()
    if result == "tenant_bytes":
        return errors.TenantStorageFull(
            f"tenant {job.tenant} uses {int(rest[0]) // MIB} of {limits.max_bytes // MIB} MiB for "
            "requests and stored responses (responses.max_bytes_per_tenant); delete stored responses, or "
            "wait until they expire",
            retry_after_s=60,
        )
    if result == "bytes":
        return errors.StorageFull(
            f"requests and stored responses take {int(rest[0]) // MIB} of "
            f"{settings.responses.max_bytes // MIB} MiB (responses.max_bytes); retry later",
            retry_after_s=60,
        )
    depth, wait_ms = int(rest[0]), int(rest[1])
    time_ms = int(rest[2] or wait_ms)  # until the rate of service is known, jobs wait as long as those before
    text = f"Queue depth {depth}/{settings.queue.max_depth}"
    if result == "tenant_full":
        text = f"Queue depth of tenant {job.tenant} {depth}/{limits.max_waiting}"
    retry_after_s = max(1, min(60, -(-time_ms // 1000)))
    return errors.QueueFull(
        f"{text}, retry in {retry_after_s} seconds",
        retry_after_s=retry_after_s,
        details={"queueDepth": depth, "avgWaitMs": wait_ms},
    )


def _rate_limited(job: Job, state: LimitState, limit: str, retry_us: int, now_us: int) -> errors.RateLimited:
    """Return the error for a request over a limit `100/min`; `retry_us`: when it is admitted, 0: never."""
    unit = "req" if state.kind == "requests" else "tokens"
    message = f"Tenant {job.tenant} exceeded {limit.replace('/', f' {unit}/')}"
    if state.kind == "tokens":
        message += f": this request may take {job.cost}, and {state.remaining} remain"
    retry_after_s = -(-(retry_us - now_us) // 1_000_000) if retry_us else None
    reset_at = -(-retry_us // 1_000_000) if retry_us else None
    details = {"limit": state.most, "remaining": state.remaining, "resetAt": reset_at}
    return errors.RateLimited(message, retry_after_s=retry_after_s, details=details)


def model_rejection(model: str, state: str, code: str = "", restart_s: str = "") -> errors.Rejected:
    """Return the error for a request to a model in that state.

    `code` is the code of its failure, `restart_s` the seconds until its restart, "" if none is due.
    """
    if state == "loading":
        return errors.ModelLoading(
            f"model {model} is being loaded; retry soon", param="model", retry_after_s=5
        )
    if state == "unloading":
        return errors.ModelUnloading(f"model {model} is being unloaded", param="model")
    if state == "failed" and restart_s:
        message = f"the engine of model {model} ended; it restarts in {restart_s} s, retry then"
        return errors.ModelFailed(message, param="model", retry_after_s=int(restart_s) + 5)
    if state == "failed" and code in RECOVERABLE_CODES:
        message = f"model {model} lost its worker; another one is taking over, retry soon"
        return errors.ModelFailed(message, param="model", retry_after_s=5)
    if state == "failed":
        return errors.ModelFailed(f"model {model} failed; an operator must load it again", param="model")
    return errors.ModelNotLoaded(f"model {model} is not loaded", param="model")


def parse_status(reply: bytes | None) -> Status | None:
    """Return the reply to `cancel` or `subscribe`: a status, or None for an unknown job."""
    return Status(reply.decode()) if reply else None


def job_key(prefix: str, id: str) -> str:
    """Return the key of a job's hash."""
    return f"{prefix}job:{id}"


def parse_job(id: str, tenant: str, values: Sequence[bytes | None]) -> JobRow | None:
    """Return a job from the values of `JOB_FIELDS`, None when the tenant has no such job."""
    row: dict[str, Any] = dict(zip(JOB_FIELDS, values, strict=True))
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


def parse_job_with_generation(
    id: str, tenant: str, values: Sequence[bytes | None]
) -> tuple[JobRow, bytes | None] | None:
    """Return a job and its generation from the values of `JOB_FIELDS` and `generation`; see `parse_job`."""
    *fields, generation = values
    row = parse_job(id, tenant, fields)
    return None if row is None else (row, generation)


# ---- called by workers


def claims_key(prefix: str, incarnation: str) -> str:
    """Return the key of the list of claim messages for one incarnation of a worker."""
    return f"{prefix}claims:{incarnation}"


def decode_claim(message: bytes) -> Claim:
    """Decode a claim message: a line `<id> <fence> <replica> <last> <attempt>`, then the generation."""
    line, _, generation = message.partition(b"\n")
    id, fence, replica, last, attempt = line.decode().split(" ")
    return Claim(id, fence, replica, generation, int(last), int(attempt))


def step_arguments(
    incarnation: str, appends: Sequence[AppendRequest], releases: Sequence[Release]
) -> list[Argument]:
    """Return the arguments of `step`."""
    sections: dict[str, list[AppendRequest]] = {}
    ending = {release.id for release in releases}
    for append in appends:
        sections.setdefault("" if append.id in ending else append.replica, []).append(append)
    if "" in sections:
        sections[""] = sections.pop("")  # the last one
    arguments: list[Argument] = [incarnation, len(sections)]
    for replica, group in sections.items():
        arguments += (replica, len(group))
        arguments += [append.id for append in group]
        arguments += [append.fence for append in group]
        arguments += [append.number for append in group]
        arguments += [len(append.events) for append in group]
        arguments += [event for append in group for event in append.events]
    for release in releases:
        arguments += (
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
        )
    return arguments


def parse_step(reply: Sequence[Any]) -> StepReply:
    """Return the result of `step`."""
    stopped, claims = reply
    words = [item.decode() for item in stopped]
    return StepReply(
        stopped=dict(zip(words[::2], words[1::2], strict=True)),
        claims=tuple([decode_claim(message) for message in claims]),
    )


def take_claims_arguments(worker: str, incarnation: str, known: Collection[str]) -> list[Argument]:
    """Return the arguments of `take_claims`."""
    return [worker, incarnation, *known]


def parse_claims(reply: Sequence[Any], worker: str) -> list[Claim]:
    """Return the result of `take_claims`. Raises `Fenced`."""
    if reply[0] == b"fenced":
        raise errors.Fenced(worker)
    return [decode_claim(message) for message in reply[1:]]


def parse_heartbeat(reply: Sequence[Any], worker: str) -> HeartbeatReply:
    """Return the result of `heartbeat`. Raises `Fenced`."""
    if reply[0] == b"fenced":
        raise errors.Fenced(worker)
    _, running, cancelled, replicas = reply
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
    )
