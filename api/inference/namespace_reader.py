"""Keeps one API process's cache namespaces up to date: before it serves, then twice a second and when woken.

Each reading also reports which version of the epochs the process uses, since a flush waits for that.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import redis

from api.http.polling import until_next_tick
from governance.cache_namespaces import CacheNamespaces, new_secret
from store.async_connection import AsyncConnection
from store.calls import Call
from store.errors import StokerError
from store.script_arguments import NamedArguments
from store.scripts import AsyncScripts, Scripts, unchanged

logger = logging.getLogger("api")

PERIOD_S = 0.5
FORGOTTEN_US = 60_000_000
"""A process that has not read for this long is removed from the list of the readers."""

WAKE = b"epochs"
"""What `begin_flush.lua` publishes to the subscriber of each reader."""

FAILURES = (StokerError, redis.RedisError, OSError)

LUA = Path(__file__).parent / "lua"


class NamespaceReader:
    """Reads the secret and the epochs from Redis. Unreachable, it is asked again in the next period."""

    def __init__(
        self,
        namespaces: CacheNamespaces,
        client: redis.Redis,
        connection: AsyncConnection,
        prefix: str,
        process: str,
    ) -> None:
        """`client` is used outside of the loop, `connection` by the coroutine.

        `process` is the name of the process's subscriber, whose channel the readers are woken by.
        """
        self._namespaces = namespaces
        self._scripts = Scripts(client, prefix, LUA)
        self._async_scripts = AsyncScripts(connection, prefix, LUA)
        self._process = process
        self._woken = asyncio.Event()

    def read(self) -> None:
        """Read once, in the calling thread, so that the first request has its namespace."""
        try:
            while True:
                began = time.monotonic()
                reply = self._scripts.execute(self._read())
                if self._adopt(reply, began):
                    return
        except FAILURES as error:
            logger.warning("prefix caches are not used until Redis answers: %s", error)

    async def run(self) -> None:
        """Read in every period, and when woken. Runs until it is cancelled."""
        is_current = True
        while True:
            if is_current:
                # not `wait_for`, which would end after the other polls have sent their commands
                timer = asyncio.get_running_loop().call_later(until_next_tick(PERIOD_S), self._woken.set)
                try:
                    await self._woken.wait()
                finally:
                    timer.cancel()
            self._woken.clear()
            began = time.monotonic()
            try:
                is_current = self._adopt(await self._async_scripts.execute(self._read()), began)
            except FAILURES as error:
                is_current = True
                logger.debug("the cache epochs could not be read: %s", error)

    def wake(self) -> None:
        """Read at once. On the event loop."""
        self._woken.set()

    def finish(self) -> None:
        """Leave the list of the readers, when the process ends; `run` was cancelled before."""
        with suppress(*FAILURES):
            self._scripts.client.hdel(f"{self._scripts.prefix}epoch_readers", self._process)

    def _read(self) -> Call[Any]:
        arguments: NamedArguments = {
            "process": self._process,
            "version": self._namespaces.version or "",
            "secret": new_secret(),
            "max_age_us": FORGOTTEN_US,
        }
        return Call("read_epochs", arguments, unchanged)

    def _adopt(self, reply: Sequence[Any], read_at: float) -> bool:
        """Use what was read. False if the epochs are new: another reading reports that they are used."""
        secret, _version, *changed = reply
        if not changed:
            self._namespaces.confirm(secret, read_at)
            return True
        (items,) = changed
        self._namespaces.adopt(secret, dict(zip(items[::2], items[1::2], strict=True)), read_at)
        return False
