"""The form of errors to Anthropic's clients (Anthropic API reference, "Errors")."""

from __future__ import annotations

from typing import Any

from api.http.context_overflow import anthropic_message
from api.http.errors import kind_of
from store.errors import StokerError
from telemetry.request_ids import current_ids

PATH = "/v1/messages"

VERSION_HEADER = "anthropic-version"
"""The header that each request of an Anthropic client has, whatever its path."""

TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
"""The type by status. Other errors below 500 are an `invalid_request_error`, others an `api_error`."""


def is_anthropic(path: str) -> bool:
    """Whether errors of this path have Anthropic's form; unknown paths below it, too."""
    return path == PATH or path.startswith(f"{PATH}/")


def error_object(error: StokerError, request_id: str | None = None) -> dict[str, Any]:
    """The body of an error: Anthropic's keys, and `code` and `param` of the platform.

    `request_id` is that of the current request unless given.
    """
    status = kind_of(error.code).status
    return anthropic_envelope(status, error.code, anthropic_message(error), error.param, request_id)


def anthropic_envelope(
    status: int, code: str, message: str, param: str | None = None, request_id: str | None = None
) -> dict[str, Any]:
    """`{"type": "error", "error": {"type", "message", "code", "param"}, "request_id"}`."""
    ids = current_ids.get()
    if request_id is None and ids is not None:
        request_id = ids.request_id
    kind = TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": message, "code": code, "param": param},
        "request_id": request_id,
    }
