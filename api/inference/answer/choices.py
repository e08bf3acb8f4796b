"""Answers a request for several choices: a job for each, and one answer made of all.

A choice that fails, or is refused, fails the request and cancels the others. The id of the answer is that of
the first choice's job; the other jobs have it with `-1`, `-2` ... behind it.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import cast

from api.http.answers import send_error, send_json
from api.http.errors import NotFound, error_from_end
from api.http.server.client_connection import ClientConnection
from api.inference.admission import Admitted, with_documents
from api.inference.answer.choice_readers import ChoicesReader, StreamingChoicesReader, WholeChoicesReader
from api.inference.answer.respond import GenerationExchange
from api.inference.answer.response_readers import ResponseReader, StreamingReader
from api.inference.answer.stored_response import decode_metadata, encode_metadata
from api.inference.dialects import choices
from api.inference.dialects.base import ChoicesDialect, Dialect, ParsedRequest, ResponseMetadata
from api.inference.dialects.measurements import measurement_headers
from api.inference.make_job import with_generation
from api.services import AppServices
from config.settings import Settings
from scheduler.job import Admission, Job
from scheduler.ledger import AsyncLedger
from store.errors import StokerError
from streams.events import End, Usage
from streams.subscriber import EventSubscriber

logger = logging.getLogger("api")


def job_id(first: str, index: int) -> str:
    """The id of a choice's job."""
    return f"{first}-{index}" if index else first


class ChoicesExchange(GenerationExchange):
    """One request for several choices, from its admission to its answer, in a `ChoicesDialect`."""

    __slots__ = ("_choices", "_count", "_ids", "_n")

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
        super().__init__(services, dialect, parsed, job, created_at, is_checked=is_checked)
        self._count, self._n = parsed.choices, parsed.n
        self._ids: list[str] = []
        self._choices: list[ResponseMetadata] = []

    @property
    def _choices_dialect(self) -> ChoicesDialect:
        return cast("ChoicesDialect", self._dialect)

    async def _prepare(self, connection: ClientConnection) -> None:
        """See `GenerationExchange._prepare`: a repeat runs again unless each choice has a result."""
        await super()._prepare(connection)
        assert self._request is not None  # noqa: S101 - it is not admitted yet
        if (earlier := self._earlier) is None:
            return
        ids = [job_id(earlier.id, index) for index in range(1, self._count)]
        if not await self._services[AsyncLedger].have_results(ids):
            parsed, job = self._request
            self._request = parsed, replace(job, replaces=earlier.id)
            self._earlier = None

    async def _serve(self, connection: ClientConnection) -> None:
        settings = self._services[Settings]
        if self._is_streamed:
            await self._follow(StreamingChoicesReader(connection, settings, self._count, self._n))
            return
        reader = WholeChoicesReader(connection, settings, self._count)
        await self._follow(reader)
        if not reader.disconnected:
            self._answer_choices(reader)

    def _begin(self, reader: StreamingReader, admitted: Admitted) -> None:
        assert isinstance(reader, StreamingChoicesReader)  # noqa: S101 - see `_serve`
        dialect = self._choices_dialect
        reader.begin_choices(
            [dialect.choice_renderer(metadata, index) for index, metadata in enumerate(self._choices)],
            lambda usage: dialect.last_frames(admitted.metadata, usage),
            dialect.FRAMING,
        )

    def _answer_choices(self, reader: WholeChoicesReader) -> None:
        logs = reader.logs()
        if reader.failed is not None:
            headers = measurement_headers(reader.failed)
            error = error_from_end(reader.failed)
            send_error(reader.connection, error, headers, self._dialect.error_body)
            return
        end = choices.joined_end([log[-1] for log in logs if isinstance(log[-1], End)], self._n)
        body = self._choices_dialect.choices_object(
            list(zip(self._choices, logs, strict=True)), end.usage or Usage()
        )
        send_json(reader.connection, body, headers=measurement_headers(end))

    async def _admit(self, connection: ClientConnection, reader: ResponseReader | None) -> Admitted:
        assert self._request is not None  # noqa: S101 - a request is admitted once
        assert isinstance(reader, ChoicesReader)  # noqa: S101 - see `_serve`
        parsed, job = self._request
        self._request = None
        if self._earlier is None:
            parsed, job = await with_documents(self._services, parsed, job, reader)
        requests = choices.split(parsed)
        admission = self._earlier or await self._admit_new(reader, requests, job)
        created_at = self._created_at
        if admission.replayed:
            created_at = await self._follow_earlier(reader, admission.id)
        self._choices = [ResponseMetadata(admission.id, created_at, job.model, one.echo) for one in requests]
        if admission.limits:
            connection.headers = {**connection.headers, **self._dialect.limit_headers(admission.limits)}
        return Admitted(self._choices[0], replayed=admission.replayed, limits=admission.limits)

    async def _admit_new(self, reader: ChoicesReader, requests: list[ParsedRequest], job: Job) -> Admission:
        try:
            return await self._admit_all(reader, requests, job)
        except StokerError:
            await self._cancel()  # after any other exception `_follow` does it
            raise

    async def _admit_all(self, reader: ChoicesReader, requests: list[ParsedRequest], job: Job) -> Admission:
        """Admit the jobs of all choices. Returns the admission of the first one, which comes last.

        Only the first one has the Idempotency-Key: the key is used up when all others are admitted.
        """
        for index in (*range(1, self._count), 0):
            one = self._job_of_choice(job, index, requests[index], requests[0]) if index else job
            cursor = reader.follow_choice(
                self._services[EventSubscriber], index, one.id
            )  # before its first event
            self._ids.append(one.id)
            admission = await self._services[AsyncLedger].admit(one)
            cursor.on_admitted()
        return admission

    def _job_of_choice(self, job: Job, index: int, request: ParsedRequest, first: ParsedRequest) -> Job:
        """The job of a choice that is not the `first`, whose job is `job`."""
        return replace(
            job if request is first else with_generation(job, request),
            id=job_id(job.id, index),
            echo=encode_metadata(request, self._created_at),
            idempotency_key=None,
            body_hash=None,
        )

    async def _follow_earlier(self, reader: ChoicesReader, first: str) -> int:
        """Follow the choices of the request that used the Idempotency-Key before, from their first events.

        Returns the time of that request.
        """
        reader.close()
        await self._cancel()
        self._ids = []
        reader.forget_events()
        ledger, subscriber = self._services[AsyncLedger], self._services[EventSubscriber]
        created_at = self._created_at
        for index in range(self._count):
            id = job_id(first, index)
            row = await ledger.lookup(id, self._tenant)
            if row is None:
                raise NotFound(
                    "the response for this Idempotency-Key no longer exists", param="Idempotency-Key"
                )
            created_at = created_at if index else decode_metadata(row).created_at
            cursor = reader.follow_choice(subscriber, index, id)
            await ledger.subscribe(id, subscriber.name)
            cursor.catch_up()
        return created_at

    async def _cancel(self) -> None:
        for id in self._ids:
            try:
                await self._services[AsyncLedger].cancel(id, self._tenant)
            except StokerError:
                # Redis may be unreachable: the ledger's own deadline ends a response without a reader
                logger.warning("could not cancel a choice of a request that has ended", exc_info=True)
