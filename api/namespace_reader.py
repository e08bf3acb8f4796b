"""Keeps one API process's cache namespaces up to date: once before it serves, then twice a second."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Sequence
from typing import Any

import redis

from governance.cache_namespaces import CacheNamespaces, Command
from scheduler.async_connection import AsyncConnection
from scheduler.redis_connections import connections_of

logger = logging.getLogger("api")

PERIOD_S = 0.5
FAILURES = (redis.RedisError, OSError)


class NamespaceReader:
    """Reads the secret and the epochs from Redis. Unreachable, it is asked again in the next period."""

    def __init__(self, namespaces: CacheNamespaces, client: redis.Redis, connection: AsyncConnection) -> None:
        """`client` is used before the loop runs, `connection` by the coroutine."""
        self._namespaces = namespaces
        self._client = client
        self._connection = connection

    def read(self) -> None:
        """Read once, in the calling thread, so that the first request has its namespace."""
        reading = self._namespaces.reading()
        commands: Sequence[Command] | None = next(reading)
        try:
            while commands is not None:
                replies = connections_of(self._client).exchange(commands)
                commands = _send(reading, replies)
        except FAILURES as error:
            logger.warning("prefix caches are not used until Redis answers: %s", error)

    async def run(self) -> None:
        """Read in every period. Runs until it is cancelled."""
        while True:
            await asyncio.sleep(PERIOD_S)
            reading = self._namespaces.reading()
            commands: Sequence[Command] | None = next(reading)
            try:
                while commands is not None:
                    replies = await self._connection.exchange(commands)
                    commands = _send(reading, replies)
            except FAILURES as error:
                logger.debug("the cache epochs could not be read: %s", error)


def _send(
    reading: Generator[Sequence[Command], list[Any], None], replies: list[Any]
) -> Sequence[Command] | None:
    """Pass replies on, and return the next commands; None at the end. Raises a reply that is an error."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    try:
        return reading.send(replies)
    except StopIteration:
        return None
