"""Records that were read before: a record never changes, so a list reads those that are new only."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable

from api.files.record import FileRecord, read_record

MAX_RECORDS = 100_000


class KnownRecords:
    """At most `MAX_RECORDS` records by id, those read last. Thread-safe."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, FileRecord] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, ids: Iterable[str], read: Callable[[list[str]], Iterable[bytes]]) -> list[FileRecord]:
        """The records of these ids. `read` returns the stored forms of those that are not known.

        An id without a record, or with one that cannot be read, has none in the result.
        """
        with self._lock:
            found = {id: self._records.get(id) for id in ids}
        missing = [id for id, record in found.items() if record is None]
        for data in read(missing) if missing else ():
            try:
                record = read_record(data)
            except (ValueError, LookupError, TypeError):
                continue
            found[record.id] = record
        with self._lock:
            self._records.update((id, new) for id in missing if (new := found[id]) is not None)
            while len(self._records) > MAX_RECORDS:
                self._records.popitem(last=False)
        return [record for record in found.values() if record is not None]
