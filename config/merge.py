"""Merges the layers of the configuration: objects recursively, all other values are replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def deep_merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new dict with the values of `base`, overridden by those of `over`.

    Two objects under one key are merged; any other value of `over` replaces that of `base`, so a list is
    replaced as a whole and an explicit null wins.
    """
    merged = dict(base)
    for key, value in over.items():
        current = merged.get(key)
        if isinstance(current, Mapping) and isinstance(value, Mapping):
            merged[key] = deep_merge(current, value)
        else:
            merged[key] = value
    return merged
