"""Answers a request to compact a conversation: an ordinary job, whose text becomes a compaction item.

The job is stored like a response, so that a repeat under its Idempotency-Key gets the same answer.
"""

from __future__ import annotations

import time
from typing import Any

from flask import Response, request

from api.auth.caller import current_caller
from api.detached import DetachedResponse
from api.dialects import compaction
from api.dialects.base import ParsedRequest
from api.errors import NotFound
from api.measurements import measurement_headers
from api.sealed_summaries import SummarySeal
from api.server.client_connection import ClientConnection
from api.services import AppServices, current_services
from api.streaming.answers import send_error, send_json
from api.streaming.respond import GenerationExchange, failure_of, prepare
from api.streaming.response_readers import WholeReader
from scheduler.job import Job
from streams.events import End
from tasks.generation import Generation
from telemetry.request_ids import current_ids


def compact(body: dict[str, Any]) -> Response:
    """Parse and check the request, and detach. Raises `StokerError` when it is refused. Does no I/O."""
    services, caller, created_at = current_services(), current_caller(), int(time.time())
    parsed, job, is_checked = prepare(
        services,
        caller,
        compaction,
        body,
        request,
        created_at,
        takes_documents=True,
        takes_previous_response=True,
    )
    if (ids := current_ids.get()) is not None:
        ids.model, ids.response_id = job.model, job.id
    seal = SummarySeal(services.cache_namespaces, caller.tenant.name)
    exchange = CompactionExchange(services, seal, parsed, job, created_at, is_checked=is_checked)
    return DetachedResponse(exchange.serve)


class CompactionExchange(GenerationExchange):
    """One request to compact a conversation, from its admission to its answer."""

    __slots__ = ("_seal",)

    def __init__(  # noqa: PLR0913 - all that a request consists of
        self,
        services: AppServices,
        seal: SummarySeal,
        parsed: ParsedRequest,
        job: Job,
        created_at: int,
        *,
        is_checked: bool,
    ) -> None:
        super().__init__(services, compaction, parsed, job, created_at, is_checked=is_checked)
        self._seal = seal

    async def _serve(self, connection: ClientConnection) -> None:
        reader = WholeReader(connection, self._services.settings)
        metadata = await self._follow(reader)
        if reader.disconnected:
            return
        events = reader.events()
        end = events[-1]
        assert isinstance(end, End)  # noqa: S101 - the reader is done
        headers = measurement_headers(end)
        if (error := failure_of(end, compaction)) is not None:
            send_error(connection, error, headers, compaction.error_body)
            return
        asked = await self._stored_request(metadata.id)
        send_json(connection, compaction.compacted(metadata, events, asked, self._seal.seal), headers=headers)

    async def _stored_request(self, id: str) -> Generation:
        """The request of the job, which an earlier request may have made. Raises `NotFound`."""
        found = await self._services.async_ledger.lookup_with_generation(id, self._tenant)
        if found is None or found[1] is None:
            raise NotFound("the compaction was deleted before its answer", param="id")
        return Generation.from_json(found[1])
