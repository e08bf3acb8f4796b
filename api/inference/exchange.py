"""Answers a request for a generation: as a stream, in one piece, or at once with an id to fetch it by.

The view checks the request and detaches; everything that waits runs on the event loop.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from flask import Response

from api.access.caller import current_caller
from api.http.answers import TextAnswer, send_error, send_json, send_whole
from api.http.detached import DetachedResponse
from api.http.open_streams import OpenStreams
from api.http.paced_answer import PacedAnswer
from api.http.server.client_connection import ClientConnection
from api.http.server.while_connected import while_connected
from api.http.shutdown_flag import ShutdownFlag
from api.http.stoker_flask import current_request
from api.inference import capabilities
from api.inference.admission import Admitted, admit_request, cancel_jobs, find_earlier, job_ids
from api.inference.answer.large_reads import ConversationJoins, LogReads
from api.inference.answer.queue_notes import QueueNotes
from api.inference.answer.response_readers import ResponseReader, WholeReader
from api.inference.answer.stored_response import read_events
from api.inference.answer.streaming_reader import StreamingReader
from api.inference.answer.vector_answer import VectorAnswer
from api.inference.catalogue_follower import CatalogueFollower
from api.inference.conversations.item_references import load_references
from api.inference.conversations.previous_response import load_previous_response
from api.inference.conversations.turns import NextTurn, load_conversation
from api.inference.dialects.base import (
    ChoicesDialect,
    Dialect,
    ParsedRequest,
    ResponseMetadata,
    StreamRenderer,
    failure_of,
)
from api.inference.dialects.choices import joined_end
from api.inference.dialects.ignored_tools import ignored_tools_header
from api.inference.dialects.measurements import NOT_RUN, early_headers, measurement_headers
from api.inference.llama_server.state_replicas import place_state
from api.inference.make_job import cache_mode_for, replace_generation
from api.inference.parse_request import parse_request
from api.services import AppServices, current_services
from config.settings import Settings
from scheduler.job import Admission, Job
from scheduler.ledger import AsyncLedger
from store.errors import Rejected, StokerError
from streams.events import End, Event, TokensDelta, Usage, VectorDelta
from telemetry.request_ids import current_ids

LoadObject = Callable[
    [AppServices, str, ResponseMetadata, list[Event]], Awaitable[dict[str, Any] | TextAnswer | PacedAnswer]
]
"""Makes the answer of an ended response of its tenant, its metadata and its events. Raises `StokerError`."""


MakeReader = Callable[[ClientConnection, AppServices, str], StreamingReader]
"""Makes the reader of a streamed answer with one choice, of a tenant."""


def generate(dialect: Dialect, body: dict[str, Any], load_object: LoadObject | None = None) -> Response:
    """Parse and check the request, and detach. Raises `StokerError` when it is refused. Does no I/O.

    `load_object` is for an answer in one piece that takes more than its events; None: the dialect makes it.
    """
    exchange, _ = make_exchange(dialect, body, load_object)
    return DetachedResponse(exchange.answer)


def make_exchange(
    dialect: Dialect,
    body: dict[str, Any],
    load_object: LoadObject | None = None,
    make_reader: MakeReader | None = None,
) -> tuple[GenerationExchange, Job]:
    """Parse and check the request; the exchange answers it. See `generate`.

    `make_reader` is for a stream that takes more than its events; None: they are rendered as they come.
    """
    services = current_services()
    created_at = int(time.time())
    parsed, job, is_checked = parse_request(
        services,
        current_caller(),
        dialect,
        body,
        current_request(),
        created_at,
    )
    if (ids := current_ids.get()) is not None:
        ids.model, ids.response_id = job.model, job.id
    exchange = GenerationExchange(
        services,
        dialect,
        parsed,
        job,
        created_at,
        is_checked=is_checked,
        load_object=load_object,
        make_reader=make_reader,
        may_reuse=cache_mode_for(parsed, current_request().headers) != "none",
    )
    return exchange, job


class GenerationExchange:
    """One request for a generation, from the admission of its jobs, one for each choice, to its answer.

    A choice that fails, or is refused, fails the request and cancels the others. The prompt is dropped when
    the jobs are admitted: a response may run for minutes. A request that is not `is_checked` names a model
    that this process did not know: it may have been loaded a moment ago. `may_reuse`: an engine may use
    cached prefixes.
    """

    __slots__ = (
        "_answers_json",
        "_count",
        "_created_at",
        "_dialect",
        "_earlier",
        "_id",
        "_is_background",
        "_is_checked",
        "_is_detached",
        "_is_stored",
        "_is_streamed",
        "_load_object",
        "_make_reader",
        "_may_reuse",
        "_n",
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
        load_object: LoadObject | None = None,
        make_reader: MakeReader | None = None,
        may_reuse: bool = True,
    ) -> None:
        self._services = services
        self._dialect = dialect
        self._load_object = load_object
        self._make_reader = make_reader
        self._may_reuse = may_reuse
        self._created_at = created_at
        self._id, self._tenant = job.id, job.tenant
        self._count, self._n = parsed.choices, parsed.n
        self._answers_json = parsed.answers_json
        self._is_background, self._is_streamed = parsed.background, parsed.stream
        self._is_stored, self._is_detached = job.store, job.detached
        self._is_checked = is_checked
        self._earlier: Admission | None = None
        self._turn: NextTurn | None = None
        self._request: tuple[ParsedRequest, Job] | None = (parsed, job)

    async def answer(self, connection: ClientConnection) -> None:
        """Admit the jobs and answer, with an error if one is refused."""
        assert self._request is not None  # noqa: S101 - it is not admitted yet
        if conversation := self._request[1].resume_id:
            connection.headers = {**connection.headers, "X-Conversation-Id": conversation}
        if ignored := self._request[0].ignored_tools:
            connection.headers = {**connection.headers, **ignored_tools_header(ignored)}
        try:
            await self._load_context(connection)
            await self._send_answer(connection)
        except StokerError as error:
            limits = error.limits if isinstance(error, Rejected) else ()
            headers = {**NOT_RUN, **self._dialect.limit_headers(limits)}
            send_error(connection, error, headers, self._dialect.error_body)

    # ---- before the admission

    async def _load_context(self, connection: ClientConnection) -> None:
        """Load what the request needs: its model's definition, an earlier admission, what it continues."""
        assert self._request is not None  # noqa: S101 - it is not admitted yet
        parsed, job = self._request
        if not self._is_checked:
            model = await self._services[CatalogueFollower].definition(parsed.generation.model)
            fitted = capabilities.check(model, parsed)
            if fitted is not parsed:
                parsed, job = fitted, replace_generation(job, fitted)
        if (state := parsed.generation.state) is not None:
            parsed, job = await place_state(self._services, parsed, job, state)
            self._count = parsed.choices
        job, self._earlier = await find_earlier(self._services, parsed, job)
        self._request = parsed, job
        if self._earlier is None and (
            parsed.previous_response_id or parsed.conversation_id or parsed.has_references
        ):
            loading = self._load_conversation(parsed, job)
            await (loading if self._is_background else while_connected(connection, loading))

    async def _load_conversation(self, parsed: ParsedRequest, job: Job) -> None:
        """Load what the request continues."""
        await self._services[AsyncLedger].check_limits(job)
        async with self._services[ConversationJoins].hold(job.tenant, len(job.generation)):
            parsed, job = await load_references(self._services, parsed, job)
            parsed, job = await load_previous_response(self._services, parsed, job)
            parsed, job, self._turn = await load_conversation(self._services, parsed, job)
        self._request = parsed, job

    async def _admit_jobs(self, connection: ClientConnection, reader: ResponseReader | None) -> Admitted:
        assert self._request is not None  # noqa: S101 - a request is admitted once
        parsed, job = self._request
        turn, self._request, self._turn = self._turn, None, None
        admitted = await admit_request(
            self._services, parsed, job, self._created_at, reader, self._earlier, turn
        )
        if admitted.limits:
            connection.headers = {**connection.headers, **self._dialect.limit_headers(admitted.limits)}
        return admitted

    # ---- the answer

    async def _send_answer(self, connection: ClientConnection) -> None:
        settings = self._services[Settings]
        if self._is_streamed:
            if self._make_reader is not None:
                reader = self._make_reader(connection, self._services, self._tenant)
            else:
                reader = StreamingReader(connection, settings, self._count, n=self._n)
            await self._follow_logs(reader)
        elif self._is_background:
            await self._send_before_end(connection)
        else:
            whole = WholeReader(connection, settings, self._count, is_json=self._answers_json)
            admitted = await self._follow_logs(whole)
            if not whole.disconnected:
                await self._send_whole(whole, admitted.choices)

    async def _send_before_end(self, connection: ClientConnection) -> None:
        """Answer with the response as it is when it was admitted."""
        admitted = await self._admit_jobs(connection, None)
        metadata = admitted.choices[0]
        if not admitted.replayed:
            self._send_response(connection, metadata, [])
            return
        async with self._services[LogReads].hold(self._tenant):
            events = await read_events(self._services, metadata.id)
            if self._load_object is None:
                self._send_response(connection, metadata, events)
            else:
                send_json(connection, await self._load_object(self._services, self._tenant, metadata, events))

    def _send_response(
        self, connection: ClientConnection, metadata: ResponseMetadata, events: list[Event]
    ) -> None:
        headers = measurement_headers(events[-1]) if events and isinstance(events[-1], End) else None
        send_json(connection, self._dialect.response_object(metadata, events, "queued"), headers=headers)

    async def _follow_logs(self, reader: ResponseReader) -> Admitted:
        """Admit the jobs, and return when their responses have ended or the client has disconnected.

        A disconnect cancels the jobs, unless they run in the background or are detached, or an earlier
        request has created them. A process that stops disconnects its clients, and they can fetch what is
        stored.
        """
        survives = self._is_background or self._is_detached
        limits = self._request[1].limits if self._request is not None else None
        streams = self._services[OpenStreams]
        with streams.hold(reader, self._tenant, limits):
            try:
                admitted = await self._admit_jobs(reader.connection, reader)
                survives = survives or admitted.replayed
                first = admitted.choices[0]
                with streams.count_reader(first.id, limits):
                    if isinstance(reader, StreamingReader) and not reader.disconnected:
                        await self._begin_stream(reader, admitted)
                    await reader.done
            except StokerError:
                survives = survives or self._count == 1  # no job was admitted; of several choices some may be
                raise
            finally:
                reader.close()
                if isinstance(reader, StreamingReader):
                    self._services[QueueNotes].forget(reader)
                survives = survives or (self._is_stored and not self._services[ShutdownFlag].is_running())
                if not (reader.has_ended or survives):
                    ids = job_ids(self._id, self._count)
                    await cancel_jobs(self._services, ids, self._tenant, disconnected=True)
        return admitted

    async def _begin_stream(self, reader: StreamingReader, admitted: Admitted) -> None:
        headers = await self._known_headers(reader, admitted)
        if not reader.disconnected:
            reader.begin(self._renderers(admitted.choices), self._dialect.FRAMING, headers)
            self._services[QueueNotes].watch(reader, admitted.choices[0].id, admitted.choices[0].model)

    async def _known_headers(self, reader: StreamingReader, admitted: Admitted) -> dict[str, str]:
        """What is known of a stream's measurements when its head is sent.

        With `api.head_after_first_token` the head waits for the first token, and one read of Redis finds how
        long a request waited that was queued.
        """
        settings = self._services[Settings].api
        waited_ms = 0 if admitted.runs_at_once else None
        if settings.head_after_first_token:
            await reader.wait_for_output(settings.keep_alive_s)
            if (end := reader.early_end()) is not None:
                return measurement_headers(end)
            if waited_ms is None and reader.has_output and self._count == 1:
                waited_ms = await self._services[AsyncLedger].wait_ms(admitted.choices[0].id)
        return early_headers(waited_ms=waited_ms, may_reuse=self._may_reuse)

    def _renderers(self, choices: Sequence[ResponseMetadata]) -> Sequence[StreamRenderer]:
        if len(choices) == 1:
            return [self._dialect.stream_renderer(choices[0])]
        return cast("ChoicesDialect", self._dialect).choice_renderers(choices, self._n)

    async def _send_whole(self, reader: WholeReader, choices: Sequence[ResponseMetadata]) -> None:
        logs = reader.logs()
        ends = [log[-1] for log in logs if log and isinstance(log[-1], End)]
        for end in ends:
            error = failure_of(end, self._dialect)
            if error is not None:
                send_error(reader.connection, error, measurement_headers(end), self._dialect.error_body)
                return
        joined = joined_end(ends, self._n)
        body = await self._whole_object(choices, logs, joined)
        headers = measurement_headers(joined)
        if isinstance(logs[0][0], (VectorDelta, TokensDelta)):
            reader.restart()  # the events that it holds are as large as the answer
            await VectorAnswer(body, headers, self._tenant, self._services).send(reader.connection)
        elif isinstance(body, PacedAnswer):
            body.add_headers(headers)
            await body.serve(self._services[OpenStreams], self._tenant, None, reader.connection)
        else:
            send_whole(reader.connection, body, headers)

    async def _whole_object(
        self, choices: Sequence[ResponseMetadata], logs: Sequence[list[Event]], joined: End
    ) -> Any:
        """The answer in one piece. Raises `StokerError`."""
        if self._load_object is not None:
            return await self._load_object(self._services, self._tenant, choices[0], logs[0])
        if len(choices) == 1:
            return self._dialect.response_object(choices[0], logs[0])
        dialect = cast("ChoicesDialect", self._dialect)
        return dialect.choices_object(list(zip(choices, logs, strict=True)), joined.usage or Usage())
