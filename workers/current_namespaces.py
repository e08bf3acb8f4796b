"""The cache namespaces as a worker last read them, and which namespaces its engines still have to keep.

A request keeps the namespace that it was admitted with. If its epochs were raised since, because it waited
in a queue during a flush or an API process had lost touch with Redis, its namespace is an old one: it would
leave something in the engine that no later request can reach. So the worker compares the namespace of each
request with the present one of its owner, and takes away one that differs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import redis

from generation.generation import CacheOwner, Generation
from governance.cache_namespaces import CacheNamespaces, read_all
from store.errors import StokerError
from store.scripts import redis_errors_translated

logger = logging.getLogger("workers")

MAX_SEEN = 4096
"""Of each replica, how many of the latest namespaces are remembered. Engines keep fewer prefixes than that,
or
evict the oldest; what belongs to a forgotten namespace is dropped by any flush."""

REREAD_S = 0.5
"""The shortest time between two readings because of requests whose namespace is not the present one."""


@dataclass(frozen=True, slots=True)
class ReadEpochs:
    """The secret and the epochs as they were at one moment.

    `asked_at` is when they were asked for, by time.monotonic().
    """

    secret: bytes
    epochs: Mapping[bytes, bytes]
    asked_at: float


class CurrentNamespaces:
    """All methods but `read` are for the worker's event loop."""

    def __init__(
        self,
        client: redis.Redis,
        prefix: str,
        loop: asyncio.AbstractEventLoop,
        replicas: Collection[str],
    ) -> None:
        """`replicas` are the names of the worker's replicas, at any time."""
        self._replicas = replicas
        self._client = client
        self._prefix = prefix
        self._loop = loop
        self._namespaces = CacheNamespaces()
        self._seen: dict[str, OrderedDict[str, tuple[str, CacheOwner, str | None]]] = {}
        self._asked_at = 0.0
        self._read_again_at = 0.0

    def read(self) -> ReadEpochs:
        """Read from Redis, in the calling thread. Raises `StorageUnavailable`."""
        asked_at = time.monotonic()
        with redis_errors_translated():
            return ReadEpochs(*read_all(self._client, self._prefix), asked_at)

    def adopt(self, read: ReadEpochs) -> None:
        """Use what was read from now on, unless something was adopted that was read later."""
        if read.asked_at >= self._asked_at:
            self._asked_at = read.asked_at
            self._namespaces.adopt(read.secret, read.epochs)

    def checked(self, replica: str, generation: Generation) -> Generation:
        """The generation for an engine: without its namespace unless that is the present one of its owner."""
        namespace, owner = generation.shared_namespace, generation.cache_owner
        if namespace is None:
            return generation
        if owner is None or self._present(generation.model, owner, generation.lora) != namespace:
            self._read_soon()
            return replace(generation, cache_namespace=None)
        if replica not in self._seen:
            self._seen = {name: seen for name, seen in self._seen.items() if name in self._replicas}
        seen = self._seen.setdefault(replica, OrderedDict())
        seen[namespace] = generation.model, owner, generation.lora
        seen.move_to_end(namespace)
        if len(seen) > MAX_SEEN:
            seen.popitem(last=False)
        return generation

    def kept(self, replica: str) -> list[str]:
        """The namespaces of requests to a replica that are still the present ones of their owners."""
        seen = self._seen.pop(replica, OrderedDict())
        kept = OrderedDict((name, of) for name, of in seen.items() if self._present(*of) == name)
        self._seen[replica] = kept
        return list(kept)

    def _present(self, model: str, owner: CacheOwner, lora: str | None) -> str | None:
        return self._namespaces.as_read(owner.tenant, model, owner.tag, owner.unknown_name, lora)

    def _read_soon(self) -> None:
        """Read again in a thread: the epochs here may be the old ones."""
        now = self._loop.time()
        if now >= self._read_again_at:
            self._read_again_at = now + REREAD_S
            self._loop.run_in_executor(None, self._read_and_adopt)

    def _read_and_adopt(self) -> None:
        try:
            read = self.read()
        except StokerError as error:
            logger.debug("%s", error.message)  # the next request with another namespace asks again
        else:
            self._loop.call_soon_threadsafe(self.adopt, read)
