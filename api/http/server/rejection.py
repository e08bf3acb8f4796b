"""Answers that the server gives without the app, to malformed, large, slow or too many requests."""

from __future__ import annotations

import logging
from collections import Counter

import orjson

from api.http.error_rendering import error_body, render_error
from api.http.errors import ApiError
from store.errors import StokerError

logger = logging.getLogger("api")

LOG_INTERVAL_S = 60.0


class RequestRejected(Exception):
    """Raised in the parser's callbacks to stop parsing and refuse the request."""

    def __init__(self, error: StokerError) -> None:
        super().__init__(error.message)
        self.error = error


def bad_request(message: str) -> RequestRejected:
    """400: what the client sent is not a valid request."""
    return RequestRejected(ApiError(message))


def head_too_large() -> RequestRejected:
    """431."""
    return RequestRejected(ApiError("the head of the request is too large", code="head_too_large"))


def target_too_long(limit: int) -> RequestRejected:
    """414."""
    return RequestRejected(
        ApiError(f"the request's path and query are longer than {limit} bytes", code="target_too_long")
    )


def body_too_large(limit: int) -> RequestRejected:
    """413."""
    return RequestRejected(ApiError(f"the body is larger than {limit} bytes", code="request_too_large"))


def too_slow(part: str) -> RequestRejected:
    """408."""
    return RequestRejected(
        ApiError(f"the {part} of the request took too long to arrive", code="request_timeout")
    )


def busy(message: str) -> RequestRejected:
    """503."""
    return RequestRejected(ApiError(message, code="server_busy", retry_after_s=2))


def answer_of(
    error: StokerError, request_id: str, path: bytes = b"", tenant: str | None = None
) -> tuple[int, dict[str, str], bytes]:
    """The status, headers and body of an error, with the id of the request as the app's answers have it.

    `path` is that of the request, as far as it has been received; `tenant` is the caller's if it is known.
    """
    rendered = render_error(error, error_body(error, path.decode("latin-1"), request_id), tenant)
    headers = {
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "x-request-id": request_id,
        "request-id": request_id,
        **rendered.headers,
    }
    return rendered.status, headers, orjson.dumps(rendered.body)


class RejectionLog:
    """Logs how many requests were refused and why, at most one line a minute: no client can fill the log."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._next_line_at = 0.0

    def add(self, reason: str) -> None:
        """Count a refusal."""
        self._counts[reason] += 1

    def write(self, now: float) -> None:
        """Write the line if there is something to report and the last line is a minute old."""
        if self._counts and now >= self._next_line_at:
            counts = ", ".join(f"{reason} {count}" for reason, count in sorted(self._counts.items()))
            logger.warning("refused by the server: %s", counts)
            self._counts.clear()
            self._next_line_at = now + LOG_INTERVAL_S
