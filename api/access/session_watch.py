"""Ends the open streams of the pages for operators: after the end of a session, after its longest time, and
when its admin part was not used for too long. An answer under way goes on to its end.

A stream is no use of its session: a page that is left alone is signed out of the admin part. Once a second
the process asks Redis for the sessions that have a stream, and for its time, by which they end; without a
stream it sends nothing.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from api.access.session_store import ADMIN_IDLE_S
from api.http.polling import sleep_until_tick
from store.async_connection import AsyncConnection
from store.errors import StokerError
from store.scripts import redis_errors_translated, without_errors

logger = logging.getLogger("api")

POLL_S = 1.0


class SessionWatch:
    """Knows which of the sessions with streams have ended. For the event loop's thread only."""

    def __init__(self, connection: AsyncConnection, prefix: str) -> None:
        self._connection = connection
        self._prefix = f"{{{prefix}}}:session:"
        self._streams: Counter[str] = Counter()
        self._ended: set[str] = set()

    @contextmanager
    def hold(self, session: str | None) -> Iterator[None]:
        """Watch this session (the digest of its token) while a stream of it is open; None: nothing."""
        if session is None:
            yield
            return
        self._streams[session] += 1
        try:
            yield
        finally:
            self._streams[session] -= 1
            if not self._streams[session]:
                del self._streams[session]
                self._ended.discard(session)

    def is_live(self, session: str) -> bool:
        """Whether a watched session still has its admin part, as of the last look."""
        return session not in self._ended

    async def run(self) -> None:
        """Look once a second until cancelled. While Redis is unreachable the streams stay."""
        while True:
            await sleep_until_tick(POLL_S)
            try:
                await self.poll()
            except StokerError:
                continue  # the registry's own reading reports that Redis is unreachable
            except Exception:
                logger.exception("changes of sessions cannot be followed")

    async def poll(self) -> None:
        """Ask for all sessions with streams. Raises `StorageUnavailable`."""
        watched = list(self._streams)
        if not watched:
            return
        commands = [("HMGET", self._prefix + session, "admin_used_us", "ends_us") for session in watched]
        with redis_errors_translated():
            replies = await self._connection.exchange([("TIME",), *commands])
            (seconds, microseconds), *sessions = without_errors(replies)
        now_us = int(seconds) * 1_000_000 + int(microseconds)
        for session, (used_us, ends_us) in zip(watched, sessions, strict=True):
            is_idle = used_us is None or float(used_us) < now_us - ADMIN_IDLE_S * 1e6
            if (is_idle or (ends_us is not None and float(ends_us) <= now_us)) and session in self._streams:
                self._ended.add(session)
