"""The records of batches in Redis, and the lease of the process that runs them.

A batch is a record (what the client asked for, which never changes) and its progress, which the runner
writes. Both are JSON of the callers. `scheduler/lua/*_batch.lua` and `hold_batches.lua` are the commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import redis

from scheduler import LUA
from store.errors import Fenced
from store.scripts import Scripts, redis_errors_translated, without_errors

LIFETIME_S = 31 * 86_400
"""How long the record of a batch is kept, from its creation."""

LEASE_MS = 10_000
"""The runner's lease without renewal."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch as Redis has it. `created_us` and `cancel_us` are Unix microseconds of Redis' clock."""

    id: str
    tenant: str
    kind: str
    record: bytes
    progress: bytes
    created_us: int
    cancel_us: int | None = None


class BatchStore:
    """Creates, reads and changes batches. Raises `StorageUnavailable` and `StorageFull`."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self.scripts = Scripts(client, prefix, LUA)

    # ---- called for clients

    def create(self, row: BatchRow, *, most_active: int, most: int) -> str:
        """Record a batch now. Returns "ok", or the bound that is reached: "active" or "all"."""
        reply: bytes = self.scripts.run(
            "create_batch",
            id=row.id,
            tenant=row.tenant,
            kind=row.kind,
            record=row.record,
            progress=row.progress,
            ttl_s=LIFETIME_S,
            max_active=most_active,
            max_batches=most,
        )
        return reply.decode()

    def get(self, id: str) -> BatchRow | None:
        """A batch; None if there is none of that id."""
        (found,) = self._rows([id])
        return found

    def of_tenant(self, tenant: str, kind: str) -> list[BatchRow]:
        """All batches of a tenant and of this kind, the latest first."""
        with redis_errors_translated():
            ids = self.scripts.client.zrange(
                f"{self.scripts.prefix}tenant_batches:{tenant}", 0, -1, desc=True
            )
        rows = self._rows([id.decode() for id in ids])
        return [row for row in rows if row is not None and row.kind == kind]

    def cancel(self, id: str, tenant: str) -> bool:
        """Ask the runner to cancel a batch; False when the tenant has no such batch."""
        return bool(self.scripts.run("cancel_batch", id=id, tenant=tenant))

    def delete(self, id: str, tenant: str, *, also_active: bool = False) -> str:
        """Delete a batch's record. Returns "ok", "active" (it has not ended) or "unknown"."""
        reply: bytes = self.scripts.run("delete_batch", id=id, tenant=tenant, also_active=int(also_active))
        return reply.decode()

    # ---- called by the runner

    def hold(self, fence: str, *, give_back: bool = False) -> str | None:
        """Become the runner ("" for `fence`), or stay it; returns the fence, None for another process."""
        reply: bytes | None = self.scripts.run(
            "hold_batches", fence=fence, lease_ms=LEASE_MS, give_back=int(give_back)
        )
        return reply.decode() if reply else None

    def any_active(self) -> bool:
        """Whether a batch has not ended."""
        (reply,) = self._exchange([("EXISTS", f"{self.scripts.prefix}batches")])
        return reply == 1

    def active(self) -> list[BatchRow]:
        """The batches that have not ended, the oldest first."""
        with redis_errors_translated():
            ids = self.scripts.client.zrange(f"{self.scripts.prefix}batches", 0, -1)
        return [row for row in self._rows([id.decode() for id in ids]) if row is not None]

    def open_progress(self) -> list[tuple[bytes, bool]]:
        """The progress of each batch that has not ended, and whether it is being cancelled."""
        with redis_errors_translated():
            ids = self.scripts.client.zrange(f"{self.scripts.prefix}batches", 0, -1)
        key = f"{self.scripts.prefix}batch:"
        found = self._exchange([("HMGET", f"{key}{id.decode()}", "progress", "cancel_us") for id in ids])
        rows: list[tuple[bytes | None, bytes | None]] = [tuple(values) for values in found]  # type: ignore[arg-type, misc]
        return [(progress, cancel_us is not None) for progress, cancel_us in rows if progress is not None]

    def update(  # noqa: PLR0913 - all that changes together
        self,
        id: str,
        fence: str,
        progress: bytes,
        jobs: Sequence[str] = (),
        *,
        ended: bool = False,
        counts: Mapping[str, int] | None = None,
    ) -> int | None:
        """Write the progress, and delete ended jobs; returns the time at which a cancel was asked for (us).

        `counts` is added to the counters of /metrics by the same call, so that each event counts once.
        Raises `Fenced` when another process is the runner now, and `LookupError` when the record is gone.
        """
        pairs = [item for pair in (counts or {}).items() for item in pair]
        result, *rest = self.scripts.run(
            "update_batch",
            id=id,
            fence=fence,
            progress=progress,
            ended=int(ended),
            counter_count=len(pairs) // 2,
            counts_and_jobs=[*pairs, *jobs],
        )
        if result == b"fenced":
            raise Fenced(fence)
        if result == b"gone":
            raise LookupError(id)
        return int(rest[0]) if rest[0] else None

    def exist(self, ids: Sequence[str]) -> list[bool]:
        """Whether there are batches of these ids."""
        replies = self._exchange([("EXISTS", f"{self.scripts.prefix}batch:{id}") for id in ids])
        return [reply == 1 for reply in replies]

    def _rows(self, ids: Sequence[str]) -> list[BatchRow | None]:
        fields = ("tenant", "kind", "record", "progress", "created_us", "cancel_us")
        replies = self._exchange([("HMGET", f"{self.scripts.prefix}batch:{id}", *fields) for id in ids])
        return [_row(id, values) for id, values in zip(ids, replies, strict=True)]

    def _exchange(self, commands: Sequence[tuple[str, ...]]) -> list[object]:
        if not commands:
            return []
        with redis_errors_translated():
            return without_errors(self.scripts.exchange(commands))


def _row(id: str, values: object) -> BatchRow | None:
    assert isinstance(values, list)  # noqa: S101 - the reply to HMGET
    tenant, kind, record, progress, created_us, cancel_us = values
    if tenant is None:
        return None
    cancelled = None if cancel_us is None else int(cancel_us)
    return BatchRow(id, tenant.decode(), kind.decode(), record, progress, int(created_us), cancelled)
