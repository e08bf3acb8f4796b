"""Bounds the counts in JSON Schemas: engines refuse large ones, or take long to compile them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .recursion import DATA_KEYWORDS, MAP_KEYWORDS

MINIMUM_KEYWORDS = frozenset({"minItems", "minLength", "minProperties"})
MAXIMUM_KEYWORDS = frozenset({"maxItems", "maxLength", "maxProperties"})


def without_large_counts(schema: Any, largest: int) -> Any:
    """The schema with least counts of at most `largest`, and without larger most counts.

    It allows every value that it allowed.
    """
    if isinstance(schema, list):
        return [without_large_counts(item, largest) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in MAP_KEYWORDS and isinstance(value, Mapping):
            found[key] = {name: without_large_counts(item, largest) for name, item in value.items()}
        elif key in MINIMUM_KEYWORDS and isinstance(value, int):
            found[key] = min(value, largest)
        elif key in DATA_KEYWORDS:
            found[key] = value
        elif key not in MAXIMUM_KEYWORDS or not isinstance(value, int) or value <= largest:
            found[key] = without_large_counts(value, largest)
    return found
