"""Reads a response that the ledger holds: its events so far, and those to come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from api.http.answers import send_json
from api.http.open_streams import OpenStreams
from api.http.server.client_connection import ClientConnection
from api.inference.answer.large_reads import LogReads
from api.inference.answer.queue_notes import QueueNotes
from api.inference.answer.response_readers import EndReader, ResponseReader
from api.inference.answer.streaming_reader import StreamingReader
from api.inference.dialects.base import Dialect, ResponseMetadata, decode_metadata
from api.inference.dialects.measurements import measurement_headers
from api.services import AppServices
from config.limits import Limits
from config.settings import Settings
from scheduler.job import JobRow, Status
from scheduler.ledger import AsyncLedger
from store.async_connection import AsyncConnection
from store.scripts import redis_errors_translated
from streams.events import End, Event, decode_all
from streams.log import read_log
from streams.subscriber import EventSubscriber

ObjectOf = Callable[[ResponseMetadata, list[Event], str], dict[str, Any]]
"""Makes the object of a response; the last argument is its status if it has not ended. Does no I/O."""

CANCEL_TIMEOUT_S = 2.0
"""How long `wait_for_end` waits for a cancelled response to end. Its worker is notified at once, or learns of
the cancellation at its next heartbeat."""


async def follow_from_start(services: AppServices, reader: ResponseReader, id: str, choice: int = 0) -> None:
    """Let the reader follow a response that may have many events already, as that choice of its answer.

    Raises `StorageUnavailable`.
    """
    cursor = reader.follow(services[EventSubscriber], id, choice)
    await services[AsyncLedger].subscribe(id, services[EventSubscriber].name)
    cursor.catch_up()


@contextmanager
def reading(services: AppServices, reader: ResponseReader, row: JobRow, limits: Limits) -> Iterator[None]:
    """Count a reader of a response during the block. Raises `ServerBusy` or `TooManyStreams`."""
    streams = services[OpenStreams]
    with streams.hold(reader, row.tenant, limits), streams.count_reader(row.id, limits):
        try:
            yield
        finally:
            reader.close()


async def stream_from_start(
    services: AppServices, reader: StreamingReader, row: JobRow, dialect: Dialect, limits: Limits
) -> None:
    """Stream a response from its first event to its end. Raises as `reading`, and `StorageUnavailable`."""
    with reading(services, reader, row, limits):
        try:
            await follow_from_start(services, reader, row.id)
            reader.begin([dialect.stream_renderer(decode_metadata(row))], dialect.FRAMING)
            services[QueueNotes].watch(reader, row.id, row.model)
            await reader.done
        finally:
            services[QueueNotes].forget(reader)


async def read_events(services: AppServices, id: str) -> list[Event]:
    """The events that are in the log now. Raises `StorageUnavailable`."""
    with redis_errors_translated():
        return decode_all(await read_log(services[AsyncConnection], services[Settings].redis.prefix, id))


async def send_stored(
    services: AppServices, connection: ClientConnection, row: JobRow, object_of: ObjectOf
) -> None:
    """Answer with the object of a response as it is now, and with its measurements once it has ended.

    Raises `StorageUnavailable`.
    """
    async with services[LogReads].hold(row.tenant):
        events = await read_events(services, row.id)
        pending = "queued" if row.status is Status.QUEUED else "in_progress"
        body = object_of(decode_metadata(row), events, pending)
        end = events[-1] if events else None
        send_json(connection, body, headers=measurement_headers(end) if isinstance(end, End) else None)


async def wait_for_end(
    services: AppServices, connection: ClientConnection, row: JobRow, limits: Limits
) -> None:
    """Wait until the response has ended, its log is lost, or CANCEL_TIMEOUT_S have passed.

    Raises `ServerBusy`, `TooManyStreams` or `StorageUnavailable`.
    """
    reader = EndReader(connection, services[Settings])
    with reading(services, reader, row, limits):
        await follow_from_start(services, reader, row.id)
        await asyncio.wait([reader.done], timeout=CANCEL_TIMEOUT_S)
