"""Errors of a remote server: their code for the client, their log line for the operator, and retries.

The server's own words go to the log only, without the key and cut to what an operator needs for a
correction: they may contain pieces of a prompt.
"""

from __future__ import annotations

import logging
import math
import os
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import orjson

from backends.base import GenerationError
from backends.catalogue import REDACTED
from backends.openai_remote.arguments import RemoteOptions
from backends.shared.tgi_server import error_message, is_invalid, is_overloaded, length_error
from engines.engine_process.errors import EngineError
from http_client.client import HttpError
from http_client.connection import NotHttp
from http_client.connector import ProxyRefused
from telemetry.text import printable

T = TypeVar("T")

BAD_REQUEST = (400, 413, 422)
"""Statuses for a fault of the request itself."""

RETRYABLE = (408, 409, 429, 502, 503, 504)
"""Statuses that may pass. 409 comes from a Stoker whose model is being loaded."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
LONGEST_RETRY_AFTER_S = 30.0  # a server that asks for a longer pause is not asked again
LOGGED_CHARACTERS = 200  # of the server's own words

log = logging.getLogger(__name__)


class RemoteError(Exception):
    """Raised when the server did not begin to answer; `error` is raised in its place after the last attempt.

    `retryable` is whether another attempt may succeed, `retry_after_s` the pause that the server asks for,
    None if it does not ask for one.
    """

    def __init__(
        self, error: EngineError, *, retryable: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retryable = retryable and (retry_after_s or 0.0) <= LONGEST_RETRY_AFTER_S
        self.retry_after_s = retry_after_s

    def pause_s(self, attempt: int) -> float:
        """Return the pause after the failed attempt with this number, from 1: growing, with jitter."""
        if self.retry_after_s is not None:
            return self.retry_after_s
        longest = min(LONGEST_PAUSE_S, math.ldexp(FIRST_PAUSE_S, attempt - 1))
        share: float = random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
        return longest * share


async def retry(
    retries: int, run: Callable[[], Awaitable[T]], pause: Callable[[float, RemoteError], Awaitable[object]]
) -> T:
    """Return what `run` returns, repeating it up to `retries` times after a retryable error.

    `pause` waits between two attempts. Raises the `error` of the last attempt's `RemoteError`.
    """
    for attempt in range(1, retries + 1):
        try:
            return await run()
        except RemoteError as failed:
            if not failed.retryable:
                raise failed.error from failed.__cause__
            await pause(failed.pause_s(attempt), failed)
    try:
        return await run()
    except RemoteError as failed:
        raise failed.error from failed.__cause__


def from_connection(options: RemoteOptions, error: HttpError) -> RemoteError:
    """Return the error for a connection that failed, or was lost before the first token."""
    log.warning("%s cannot be reached: %s", options.place, reason(error))
    unavailable = GenerationError("remote_unavailable", "the remote server cannot be reached")
    return RemoteError(unavailable, retryable=is_transient(error))


def is_transient(error: HttpError) -> bool:
    """Whether another connection may succeed."""
    return not isinstance(error.cause, ssl.SSLCertVerificationError)


def reason(error: HttpError) -> str:
    """Return why a connection failed, in a few words for operators."""
    cause = error.cause
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted: {cause.verify_message}; SSL_CERT_FILE may name its "
            "authority's certificate"
        )
    if isinstance(cause, ProxyRefused):
        return f"the proxy answered {cause.status} {printable(cause.reason)}"
    if isinstance(cause, NotHttp):
        return "it does not answer with HTTP"
    if isinstance(cause, OSError) and cause.errno is not None and cause.errno > 0:
        return os.strerror(cause.errno)  # without the address, which event loops append
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def from_response(
    options: RemoteOptions, status: int, headers: Mapping[str, str], body: bytes
) -> RemoteError:
    """Return the error for a response that is not an event stream."""
    error = _error_object(body)
    if status in (401, 403):
        # the server's words may repeat the key
        log.error("%s (it answered %d)", key_rejected(options), status)
        return RemoteError(GenerationError("engine_error", "the remote server denies this platform access"))
    bad_request = status in BAD_REQUEST
    level = logging.INFO if bad_request else logging.WARNING
    log.log(level, "%s answered %d: %s", options.place, status, _for_log(options, error))
    if status in RETRYABLE:
        final = headers.get("x-should-retry") == "false"
        return RemoteError(_busy(status), retryable=not final, retry_after_s=retry_after_s(headers))
    if bad_request:
        return RemoteError(_bad_request(error))
    if status == 404:
        log.error("%s: correct openai_remote_model or openai_remote_url", options.place)
    return RemoteError(GenerationError("engine_error", "the remote server failed before it answered"))


def from_event(options: RemoteOptions, error: Any) -> GenerationError:
    """Return the error for an error event in a stream.

    From a Stoker the message may begin with its own error code; from other servers the code may be the HTTP
    status that the response would have had. TGI's message alone has the cause, and may be the whole error.
    """
    message = error_message(error)
    error = error if isinstance(error, dict) else {"message": message}
    log.warning("%s failed while it answered: %s", options.place, _for_log(options, error))
    code, words = error.get("code"), f"{error.get('code')} {error.get('message')}"
    if is_overloaded(message):
        return _busy(429)
    if (
        code in BAD_REQUEST
        or is_invalid(message)
        or "context_length_exceeded" in words
        or "invalid_prompt" in words
    ):
        return _bad_request(error)
    if "rate_limit" in words:
        return _busy(429)
    if type(code) is int and code in RETRYABLE:
        return _busy(code)
    return GenerationError("engine_error", "the remote server failed while it answered")


def key_rejected(options: RemoteOptions) -> str:
    """Return a sentence for operators about a key that is missing or not accepted."""
    if options.key_variable is None:
        return (
            f"{options.place} requires a key: put it into an environment variable of the worker, and name "
            "the variable in openai_remote_key_variable"
        )
    return (
        f"{options.place} refuses the key in {options.key_variable}: put a valid one there and restart the"
        " worker"
    )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the pause that a response asks for (RFC 9110, 10.2.3), None without a valid one."""
    try:
        if milliseconds := headers.get("retry-after-ms"):  # OpenAI's, finer
            return max(0.0, float(milliseconds) / 1000)
        after = headers.get("retry-after") or ""
        if after.replace(".", "", 1).isdigit():
            return float(after)
        return max(0.0, parsedate_to_datetime(after).timestamp() - time.time()) if after else None
    except ValueError:
        return None


