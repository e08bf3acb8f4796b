"""Shows a change of tenants or keys without making it, for the plan of a proposal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from api.access.access_records import StoredAccess
from api.access.access_store import AccessStore, Change
from api.access.authority import Authority

Result = TypeVar("Result")


class AccessPreview:
    """Takes the place of an `AccessStore`. `planned` is what it would have changed of `stored`."""

    def __init__(self, store: AccessStore) -> None:
        self._store = store
        self.stored = StoredAccess()
        self.planned: Change | None = None

    def change(self, _author: Authority, decide: Callable[[StoredAccess], tuple[Change, Result]]) -> Result:
        """Keep what `decide` says of the present records. What it raises is raised."""
        self.stored = self._store.read()
        self.planned, result = decide(self.stored)
        return result

    def leave_cached_prefixes(self, _tenant: str) -> None:
        """Do nothing."""

    def forget_uses(self, _known: Iterable[str]) -> None:
        """Do nothing."""
