"""Answers a request for a generation: as a stream, in one piece, or at once with an id to fetch it by.

The view checks the request and detaches; everything that waits runs on the event loop.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from flask import Request, Response

from api.access.caller import Caller, current_caller
from api.http.answers import send_error, send_json
from api.http.detached import DetachedResponse
from api.http.errors import InvalidRequest, error_from_end
from api.http.open_streams import OpenStreams
from api.http.server.client_connection import ClientConnection
from api.http.server.while_connected import while_connected
from api.http.shutdown_flag import ShutdownFlag
from api.http.stoker_flask import current_request
from api.inference import capabilities
from api.inference.admission import Admitted, admit, earlier_admission
from api.inference.answer.large_reads import ConversationJoins, LogReads
from api.inference.answer.queue_notes import QueueNotes
from api.inference.answer.response_readers import ResponseReader, StreamingReader, WholeReader
from api.inference.answer.stored_response import read_events
from api.inference.catalogue_follower import CatalogueFollower
from api.inference.conversations.turns import NextTurn, with_conversation
from api.inference.dialects.base import Dialect, ParsedRequest, ResponseMetadata
from api.inference.dialects.measurements import NOT_RUN, measurement_headers
from api.inference.dialects.output import final_status
from api.inference.dialects.sealed_summaries import SummarySeal
from api.inference.make_job import make_job, with_generation, with_service_tier
from api.inference.responses.previous_response import with_previous_response
from api.services import AppServices, current_services
from config.limits import Limits, limits_of
from config.settings import Settings
from fleet.catalogue import unknown_model
from fleet.fleet import Fleet
from governance.cache_namespaces import CacheNamespaces
from scheduler.job import Admission, Job
from scheduler.ledger import AsyncLedger
from store.errors import Rejected, StokerError
from streams.events import End, Event
from streams.subscriber import EventSubscriber
from telemetry.request_ids import current_ids

logger = logging.getLogger("api")


def generate(
    dialect: Dialect,
    body: dict[str, Any],
    several: type[GenerationExchange] | None = None,
    one: type[GenerationExchange] | None = None,
) -> Response:
    """Parse and check the request, and detach. Raises `StokerError` when it is refused. Does no I/O.

    `several` serves requests for more than one choice, `one` the others; None: `GenerationExchange`.
    """
    services = current_services()
    created_at = int(time.time())
    parsed, job, is_checked = prepare(
        services,
        current_caller(),
        dialect,
        body,
        current_request(),
        created_at,
        takes_documents=True,
        takes_choices=True,
        takes_previous_response=True,
    )
    if (ids := current_ids.get()) is not None:
        ids.model, ids.response_id = job.model, job.id
    kind = (one if parsed.choices == 1 else several) or GenerationExchange
    exchange = kind(services, dialect, parsed, job, created_at, is_checked=is_checked)
    return DetachedResponse(exchange.serve)


def prepare(  # noqa: PLR0913, PLR0917 - all that a request consists of
    services: AppServices,
    caller: Caller,
    dialect: Dialect,
    body: dict[str, Any],
    request: Request,
    created_at: int,
    *,
    takes_documents: bool = False,
    takes_choices: bool = False,
    takes_previous_response: bool = False,
) -> tuple[ParsedRequest, Job, bool]:
    """The parsed request, its job, and whether it was checked against its model.

    It was not if this process does not know the model: it may have been loaded a moment ago. Raises
    `StokerError`; does no I/O. With `takes_documents` the caller admits the job by
    `api.inference.admission.admit`, which puts the text of documents into it; otherwise such a request is
    refused. So is one for several choices without `takes_choices`: the job is that of the first. So is one
    that continues a response or a conversation without `takes_previous_response`: the caller reads what comes
    before, which the job lacks.
    """
    parsed = dialect.parse(body)
    if parsed.documents and not takes_documents:
        raise InvalidRequest(
            "files whose text must be extracted are not supported here: send their text",
            code="unsupported_input",
            param=parsed.documents[0].param,
        )
    if parsed.choices > 1 and not takes_choices:
        raise InvalidRequest(
            "only one answer is supported here: leave out n, and send one prompt",
            code="unsupported_parameter",
            param="n" if parsed.n > 1 else "prompt",
        )
    if parsed.previous_response_id is not None and not takes_previous_response:
        raise InvalidRequest(
            "a response cannot be continued here: send the whole conversation",
            code="unsupported_parameter",
            param="previous_response_id",
        )
    if parsed.conversation_id is not None and not takes_previous_response:
        raise InvalidRequest(
            "a conversation cannot be continued here: send all of it",
            code="unsupported_parameter",
            param="conversation",
        )
    if parsed.summaries:
        parsed = SummarySeal(services[CacheNamespaces], caller.tenant.name).opened(parsed)
    if parsed.service_tier is not None:
        caller, parsed = with_service_tier(caller, parsed, request)
    caller.check_model(parsed.generation.model)
    model = services[Fleet].catalogue.get(parsed.generation.model)
    if model is not None:
        parsed = capabilities.check(model, parsed)
    elif not services[Fleet].catalogue.may_exist(parsed.generation.model):
        raise unknown_model(parsed.generation.model)
    job = make_job(
        dialect,
        parsed,
        caller,
        request,
        created_at=created_at,
        subscriber=services[EventSubscriber].name if parsed.is_streaming_or_waiting else None,
        namespaces=services[CacheNamespaces],
        limits=limits_of(
            caller.tenant, services[Settings], several_tenants=services[OpenStreams].several_tenants
        ),
    )
    return parsed, job, model is not None


class GenerationExchange:
    """One request for a generation, from its admission to its answer.

    The prompt is dropped when the job is admitted: a response may run for minutes. A request that is not
    `is_checked` names a model that this process did not know: it may have been loaded a moment ago.
    """

    __slots__ = (
        "_created_at",
        "_dialect",
        "_earlier",
        "_id",
        "_is_background",
        "_is_checked",
        "_is_stored",
        "_is_streamed",
        "_request",
        "_services",
        "_tenant",
        "_turn",
    )

    def __init__(  # noqa: PLR0913 - all that a request consists of
        self,
        services: AppServices,
        dialect: Dialect,
        parsed: ParsedRequest,
        job: Job,
        created_at: int,
        *,
        is_checked: bool = True,
    ) -> None:
        self._services = services
        self._dialect = dialect
        self._created_at = created_at
        self._id, self._tenant = job.id, job.tenant
        self._is_background, self._is_streamed = parsed.background, parsed.stream
        self._is_stored = job.store
        self._is_checked = is_checked
        self._earlier: Admission | None = None
        self._turn: NextTurn | None = None
        self._request: tuple[ParsedRequest, Job] | None = (parsed, job)

    async def serve(self, connection: ClientConnection) -> None:
        """Admit the job and answer, with an error if it is refused."""
        try:
            if not self._is_checked and self._request is not None:
                parsed, job = self._request
                model = await self._services[CatalogueFollower].definition(parsed.generation.model)
                fitted = capabilities.check(model, parsed)
                if fitted is not parsed:
                    self._request = fitted, with_generation(job, fitted)
            await self._prepare(connection)
            await self._serve(connection)
        except StokerError as error:
            limits = error.limits if isinstance(error, Rejected) else ()
            headers = {**NOT_RUN, **self._dialect.limit_headers(limits)}
            send_error(connection, error, headers, self._dialect.error_body)

    async def _prepare(self, connection: ClientConnection) -> None:
        """Find out whether the request is a repeat; otherwise read what it continues."""
        assert self._request is not None  # noqa: S101 - it is not admitted yet
        self._earlier = await earlier_admission(self._services, *self._request)
        parsed, job = self._request
        if self._earlier is None and (parsed.previous_response_id or parsed.conversation_id):
            joining = self._join(parsed, job)
            await (joining if self._is_background else while_connected(connection, joining))

    async def _join(self, parsed: ParsedRequest, job: Job) -> None:
        """Read what the request continues."""
        await self._services[AsyncLedger].check_limits(job)
        async with self._services[ConversationJoins].hold(job.tenant, len(job.generation)):
            parsed, job = await with_previous_response(self._services, parsed, job)
            parsed, job, self._turn = await with_conversation(self._services, parsed, job)
        self._request = parsed, job

    async def _serve(self, connection: ClientConnection) -> None:
        if self._is_streamed:
            await self._follow(StreamingReader(connection, self._services[Settings]))
        elif self._is_background:
            await self._answer_at_once(connection)
        else:
            whole = WholeReader(connection, self._services[Settings])
            metadata = await self._follow(whole)
            if not whole.disconnected:
                await self._answer_whole(whole, metadata)

    async def _answer_at_once(self, connection: ClientConnection) -> None:
        admitted = await self._admit(connection, None)
        if not admitted.replayed:
            self._send(connection, admitted.metadata, [])
            return
        async with self._services[LogReads].hold(self._tenant):
            events = await read_events(self._services, admitted.metadata.id)
            self._send(connection, admitted.metadata, events)

    def _send(self, connection: ClientConnection, metadata: ResponseMetadata, events: list[Event]) -> None:
        headers = measurement_headers(events[-1]) if events and isinstance(events[-1], End) else None
        send_json(connection, self._dialect.response_object(metadata, events, "queued"), headers=headers)

    async def _follow(self, reader: ResponseReader) -> ResponseMetadata:
        """Admit the job, and return when its response has ended or the client has disconnected.

        A disconnect cancels the response, unless it runs in the background or an earlier request has created
        it. A process that stops disconnects its clients, and they can fetch what is stored.
        """
        survives = self._is_background
        limits = self._limits()
        streams = self._services[OpenStreams]
        with streams.hold(reader, self._tenant, limits):
            try:
                admitted = await self._admit(reader.connection, reader)
                survives = survives or admitted.replayed
                with streams.count_reader(admitted.metadata.id, limits):
                    if isinstance(reader, StreamingReader) and not reader.disconnected:
                        self._begin(reader, admitted)
                        self._services[QueueNotes].watch(
                            reader, admitted.metadata.id, admitted.metadata.model
                        )
                    await reader.done
            except StokerError:
                survives = True  # there is no response
                raise
            finally:
                reader.close()
                if isinstance(reader, StreamingReader):
                    self._services[QueueNotes].forget(reader)
                survives = survives or (self._is_stored and not self._services[ShutdownFlag].is_running())
                if not (reader.has_ended or survives):
                    await self._cancel()
        return admitted.metadata

    def _begin(self, reader: StreamingReader, admitted: Admitted) -> None:
        reader.begin(self._dialect.stream_renderer(admitted.metadata), self._dialect.FRAMING)

    def _limits(self) -> Limits | None:
        return self._request[1].limits if self._request is not None else None

    async def _admit(self, connection: ClientConnection, reader: ResponseReader | None) -> Admitted:
        assert self._request is not None  # noqa: S101 - a request is admitted once
        parsed, job = self._request
        turn, self._request, self._turn = self._turn, None, None
        admitted = await admit(self._services, parsed, job, self._created_at, reader, self._earlier, turn)
        if admitted.limits:
            connection.headers = {**connection.headers, **self._dialect.limit_headers(admitted.limits)}
        return admitted

    async def _cancel(self) -> None:
        try:
            await self._services[AsyncLedger].cancel(self._id, self._tenant)
        except StokerError:
            # Redis may be unreachable: the ledger's own deadline ends a response without a reader
            logger.warning("could not cancel a response whose client is gone", exc_info=True)

    async def _answer_whole(self, reader: WholeReader, metadata: ResponseMetadata) -> None:
        events = reader.events()
        end = events[-1]
        assert isinstance(end, End)  # noqa: S101 - the reader is done
        error = failure_of(end, self._dialect)
        if error is not None:
            send_error(reader.connection, error, measurement_headers(end), self._dialect.error_body)
            return
        body = await self._whole_object(metadata, events)
        send_json(reader.connection, body, headers=measurement_headers(end))

    async def _whole_object(self, metadata: ResponseMetadata, events: list[Event]) -> dict[str, Any]:
        """The answer in one piece. Raises `StokerError`."""
        return self._dialect.response_object(metadata, events)


def failure_of(end: End, dialect: Dialect) -> StokerError | None:
    """The error that a response with this end is answered with as a whole; None if it has an object."""
    status = final_status(end)
    if status == "failed" or (status == "cancelled" and not dialect.HAS_CANCELLED_STATUS):
        return error_from_end(end)
    return None
