"""From a parsed request to a job in line."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from dataclasses import dataclass, replace

from flask import Request

from api.auth.authenticator import Caller
from api.dialects.base import Dialect, Head, ParsedRequest
from api.errors import InvalidRequest, NotFound
from api.services import AppServices
from api.streaming.response_metadata import head_of, keep
from scheduler.job import Job
from streams.subscriber import LogCursor

USUAL_TOKENS = 256
"""The guess at an answer's length where the request sets no bound."""

BYTES_PER_TOKEN = 4
IMAGE_TOKENS = 256
"""The guess at an image: engines scale them, so that how many bytes one has says little."""

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class Admitted:
    """A response in line: its head, and the cursor to read it by (None when nobody is going to)."""

    head: Head
    cursor: LogCursor | None
    replayed: bool = False


def make_job(
    dialect: Dialect, parsed: ParsedRequest, caller: Caller, request: Request, created_at: int
) -> Job:
    """The job of a request. Raises `InvalidRequest` for an Idempotency-Key that is none."""
    generation = parsed.generation.to_json()
    key = request.headers.get("Idempotency-Key")
    if key is not None and not _KEY.fullmatch(key):
        raise InvalidRequest(
            "Idempotency-Key must be 1 to 255 visible ASCII characters", param="Idempotency-Key"
        )
    most = parsed.generation.sampling.max_tokens
    return Job(
        id=f"{dialect.ID_PREFIX}{secrets.token_hex(16)}",
        tenant=caller.tenant.name,
        weight=caller.tenant.weight,
        model=parsed.generation.model,
        priority=caller.priority,
        dialect=dialect.NAME,
        generation=generation,
        echo=keep(parsed, created_at),
        store=parsed.store,
        cost=_prompt_tokens(parsed, len(generation)) + (USUAL_TOKENS if most is None else most),
        idempotency_key=key,
        body_hash=None if key is None else _digest(dialect, request.get_data()),
    )


def _prompt_tokens(parsed: ParsedRequest, size: int) -> int:
    """A guess at a prompt of `size` bytes on the wire."""
    if not parsed.images:
        return size // BYTES_PER_TOKEN
    shown = sum(len(image.url) for message in parsed.generation.messages for image in message.images)
    return (size - shown) // BYTES_PER_TOKEN + len(parsed.images) * IMAGE_TOKENS


def _digest(dialect: Dialect, body: bytes) -> str:
    """What an Idempotency-Key stands for: this body, sent to this endpoint."""
    return hashlib.sha256(dialect.NAME.encode() + b"\0" + body).hexdigest()


def admit(
    services: AppServices, dialect: Dialect, parsed: ParsedRequest, caller: Caller, request: Request
) -> Admitted:
    """Let the request into line. Raises `Rejected`.

    A repeat under the same Idempotency-Key gets the earlier response, from its first event.
    """
    created_at = int(time.time())
    job = make_job(dialect, parsed, caller, request, created_at)
    cursor = None
    if parsed.waits:
        # before it is admitted, so that not even the first event is missed
        cursor = services.subscriber.subscribe(job.id)
        job = replace(job, subscriber=services.subscriber.name)
    try:
        admission = services.ledger.admit(job)
    except BaseException:
        if cursor is not None:
            cursor.close()
        raise
    if not admission.replayed:
        return Admitted(Head(job.id, created_at, job.model, parsed.echo), cursor)
    if cursor is not None:
        cursor.close()
    row = services.ledger.lookup(admission.id, job.tenant)
    if row is None:
        raise NotFound("the response of this Idempotency-Key is gone", param="Idempotency-Key")
    # the ledger forgets the echo of what is not stored; the same body has the same one
    head = replace(head_of(row), echo=parsed.echo)
    return Admitted(head, join(services, row.id) if parsed.waits else None, replayed=True)


def join(services: AppServices, id: str) -> LogCursor:
    """A cursor for a response that may have said much already, from its first event."""
    cursor = services.subscriber.subscribe(id)
    try:
        services.ledger.subscribe(id, services.subscriber.name)
    except BaseException:
        cursor.close()
        raise
    cursor.catch_up()
    return cursor
