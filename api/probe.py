"""Whether Redis takes a write, asked with little patience."""

from __future__ import annotations

from config.redis import commands
from config.settings import Settings
from scheduler.scripts import translate

PATIENCE_S = 1.0
KEPT_MS = 60_000


class Probe:
    """A write, since a Redis whose disk is full still answers reads and pings."""

    def __init__(self, settings: Settings) -> None:
        self._client = commands(settings)
        patience = {"socket_timeout": PATIENCE_S, "socket_connect_timeout": PATIENCE_S}
        self._client.connection_pool.connection_kwargs.update(patience)
        self._key = f"{{{settings.redis.prefix}}}:probe"

    def write(self) -> None:
        """Write. Raises `StorageUnavailable` or `StorageFull`."""
        try:
            self._client.set(self._key, b"1", px=KEPT_MS)
        except Exception as error:
            raise translate(error) from error
