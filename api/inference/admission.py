"""Admits the job of a request to the ledger, after the text of its documents was put into it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from api.http.errors import NotFound
from api.http.server.while_connected import while_connected
from api.inference.answer.response_readers import ResponseReader
from api.inference.answer.stored_response import decode_metadata, follow_from_start
from api.inference.conversations.turns import NextTurn
from api.inference.dialects.base import ParsedRequest, ResponseMetadata
from api.inference.documents.completion import DocumentReader
from api.inference.make_job import with_generation
from api.services import AppServices
from api.webhooks.sender import WebhookSender
from scheduler.job import Admission, Job
from scheduler.ledger import AsyncLedger
from store.limit_state import LimitState
from streams.subscriber import EventSubscriber


@dataclass(frozen=True, slots=True)
class Admitted:
    """An admitted response. `replayed`: an earlier request created it. `limits`: what its tenant has left."""

    metadata: ResponseMetadata
    replayed: bool = False
    limits: tuple[LimitState, ...] = ()


async def with_documents(
    services: AppServices, parsed: ParsedRequest, job: Job, reader: ResponseReader | None
) -> tuple[ParsedRequest, Job]:
    """The request and its job with the text of its documents. A client that disconnects ends the reading."""
    if not parsed.documents:
        return parsed, job
    reading = services[DocumentReader].complete(parsed, job.tenant)
    parsed = await (reading if reader is None else while_connected(reader.connection, reading))
    return parsed, with_generation(job, parsed)


async def earlier_admission(services: AppServices, parsed: ParsedRequest, job: Job) -> Admission | None:
    """The admission that used the job's Idempotency-Key, of a request that has more to do than `admit`.

    So a repeat neither reads documents nor an earlier response, nor admits further choices. None for any
    other request: `admit` finds out. Raises `IdempotencyConflict`, `StorageUnavailable`.
    """
    if (
        parsed.documents
        or parsed.choices > 1
        or parsed.previous_response_id is not None
        or parsed.conversation_id is not None
        or (parsed.background and services[WebhookSender].wants(job.tenant))
    ):
        return await services[AsyncLedger].earlier(job)
    return None


async def admit(  # noqa: PLR0913, PLR0917 - all that an admission consists of
    services: AppServices,
    parsed: ParsedRequest,
    job: Job,
    created_at: int,
    reader: ResponseReader | None,
    earlier: Admission | None = None,
    turn: NextTurn | None = None,
) -> Admitted:
    """Admit the job, unless there is an `earlier` one; `reader` follows its response. Raises `Rejected`.

    A repeat under the same Idempotency-Key gets the earlier response, from its first event. The text of
    documents is read before; a client that disconnects meanwhile ends that. `turn` is that of a response in
    its conversation.
    """
    admission = earlier
    if admission is None:
        parsed, job = await with_documents(services, parsed, job, reader)
        if parsed.background and services[WebhookSender].wants(job.tenant):
            await services[WebhookSender].enter(job)
        # before the admission, so that not even the first event is missed
        cursor = None if reader is None else reader.follow(services[EventSubscriber], job.id)
        ledger = services[AsyncLedger]
        admission = await (ledger.admit(job) if turn is None else turn.admit(ledger, job))
        if cursor is not None:
            cursor.on_admitted()
    if not admission.replayed:
        metadata = ResponseMetadata(job.id, created_at, job.model, parsed.echo)
        return Admitted(metadata, limits=admission.limits)
    row = await services[AsyncLedger].lookup(admission.id, job.tenant)
    if row is None:
        raise NotFound("the response for this Idempotency-Key no longer exists", param="Idempotency-Key")
    if reader is not None:
        await follow_from_start(services, reader, row.id)
    # the ledger drops the echo of a response that is not stored; an equal body has an equal echo
    metadata = replace(decode_metadata(row), echo=parsed.echo)
    return Admitted(metadata, replayed=True, limits=admission.limits)
