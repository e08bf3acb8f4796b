"""Records attempts, and makes a chain of all that waits: in the file of this host first, then in Redis."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import redis

from governance.audit.agreement import Agreement
from governance.audit.chain_file import LOCK_TIMEOUT_S, ChainFile, FileBusy, NotWritable
from governance.audit.chain_store import ChainStore, StoredRecord, Waiting, parse_stored
from governance.audit.event import PLATFORM, AuditEvent, PendingEvent
from governance.audit.record import GENESIS, AuditRecord, DamagedRecord, make_record
from governance.audit.verification import Finding, read_stored, verify
from store.errors import StokerError

logger = logging.getLogger("governance")

MAX_ROUNDS = 200
"""The batches of one `sync`: twice as many as can wait."""


class AuditLog:
    """The audit chain of the platform, whose file is in `folder`."""

    def __init__(self, client: redis.Redis, prefix: str, folder: Path) -> None:
        self.store = ChainStore(client, prefix)
        self.file = ChainFile(folder)
        self._agreement = Agreement(self.store, self.file)
        self._lock = threading.Lock()
        self._problem = ""

    def record(self, event: AuditEvent) -> None:
        """Record an event that no script records, and `sync`. Raises `StorageUnavailable`."""
        self.store.add_pending(event)
        self.sync()

    def sync(self) -> bool:
        """Append what waits to the chain. False, and logged once, if that has to be tried again later.

        It never raises for the storage: the changes have been made, and their records wait in Redis.
        """
        problem = ""
        try:
            if self._lock.acquire(timeout=LOCK_TIMEOUT_S):
                try:
                    problem = self._sync()
                finally:
                    self._lock.release()
            else:
                problem = f"audit records are waiting: the disk of {self.file.folder} does not answer"
        except StokerError as error:
            problem = f"audit records are waiting: {error.message}"
        except FileBusy as error:
            problem = f"audit records are waiting: {error}"
        except OSError as error:
            problem = (
                "audit records are waiting because the files of the chain cannot be read "
                f"({error.strerror}): make {self.file.folder} readable"
            )
        except DamagedRecord as error:
            problem = f"audit records are waiting: {error}"
        if problem and problem != self._problem:
            logger.error("%s", problem)
        elif self._problem and not problem:
            logger.info("the audit chain is complete again, in Redis and in %s", self.file.folder)
        self._problem = problem
        return not problem.startswith("audit records are waiting")

    def records(self) -> Iterator[AuditRecord]:
        """The records in Redis, the oldest first. Raises `StorageUnavailable` and `DamagedRecord`."""
        yield from map(parse_stored, self.store.all())

    def finding(self) -> Finding | None:
        """The first wrong record in Redis; None if all are right. Raises `StorageUnavailable`."""
        return verify(read_stored(self.store.all())).finding

    def _sync(self) -> str:
        """Returns what an operator should know, "" if nothing."""
        with ExitStack() as stack:
            writable, problem = True, ""
            try:
                stack.enter_context(self.file.lock())
            except NotWritable as error:
                writable, problem = False, self._not_written(error)
            for _ in range(MAX_ROUNDS):
                waiting = self.store.waiting()
                if writable:
                    try:
                        if not self._agreement.reach(waiting.end):
                            continue
                    except NotWritable as error:
                        # the chain goes on in Redis; the file follows it later, as that of another host does
                        writable, problem = False, self._not_written(error)
                elif waiting.end is None and self.file.end() is not None:
                    self._agreement.reach(None)
                    continue
                records = self._next_records(waiting)
                if not records:
                    return problem
                if writable:
                    try:
                        self.file.append(records)
                    except NotWritable as error:
                        writable, problem = False, self._not_written(error)
                entries = [event.entry for event in waiting.events]
                self.store.append(waiting.end, records, entries, waiting.lost)
        return "audit records are waiting: the chain in Redis changes too often"

    def _next_records(self, waiting: Waiting) -> list[AuditRecord]:
        events: Sequence[PendingEvent] = waiting.events
        if waiting.lost:
            lost = AuditEvent(PLATFORM, PLATFORM, "records_lost", "", "done", {"count": waiting.lost})
            events = [*events, PendingEvent("", self.store.now(), lost)]
        end = waiting.end or StoredRecord(0, GENESIS, b"")
        number, digest, records = end.number, end.digest, []
        for event in events:
            record = make_record(event, number + 1, digest)
            number, digest = record.number, record.digest
            records.append(record)
        return records

    def _not_written(self, error: OSError) -> str:
        return (
            f"the audit file cannot be written ({error.strerror}); the chain goes on in Redis, and the file"
            f" follows when {self.file.folder} can be written again: free space on that disk"
        )
