"""Reads the response that a request continues, and joins the two conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from api import capabilities
from api.admission import with_generation
from api.dialects import responses
from api.dialects.base import ParsedRequest
from api.dialects.continuation import PARAM, continued
from api.errors import ApiError
from api.services import AppServices
from api.streaming.stored_response import decode_metadata, read_events
from fleet.catalogue import unknown_model
from scheduler.job import Job, JobRow, Status
from streams.events import End, Event
from tasks.generation import Generation
from tasks.truncation import DroppableParts

NOT_FOUND = "previous_response_not_found"


async def with_previous_response(
    services: AppServices, parsed: ParsedRequest, job: Job
) -> tuple[ParsedRequest, Job]:
    """The request and its job with the conversation of `previous_response_id`, checked against the model.

    Raises `ApiError`: previous_response_not_found for a response that the tenant does not have, or that is
    not stored; invalid_request for one that has not ended, failed or was cancelled; request_too_large for a
    conversation with more bytes than a body may have, unless it may be truncated to that; and what
    `capabilities.check` raises.
    """
    id = parsed.previous_response_id
    if id is None:
        return parsed, job
    async with services.log_reads:  # the earlier conversation may have as many bytes as a body
        found = await services.async_ledger.lookup_with_generation(id, job.tenant)
        row, generation = _usable(id, found)
        events = await read_events(services, id)
        if not events or not isinstance(events[-1], End):
            raise _not_found(id)  # its log is lost
        parsed, job = await asyncio.to_thread(_join, parsed, job, row, generation, events)
        if len(job.generation) > (most := services.settings.api.max_body_bytes):
            parsed, job = await asyncio.to_thread(_shortened, parsed, job, most)
    if len(job.generation) > most:
        raise ApiError(
            f"the conversation of {id} has more than {most} bytes with the new input: begin a new one",
            code="request_too_large",
            param=PARAM,
        )
    model = services.fleet.catalogue.get(parsed.generation.model)
    if model is None:
        raise unknown_model(parsed.generation.model)
    fitted = capabilities.check(model, parsed)
    return fitted, (job if fitted is parsed else with_generation(job, fitted))


def _usable(id: str, found: tuple[JobRow, bytes | None] | None) -> tuple[JobRow, bytes]:
    """The row and the request of a stored response that can be continued."""
    if found is None:
        raise _not_found(id)
    row, generation = found
    if row.dialect != responses.NAME or not row.store or generation is None:
        raise _not_found(id)
    if not row.status.is_terminal:
        raise ApiError(f"the response {id} has not ended: it cannot be continued yet", param=PARAM)
    if row.status not in (Status.COMPLETED, Status.INCOMPLETE):
        raise ApiError(f"the response {id} is {row.status.value}: it cannot be continued", param=PARAM)
    return row, generation


def _join(
    parsed: ParsedRequest, job: Job, row: JobRow, generation: bytes, events: Iterable[Event]
) -> tuple[ParsedRequest, Job]:
    joined = continued(parsed, Generation.from_json(generation), decode_metadata(row), events)
    return joined, with_generation(job, joined)


def _shortened(parsed: ParsedRequest, job: Job, most: int) -> tuple[ParsedRequest, Job]:
    """The request without so many of its oldest parts that it has `most` bytes, if it may be truncated."""
    if not parsed.generation.truncate:
        return parsed, job
    parts = DroppableParts(parsed.generation.messages)
    messages = parts.without(parts.fewest_for(len(job.generation) - most))
    shortened = replace(parsed, generation=replace(parsed.generation, messages=messages))
    return shortened, with_generation(job, shortened)


def _not_found(id: str) -> ApiError:
    return ApiError(f"there is no stored response {id}", code=NOT_FOUND, param=PARAM)
