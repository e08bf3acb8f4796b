"""Celery's Redis transport, without acknowledgements and with one client per channel.

kombu records each delivered message in a list of its own and removes it at the acknowledgement, so that the
message can be delivered again: two more transactions per task. Stoker's messages only notify. A lost one is
found by the worker's heartbeat, and a second delivery starts nothing, so that list is not needed.

kombu also makes a new `redis.Redis` (a table of 169 callbacks) for every publish, although the connection
comes from the channel's pool. This channel reuses one client.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis


class Channel(redis.Channel):
    """Reuses one client for commands as long as its pool exists; blocking reads have their own client."""

    _commands: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            return super()._create_client(asynchronous=True)  # type: ignore[misc] # not in the stubs
        if self._commands is None or self._commands.connection_pool is not self.pool:
            self._commands = super()._create_client()  # type: ignore[misc]
        return self._commands

    def basic_consume(self, queue: str, no_ack: bool = False, *args: Any, **options: Any) -> Any:  # noqa: ARG002
        """Consume a queue without acknowledgements, whatever `no_ack` is."""
        return super().basic_consume(queue, True, *args, **options)

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        """Do nothing: the delivery was not recorded."""


class Transport(redis.Transport):
    """The Redis transport with this module's channel."""

    Channel = Channel


def register() -> None:
    """Make the URL schemes `redis://` and `rediss://` use this transport in this process."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = "tasks.transport:Transport"
