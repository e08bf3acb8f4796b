"""Ends the waits for responses while Redis refuses all writes, as with a full disk: no event can come.

While clients wait, the process tries to write every few seconds, however many they are. A refusal that lasts
is passed on to them; shorter ones (a failover) only delay their answers. The jobs go on: their workers write
the ends when Redis accepts them, and a stored response can be read then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from api.http.open_streams import OpenStreams
from api.http.polling import sleep_until_tick
from api.inference.answer.response_readers import ResponseReader
from store.errors import StokerError
from store.redis_errors import refuses_all_writes

logger = logging.getLogger("api")

PERIOD_S = 5.0
PATIENCE_S = 30.0
"""How long Redis may refuse writes before a client gets the error."""


class StoreWatch:
    """Knows since when Redis refuses all writes. For the event loop's thread only."""

    def __init__(self, streams: OpenStreams, write: Callable[[], None]) -> None:
        """`write` tries to write, in another thread. Raises `StokerError`."""
        self._streams = streams
        self._write = write
        self._refused_since: float | None = None

    async def run(self) -> None:
        """Look every few seconds until cancelled."""
        while True:
            await sleep_until_tick(PERIOD_S)
            try:
                await self.look(asyncio.get_running_loop().time())
            except Exception:
                logger.exception("it is not known whether Redis accepts writes")

    async def look(self, now: float) -> None:
        """Try to write if a client waits; end all waits if that has failed for `PATIENCE_S`.

        `now` is the loop's clock.
        """
        error = await asyncio.to_thread(self._refusal) if len(self._streams) else None
        if error is None:
            self._refused_since = None
            return
        if self._refused_since is None:
            self._refused_since = now
        if now - self._refused_since < PATIENCE_S:
            return
        for stream in self._streams.all():
            if isinstance(stream, ResponseReader):
                stream.refuse(error)

    def _refusal(self) -> StokerError | None:
        try:
            self._write()
        except StokerError as error:
            return error if refuses_all_writes(error) else None
        return None
