"""How layers of configuration become one: objects are merged deeply, anything else is replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def deep_merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay `over` on `base` and return a new dict; neither argument is changed.

    Where both hold an object the two are merged; otherwise `over` wins, so lists are replaced as a whole and
    an explicit null stays a null.
    """
    merged = dict(base)
    for key, value in over.items():
        before = merged.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            merged[key] = deep_merge(before, value)
        else:
            merged[key] = value
    return merged
