"""Admits large requests one after the other, over a connection of their own.

All other calls of a process share one connection, on which the replies come in the order of the commands: a
small request behind twenty bodies of 8 MB would wait until Redis has read 160 MB, and all of them longer than
a command may take.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from scheduler.job import Job
from store.errors import ServerBusy

LARGE_BYTES = 256 * 1024
"""The size from which a request is large. Redis reads and stores as much in a millisecond."""

MAX_WAITING_BYTES = 128 * 1024 * 1024
"""The bytes of all large requests of a process that are admitted or wait for their turn."""

MAX_TENANT_BYTES = MAX_WAITING_BYTES // 2
"""Of these, the bytes of one tenant."""

MAX_WAIT_S = 5.0


def size_of(job: Job) -> int:
    """The bytes that the admission of a job sends."""
    return len(job.generation) + len(job.echo)


class LargeAdmissions:
    """The large requests of one process. For the coroutines of one event loop only."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._bytes: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, job: Job) -> AsyncIterator[None]:
        """Hold the turn of a job during the block.

        Raises `ServerBusy` when too many bytes wait, or the turn has not come within MAX_WAIT_S.
        """
        with self._counted(job.tenant, size_of(job)):
            try:
                async with asyncio.timeout(MAX_WAIT_S):
                    await self._turn.acquire()
            except TimeoutError:
                raise _busy() from None
            try:
                yield
            finally:
                self._turn.release()

    @contextmanager
    def _counted(self, tenant: str, size: int) -> Iterator[None]:
        if self._bytes.total() + size > MAX_WAITING_BYTES or self._bytes[tenant] + size > MAX_TENANT_BYTES:
            raise _busy()
        self._bytes[tenant] += size
        try:
            yield
        finally:
            self._bytes[tenant] -= size
            if not self._bytes[tenant]:
                del self._bytes[tenant]


def _busy() -> ServerBusy:
    return ServerBusy("this API process is admitting too many large requests", retry_after_s=2)
