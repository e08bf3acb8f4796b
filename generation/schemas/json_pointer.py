"""Follows JSON pointers (RFC 6901) in the form of a `$ref`: `#/$defs/name`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Path = tuple[str | int, ...]


def resolve(root: Any, pointer: Any) -> tuple[Any, Path]:
    """The value at a pointer and its path; None when there is none."""
    if not isinstance(pointer, str):
        return None, ()
    start, *keys = pointer.split("/")
    found: Any = root if start == "#" else None
    path: list[str | int] = []
    for key in keys:
        name: str | int = key.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isascii() and key.isdigit() and int(key) < len(found):
            name = int(key)
            found = found[name]
        else:
            found = found.get(name) if isinstance(found, Mapping) else None
        path.append(name)
    return found, tuple(path)
