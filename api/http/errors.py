"""The table of all error codes (HTTP status, error type, retry), and the errors that the API itself raises.

The table covers every code of `store.errors`, `fleet.errors`, the engines and the API. An error body is
always `{"error": {"message", "type", "param", "code"}}`, with the types of OpenAI (OpenAI API reference,
"Error codes"). `retry` is whether the same request may succeed later. If not, the response carries
`x-should-retry: false`, which OpenAI's and Anthropic's SDKs obey; by default they repeat a 409 or a 5xx.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from api.http.context_overflow import openai_message
from api.http.limit_headers import limit_headers
from store.errors import BudgetExceeded, Failed, FailedInQueue, RateLimited, Rejected, StokerError
from streams.events import End

INVALID = "invalid_request_error"
AUTHENTICATION = "authentication_error"
PERMISSION = "permission_error"
RATE_LIMIT = "rate_limit_error"
SERVER = "server_error"

MAX_RETRY_AFTER_S = 60  # Anthropic's SDK sleeps for the whole `Retry-After`


class ErrorKind(NamedTuple):
    """How the API answers errors of one code.

    `response_code` is the `error.code` of a failed Response object. OpenAI's SDK accepts a closed list there,
    so the platform's code begins the message instead ("engine_crashed: ...").
    """

    status: int
    type: str
    retry: bool = False
    response_code: str = SERVER


CODES: Mapping[str, ErrorKind] = {
    # ApiError: the request itself is refused
    "invalid_request": ErrorKind(400, INVALID),
    "invalid_json": ErrorKind(400, INVALID),
    "unsupported_parameter": ErrorKind(400, INVALID),
    "unsupported_tool": ErrorKind(400, INVALID),
    "unsupported_input": ErrorKind(400, INVALID),
    "thinking_unsupported": ErrorKind(400, INVALID),
    "unknown_lora": ErrorKind(400, INVALID),
    "unknown_voice": ErrorKind(400, INVALID),
    "image_unsupported": ErrorKind(400, INVALID),
    "audio_unsupported": ErrorKind(400, INVALID),
    "document_unreadable": ErrorKind(400, INVALID),
    "document_too_large": ErrorKind(400, INVALID),
    "multi_turn_unsupported": ErrorKind(400, INVALID),
    "prompt_unsupported": ErrorKind(400, INVALID),
    "token_count_unsupported": ErrorKind(400, INVALID),
    "embeddings_unsupported": ErrorKind(400, INVALID),
    "rerank_unsupported": ErrorKind(400, INVALID),
    "generation_unsupported": ErrorKind(400, INVALID),
    "wrong_endpoint": ErrorKind(400, INVALID),
    "invalid_audio": ErrorKind(400, INVALID),
    "audio_too_long": ErrorKind(400, INVALID),
    "invalid_workflow": ErrorKind(400, INVALID),
    "previous_response_not_found": ErrorKind(400, INVALID),
    "invalid_encrypted_content": ErrorKind(400, INVALID),
    "invalid_load_request": ErrorKind(400, INVALID),
    "invalid_addition": ErrorKind(400, INVALID),
    "invalid_flush": ErrorKind(400, INVALID),
    "unprocessable_request": ErrorKind(422, INVALID),
    "invalid_api_key": ErrorKind(401, AUTHENTICATION),
    "session_ended": ErrorKind(401, AUTHENTICATION),
    "link_used": ErrorKind(401, AUTHENTICATION),
    "sign_in_refused": ErrorKind(403, PERMISSION),
    "no_role": ErrorKind(403, PERMISSION),
    "email_not_allowed": ErrorKind(403, PERMISSION),
    "tenant_mismatch": ErrorKind(403, PERMISSION),
    "inference_required": ErrorKind(403, PERMISSION),
    "admin_required": ErrorKind(403, PERMISSION),
    "metrics_required": ErrorKind(403, PERMISSION),
    "admin_sign_in_required": ErrorKind(403, PERMISSION),
    "governance_required": ErrorKind(403, PERMISSION),
    "governance_not_configured": ErrorKind(403, PERMISSION),
    "operation_not_authorized": ErrorKind(403, PERMISSION),
    "model_not_allowed": ErrorKind(403, PERMISSION),
    "workflows_not_allowed": ErrorKind(403, PERMISSION),
    "feature_disabled": ErrorKind(403, PERMISSION),
    "tool_not_allowed": ErrorKind(403, PERMISSION),
    "remote_not_allowed": ErrorKind(403, PERMISSION),
    "host_not_allowed": ErrorKind(403, PERMISSION),
    "origin_not_allowed": ErrorKind(403, PERMISSION),
    "not_found": ErrorKind(404, INVALID),
    "tenant_exists": ErrorKind(409, INVALID),
    "tenant_name_reserved": ErrorKind(409, INVALID),
    "too_many_tenants": ErrorKind(409, INVALID),
    "too_many_keys": ErrorKind(409, INVALID),
    "conversation_locked": ErrorKind(409, INVALID, retry=True),
    "conversation_quota_exceeded": ErrorKind(409, INVALID),
    "file_quota_exceeded": ErrorKind(409, INVALID),
    "state_quota_exceeded": ErrorKind(409, INVALID),
    "too_many_batches": ErrorKind(409, INVALID),
    "batch_not_ended": ErrorKind(409, INVALID),
    "key_exists": ErrorKind(409, INVALID),
    "signature_refused": ErrorKind(403, PERMISSION),
    "already_signed": ErrorKind(409, INVALID),
    "proposal_ended": ErrorKind(409, INVALID),
    "too_many_proposals": ErrorKind(409, INVALID),
    "set_by_configuration": ErrorKind(409, INVALID),
    "alert_not_firing": ErrorKind(409, INVALID),
    "tenancy_disabled": ErrorKind(409, INVALID),
    "platform_open": ErrorKind(409, INVALID),
    "method_not_allowed": ErrorKind(405, INVALID),
    "request_timeout": ErrorKind(408, INVALID, retry=True),
    "head_too_large": ErrorKind(431, INVALID),
    "target_too_long": ErrorKind(414, INVALID),
    "request_too_large": ErrorKind(413, INVALID),
    "unsupported_media_type": ErrorKind(415, INVALID),
    "server_busy": ErrorKind(503, SERVER, retry=True),
    "provider_unavailable": ErrorKind(503, SERVER, retry=True),
    "stream_not_ready": ErrorKind(503, SERVER, retry=True),
    "too_many_documents": ErrorKind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "too_many_tool_calls": ErrorKind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "too_many_reports": ErrorKind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "too_many_webhooks": ErrorKind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "too_many_uploads": ErrorKind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "too_many_streams": ErrorKind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "starting": ErrorKind(503, SERVER, retry=True),
    "draining": ErrorKind(503, SERVER, retry=True),
    "key_unusable": ErrorKind(503, SERVER),
    "not_supported": ErrorKind(501, INVALID),
    "internal_error": ErrorKind(500, SERVER),
    # Rejected: not admitted to the queue
    "unknown_model": ErrorKind(404, INVALID),
    "model_not_loaded": ErrorKind(409, INVALID),
    "model_loading": ErrorKind(409, INVALID, retry=True),
    "model_unloading": ErrorKind(409, INVALID),
    "model_failed": ErrorKind(409, INVALID),
    "idempotency_key_reused": ErrorKind(409, INVALID),
    "rate_limit_exceeded": ErrorKind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "budget_exceeded": ErrorKind(429, RATE_LIMIT, response_code="rate_limit_exceeded"),
    "request_exceeds_token_limit": ErrorKind(400, INVALID),
    "tenant_storage_full": ErrorKind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "queue_full": ErrorKind(503, SERVER, retry=True),
    "storage_full": ErrorKind(503, SERVER, retry=True),
    "storage_unavailable": ErrorKind(503, SERVER, retry=True),
    # Rejected: loads and unloads
    "model_busy": ErrorKind(409, INVALID),
    "model_exists": ErrorKind(409, INVALID),
    "model_changing": ErrorKind(409, INVALID, retry=True),
    "too_many_downloads": ErrorKind(409, INVALID, retry=True),
    "too_many_flushes": ErrorKind(409, INVALID, retry=True),
    "operation_not_cancellable": ErrorKind(409, INVALID),
    "no_worker": ErrorKind(503, SERVER),
    "insufficient_memory": ErrorKind(409, INVALID),
    "too_many_models": ErrorKind(409, INVALID),
    "too_many_drains": ErrorKind(409, INVALID),
    "cooling_down": ErrorKind(429, RATE_LIMIT, retry=True),
    "hub_unreachable": ErrorKind(503, SERVER, retry=True),
    "hub_busy": ErrorKind(503, SERVER, retry=True),
    "hub_not_found": ErrorKind(404, INVALID),
    "hub_access_denied": ErrorKind(409, INVALID),
    "hub_refused": ErrorKind(400, INVALID),
    "model_not_downloaded": ErrorKind(404, INVALID),
    # FailedInQueue: the job ended before a worker claimed it
    "queue_timeout": ErrorKind(503, SERVER, retry=True),
    "cancelled": ErrorKind(409, INVALID),
    # Failed: while it ran
    "state_unusable": ErrorKind(400, INVALID),
    "state_not_found": ErrorKind(404, INVALID),
    "state_disk_full": ErrorKind(503, SERVER),
    "invalid_prompt": ErrorKind(400, INVALID, response_code="invalid_prompt"),
    "context_length_exceeded": ErrorKind(400, INVALID, response_code="invalid_prompt"),
    "output_too_large": ErrorKind(500, SERVER),
    "engine_error": ErrorKind(500, SERVER),
    "remote_rate_limited": ErrorKind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "remote_unavailable": ErrorKind(503, SERVER, retry=True),
    # 502: the server behind the gateway failed (RFC 9110, 15.6.3). The platform has retried on another engine
    # already unless the response had events; a client's retries could crash one engine after the other
    "engine_crashed": ErrorKind(502, SERVER),
    "engine_stalled": ErrorKind(504, SERVER),
    "deadline_exceeded": ErrorKind(504, SERVER),
    "stream_lost": ErrorKind(504, SERVER),
    "log_lost": ErrorKind(503, SERVER, retry=True),
    "worker_lost": ErrorKind(503, SERVER, retry=True),
    "worker_shutdown": ErrorKind(503, SERVER, retry=True),
    "unload_deadline": ErrorKind(503, SERVER),
    "load_failed": ErrorKind(503, SERVER),
    "load_timeout": ErrorKind(503, SERVER),
    "out_of_memory": ErrorKind(503, SERVER),
    "load_cancelled": ErrorKind(503, SERVER),
    "load_interrupted": ErrorKind(503, SERVER, retry=True),
}

MESSAGES: Mapping[str, str] = {
    "cancelled": "the response was cancelled",
    "queue_timeout": "no replica became free in time",
    "deadline_exceeded": "the response was not complete within the request's time limit",
    "storage_unavailable": "the shared store (Redis) was unreachable for too long",
}
"""The messages for an `End` that carries none."""

UNKNOWN_CODE = ErrorKind(500, SERVER)
"""For a code that is missing in the table."""


def kind_of(code: str) -> ErrorKind:
    """The table's entry for a code."""
    return CODES.get(code, UNKNOWN_CODE)


