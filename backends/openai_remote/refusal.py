"""What it means that a server elsewhere does not answer: the error, and whether it pays to ask again.

The server's own words go to the log only, without the key, and no more of them than tells an operator what to
correct: they may hold pieces of a prompt.
"""

from __future__ import annotations

import logging
import math
import random
import ssl
import time
from collections.abc import Callable, Mapping
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import orjson

from backends.base import GenerationError
from backends.catalogue import REDACTED
from backends.openai_remote.connection import RemoteOptions
from workers.engine_process.errors import EngineError

T = TypeVar("T")

ASKED_WRONG = (400, 413, 422)
"""Statuses that mean the request itself."""

AGAIN = (408, 409, 429, 502, 503, 504)
"""Statuses that may pass. 409 is a Stoker's whose model is being loaded."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
LONGEST_WISH_S = 30.0  # whoever asks to be left alone for longer is not asked again
SHOWN = 200  # characters of the server's words that are logged

log = logging.getLogger(__name__)


class Refused(Exception):
    """Raised when the server did not begin to answer; `error` is what comes of it if nobody asks again.

    `after_s` is how long it wants to be left alone, None when it did not say.
    """

    def __init__(self, error: EngineError, *, again: bool = False, after_s: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again and (after_s or 0.0) <= LONGEST_WISH_S
        self.after_s = after_s

    def pause_s(self, number: int) -> float:
        """How long to wait before try `number` (from 1): ever longer, and not all at once."""
        if self.after_s is not None:
            return self.after_s
        longest = min(LONGEST_PAUSE_S, math.ldexp(FIRST_PAUSE_S, number - 1))
        share: float = random.uniform(0.5, 1.0)  # noqa: S311 - nobody has to guess it
        return longest * share


def persist(retries: int, attempt: Callable[[], T], pause: Callable[[float, Refused], object]) -> T:
    """What an attempt returns, the first one or one of so many more. Raises the last one's error."""
    for number in range(1, retries + 1):
        try:
            return attempt()
        except Refused as refused:
            if not refused.again:
                raise refused.error from refused.__cause__
            pause(refused.pause_s(number), refused)
    try:
        return attempt()
    except Refused as refused:
        raise refused.error from refused.__cause__


def unreachable(options: RemoteOptions, error: Exception) -> Refused:
    """For a connection that did not come about, or broke before anything was said."""
    log.warning("%s cannot be reached: %s", options.place, reason(error))
    unavailable = GenerationError("remote_unavailable", "the remote server cannot be reached")
    return Refused(unavailable, again=passes(error))


def passes(error: Exception) -> bool:
    """Whether it pays to connect again."""
    return not isinstance(error, ssl.SSLCertVerificationError)


def reason(error: Exception) -> str:
    """Why a connection did not come about, in a few words for operators."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted: {error.verify_message}; SSL_CERT_FILE may name its authority's"
        )
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def refusal(options: RemoteOptions, status: int, headers: Message, body: bytes) -> Refused:
    """For an answer that is no stream."""
    told = _error_of(body)
    if status in (401, 403):
        # what it says of a key may hold the key
        log.error("%s (it answered %d)", key_refused(options), status)
        return Refused(GenerationError("engine_error", "the remote server does not let this platform in"))
    asked_wrong = status in ASKED_WRONG
    level = logging.INFO if asked_wrong else logging.WARNING
    log.log(level, "%s answered %d: %s", options.place, status, _shown(options, told))
    if status in AGAIN:
        final = headers.get("x-should-retry") == "false"
        return Refused(_busy(status), again=not final, after_s=retry_after_s(headers))
    if asked_wrong:
        return Refused(of_request(told))
    if status == 404:
        log.error("%s: correct openai_remote_model or openai_remote_url", options.place)
    return Refused(GenerationError("engine_error", "the remote server failed before it answered"))


def of_request(told: Mapping[str, Any]) -> GenerationError:
    """The error for a request that the server does not take."""
    words = " ".join(str(told.get(name) or "") for name in ("code", "type", "message")).lower()
    if any(
        sign in words for sign in ("context_length", "context length", "exceed_context", "context window")
    ):
        size, limit = told.get("n_prompt_tokens"), told.get("n_ctx")
        known = type(size) is int and type(limit) is int
        numbers = (
            f"has {size} tokens; {limit} fit" if known else "has more tokens than the remote model takes"
        )
        return GenerationError("context_length_exceeded", f"the prompt {numbers}")
    return GenerationError("invalid_prompt", "the remote server does not take this request")


def of_event(options: RemoteOptions, told: Any) -> GenerationError:
    """The error for one that the server tells in a stream.

    A Stoker's own code may lead the message; the code of others may be the status that comes too late.
    """
    told = told if isinstance(told, dict) else {}
    log.warning("%s failed while it answered: %s", options.place, _shown(options, told))
    code, words = told.get("code"), f"{told.get('code')} {told.get('message')}"
    if code in ASKED_WRONG or "context_length_exceeded" in words or "invalid_prompt" in words:
        return of_request(told)
    if "rate_limit" in words:
        return _busy(429)
    if type(code) is int and code in AGAIN:
        return _busy(code)
    return GenerationError("engine_error", "the remote server failed while it answered")


def key_refused(options: RemoteOptions) -> str:
    """A sentence for operators."""
    if options.key_variable is None:
        return (
            f"{options.place} asks for a key: put it into an environment variable of the worker, and name"
            " that in openai_remote_key_variable"
        )
    return (
        f"{options.place} refuses the key in {options.key_variable}: put a valid one there and restart the"
        " worker"
    )


def retry_after_s(headers: Message) -> float | None:
    """How long to wait before the next try, as the answer says (RFC 9110, 10.2.3); None if it does not."""
    try:
        if milliseconds := headers.get("retry-after-ms"):  # OpenAI's, finer
            return max(0.0, float(milliseconds) / 1000)
        after = headers.get("Retry-After") or ""
        if after.replace(".", "", 1).isdigit():
            return float(after)
        return max(0.0, parsedate_to_datetime(after).timestamp() - time.time()) if after else None
    except ValueError:
        return None


def _busy(status: int) -> GenerationError:
    if status == 429:
        return GenerationError("remote_rate_limited", "the remote server takes no more requests for now")
    return GenerationError("remote_unavailable", "the remote server cannot answer now")


def _error_of(body: bytes) -> dict[str, Any]:
    """The error in an answer's body, {} where there is none. vLLM's older ones are not wrapped."""
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    told = told.get("error", told) if isinstance(told, dict) else {}
    return told if isinstance(told, dict) else {"message": told}


def _shown(options: RemoteOptions, told: Mapping[str, Any]) -> str:
    words = " ".join(str(told[name]) for name in ("type", "code", "param", "message") if told.get(name))
    for secret in (options.key, *options.headers.values()):
        words = words.replace(secret, REDACTED) if secret else words
    # a blank for each: left out, what they stand in might become the key again
    seen = "".join(letter if letter.isprintable() else " " for letter in words)
    return " ".join(seen.split())[:SHOWN]
