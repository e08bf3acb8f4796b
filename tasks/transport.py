"""Celery's Redis transport, without acknowledgements and with one client per channel.

kombu notes each message that it delivers in a list of its own, and takes it out again when the message is
acknowledged: two more transactions per task, so that a message can be delivered again. Ours are bells. A lost
one is found by the worker's heartbeat, and one that comes again claims nothing, so they need no such list.

kombu also makes a new `redis.Redis` (a table of 169 callbacks) for every publish; the connection behind it
comes from the channel's pool anyway, so the client is kept.
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

    def basic_consume(self, queue: str, no_ack: bool = False, *args: Any, **options: Any) -> Any:  # noqa: ARG002
        """Consume a queue, whatever Celery asks for without acknowledgements."""
        return super().basic_consume(queue, True, *args, **options)

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        """Nothing was noted, so nothing is taken back."""


class Transport(redis.Transport):
    """The Redis transport with our channel."""

    Channel = Channel


def use() -> None:
    """Make `redis://` and `rediss://` mean this transport in this process."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = "tasks.transport:Transport"
