"""Sends records of the audit chain, a line each, a page at a time and as fast as the client reads."""

from __future__ import annotations

import asyncio

from api.server.client_connection import ClientConnection
from api.streaming.open_streams import OpenStreams
from governance.audit.selection import STEP, Selection

MAX_EXPORTED = 10_000
"""The lines of one answer; the next one begins after the number of the last line."""

HEADERS = {"Content-Type": "application/x-ndjson"}


class AuditExport:
    """One answer: up to `limit` lines of a selection, behind the record `after`."""

    def __init__(self, selection: Selection, after: int | None, limit: int) -> None:
        self._selection = selection
        self._after = after
        self._left = limit
        self._changed = asyncio.Event()
        self._is_gone = False

    def sweep(self, now: float) -> None:
        """See `OpenStream.sweep`: a page needs no keep-alive."""

    async def serve(self, streams: OpenStreams, tenant: str, connection: ClientConnection) -> None:
        """Answer the client. Raises `ServerBusy`, and `StorageUnavailable` before the first line."""
        connection.on_disconnect(self._disconnected)
        connection.on_writable(self._changed.set)
        with streams.hold(self, tenant):
            lines, more = await self._next_lines()
            connection.begin(200, HEADERS)
            connection.write(lines)
            while more and not self._is_gone:
                while not connection.writable and not self._is_gone:
                    self._changed.clear()
                    await self._changed.wait()
                lines, more = await self._next_lines()
                connection.write(lines)
            connection.end()

    async def _next_lines(self) -> tuple[bytes, bool]:
        limit = min(self._left, STEP)
        page = await asyncio.to_thread(self._selection.page, self._after, limit, STEP)
        self._after = page.cursor
        self._left -= len(page.records)
        lines = page.lines(newest_first=self._selection.newest_first)
        return b"".join(line + b"\n" for line in lines), page.cursor is not None and self._left > 0

    def _disconnected(self) -> None:
        self._is_gone = True
        self._changed.set()
