"""Makes the job of a line: the way of a request over HTTP, from the parser to the admission.

The id of the job follows from the batch and the line. The ledger admits one job of an id, and it is kept
until the line's outcome is on disk, so that no line runs twice.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

import orjson
from flask import Request
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder

from api.access.authenticator import Authenticator
from api.access.caller import Caller
from api.access.registry import AccessRegistry
from api.batches.endpoints import ENDPOINTS
from api.batches.lines import Line
from api.batches.record import BatchRecord
from api.http.errors import ApiError, Forbidden, InvalidApiKey, InvalidRequest
from api.http.request_body import BODY, read_body
from api.inference import capabilities
from api.inference.dialects.base import Dialect, ParsedRequest, decode_metadata, failure_of
from api.inference.document_reader import DocumentReader
from api.inference.make_job import replace_generation
from api.inference.parse_request import parse_request
from api.services import AppServices
from config.api_keys import SPEAKS_FOR_TENANTS
from fleet.catalogue import unknown_model
from fleet.fleet import Fleet
from scheduler.job import Job, JobRow
from store.errors import StokerError
from streams.events import End, Event

PRIORITY = "low"
RETENTION_MARGIN_S = 86_400
"""How much longer than the batch a job of it is kept that no runner has read."""


def job_hex(batch: str, number: int) -> str:
    """The part of a job's id that identifies the line."""
    return hashlib.sha256(f"{batch}:{number}".encode()).hexdigest()[:32]


def caller_of(services: AppServices, tenant: str, record: BatchRecord) -> Caller:
    """Who asks for the lines of a batch, as of now: with the key that created it.

    Raises `InvalidApiKey` when the key was revoked or has expired, or the tenant is gone.
    """
    identities = services[AccessRegistry].identities
    if tenant not in identities.tenants:
        raise InvalidApiKey("the tenant of this batch was removed")
    if not record.key:
        identity = identities.by_name(record.unknown_name or tenant, proxy=not services[Authenticator].open)
        caller = identity.caller(PRIORITY)
    else:
        found = identities.by_digest(record.key)
        named = record.unknown_name or tenant
        if found is not None and SPEAKS_FOR_TENANTS in found.key.scopes and found.tenant.name != named:
            found = identities.speaking_for(found, named)
        if found is None or found.has_expired() or found.tenant.name != tenant:
            raise InvalidApiKey("the API key that created this batch was revoked or has expired")
        if "inference" not in found.key.scopes:
            raise Forbidden(
                "the API key that created this batch no longer has the scope `inference`",
                code="inference_required",
            )
        caller = found.caller(PRIORITY)
    return caller


@dataclass(frozen=True, slots=True)
class UnreadJob:
    """The job of a line with documents.

    `read` begins to read them; `replace_generation` makes the whole job.
    """

    job: Job
    read: Callable[[], Future[ParsedRequest]]


def make_line_job(  # noqa: PLR0913 - all that a line consists of
    services: AppServices, caller: Caller, path: str, line: Line, id_hex: str, *, created_at: int
) -> Job | UnreadJob:
    """The job of a line. Raises `StokerError` when it is refused."""
    endpoint = ENDPOINTS[path]
    request = _request(path, orjson.dumps(line.body))
    body = read_body(request, endpoint.schema)
    parsed, job, is_checked = parse_request(
        services, caller, endpoint.dialect, body, request, created_at, in_batch=True
    )
    if parsed.stream or parsed.background:
        raise InvalidRequest("stream and background are not supported in a batch")
    if not is_checked:
        services[Fleet].catalogue.refresh()
        model = services[Fleet].catalogue.get(parsed.generation.model)
        if model is None:
            raise unknown_model(parsed.generation.model)
        fitted = capabilities.check(model, parsed)
        if fitted is not parsed:
            parsed, job = fitted, replace_generation(job, fitted)
    job = replace(
        job,
        id=f"{endpoint.dialect.ID_PREFIX}{id_hex}",
        subscriber=None,
        store=True,  # until the outcome is on disk: `update_batch` deletes it then
        limits=job.limits and replace(job.limits, rate_limit=None),  # tokens count, requests do not
    )
    if not parsed.documents:
        return job
    reading = services[DocumentReader].complete
    return UnreadJob(
        job, lambda: asyncio.run_coroutine_threadsafe(reading(parsed, job.tenant), services.loop)
    )


def _request(path: str, body: bytes) -> Request:
    """The request that a client would send over HTTP, with the priority low whatever its tier."""
    headers = Headers({"X-Priority": PRIORITY})
    builder = EnvironBuilder(
        path=path, method="POST", content_type="application/json", data=body, headers=headers
    )
    return Request({**builder.get_environ(), BODY: body})


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a line: an object, or an error with its body; and its tokens, as in `Progress`."""

    body: dict[str, Any]
    error: StokerError | None
    usage: Sequence[int]


def answer_of(dialect: Dialect, row: JobRow | None, events: Sequence[Event]) -> Answer:
    """The answer of an ended job, as it would be over HTTP."""
    end = events[-1] if events else None
    if row is None or not isinstance(end, End):
        error: StokerError = ApiError("the platform has lost this response", code="stream_lost")
        return Answer(dialect.error_body(error), error, (0, 0, 0, 0))
    used = end.usage
    usage = (
        (0, 0, 0, 0)
        if used is None
        else (used.input_tokens, used.cached_tokens, used.output_tokens, used.reasoning_tokens)
    )
    failure = failure_of(end, dialect)
    if failure is not None:
        return Answer(dialect.error_body(failure), failure, usage)
    return Answer(dialect.response_object(decode_metadata(row), list(events)), None, usage)
