"""The errors of the platform, by the point at which a request failed: admission, queue, run.

`code` is stable and machine-readable; `api.http.errors` maps it to an HTTP status. The message is for people
and never contains the text of a library's error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from store.limit_state import LimitState


class StokerError(Exception):
    """Base class: the platform refused a request, or a request failed. Has a stable code."""

    default_code: ClassVar[str] = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after_s: int | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.param = param
        self.retry_after_s = retry_after_s
        self.details = details or {}


class Rejected(StokerError):
    """Raised when a request is not admitted; nothing was changed.

    `limits`: what the tenant has left of its limits, if the request came as far as that.
    """

    limits: tuple[LimitState, ...] = ()


class UnknownModel(Rejected):
    """Raised when no configured model has that name."""

    default_code = "unknown_model"


class ModelNotLoaded(Rejected):
    """Raised when the model is configured but not loaded."""

    default_code = "model_not_loaded"


class ModelLoading(Rejected):
    """Raised when the model is being loaded; a retry may succeed soon."""

    default_code = "model_loading"


class ModelUnloading(Rejected):
    """Raised when the model is being unloaded."""

    default_code = "model_unloading"


class ModelFailed(Rejected):
    """Raised when the model's last load failed, or its engine crashed."""

    default_code = "model_failed"


class QueueFull(Rejected):
    """Raised when the queue of the model or of the tenant is full (details: queueDepth, avgWaitMs)."""

    default_code = "queue_full"


class RateLimited(Rejected):
    """Raised when a tenant has reached its rate or token limit (details: limit, remaining, resetAt)."""

    default_code = "rate_limit_exceeded"


class BudgetExceeded(Rejected):
    """Raised when a tenant has used its budget of the month (details: unit, limit, used, resetAt)."""

    default_code = "budget_exceeded"


class BeyondTokenLimit(Rejected):
    """Raised when a request may take more tokens than its tenant's limit ever admits; a retry is futile."""

    default_code = "request_exceeds_token_limit"


class PromptTooLong(Rejected):
    """Raised when a prompt has more tokens than the model's context, whatever its text."""

    default_code = "context_length_exceeded"


class IdempotencyConflict(Rejected):
    """Raised when an Idempotency-Key is used again with another body."""

    default_code = "idempotency_key_reused"


class ServerBusy(Rejected):
    """Raised when this process has as many requests, or follows as many responses, as it may."""

    default_code = "server_busy"


class StorageUnavailable(Rejected):
    """Raised when Redis cannot be reached, or refuses commands in its present state (a replica, loading)."""

    default_code = "storage_unavailable"


class TenantStorageFull(Rejected):
    """Raised when a tenant's requests and stored responses take as many bytes as they may."""

    default_code = "tenant_storage_full"


class StorageFull(Rejected):
    """Raised when Redis refuses writes (its memory or disk is full), or `responses.max_bytes` is reached."""

    default_code = "storage_full"


class FailedInQueue(StokerError):
    """Raised when a job failed while it was queued (queue_timeout, model_unloading, model_failed)."""

    default_code = "queue_timeout"


class Failed(StokerError):
    """Raised when a running job failed (engine_crashed, engine_stalled, worker_lost, ...)."""

    default_code = "engine_error"


class Fenced(Exception):
    """Raised when a worker's incarnation has ended: it was registered again, or was removed."""
