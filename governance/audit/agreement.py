"""Makes the file of this host and the chain in Redis the same, whatever ended between the two.

A record is written to the file first. So the file may have records that Redis did not take: they are appended
there, or, where another host was faster, taken back. Redis may have records of other hosts: the file follows.
A Redis that was lost gets the records of the file again. Of two chains that differ Redis has the valid one,
unless its records are damaged; what is removed from the file, and was in the chain once, is kept in a file of
its own.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from governance.audit.chain_file import ChainFile, host_name
from governance.audit.chain_store import BATCH, ChainStore, StoredRecord, parse_stored
from governance.audit.event import PLATFORM, AuditEvent
from governance.audit.record import GENESIS, AuditRecord, DamagedRecord

logger = logging.getLogger("governance")

RESTORED = 10_000
"""The records that a Redis which was lost gets again, at most; the file has all."""


class Agreement:
    """Compares the end of the file with the end in Redis, and makes them equal. The caller holds the file's
    lock.

    Methods raise `OSError` (`NotWritable` where only writing fails), `StorageUnavailable` and `StorageFull`.
    """

    def __init__(self, store: ChainStore, file: ChainFile) -> None:
        self._store = store
        self._file = file

    def reach(self, stored: StoredRecord | None) -> bool:
        """Make both equal; `stored` is the end in Redis. Returns False if the caller has to read Redis again.

        What a person should know of it is recorded.
        """
        end = self._file.end()
        if _same(end, stored):
            return True
        if stored is None:
            self._restore("redis_restored")
        elif end is None:
            self._begin_file()
        elif not self._continues(end, stored):
            self._settle(stored)
        return False

    def _continues(self, end: AuditRecord, stored: StoredRecord) -> bool:
        """Whether one of the two continues the other; the shorter one then follows."""
        if stored.number < end.number:
            *_, common = [None, *(r for r in self._latest_from(stored.number) if r.number == stored.number)]
            if common is None or common.digest != stored.digest:
                return False
            self._push(stored, self._file.latest(end.number - stored.number))
            return True
        found = self._store.read(end.number - 1, 1)
        if found and found[0].number > end.number:
            self._record("file_gap", {"missing_from": end.number + 1, "missing_to": found[0].number - 1})
            return self._follow(found[0].number - 1, None)
        if not found or found[0].digest != end.digest:
            return False
        return self._follow(end.number, end.digest)

    def _follow(self, number: int, digest: str | None) -> bool:
        """Write the records of Redis after this one to the file; False if they are damaged."""
        while page := self._store.read(number, BATCH):
            records = _chained(page, digest)
            if records is None:
                return False
            self._file.append(records)
            number, digest = records[-1].number, records[-1].digest
        return True

    def _begin_file(self) -> None:
        """This host has no file: it gets the records that Redis has, from behind the last damaged one."""
        whole: list[StoredRecord] = []
        for stored in self._store.all():
            previous = parse_stored(whole[-1]).digest if whole else None
            if _chained([stored], previous) is None:
                whole = [] if _chained([stored], None) is None else [stored]
            else:
                whole.append(stored)
        if not whole:
            raise DamagedRecord(
                "the last record in Redis is damaged and this host has no file of the chain;"
                " restore its folder from another host or a copy"
            )
        self._follow(whole[0].number - 1, None)
        self._record("file_begun", {"first": whole[0].number, "last": whole[-1].number})

    def _push(self, stored: StoredRecord | None, records: Sequence[AuditRecord]) -> bool:
        """Append records of the file to Redis; False if another process was faster."""
        for at in range(0, len(records), BATCH):
            batch = records[at : at + BATCH]
            if not self._store.append(stored, batch, [one.entry for one in batch if one.entry], 0):
                return False
            stored = StoredRecord(batch[-1].number, batch[-1].digest, batch[-1].line)
        return True

    def _restore(self, action: str, detail: dict[str, str] | None = None) -> None:
        """Write the latest records of the file to a Redis that has none."""
        records = self._file.latest(RESTORED)
        if records and self._push(None, records):
            self._record(action, {"first": records[0].number, "last": records[-1].number, **(detail or {})})

    # ---- two chains that differ

    def _settle(self, stored: StoredRecord) -> None:
        """The file and Redis have different records of one number."""
        mine = self._file.latest(2 * BATCH)
        fork = self._fork(mine)
        if fork is None:
            mine = self._file.latest(2**40)
            fork = self._fork(mine)
        number, digest = (fork.number, fork.digest) if fork else (0, None)
        theirs: list[StoredRecord] = []
        after = number
        while page := self._store.read(after, BATCH):
            theirs += page
            after = page[-1].number
        records = _chained(theirs, digest)
        if records is None:
            path = self._file.keep_aside(f"damaged-{stored.number:012d}", [one.line for one in theirs])
            self._store.clear()
            self._restore("redis_damaged", {"file": path.name})
            return
        ours = [one for one in mine if one.number > number]
        known = {one.entry for one in records} | {""}
        unknown = [one.entry for one in ours if one.entry not in known]
        if len(ours) > BATCH or not self._store.still_waits(unknown):
            # Redis had them once, and lost them
            name = f"superseded-{ours[0].number:012d}-{ours[-1].number:012d}-{ours[-1].digest[:8]}"
            path = self._file.keep_aside(name, [one.line for one in ours])
            logger.error("records of the audit file are no longer in Redis: they are in %s", path)
            detail = {"first": ours[0].number, "last": ours[-1].number, "digest": ours[-1].digest}
            self._record("file_superseded", {**detail, "file": path.name})
        self._file.cut_after(number)

    def _fork(self, mine: Sequence[AuditRecord]) -> AuditRecord | None:
        """The last of these records that Redis has as well."""
        if not mine:
            return None
        digests = {}
        after = mine[0].number - 1
        while after < mine[-1].number and (page := self._store.read(after, BATCH)):
            digests.update({one.number: one.digest for one in page})
            after = page[-1].number
        return next((one for one in reversed(mine) if digests.get(one.number) == one.digest), None)

    def _latest_from(self, number: int) -> list[AuditRecord]:
        end = self._file.end()
        return [] if end is None else self._file.latest(end.number - number + 1)

    def _record(self, action: str, detail: dict[str, object] | dict[str, int]) -> None:
        self._store.add_pending(AuditEvent(PLATFORM, PLATFORM, action, host_name(), "done", detail))


def _same(end: AuditRecord | None, stored: StoredRecord | None) -> bool:
    if end is None or stored is None:
        return end is None and stored is None
    return (end.number, end.digest) == (stored.number, stored.digest)


def _chained(page: Sequence[StoredRecord], previous: str | None) -> list[AuditRecord] | None:
    """The records of these entries, the first of which follows `previous` (None: any); None if one is
    damaged.
    """
    records: list[AuditRecord] = []
    for stored in page:
        try:
            record = parse_stored(stored)
        except DamagedRecord:
            return None
        number = records[-1].number + 1 if records else record.number
        expected = GENESIS if record.number == 1 else previous
        if record.number != number or (expected is not None and record.previous != expected):
            return None
        records.append(record)
        previous = record.digest
    return records
