"""Sends records of the audit chain, a line each, a page at a time and as fast as the client reads."""

from __future__ import annotations

import asyncio

from api.http.paced_answer import PacedAnswer
from governance.audit.selection import STEP, Selection

MAX_EXPORTED = 10_000
"""The lines of one answer; the next one begins after the number of the last line."""

HEADERS = {"Content-Type": "application/x-ndjson"}


class AuditExport(PacedAnswer):
    """One answer: up to `limit` lines of a selection, behind the record `after`."""

    def __init__(self, selection: Selection, after: int | None, limit: int) -> None:
        super().__init__(HEADERS)
        self._selection = selection
        self._after = after
        self._left = limit
        self._has_more = True

    async def next_part(self) -> bytes | None:
        """The next page of lines; see `PacedAnswer.next_part`. Raises `StorageUnavailable`."""
        if not self._has_more:
            return None
        limit = min(self._left, STEP)
        page = await asyncio.to_thread(self._selection.page, self._after, limit, STEP)
        self._after = page.cursor
        self._left -= len(page.records)
        self._has_more = page.cursor is not None and self._left > 0
        return b"".join(line + b"\n" for line in page.lines(newest_first=self._selection.newest_first))