def _bad_request(error: Mapping[str, Any]) -> GenerationError:
    """Return the error for a request that the server does not accept."""
    if (too_long := length_error(error_message(error))) is not None:
        return too_long
    words = " ".join(str(error.get(name) or "") for name in ("code", "type", "message")).lower()
    if any(
        mark in words for mark in ("context_length", "context length", "exceed_context", "context window")
    ):
        size, limit = error.get("n_prompt_tokens"), error.get("n_ctx")
        known = type(size) is int and type(limit) is int
        numbers = (
            f"has {size} tokens; {limit} fit" if known else "has more tokens than the remote model accepts"
        )
        return GenerationError("context_length_exceeded", f"the prompt {numbers}")
    return GenerationError("invalid_prompt", "the remote server does not accept this request")


def _busy(status: int) -> GenerationError:
    if status == 429:
        return GenerationError(
            "remote_rate_limited", "the remote server does not accept more requests at present"
        )
    return GenerationError("remote_unavailable", "the remote server cannot answer now")


def _error_object(body: bytes) -> dict[str, Any]:
    """Return the error in a body, {} if there is none. Older versions of vLLM do not wrap it in `error`."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else {}
    return error if isinstance(error, dict) else {"message": error}


def _for_log(options: RemoteOptions, error: Mapping[str, Any]) -> str:
    words = " ".join(str(error[name]) for name in ("type", "code", "param", "message") if error.get(name))
    for secret in (options.key, *options.headers.values()):
        words = words.replace(secret, REDACTED) if secret else words
    # a blank for each control character: without them, the pieces between them might form the key again
    visible = "".join(letter if letter.isprintable() else " " for letter in words)
    return " ".join(visible.split())[:LOGGED_CHARACTERS]
