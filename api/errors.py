"""The one table from an error's code to how a client sees it, and the errors that are the API's own.

The table covers every code of `scheduler.errors`, of the engines and of this room. An error body is always
`{"error": {"message", "type", "param", "code"}}` (OpenAI API reference, "Error codes"); the types are
OpenAI's too. `retry` tells whether the same request may succeed later: where it may not, the answer says
`x-should-retry: false`, which OpenAI's and Anthropic's SDKs obey (they would repeat a 409 or a 5xx
otherwise).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from scheduler.errors import Evicted, Failed, Rejected, StokerError
from streams.events import End

INVALID = "invalid_request_error"
AUTHENTICATION = "authentication_error"
PERMISSION = "permission_error"
RATE_LIMIT = "rate_limit_error"
SERVER = "server_error"

LONGEST_RETRY_AFTER_S = 60  # Anthropic's SDK sleeps for as long as it is told


class Kind(NamedTuple):
    """How an error of one code is answered.

    `response_code` is the `error.code` of a failed Response object: a closed list in OpenAI's SDK, so our own
    code leads the message there ("engine_crashed: ...").
    """

    status: int
    type: str
    retry: bool = False
    response_code: str = SERVER


CODES: Mapping[str, Kind] = {
    # the API's own: the request as such
    "invalid_request": Kind(400, INVALID),
    "invalid_json": Kind(400, INVALID),
    "unsupported_parameter": Kind(400, INVALID),
    "unsupported_tool": Kind(400, INVALID),
    "unsupported_input": Kind(400, INVALID),
    "thinking_unsupported": Kind(400, INVALID),
    "image_unsupported": Kind(400, INVALID),
    "multi_turn_unsupported": Kind(400, INVALID),
    "invalid_load_request": Kind(400, INVALID),
    "unprocessable_request": Kind(422, INVALID),
    "invalid_api_key": Kind(401, AUTHENTICATION),
    "tenant_mismatch": Kind(403, PERMISSION),
    "admin_required": Kind(403, PERMISSION),
    "remote_not_allowed": Kind(403, PERMISSION),
    "not_found": Kind(404, INVALID),
    "method_not_allowed": Kind(405, INVALID),
    "request_too_large": Kind(413, INVALID),
    "unsupported_media_type": Kind(415, INVALID),
    "server_busy": Kind(503, SERVER, retry=True),
    "internal_error": Kind(500, SERVER),
    # Rejected: never in line
    "unknown_model": Kind(404, INVALID),
    "model_not_loaded": Kind(409, INVALID),
    "model_loading": Kind(409, INVALID, retry=True),
    "model_unloading": Kind(409, INVALID),
    "model_failed": Kind(409, INVALID),
    "idempotency_key_reused": Kind(409, INVALID),
    "rate_limit_exceeded": Kind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "queue_full": Kind(503, SERVER, retry=True),
    "storage_full": Kind(503, SERVER, retry=True),
    "storage_unavailable": Kind(503, SERVER, retry=True),
    # Rejected: loads and unloads
    "model_busy": Kind(409, INVALID),
    "no_worker": Kind(503, SERVER),
    "insufficient_memory": Kind(409, INVALID),
    # Evicted: left the line unserved
    "queue_timeout": Kind(503, SERVER, retry=True),
    "cancelled": Kind(409, INVALID),
    # Failed: while running
    "invalid_prompt": Kind(400, INVALID, response_code="invalid_prompt"),
    "context_length_exceeded": Kind(400, INVALID, response_code="invalid_prompt"),
    "output_too_large": Kind(500, SERVER),
    "engine_error": Kind(500, SERVER),
    "remote_rate_limited": Kind(429, RATE_LIMIT, retry=True, response_code="rate_limit_exceeded"),
    "remote_unavailable": Kind(503, SERVER, retry=True),
    # 502: the server behind the gateway broke off (RFC 9110, 15.6.3). The platform has tried it on another
    # engine already, if nothing had been said; a client's repeats would kill one engine after the other
    "engine_crashed": Kind(502, SERVER),
    "engine_stalled": Kind(504, SERVER),
    "deadline_exceeded": Kind(504, SERVER),
    "stream_lost": Kind(504, SERVER),
    "worker_lost": Kind(503, SERVER, retry=True),
    "worker_shutdown": Kind(503, SERVER, retry=True),
    "unload_deadline": Kind(503, SERVER),
    "load_failed": Kind(503, SERVER),
    "load_timeout": Kind(503, SERVER),
    "load_cancelled": Kind(503, SERVER),
    "load_interrupted": Kind(503, SERVER, retry=True),
}

MESSAGES: Mapping[str, str] = {
    "cancelled": "the response was cancelled",
    "queue_timeout": "no replica became free in time",
    "deadline_exceeded": "the response took longer than a request may",
    "storage_unavailable": "the shared store (Redis) was away for too long",
}
"""What an end without a message of its own says."""

UNKNOWN = Kind(500, SERVER)
"""For a code that is not in the table: a room has grown and the table has not."""


def kind_of(code: str) -> Kind:
    """How errors of that code are answered."""
    return CODES.get(code, UNKNOWN)


class ApiError(Rejected):
    """Raised when the API itself refuses a request."""

    default_code = "invalid_request"


class InvalidRequest(ApiError):
    """Raised when a body, header or query is not what the endpoint takes; `param` names where."""


class UnprocessableRequest(ApiError):
    """Raised when an admin request's body does not fit its schema (Runtime Admin API: 422)."""

    default_code = "unprocessable_request"


class NotFound(ApiError):
    """Raised when the tenant has nothing of that name; another tenant's is answered the same."""

    default_code = "not_found"


class InvalidApiKey(ApiError):
    """Raised when the request brings no key, or one that nobody has."""

    default_code = "invalid_api_key"


class Forbidden(ApiError):
    """Raised when the key is good and not enough (tenant_mismatch, admin_required)."""

    default_code = "admin_required"


class ServerBusy(ApiError):
    """Raised when each thread that may wait for a model already does."""

    default_code = "server_busy"


def body_of(error: StokerError) -> dict[str, Any]:
    """The error envelope. Details (`queueDepth`, `avgWaitMs` of queue_full) stand beside the four keys."""
    return envelope(error.code, error.message, error.param, error.details)


def envelope(
    code: str, message: str, param: str | None = None, details: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """`{"error": {"message", "type", "param", "code", ...details}}`."""
    error = {"message": message, "type": kind_of(code).type, "param": param, "code": code}
    return {"error": error | dict(details or {})}


def headers_of(error: StokerError) -> dict[str, str]:
    """What the answer's headers say about a repeat: `Retry-After` (seconds), `x-should-retry`."""
    headers = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, min(LONGEST_RETRY_AFTER_S, error.retry_after_s)))
    elif not kind_of(error.code).retry:
        headers["x-should-retry"] = "false"
    return headers


def failure(end: End) -> StokerError:
    """The error of a response that ended without an answer: `Evicted` if its turn never came, or `Failed`."""
    code = end.code or ("cancelled" if end.status == "cancelled" else "engine_error")
    message = end.message or MESSAGES.get(code, "the response ended without an answer")
    family = Failed if end.run_ms else Evicted
    return family(message, code=code, retry_after_s=5 if kind_of(code).retry else None)
