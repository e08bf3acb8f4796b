"""Converts the schemas of strings: lengths, formats and patterns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from generation.schemas.format_patterns import FORMAT_PATTERNS, format_patterns
from generation.schemas.json_pointer import Path
from generation.schemas.pattern_automaton import automaton
from generation.schemas.pattern_form import fits_pattern, pattern_form
from generation.schemas.schema_form import OutputSchemaError, Schema, count_of, size_of
from generation.schemas.schema_pattern import PatternError

MAX_PATTERNS = 64
"""Different patterns of a schema: a pattern takes up to some milliseconds to convert."""

FORMATS = ("date-time", "date", "time", "email", "uuid", "ipv4")
"""The formats that all engines know."""


def string_schema(schema: Mapping[str, Any], path: Path, patterns: set[str]) -> Schema:
    """The form of a string's schema; `patterns` are those of the whole schema so far.

    Raises `OutputSchemaError`.
    """
    least, most = size_of(schema, "minLength", path), size_of(schema, "maxLength", path)
    if least is not None and most is not None and most < least:
        raise OutputSchemaError("must not be less than minLength", (*path, "maxLength"))
    name, pattern = schema.get("format"), schema.get("pattern")
    if pattern is not None:  # a format beside it is an annotation
        found = _pattern(pattern, name, (*path, "pattern"), patterns)
        candidates = (form for form in _patterns_of(name) if fits_pattern(form, pattern))
        for candidate in (found, *(() if _has_lengths(found, least, most) else candidates)):
            if _has_lengths(candidate, least, most):
                return {"pattern": candidate}
        raise OutputSchemaError("cannot be combined with such a length", (*path, "pattern"))
    if name is None:
        lengths = {
            "minLength": count_of(schema, "minLength", path) or None,
            "maxLength": count_of(schema, "maxLength", path),
        }
        return {name: value for name, value in lengths.items() if value is not None}
    if not _patterns_of(name):
        raise OutputSchemaError(f"must be one of {', '.join(FORMAT_PATTERNS)}", (*path, "format"))
    if name in FORMATS and not least and most is None:
        return {"format": name}
    for candidate in _patterns_of(name):
        if _has_lengths(candidate, least, most):
            return {"pattern": candidate}
    raise OutputSchemaError("cannot be combined with such a length", (*path, "format"))


def _pattern(pattern: Any, name: Any, path: Path, patterns: set[str]) -> str:
    """The form of a pattern, or else that of the format beside it, whose texts fit the pattern."""
    if not isinstance(pattern, str):
        raise OutputSchemaError("must be a string", path)
    patterns.add(pattern)
    if len(patterns) > MAX_PATTERNS:
        raise OutputSchemaError(f"is one of more than {MAX_PATTERNS} different patterns", path)
    try:
        return pattern_form(pattern)
    except PatternError as error:
        for candidate in _patterns_of(name):
            if fits_pattern(candidate, pattern):
                return candidate
        raise OutputSchemaError(str(error), path) from error


def _patterns_of(name: Any) -> tuple[str, ...]:
    """The patterns of a format; none if it is unknown."""
    return format_patterns(name) if isinstance(name, str) else ()


def _has_lengths(pattern: str, least: int | None, most: int | None) -> bool:
    """Whether all texts of a pattern have these lengths."""
    if not least and most is None:
        return True
    shortest, longest = automaton(pattern[1:-1]).lengths()
    return shortest >= (least or 0) and (most is None or (longest is not None and longest <= most))
