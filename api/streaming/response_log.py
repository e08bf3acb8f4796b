"""What a response has said so far, read without waiting for more, or nearly."""

from __future__ import annotations

import time

from api.admission import join
from api.services import AppServices
from scheduler.scripts import redis_errors_translated
from streams.events import End, Event
from streams.log import read

PATIENCE_S = 2.0
"""How long a cancelled response may take to end: its worker hears of it at the next heartbeat."""


def read_events(here: AppServices, id: str) -> list[Event]:
    """The events that are in the log now. Raises `StorageUnavailable`."""
    with redis_errors_translated():
        return [event for _, event in read(here.subscriber.client, here.subscriber.prefix, id)]


def wait_for_end(here: AppServices, id: str) -> list[Event]:
    """The events up to the end, for which it waits a little. Raises `StorageUnavailable`."""
    deadline = time.monotonic() + PATIENCE_S
    with join(here, id) as cursor:
        events = read_events(here, id)
        while not (events and isinstance(events[-1], End)) and (left := deadline - time.monotonic()) > 0:
            cursor.next(left)
            events = read_events(here, id)
    return events