class ApiError(Rejected):
    """Raised when the API itself refuses a request."""

    default_code = "invalid_request"


class InvalidRequest(ApiError):
    """Raised when a body, header or query is invalid for the endpoint; `param` names the place."""


class UnprocessableRequest(ApiError):
    """Raised when an admin request's body does not fit its schema (Runtime Admin API: 422)."""

    default_code = "unprocessable_request"


class NotFound(ApiError):
    """Raised when the tenant has no such object, even if another tenant has one."""

    default_code = "not_found"


class NotSupported(ApiError):
    """Raised when a route of llama-server exists, and the model's engine cannot serve it."""

    default_code = "not_supported"


class Conflict(ApiError):
    """Raised when an administrator's change does not fit what there is."""

    default_code = "set_by_configuration"


class InvalidApiKey(ApiError):
    """Raised when the request carries no API key, or an unknown one."""

    default_code = "invalid_api_key"


class Forbidden(ApiError):
    """Raised when the API key is valid but not sufficient, or a web page sends the request."""

    default_code = "admin_required"


class TooManyStreams(ApiError):
    """Raised when a tenant has as many clients that wait or stream as it may, or one response has."""

    default_code = "too_many_streams"


def body_of(error: StokerError) -> dict[str, Any]:
    """The error's body, with its details (`queueDepth`, `avgWaitMs` of queue_full) next to the four keys."""
    return envelope(error.code, openai_message(error), error.param, error.details)


