"""Takes the claims that the ledger pushes to this worker's claim list."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from redis.exceptions import RedisError

from config.settings import Settings
from scheduler.commands import decode_claim
from scheduler.job import Claim
from store.async_connection import AsyncConnection

logger = logging.getLogger("workers")

BLOCK_S = 2
"""How long one blocking read waits in Redis. An answer that is overdue shows that the connection is dead."""

REPLY_MARGIN_S = 2.0
MAX_CLAIMS = 8
"""In one reply. A claim holds a whole request, so a longer reply might not arrive within the time limit."""

RETRY_DELAYS_S = (0.02, 0.1, 0.3, 1.0)


class ClaimIntake:
    """Holds one blocking read on the claim list `key`, and passes on the claims that are there.

    `begin` receives the claims. `recover` is called after each failure: claims that were taken from the list,
    and did not begin, have to be asked for.
    """

    def __init__(
        self,
        settings: Settings,
        key: str,
        begin: Callable[[Sequence[Claim]], None],
        recover: Callable[[], object],
    ) -> None:
        self._connection = AsyncConnection(settings, BLOCK_S + REPLY_MARGIN_S)
        self._command = ("BLMPOP", BLOCK_S, 1, key, "LEFT", "COUNT", MAX_CLAIMS)
        self._begin = begin
        self._recover = recover

    async def run(self) -> None:
        """Take claims until this coroutine is cancelled. Goes on after errors of every kind."""
        failures = 0
        try:
            while True:
                try:
                    if failures:
                        self._recover()
                    messages = await self._take()
                    if messages:
                        self._begin([decode_claim(message) for message in messages])
                except (RedisError, OSError) as error:
                    if failures == 0:
                        logger.warning("no claims can be taken: %s", error)
                except Exception:
                    logger.exception("claims could not be begun")
                else:
                    failures = 0
                    continue
                await asyncio.sleep(RETRY_DELAYS_S[min(failures, len(RETRY_DELAYS_S) - 1)])
                failures += 1
        finally:
            await self._connection.close()

    async def _take(self) -> list[bytes]:
        (reply,) = await self._connection.exchange([self._command])
        if isinstance(reply, Exception):
            raise reply
        return reply[1] if reply else []
