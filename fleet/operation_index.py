"""The list of operations: running ones, and those that have ended within a day.

The script that begins an operation lists it (`fleet/lua/include/model.lua`), at most 10,000 of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fleet.operation import Operation, parse_operation
from store.scripts import Scripts

MAX_READ = 1000
"""Operations that are looked at for one page. A page of a rare kind may have fewer than it could."""

OPEN = "open"
"""The filter of the statuses `pending` and `running`."""


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Which operations are listed; None: all. `status` may be `OPEN`."""

    kind: str | None = None
    model: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class OperationPage:
    """A part of the list, the newest first.

    `last` is the id of the last operation that was looked at, after which the next page begins; it need not
    be one of the page. None: the list has ended before the page began. `has_more` is whether there are
    operations after it.
    """

    operations: tuple[Operation, ...]
    last: str | None
    has_more: bool


ALL = OperationFilter()


class OperationIndex:
    """Reads the list. Methods raise `StorageUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    def page(self, limit: int, after: str = "", wanted: OperationFilter = ALL) -> OperationPage | None:
        """Up to `limit` operations that began before the operation `after` ("": the newest ones).

        None if `after` is not listed: it has expired.
        """
        answer = self._scripts.run(
            "read_operations",
            after=after,
            limit=limit,
            max_looked_at=MAX_READ,
            kind=wanted.kind or "",
            model=wanted.model or "",
            status=wanted.status or "",
        )
        if answer[0] == b"unknown":
            return None
        now_us, last, more, *rows = answer
        now = int(now_us) / 1e6
        pairs = zip(rows[::2], rows[1::2], strict=True)
        operations = tuple(parse_operation(id.decode(), _fields(row), now) for id, row in pairs)
        return OperationPage(operations, last.decode() or None, bool(more))

    def latest(self, count: int) -> tuple[Operation, ...]:
        """The latest operations of all kinds, the newest first."""
        page = self.page(count)
        return () if page is None else page.operations


def _fields(row: Sequence[Any]) -> dict[bytes, bytes]:
    return dict(zip(row[::2], row[1::2], strict=True))
