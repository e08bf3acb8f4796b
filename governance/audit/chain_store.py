"""The chain in Redis: the stream `audit_chain`, in which record N has the id `N-0`, and what waits to enter
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from governance.audit.event import AuditEvent, PendingEvent, parse_pending, script_arguments
from governance.audit.record import AuditRecord, DamagedRecord, parse_record
from store.scripts import Scripts, call_id, redis_errors_translated

LUA = Path(__file__).parent.parent / "lua"

MAX_RECORDS = 100_000
"""The records in Redis, about; the files have all."""

BATCH = 200
"""The most records that one call appends."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """An entry of the stream: its number, its digest and the bytes of the record, as they are there."""

    number: int
    digest: str
    line: bytes


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits, at one moment: the first events of `audit_pending`, how many were lost, and the chain's
    end.
    """

    end: StoredRecord | None
    events: tuple[PendingEvent, ...]
    lost: int


class ChainStore:
    """Reads and appends. Methods raise `StorageUnavailable` and `StorageFull`."""

    def __init__(self, client: redis.Redis, prefix: str, max_records: int = MAX_RECORDS) -> None:
        self._client: Any = client
        self._scripts = Scripts(client, prefix, LUA)
        self._max_records = max_records
        self.chain_key = f"{{{prefix}}}:audit_chain"
        self.pending_key = f"{{{prefix}}}:audit_pending"
        self._lost_key = f"{{{prefix}}}:audit_lost"

    def now(self) -> float:
        """Redis' clock in Unix seconds."""
        return self._scripts.now()

    def add_pending(self, event: AuditEvent) -> None:
        """Append an event to `audit_pending`."""
        self._scripts.run("record_audit", call=call_id(), **script_arguments(event))

    def waiting(self) -> Waiting:
        """Read what waits."""
        with redis_errors_translated():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.xrevrange(self.chain_key, count=1)
            pipeline.xrange(self.pending_key, count=BATCH)
            pipeline.get(self._lost_key)
            end, pending, lost = pipeline.execute()
        events = tuple(parse_pending(entry, fields) for entry, fields in pending)
        return Waiting(_stored(*end[0]) if end else None, events, max(0, int(lost or 0)))

    def still_waits(self, entries: Collection[str]) -> bool:
        """Whether all of these entries are in `audit_pending`."""
        with redis_errors_translated():
            pipeline = self._client.pipeline(transaction=False)
            for entry in entries:
                pipeline.xrange(self.pending_key, entry, entry)
            return all(pipeline.execute()) if entries else True

    def read(self, after: int, count: int) -> list[StoredRecord]:
        """The records with a larger number, the first `count` of them."""
        with redis_errors_translated():
            entries = self._client.xrange(self.chain_key, f"({after}-{2**64 - 1}", count=count)
        return [_stored(*entry) for entry in entries]

    def all(self) -> Iterator[StoredRecord]:
        """All records, the oldest first."""
        after = 0
        while page := self.read(after, BATCH):
            yield from page
            after = page[-1].number

    def read_back(self, before: int | None, count: int) -> list[StoredRecord]:
        """The records with a smaller number (None: all), the last `count` of them, the latest first."""
        with redis_errors_translated():
            most = "+" if before is None else f"({before}-0"
            entries = self._client.xrevrange(self.chain_key, most, count=count)
        return [_stored(*entry) for entry in entries]

    def end(self) -> StoredRecord | None:
        """The latest record in Redis."""
        return next(iter(self.read_back(None, 1)), None)

    def first(self) -> StoredRecord | None:
        """The oldest record in Redis."""
        return next(iter(self.read(0, 1)), None)

    def append(
        self, end: StoredRecord | None, records: Sequence[AuditRecord], entries: Collection[str], lost: int
    ) -> bool:
        """Append records after `end` and remove these pending entries; False if the chain ends elsewhere."""
        parts = [part for one in records for part in (f"{one.number}-0", one.line, one.digest)]
        last_id, last_digest = ("", "") if end is None else (f"{end.number}-0", end.digest)
        appended = self._scripts.run(
            "append_chain",
            last_id=last_id,
            last_digest=last_digest,
            max_records=self._max_records,
            lost_count=lost,
            record_count=len(records),
            records=[*parts, *entries],
        )
        return bool(appended)

    def clear(self) -> None:
        """Remove the chain from Redis, before it is written again from a file."""
        with redis_errors_translated():
            self._client.delete(self.chain_key)


def parse_stored(stored: StoredRecord) -> AuditRecord:
    """The record of an entry. Raises `DamagedRecord`."""
    record = parse_record(stored.line)
    if record.number != stored.number or record.digest != stored.digest:
        raise DamagedRecord("its entry in Redis has another number or digest")
    return record


def _stored(id: bytes, fields: dict[bytes, bytes]) -> StoredRecord:
    number, digest = int(id.partition(b"-")[0]), fields.get(b"digest", b"").decode(errors="replace")
    return StoredRecord(number, digest, fields.get(b"record", b""))
