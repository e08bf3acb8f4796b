"""Twice a second, what waits enters the audit chain, and the file of this host follows the chain of all
hosts.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from api.http.polling import sleep_until_tick
from governance.audit import AuditLog
from store.async_connection import AsyncConnection
from store.errors import StokerError
from store.scripts import redis_errors_translated, without_errors

logger = logging.getLogger("api")

POLL_S = 0.5


class AuditSync:
    """Calls `AuditLog.sync` in a thread whenever something waits, or the chain's end has changed."""

    def __init__(self, audit: AuditLog, connection: AsyncConnection) -> None:
        self._audit = audit
        self._connection = connection
        self._synced: Any = None

    async def run(self) -> None:
        """Follow the chain until cancelled."""
        while True:
            try:
                await self.poll()
            except StokerError:
                self._synced = None  # Redis is away, which others report; afterwards it may be empty
            except Exception:
                logger.exception("the audit chain cannot be followed")
            await sleep_until_tick(POLL_S)

    async def poll(self) -> None:
        """Ask Redis what waits, and where the chain ends. Raises `StorageUnavailable`."""
        store = self._audit.store
        with redis_errors_translated():
            waiting, end = without_errors(
                await self._connection.exchange(
                    [("XLEN", store.pending_key), ("XREVRANGE", store.chain_key, "+", "-", "COUNT", 1)]
                )
            )
        if waiting or end != self._synced:
            # what follows is written by another call, which finds the end that this one has read
            self._synced = end if await asyncio.to_thread(self._audit.sync) else None
