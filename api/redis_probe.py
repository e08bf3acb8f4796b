"""Whether Redis takes a write, asked with little patience."""

from __future__ import annotations

from config.settings import Settings
from scheduler.ledger import Ledger
from scheduler.redis_connections import command_client

PATIENCE_S = 1.0


class Probe:
    """A write, since a Redis whose disk is full still answers reads and pings."""

    def __init__(self, settings: Settings) -> None:
        client = command_client(settings)
        patience = {"socket_timeout": PATIENCE_S, "socket_connect_timeout": PATIENCE_S}
        client.connection_pool.connection_kwargs.update(patience)
        self._ledger = Ledger(client, settings)

    def write(self) -> None:
        """Write. Raises `StorageUnavailable` or `StorageFull`."""
        self._ledger.ping()
