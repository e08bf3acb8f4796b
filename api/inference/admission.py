"""Admits the jobs of a request to the ledger, after the text of its documents was put into them.

Each choice of the answer is a job. The id of the answer is that of the first choice's job; the other jobs
have it with `-1`, `-2` ... behind it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from api.http.errors import NotFound
from api.http.server.while_connected import while_connected
from api.inference.answer.response_readers import ResponseReader
from api.inference.answer.stored_response import follow_from_start
from api.inference.conversations.turns import NextTurn
from api.inference.demand_looker import DemandLooker, add_load_choice
from api.inference.dialects.base import ParsedRequest, ResponseMetadata, decode_metadata, encode_metadata
from api.inference.dialects.choices import split
from api.inference.document_reader import DocumentReader
from api.inference.make_job import replace_generation
from api.services import AppServices
from api.webhooks.sender import WebhookSender
from fleet.fleet import Fleet
from scheduler.job import Admission, Job
from scheduler.ledger import AsyncLedger
from store.errors import StokerError
from store.limit_state import LimitState
from streams.subscriber import EventSubscriber

logger = logging.getLogger("api")


@dataclass(frozen=True, slots=True)
class Admitted:
    """An admitted answer, with the metadata of each choice.

    `replayed`: an earlier request created it. `runs_at_once`: none of its jobs was queued. `limits`: what its
    tenant has left.
    """

    choices: tuple[ResponseMetadata, ...]
    replayed: bool = False
    limits: tuple[LimitState, ...] = ()
    runs_at_once: bool = False


def job_ids(first: str, count: int) -> list[str]:
    """The ids of the jobs of an answer with so many choices."""
    return [first, *(f"{first}-{index}" for index in range(1, count))]


async def load_documents(
    services: AppServices, parsed: ParsedRequest, job: Job, reader: ResponseReader | None
) -> tuple[ParsedRequest, Job]:
    """The request and its job with the text of its documents. A client that disconnects ends the reading."""
    if not parsed.documents:
        return parsed, job
    reading = services[DocumentReader].complete(parsed, job.tenant)
    parsed = await (reading if reader is None else while_connected(reader.connection, reading))
    return parsed, replace_generation(job, parsed)


async def find_earlier(
    services: AppServices, parsed: ParsedRequest, job: Job
) -> tuple[Job, Admission | None]:
    """The admission that used the Idempotency-Key of a request that needs more than its admission.

    So a repeat neither reads documents nor an earlier response, nor admits further choices. None for any
    other request: its admission finds out. None, too, for several choices of which one has no result: all run
    again, by the returned job. Raises `IdempotencyConflict`, `StorageUnavailable`.
    """
    if not (
        parsed.documents
        or parsed.choices > 1
        or parsed.previous_response_id is not None
        or parsed.conversation_id is not None
        or _has_webhook(services, parsed, job)
    ):
        return job, None
    ledger = services[AsyncLedger]
    earlier = await ledger.earlier(job)
    if earlier is not None and parsed.choices > 1:
        _, *others = job_ids(earlier.id, parsed.choices)
        if not await ledger.have_results(others):
            return replace(job, replaces=earlier.id), None
    return job, earlier


def _has_webhook(services: AppServices, parsed: ParsedRequest, job: Job) -> bool:
    """Whether the end of the request is sent to webhooks: only Responses have such events."""
    return parsed.background and job.dialect == "responses" and services[WebhookSender].wants(job.tenant)


async def admit_request(  # noqa: PLR0913, PLR0917 - all that an admission consists of
    services: AppServices,
    parsed: ParsedRequest,
    job: Job,
    created_at: int,
    reader: ResponseReader | None,
    earlier: Admission | None = None,
    turn: NextTurn | None = None,
) -> Admitted:
    """Admit the jobs, unless there is an `earlier` one; `reader` follows them. Raises `Rejected`.

    A repeat under the same Idempotency-Key gets the earlier answer, from its first event. The text of
    documents is read before; a client that disconnects meanwhile ends that. `turn` is that of a response in
    its conversation. A request for several choices has a `reader`.
    """
    if earlier is None:
        parsed, job = await load_documents(services, parsed, job, reader)
        if _has_webhook(services, parsed, job):
            await services[WebhookSender].enter(job)
    requests = split(parsed)
    if earlier is None:
        job = add_load_choice(job, services[Fleet].catalogue)
        jobs = [job] if len(requests) == 1 else _jobs_of_choices(job, requests, created_at)
        admission = await _admit_jobs(services, jobs, reader, turn)
    else:
        admission = earlier
    if admission.replayed:
        if reader is not None:
            reader.restart()
        if earlier is None and len(requests) > 1:
            await cancel_jobs(services, job_ids(job.id, len(requests)), job.tenant)
        created_at = await _follow_earlier(services, admission.id, job.tenant, len(requests), reader)
    # the ledger drops the echo of a response that is not stored; an equal body has an equal echo
    choices = tuple(
        ResponseMetadata(admission.id, created_at, job.model, request.echo) for request in requests
    )
    return Admitted(
        choices,
        replayed=admission.replayed,
        limits=admission.limits,
        runs_at_once=not admission.replayed and not admission.depth and len(requests) == 1,
    )


def _jobs_of_choices(job: Job, requests: Sequence[ParsedRequest], created_at: int) -> list[Job]:
    """The jobs of all choices, of which `job` is the first. Only that one has the Idempotency-Key."""
    jobs = [job]
    for request, id in zip(requests[1:], job_ids(job.id, len(requests))[1:], strict=True):
        replaced = job if request is requests[0] else replace_generation(job, request)
        echo = encode_metadata(request, created_at)
        jobs.append(replace(replaced, id=id, echo=echo, idempotency_key=None, body_hash=None))
    return jobs


async def _admit_jobs(
    services: AppServices, jobs: Sequence[Job], reader: ResponseReader | None, turn: NextTurn | None
) -> Admission:
    """Admit the jobs of all choices. Returns the admission of the first one.

    That one comes last: the Idempotency-Key is used up when all others are admitted.
    """
    ledger = services[AsyncLedger]
    for index, job in (*enumerate(jobs[1:], 1), (0, jobs[0])):
        # before the admission, so that not even the first event is missed
        cursor = None if reader is None else reader.follow(services[EventSubscriber], job.id, index)
        admission = await (ledger.admit(job) if turn is None else turn.admit(ledger, job))
        if admission.wants_load:
            services[DemandLooker].wake()
        if cursor is not None:
            cursor.on_admitted()
    return admission


async def _follow_earlier(
    services: AppServices, first: str, tenant: str, count: int, reader: ResponseReader | None
) -> int:
    """Follow the choices of the request that used the Idempotency-Key before, from their first events.

    Returns the time of that request in Unix seconds.
    """
    created_at = 0
    for choice, id in enumerate(job_ids(first, count)):
        row = await services[AsyncLedger].lookup(id, tenant)
        if row is None:
            raise NotFound("the response for this Idempotency-Key no longer exists", param="Idempotency-Key")
        created_at = created_at if choice else decode_metadata(row).created_at
        if reader is not None:
            await follow_from_start(services, reader, id, choice)
    return created_at


async def cancel_jobs(
    services: AppServices, ids: Sequence[str], tenant: str, *, disconnected: bool = False
) -> None:
    """Cancel the jobs of an answer that has no reader any more; those that have ended stay as they are.

    So do those that were detached meanwhile, if the reason is that the client has `disconnected`.
    """
    for id in ids:
        try:
            await services[AsyncLedger].cancel(id, tenant, disconnected=disconnected)
        except StokerError as error:
            # Redis may be unreachable: the ledger's own deadline ends a response without a reader
            logger.warning("a response whose client is gone cannot be cancelled: %s", error.message)
