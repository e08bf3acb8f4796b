"""Reads a response's event log: one Redis Stream per response, entry n has the id `n-0`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams.errors import StreamLost
from streams.events import End, Event, decode

PAGE = 1000


def log_key(prefix: str, id: str) -> str:
    """The key of a response's log."""
    return f"{{{prefix}}}:log:{id}"


def read(client: Any, prefix: str, id: str, after: int = 0) -> Iterator[tuple[int, Event]]:
    """Yield (number, event) of the entries after number `after` that are there now, in order."""
    while True:
        entries = client.xrange(log_key(prefix, id), f"({after}-0" if after else "-", "+", count=PAGE)
        for entry_id, fields in entries:
            after = int(entry_id.split(b"-")[0])
            yield after, decode(fields[b"e"])
        if len(entries) < PAGE:
            return


def read_ended(client: Any, prefix: str, id: str) -> list[Event]:
    """All events of an ended response. Raises `StreamLost` when the log does not end with an `End`."""
    events = [event for _, event in read(client, prefix, id)]
    if not events or not isinstance(events[-1], End):
        raise StreamLost(id)
    return events
