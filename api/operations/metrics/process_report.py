"""Reports the gauges and the counts of this API process to Redis, once a second.

A report that was not answered is repeated with its number, so that it counts once. What was counted since is
in the next one. A process that is killed loses the counts of its last second.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sized

from api.http.polling import until_next_tick
from api.http.refused_requests import REFUSED_REQUESTS
from api.http.rejection_counts import REJECTIONS, TENANT_ERRORS, TENANT_REJECTIONS
from scheduler import LUA, counters
from scheduler.counters import CounterStore, TenantCode
from scheduler.request_history import RefusedRequest
from store.async_connection import AsyncConnection
from store.calls import Call
from store.errors import StokerError
from store.scripts import AsyncScripts

logger = logging.getLogger("api")

INTERVAL_S = 1.0


class ProcessReport:
    """The reports of one process; `streams` are its open streams."""

    def __init__(self, connection: AsyncConnection, store: CounterStore, prefix: str, streams: Sized) -> None:
        self._scripts = AsyncScripts(connection, prefix, LUA)
        self._store = store
        self._streams = streams
        self._process = secrets.token_hex(8)
        self._number = 1
        self._counts: dict[str, int] = {}
        self._refused: dict[TenantCode, int] = {}
        self._errors: dict[TenantCode, int] = {}
        self._requests: list[RefusedRequest] = []
        self._loop_lag_s = 0.0
        self.connections: Sized = ()
        """The server's open connections; the server sets it."""

    async def run(self) -> None:
        """Report until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + until_next_tick(INTERVAL_S)
            await asyncio.sleep(due - loop.time())
            self._loop_lag_s = max(0.0, loop.time() - due)
            try:
                self._collect()
                await self._scripts.execute(self._report())
            except StokerError as error:
                logger.debug("%s", error.message)  # others warn of it; the report is repeated
            else:
                self._confirm()

    def finish(self) -> None:
        """Report for the last time, when the process ends; `run` was cancelled before."""
        try:
            # a report whose reply is on its way may have arrived: its repeat counts nothing
            self._store.execute(self._report())
            self._confirm()
            self._collect()
            self._store.execute(self._report())
        except StokerError as error:
            logger.warning("the last counts of this process are lost: %s", error.message)

    def current(self) -> dict[str, float]:
        """The gauges of this process."""
        return {
            "connections": len(self.connections),
            "streams": len(self._streams),
            "loop_lag_s": round(self._loop_lag_s, 6),
        }

    def _report(self) -> Call[None]:
        return counters.report(
            self._process,
            self._number,
            self.current(),
            self._counts,
            self._refused,
            self._requests,
            self._store.history,
            self._errors,
        )

    def _collect(self) -> None:
        if not self._counts and not self._refused:
            self._counts = {f"refusals {code}": count for code, count in REJECTIONS.take().items()}
            self._refused = dict(TENANT_REJECTIONS.take())
            self._errors = dict(TENANT_ERRORS.take())
            self._requests = REFUSED_REQUESTS.take()

    def _confirm(self) -> None:
        self._number += 1
        self._counts, self._refused, self._errors, self._requests = {}, {}, {}, []
