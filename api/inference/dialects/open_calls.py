"""The calls of a conversation that have no result yet, for results that need not name their call."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from generation.generation import ToolCall


class OpenCalls:
    """Finds the call that a result answers, in constant time on average."""

    def __init__(self) -> None:
        self._open: dict[int, ToolCall] = {}  # by number
        self._count = 0
        self._all: deque[int] = deque()
        self._by_id: dict[str, deque[int]] = {}
        self._by_name: dict[str, deque[int]] = {}

    def add(self, calls: Iterable[ToolCall]) -> None:
        """Add calls, which follow the earlier ones."""
        for call in calls:
            self._open[self._count] = call
            self._all.append(self._count)
            self._by_id.setdefault(call.id, deque()).append(self._count)
            self._by_name.setdefault(call.name, deque()).append(self._count)
            self._count += 1

    def answered(self, id: str | None, name: str | None) -> str | None:
        """The id of the first open call with this id, else this name, else of any; None if there is none.

        The call is open no longer.
        """
        if id:
            found = self._first(self._by_id.get(id, deque()))
        elif name:
            found = self._first(self._by_name.get(name, deque()))
        else:
            found = self._first(self._all)
        return None if found is None else self._open.pop(found).id

    def _first(self, numbers: deque[int]) -> int | None:
        while numbers:
            number = numbers.popleft()
            if number in self._open:
                return number
        return None
