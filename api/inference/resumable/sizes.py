"""How many bytes streams have. They are counted by rendering, as far as that was not done before."""

from __future__ import annotations

from collections import OrderedDict

from api.inference.answer.large_reads import LogReads
from api.inference.answer.stored_response import read_events
from api.inference.dialects.base import is_whole
from api.inference.resumable.rendering import StreamSize, whole_answer
from api.services import AppServices
from config.settings import Settings
from scheduler.job import JobRow
from store.async_connection import AsyncConnection
from store.scripts import redis_errors_translated
from streams.log import WHOLE_PAGE, entries_of, page_command

MAX_LIVE, MAX_LIVE_BYTES = 64, 16 * 1024 * 1024
"""Streams whose count is kept with the renderer, which has the whole text."""

MAX_ENDED = 4096


class StreamSizes:
    """Counts the bytes of streams, and keeps the counts. For the event loop's thread only."""

    def __init__(self, services: AppServices) -> None:
        self._services = services
        self._ended: OrderedDict[str, int] = OrderedDict()
        self._live: OrderedDict[str, StreamSize] = OrderedDict()

    async def size(self, row: JobRow) -> int:
        """How many bytes the answer has so far. Raises `StokerError`.

        A call that is cancelled keeps what it has counted. An answer in one piece has none before its end.
        """
        if (known := self._ended.get(row.id)) is not None:
            return known
        async with self._services[LogReads].hold(row.tenant):
            if is_whole(row):
                return await self._whole_size(row)
            counted = self._live.pop(row.id, None) or StreamSize(row)
            try:
                await self._count(row, counted)
            finally:
                self._keep(row.id, counted)
            return counted.bytes

    async def _whole_size(self, row: JobRow) -> int:
        if not row.status.is_terminal:
            return 0
        size = len(whole_answer(row, await read_events(self._services, row.id))[1])
        self._keep_ended(row.id, size)
        return size

    async def _count(self, row: JobRow, counted: StreamSize) -> None:
        prefix = self._services[Settings].redis.prefix
        connection = self._services[AsyncConnection]
        while not counted.is_final:
            with redis_errors_translated():
                (reply,) = await connection.exchange(
                    [page_command(prefix, row.id, counted.events, WHOLE_PAGE)]
                )
                if isinstance(reply, Exception):
                    raise reply
            page = entries_of(reply)
            for _, event in page:
                counted.add(event)
            if len(page) < WHOLE_PAGE:
                return

    def _keep(self, id: str, counted: StreamSize) -> None:
        if counted.is_final:
            self._keep_ended(id, counted.bytes)
            return
        self._live[id] = counted
        while len(self._live) > MAX_LIVE or sum(one.bytes for one in self._live.values()) > MAX_LIVE_BYTES:
            self._live.popitem(last=False)

    def _keep_ended(self, id: str, size: int) -> None:
        self._ended[id] = size
        while len(self._ended) > MAX_ENDED:
            self._ended.popitem(last=False)
