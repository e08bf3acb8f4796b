"""Reads the event log of a response: one Redis Stream per response, event n has the entry id `n-0`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

PAGE = 100
"""Entries per read while a client follows the log."""

PAGE_BYTES = 64 * 1024
"""A page of large events has fewer entries, about so many bytes together."""

WHOLE_PAGE = 1000
"""Entries per read of a whole log."""

Command = tuple[Any, ...]


class CommandConnection(Protocol):
    """Runs commands on Redis; `store.async_connection.AsyncConnection` fulfils it."""

    async def exchange(self, commands: Sequence[Command]) -> list[Any]:
        """Send all commands in one round trip and return their replies; a refused command's is its error."""
        ...


class StreamLost(Exception):
    """Raised when a response's event log no longer exists."""


def log_key(prefix: str, id: str) -> str:
    """Return the Redis key of a response's log."""
    return f"{{{prefix}}}:log:{id}"


def page_command(prefix: str, id: str, after: int, count: int) -> Command:
    """The command that reads up to `count` entries after number `after`."""
    return "XRANGE", log_key(prefix, id), f"({after}-0" if after else "-", "+", "COUNT", count


def entries_of(reply: list[Any]) -> list[tuple[int, bytes]]:
    """The (number, encoded event) pairs in the reply to `page_command`."""
    return [(int(entry_id[: entry_id.index(b"-")]), fields[1]) for entry_id, fields in reply]


def length_commands(prefix: str, id: str) -> tuple[Command, Command]:
    """The commands that read a response's status and time of its end, and the number of its latest event."""
    return ("HMGET", f"{{{prefix}}}:job:{id}", "status", "ended_us"), ("XLEN", log_key(prefix, id))


async def read_log(connection: CommandConnection, prefix: str, id: str) -> list[bytes]:
    """Return the encoded events that are in the log now. Raises redis-py's errors."""
    events: list[bytes] = []
    after, is_complete = 0, False
    while not is_complete:
        (reply,) = await connection.exchange([page_command(prefix, id, after, WHOLE_PAGE)])
        if isinstance(reply, Exception):
            raise reply
        page = entries_of(reply)
        events += [event for _, event in page]
        is_complete = len(page) < WHOLE_PAGE
        after = after if is_complete else page[-1][0]
    return events
