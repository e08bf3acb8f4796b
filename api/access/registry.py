"""The tenants and API keys that this process knows: those of the configuration, and those in Redis.

A look-up is one in a dictionary of this process. Twice a second the process asks Redis whether anything was
changed, and then reads all again; so it does before it refuses a key that it does not know. While Redis is
unreachable it keeps what it has read.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from api.access.access_records import StoredAccess, TenantRecord
from api.access.access_store import AccessStore
from api.access.identities import Identities
from api.http.polling import sleep_until_tick
from config.api_keys import ApiKey
from config.settings import Settings, Tenant
from config.tenants import Tenants
from store.async_connection import AsyncConnection
from store.errors import StokerError
from store.scripts import redis_errors_translated

logger = logging.getLogger("api")

POLL_S = 0.5
"""How often a process asks whether anything was changed: every change is known everywhere within a second."""

GAP_S = 0.1
"""The least time between two questions because of unknown keys, however many: clients choose them."""

USES_S = 2.0
"""How often it writes which keys were used."""


class AccessRegistry:
    """Knows all tenants and keys. Without a store (in tests) only those of the configuration."""

    def __init__(self, settings: Settings, store: AccessStore | None = None) -> None:
        self.configured = Tenants(settings)
        self.used: set[str] = set()
        """The ids of the keys that were used since the last write of their times."""
        self.on_change: list[Callable[[Identities], None]] = []
        """Called with the new identities after each read, in the thread of the reader."""
        self._one_tenant = not settings.tenancy.enabled
        self._store = store
        self._lock = threading.Lock()
        self._version: str | None = None
        """That of the records that were read, after all that follows from them was done."""
        self._allowed: list[str] | None = None
        """The tenants in the latest call of `allow_texts`; None before the first."""
        self.is_complete = store is None
        """Whether the keys in Redis were read once: before, an unknown key may be one of them."""
        self.identities = self._identities_of(StoredAccess())
        self._refused: set[str] = set()
        """What Redis has refused to write at the latest try."""
        self._connection: AsyncConnection | None = None
        self._next_read: asyncio.Task[None] | None = None
        self._read_at = float("-inf")

    def read(self) -> None:
        """Read all again. Thread-safe. Raises `StorageUnavailable`."""
        if self._store is None:
            return
        with self._lock:
            stored = self._store.read()
            self.identities = self._identities_of(stored)
            self.is_complete = True
            for receive in self.on_change:
                receive(self.identities)
            with self._written_later("the tenants whose texts are kept"):
                self._allow_texts(stored.version)
                self._version = stored.version  # not before: if this fails, all is read again

    def _allow_texts(self, version: str) -> None:
        """Write which tenants allow that their texts are kept, if that has changed."""
        allowed = sorted(tenant.name for tenant in self.identities.tenants.values() if tenant.keep_texts)
        is_known = (
            not allowed and self._allowed == allowed
        )  # that of none; that of others may be lost in Redis
        if self._store is not None and not is_known and self._store.allow_texts(version, allowed):
            self._allowed = allowed

    def read_if_possible(self) -> None:
        """Read all again; while Redis is unreachable that is left to `run`."""
        try:
            self.read()
        except StokerError as error:
            logger.warning("the tenants and API keys in Redis cannot be read yet: %s", error.message)

    async def run(self, connection: AsyncConnection) -> None:
        """Follow all changes until cancelled."""
        self._connection = connection
        reachable, uses_at = True, time.monotonic() + USES_S
        while True:
            await sleep_until_tick(POLL_S)
            try:
                await self._follow(connection)
                reachable = True
                if time.monotonic() >= uses_at:
                    uses_at = time.monotonic() + USES_S
                    with self._written_later("the last uses of API keys"):
                        await asyncio.to_thread(self.write_uses)
            except StokerError as error:
                if reachable:
                    logger.warning(
                        "tenants and API keys cannot be read again and stay as they are: %s", error.message
                    )
                reachable = False
            except Exception:
                logger.exception("changes of tenants and API keys cannot be followed")

    @property
    def follows(self) -> bool:
        """Whether `follow_now` can find new keys."""
        return self._connection is not None and self._store is not None

    async def follow_now(self) -> None:
        """Ask for changes now or within `GAP_S`, once for all that wait; while Redis is unreachable, nothing
        changes.
        """
        if self._next_read is None:
            self._next_read = asyncio.create_task(self._follow_after_gap())
        await asyncio.shield(self._next_read)

    async def _follow_after_gap(self) -> None:
        await asyncio.sleep(max(0.0, self._read_at + GAP_S - time.monotonic()))
        self._next_read = None  # a key that is unknown from now on may need a later read
        self._read_at = time.monotonic()
        if self._connection is not None:
            with suppress(StokerError):  # `run` reports it
                await self._follow(self._connection)

    @contextmanager
    def _written_later(self, what: str) -> Iterator[None]:
        """Log once that Redis refuses what the block writes; it is written later, and reading goes on."""
        try:
            yield
        except StokerError as error:
            if what not in self._refused:
                logger.warning("%s are written later: %s", what, error.message)
            self._refused.add(what)
        else:
            self._refused.discard(what)

    def write_uses(self) -> None:
        """Write when the keys were used last, as of now. Raises `StorageUnavailable`."""
        used, self.used = self.used, set()
        known = {key.id for key in self.identities.api_keys()}
        uses = dict.fromkeys(used & known, int(time.time()))
        if self._store is not None and uses:
            try:
                self._store.record_uses(uses)
            except StokerError:
                self.used |= used
                raise

    async def _follow(self, connection: AsyncConnection) -> None:
        if self._store is None:
            return
        with redis_errors_translated():
            (version,) = await connection.exchange([("GET", self._store.version_key)])
            if isinstance(version, Exception):
                raise version
        if (version or b"").decode() != self._version:
            await asyncio.to_thread(self.read)

    def _identities_of(self, stored: StoredAccess) -> Identities:
        tenants = self.merged(stored.tenants)
        keys = {key.digest: key for key in (*stored.keys, *self.configured.api_keys())}
        return Identities(tenants.values(), keys.values(), one_tenant=self._one_tenant)

    def merged(self, records: Mapping[str, TenantRecord]) -> dict[str, Tenant]:
        """All tenants by name; what the configuration names wins over a record."""
        tenants = {tenant.name: tenant for tenant in self.configured.all()}
        for name, record in records.items():
            if record.makes_tenant or name in tenants:
                tenants[name] = record.over(tenants.get(name, Tenant(name)))
        return tenants

    def is_valid(self, key: ApiKey) -> bool:
        """Whether a key that was valid still is. What stands for no real key always is."""
        return not key.id or self.identities.has(key)
