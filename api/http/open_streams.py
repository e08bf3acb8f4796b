"""The open streams of one API process, which are all requests that wait: bounded, and swept together."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Protocol

from api.http.errors import TooManyStreams
from config.limits import Limits
from store.errors import ServerBusy

logger = logging.getLogger("api")

SWEEP_S = 1.0

MAX_FILES = 128
"""Files that streams read, beside their connections: half of the descriptors that are no client's."""


class OpenStream(Protocol):
    """A request that waits. Hashable by identity."""

    def sweep(self, now: float) -> None:
        """Do what is due at the time `now` (the loop's clock): a keep-alive, or the end of the wait."""
        ...


class OpenStreams:
    """At most `limit` streams; of one tenant at most half of them, if several tenants are configured.

    A tenant's own limits bound its streams, and the readers of one of its responses, too.

    For the event loop's thread only.
    Streams have no timers of their own: one sweep calls them all.
    """

    def __init__(self, limit: int, keep_alive_s: float, *, several_tenants: bool) -> None:
        self.limit = limit
        self.several_tenants = several_tenants
        """Tenants can be added while the process runs."""
        self._of_tenant: Counter[str] = Counter()
        self._of_response: Counter[str] = Counter()
        self._files: Counter[str] = Counter()
        self._interval_s = min(SWEEP_S, keep_alive_s)
        self._streams: set[OpenStream] = set()

    def __len__(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    def hold_file(self, tenant: str) -> Held:
        """Count an open file of a tenant's stream during the block. Raises `ServerBusy` at a limit."""
        return Held(partial(self._add_file, tenant), partial(_count_down, self._files, tenant))

    def _add_file(self, tenant: str) -> None:
        most = MAX_FILES // 2 if self.several_tenants else MAX_FILES
        if self._files.total() >= MAX_FILES or self._files[tenant] >= most:
            raise ServerBusy("this server has reached its limit of downloads", retry_after_s=2)
        self._files[tenant] += 1

    def hold(self, stream: OpenStream, tenant: str, limits: Limits | None = None) -> Held:
        """Count and sweep the tenant's stream during the block.

        Raises `ServerBusy` at a limit of this process, `TooManyStreams` at the tenant's own.
        """
        return Held(partial(self._add, stream, tenant, limits), partial(self._remove, stream, tenant))

    def _add(self, stream: OpenStream, tenant: str, limits: Limits | None) -> None:
        most = limits.max_streams if limits is not None else None
        if most is not None and self._of_tenant[tenant] >= most:
            raise TooManyStreams(
                f"Tenant {tenant} has reached its limit of {most} clients that wait or stream",
                retry_after_s=2,
            )
        if len(self._streams) >= self.limit:
            raise ServerBusy(
                "this server has reached its limit of clients that wait or stream", retry_after_s=2
            )
        if self.several_tenants and self._of_tenant[tenant] >= max(1, self.limit // 2):
            raise ServerBusy(
                "this server has reached its limit of clients of one tenant that wait or stream",
                retry_after_s=2,
            )
        self._streams.add(stream)
        self._of_tenant[tenant] += 1

    def _remove(self, stream: OpenStream, tenant: str) -> None:
        self._streams.discard(stream)
        _count_down(self._of_tenant, tenant)

    def count_reader(self, response: str, limits: Limits | None) -> Held:
        """Count a client that reads a response during the block. Raises `TooManyStreams`."""
        return Held(partial(self._add_reader, response, limits), partial(self._remove_reader, response))

    def _add_reader(self, response: str, limits: Limits | None) -> None:
        if limits is not None and self._of_response[response] >= limits.max_readers:
            raise TooManyStreams(
                f"response {response} has reached its limit of {limits.max_readers} readers", retry_after_s=2
            )
        self._of_response[response] += 1

    def _remove_reader(self, response: str) -> None:
        _count_down(self._of_response, response)

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            await asyncio.sleep(self._interval_s)
            self.sweep(asyncio.get_running_loop().time())

    def all(self) -> list[OpenStream]:
        """The open streams at this moment."""
        return list(self._streams)

    def sweep(self, now: float) -> None:
        """Call all streams."""
        for stream in list(self._streams):
            try:
                stream.sweep(now)
            except Exception:
                logger.exception("a stream failed")


class Held:
    """A block of `OpenStreams.hold` or `count_reader`: two calls, which cost less than a generator."""

    __slots__ = ("_begin", "_end")

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin, self._end = begin, end

    def __enter__(self) -> None:
        """Begin. Raises what the method raises that made the block."""
        self._begin()

    def __exit__(self, *_: object) -> None:
        """End, however the block ended."""
        self._end()


def _count_down(counter: Counter[str], name: str) -> None:
    counter[name] -= 1
    if not counter[name]:
        del counter[name]
