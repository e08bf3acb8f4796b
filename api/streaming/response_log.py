"""What a response has said so far, read without waiting for more, or nearly."""

from __future__ import annotations

import time

from api.admission import join
from api.services import Rooms
from scheduler.scripts import translated
from streams.events import End, Event
from streams.log import read

PATIENCE_S = 2.0
"""How long a cancelled response may take to end: its worker hears of it at the next beat."""


def said(here: Rooms, id: str) -> list[Event]:
    """The events that are in the log now. Raises `StorageUnavailable`."""
    with translated():
        return [event for _, event in read(here.inbox.client, here.inbox.prefix, id)]


def last_words(here: Rooms, id: str) -> list[Event]:
    """The events up to the end, for which it waits a little. Raises `StorageUnavailable`."""
    deadline = time.monotonic() + PATIENCE_S
    with join(here, id) as tail:
        events = said(here, id)
        while not (events and isinstance(events[-1], End)) and (left := deadline - time.monotonic()) > 0:
            tail.next(left)
            events = said(here, id)
    return events
