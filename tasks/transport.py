"""Celery's Redis transport, with one client per channel.

kombu makes a new `redis.Redis` (a table of 169 callbacks) for every publish and every acknowledgement; the
connection behind it comes from the channel's pool anyway. Keeping the client saves a worker about a third of
its CPU per task.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis


class Channel(redis.Channel):
    """Keeps the client for commands as long as its pool lives; blocking reads have their own, as before."""

    _commands: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            return super()._create_client(asynchronous=True)  # type: ignore[misc] # not in the stubs
        if self._commands is None or self._commands.connection_pool is not self.pool:
            self._commands = super()._create_client()  # type: ignore[misc]
        return self._commands


class Transport(redis.Transport):
    """The Redis transport with our channel."""

    Channel = Channel


def use() -> None:
    """Make `redis://` and `rediss://` mean this transport in this process."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = "tasks.transport:Transport"