def envelope(
    code: str, message: str, param: str | None = None, details: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """`{"error": {"message", "type", "param", "code", ...details}}`."""
    error = {"message": message, "type": kind_of(code).type, "param": param, "code": code}
    return {"error": error | dict(details or {})}


def headers_of(error: StokerError) -> dict[str, str]:
    """The headers of limits, and those for a retry: `Retry-After` (seconds) or `x-should-retry`.

    A used budget has both: the time until the month ends, and that no SDK sleeps for it.
    """
    headers = limit_headers(error.limits) if isinstance(error, Rejected) else {}
    if isinstance(error, BudgetExceeded):
        headers |= {"Retry-After": str(error.retry_after_s), "x-should-retry": "false"}
    elif error.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, min(MAX_RETRY_AFTER_S, error.retry_after_s)))
    elif isinstance(error, RateLimited) or not kind_of(error.code).retry:
        headers["x-should-retry"] = "false"
    return headers


def error_from_end(end: End) -> StokerError:
    """The error of a response that ended without an answer: `Failed`, or `FailedInQueue` if it never ran."""
    code = end.code or ("cancelled" if end.status == "cancelled" else "engine_error")
    message = end.message or MESSAGES.get(code, "the response ended without an answer")
    error = Failed if end.run_ms else FailedInQueue
    return error(message, code=code, retry_after_s=5 if kind_of(code).retry else None)


def internal_error() -> ApiError:
    """Return the error for a fault of the platform; only the log has the details."""
    return ApiError("an internal error; the platform's log has the details", code="internal_error")
