"""Reads the response that a request continues, and joins the two conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from api.http.errors import ApiError
from api.inference.answer.large_reads import LogReads
from api.inference.answer.stored_response import read_events
from api.inference.conversations.continuation import PARAM, continued
from api.inference.conversations.joined_request import check_joined
from api.inference.dialects.base import ParsedRequest, decode_metadata
from api.inference.responses import dialect as responses
from api.services import AppServices
from generation.generation import Generation
from scheduler.job import Job, JobRow, Status
from scheduler.ledger import AsyncLedger
from streams.events import End, Event

NOT_FOUND = "previous_response_not_found"


async def load_previous_response(
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
    async with services[LogReads].hold(job.tenant):  # the conversation may have as many bytes as a body
        found = await services[AsyncLedger].lookup_with_generation(id, job.tenant)
        row, generation = _usable(id, found)
        events = await read_events(services, id)
        if not events or not isinstance(events[-1], End):
            raise _not_found(id)  # its log is lost
        parsed = await asyncio.to_thread(_join, parsed, row, generation, events)
    return await asyncio.to_thread(check_joined, services, parsed, job, f"the conversation of {id}", PARAM)


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


def _join(parsed: ParsedRequest, row: JobRow, generation: bytes, events: Iterable[Event]) -> ParsedRequest:
    return continued(parsed, Generation.from_json(generation), decode_metadata(row), events)


def _not_found(id: str) -> ApiError:
    return ApiError(f"there is no stored response {id}", code=NOT_FOUND, param=PARAM)
