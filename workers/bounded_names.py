"""A bounded memory of names."""

from __future__ import annotations


class BoundedNames:
    """The last `size` names that were added."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._names: dict[str, None] = {}  # in the order of their arrival

    def add(self, name: str) -> bool:
        """Remember a name. False when it is remembered already."""
        if name in self._names:
            return False
        self._names[name] = None
        if len(self._names) > self._size:
            del self._names[next(iter(self._names))]
        return True

    def __contains__(self, name: str) -> bool:
        """Whether the name is remembered."""
        return name in self._names
