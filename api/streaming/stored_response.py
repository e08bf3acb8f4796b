"""Reads a response that the ledger holds: its metadata, its events so far, and those to come."""

from __future__ import annotations

import time
from typing import Any

import orjson

from api.dialects.base import ParsedRequest, ResponseMetadata
from api.services import AppServices
from scheduler.job import JobRow
from scheduler.scripts import redis_errors_translated
from streams.events import End, Event
from streams.log import read
from streams.subscriber import LogCursor

CANCEL_TIMEOUT_S = 2.0
"""How long `wait_for_end` waits for a cancelled response to end. Its worker is notified at once, or learns of
the cancellation at its next heartbeat."""


def encode_metadata(parsed: ParsedRequest, created_at: int) -> bytes:
    """The metadata that is stored with a job, to render its response again: creation time and echo."""
    return orjson.dumps({"at": created_at, "echo": parsed.echo})


def decode_metadata(row: JobRow) -> ResponseMetadata:
    """The metadata of a response in the ledger, equal to the metadata of its first rendering."""
    stored: dict[str, Any] = orjson.loads(row.echo)
    return ResponseMetadata(row.id, stored.get("at", int(row.created_at)), row.model, stored.get("echo", {}))


def follow_from_start(services: AppServices, id: str) -> LogCursor:
    """A cursor at the first event of a response that may have many already."""
    cursor = services.subscriber.subscribe(id)
    try:
        services.ledger.subscribe(id, services.subscriber.name)
    except BaseException:
        cursor.close()
        raise
    cursor.catch_up()
    return cursor


def read_events(services: AppServices, response_id: str) -> list[Event]:
    """The events that are in the log now. Raises `StorageUnavailable`."""
    with redis_errors_translated():
        return [
            event for _, event in read(services.subscriber.client, services.subscriber.prefix, response_id)
        ]


def wait_for_end(services: AppServices, response_id: str) -> list[Event]:
    """The events up to the end, or those in the log after CANCEL_TIMEOUT_S. Raises `StorageUnavailable`."""
    deadline = time.monotonic() + CANCEL_TIMEOUT_S
    with follow_from_start(services, response_id) as cursor:
        events = read_events(services, response_id)
        while not (events and isinstance(events[-1], End)) and (left := deadline - time.monotonic()) > 0:
            cursor.next(left)
            events = read_events(services, response_id)
    return events
