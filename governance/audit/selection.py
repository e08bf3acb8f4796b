"""Reads pages of the chain in Redis, with filters; each call reads a bounded number of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from governance.audit.chain_store import ChainStore, StoredRecord, parse_stored
from governance.audit.record import AuditRecord, DamagedRecord

STEP = 500
"""Records that are read at a time."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a record must be; None: anything. `since` (inclusive) and `until` (exclusive) are Unix seconds."""

    actor: str | None = None
    action: str | None = None
    subject: str | None = None
    outcome: str | None = None
    authority: str | None = None
    since: float | None = None
    until: float | None = None

    def match(self, record: AuditRecord) -> bool:
        """Whether the record is such a one."""
        for item in fields(self):
            wanted = getattr(self, item.name)
            if item.name not in ("since", "until") and wanted not in (None, getattr(record, item.name)):
                return False
        late_enough = self.since is None or record.at >= self.since
        return late_enough and (self.until is None or record.at < self.until)


@dataclass(frozen=True, slots=True)
class Page:
    """Records, and the number after which (in this order) the next page begins; None after the last one.

    `damaged` are entries that no filter can read.
    """

    records: Sequence[AuditRecord]
    damaged: Sequence[StoredRecord]
    cursor: int | None

    def lines(self, *, newest_first: bool) -> list[bytes]:
        """The bytes of all entries in their order, each on one line."""
        lines = [(entry.number, entry.line) for entry in self.records]
        lines += [(entry.number, entry.line) for entry in self.damaged]
        return [line.replace(b"\n", b" ") for _, line in sorted(lines, reverse=newest_first)]


class Selection:
    """The records that fit, in one order: `newest_first`, or as they were written."""

    def __init__(self, store: ChainStore, filters: Filters, *, newest_first: bool = False) -> None:
        self._store = store
        self._filters = filters
        self.newest_first = newest_first

    def page(self, after: int | None, limit: int, most_read: int) -> Page:
        """Up to `limit` records behind `after` (None: from the beginning), of `most_read` that are looked at.

        Raises `StorageUnavailable`.
        """
        found: list[AuditRecord] = []
        damaged: list[StoredRecord] = []
        for _ in range(0, most_read, STEP):
            stored = self._read(after)
            for one in stored:
                if len(found) == limit:
                    return Page(found, damaged, after)
                after = one.number
                try:
                    record = parse_stored(one)
                except DamagedRecord:
                    damaged.append(one)
                    continue
                if self._filters.match(record):
                    found.append(record)
            if len(stored) < STEP:
                return Page(found, damaged, None)
        return Page(found, damaged, after)

    def _read(self, after: int | None) -> list[StoredRecord]:
        if self.newest_first:
            return self._store.read_back(after, STEP)
        return self._store.read(after or 0, STEP)
