"""The errors for requests that `admit` refuses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from config.limits import Limits, limits_of
from config.settings import Settings, Tenant
from scheduler.job import Job
from store import errors
from store.limit_state import LimitState

MIB = 1024 * 1024

RECOVERABLE_CODES = ("worker_lost", "load_interrupted")
"""Failure codes of models whose worker was lost: the next worker with free memory loads the model again."""


def limits_of_job(job: Job, settings: Settings) -> Limits:
    """Return the limits of the job's tenant."""
    return job.limits or limits_of(Tenant(job.tenant), settings)


def conflict() -> errors.IdempotencyConflict:
    """Return the error for a repeated key with another body."""
    return errors.IdempotencyConflict("this Idempotency-Key was used with another body")


def rejection(  # noqa: PLR0911 - one for each result
    job: Job, result: str, rest: Sequence[Any], states: tuple[LimitState, ...], settings: Settings
) -> errors.Rejected:
    """Return the error for a result of `admit` with its values `rest`; `states` are those of the limits."""
    limits = limits_of_job(job, settings)
    if result in ("requests_limited", "tokens_limited"):
        kind = result.removesuffix("_limited")
        state = next(state for state in states if state.kind == kind)
        limit = limits.rate_limit if kind == "requests" else limits.token_limit
        return _over_limit(job, state, str(limit), *(int(time_us) for time_us in rest))
    if result == "budget_used":
        return _over_budget(job, rest)
    if result == "state":
        return model_rejection(job.model, *(item.decode() for item in rest))
    if result == "cooling":
        return _cooling(job.model, rest[0].decode(), int(rest[1]))
    if result == "conflict":
        return conflict()
    if result == "prompt_too_long":
        least, context = map(int, rest)
        return errors.PromptTooLong(f"the prompt has at least {least} tokens; {context - 1} fit")
    if result in ("tenant_bytes", "tenant_share", "bytes"):
        return _storage_full(job, result, [int(item) // MIB for item in rest], limits, settings)
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


def _storage_full(
    job: Job, result: str, mib: Sequence[int], limits: Limits, settings: Settings
) -> errors.TenantStorageFull | errors.StorageFull:
    """Return the error for a full storage; `mib` has the values of `admit`."""
    of_all = settings.responses.max_bytes // MIB
    if result == "bytes":
        return errors.StorageFull(
            f"requests and stored responses take {mib[0]} of {of_all} MiB (responses.max_bytes); retry later",
            retry_after_s=60,
        )
    if result == "tenant_bytes":
        bound = f"of {limits.max_bytes // MIB} MiB (responses.max_bytes_per_tenant)"
    else:
        bound = f"MiB, and may use as many as are free, {mib[1]} of {of_all} MiB (responses.max_bytes),"
    return errors.TenantStorageFull(
        f"tenant {job.tenant} uses {mib[0]} {bound} for requests and stored responses; delete stored "
        "responses, or wait until they expire",
        retry_after_s=60,
    )


def _over_limit(job: Job, state: LimitState, limit: str, retry_us: int, now_us: int) -> errors.Rejected:
    """Return the error for a request over a limit `100/min`; `retry_us`: when it is admitted, 0: never."""
    if not retry_us:
        return errors.BeyondTokenLimit(
            f"this request may take {job.cost} tokens, and the limit of tenant {job.tenant} is {limit}: it "
            "is never admitted; shorten it, or lower its maximum of output tokens",
            details={"limit": state.most, "remaining": state.remaining},
        )
    unit = "req" if state.kind == "requests" else "tokens"
    message = f"Tenant {job.unknown_name or job.tenant} exceeded {limit.replace('/', f' {unit}/')}"
    if state.kind == "tokens":
        message += f": this request may take {job.cost}, and {state.remaining} remain"
    retry_after_s = -(-(retry_us - now_us) // 1_000_000)
    details = {"limit": state.most, "remaining": state.remaining, "resetAt": -(-retry_us // 1_000_000)}
    return errors.RateLimited(message, retry_after_s=retry_after_s, details=details)


def _over_budget(job: Job, values: Sequence[Any]) -> errors.BudgetExceeded:
    """Return the error for a tenant that has used its budget; `values` are those of `admit`."""
    unit = values[0].decode()
    most, used, ends_us, now_us = map(int, values[1:])
    ends_at = ends_us // 1_000_000
    words = "tokens"
    if unit == "gpu_s":
        words, most, used = "GPU-seconds", most // 1_000_000, used // 1_000_000
    reset = datetime.fromtimestamp(ends_at, UTC)
    month = (reset - timedelta(days=1)).strftime("%Y-%m")
    return errors.BudgetExceeded(
        f"Tenant {job.tenant} has used its budget of {most} {words} for {month} ({used} used): requests are "
        f"admitted again from {reset:%Y-%m-%d} 00:00 UTC on, or when an administrator raises the budget",
        retry_after_s=-(-(ends_us - now_us) // 1_000_000),
        details={"unit": unit, "limit": most, "used": used, "resetAt": ends_at},
    )


def _cooling(model: str, code: str, seconds: int) -> errors.ModelFailed:
    """Return the error for a request to a model whose loads on demand have failed lately."""
    reason = f" ({code})" if code else ""
    return errors.ModelFailed(
        f"model {model} could not be loaded{reason}; it is tried again for requests in {seconds} s",
        param="model",
        retry_after_s=seconds,
    )


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
        message = f"model {model} lost its worker; another one loads it as soon as it can, retry soon"
        return errors.ModelFailed(message, param="model", retry_after_s=5)
    if state == "failed":
        return errors.ModelFailed(f"model {model} failed; an operator must load it again", param="model")
    return errors.ModelNotLoaded(f"model {model} is not loaded", param="model")
