"""Removes from JSON Schemas what llama.cpp's server cannot compile or match quickly.

The server matches a token by following each path of the grammar through its characters, and again for each
path that meets another: an expression such as `.*.*.*` takes years, in the thread that serves every request.
It also refuses a request with a pattern that is not anchored at both ends. The grammar of an integer with a
lower bound has a rule for each way to have more digits: it is not complete in minutes for 16 digits. And it
refuses a request when a value may be repeated 2000 times. It follows ambiguous recursion in all its ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backends.shared.engine.counts import without_large_counts
from backends.shared.engine.recursion import DATA_KEYWORDS, MAP_KEYWORDS, without_ambiguous_recursion
from generation.schema_pattern import is_unambiguous

MAX_BOUND = 10**9
"""The largest bound of an integer that becomes part of the grammar."""

MAX_REPEATED = 1000
"""The largest number of items or characters that the grammar counts."""

BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


def for_grammar(schema: Any) -> Any:
    """The schema without costly patterns, bounds and recursion. It allows every value that it allowed."""
    return without_ambiguous_recursion(_bounded(without_large_counts(schema, MAX_REPEATED)))


def _bounded(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bounded(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {key: _converted(key, value) for key, value in schema.items() if _is_kept(key, value)}


def _is_kept(key: str, value: Any) -> bool:
    if key in BOUNDS and isinstance(value, int | float):
        return abs(value) <= MAX_BOUND
    if key == "pattern" and isinstance(value, str):
        anchored = value.startswith("^") and value.endswith("$") and not value.endswith("\\$")
        return anchored and is_unambiguous(value)
    return True


def _converted(key: str, value: Any) -> Any:
    if key in DATA_KEYWORDS:
        return value
    if key in MAP_KEYWORDS and isinstance(value, Mapping):
        return {name: _bounded(item) for name, item in value.items()}
    return _bounded(value)
