"""Reads the event log of a response: one Redis Stream per response, event n has the entry id `n-0`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams.events import Event, decode

PAGE = 1000
"""Entries per read."""


class StreamLost(Exception):
    """Raised when a response's event log no longer exists."""


def log_key(prefix: str, id: str) -> str:
    """Return the Redis key of a response's log."""
    return f"{{{prefix}}}:log:{id}"


def read(client: Any, prefix: str, id: str, after: int = 0) -> Iterator[tuple[int, Event]]:
    """Yield (number, event) for the entries after number `after` that exist now, in order."""
    while True:
        entries = client.xrange(log_key(prefix, id), f"({after}-0" if after else "-", "+", count=PAGE)
        for entry_id, fields in entries:
            after = int(entry_id.split(b"-")[0])
            yield after, decode(fields[b"e"])
        if len(entries) < PAGE:
            return
