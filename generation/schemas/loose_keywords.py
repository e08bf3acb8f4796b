"""Reads the keywords of a schema that `loose_schema` loosens, and drops those with impossible values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from config.integers import is_integer
from generation.schemas.pattern_form import pattern_form
from generation.schemas.schema_pattern import PatternError, is_unambiguous

MAX_ALTERNATIVES = 128
MAX_COUNT = 1000
MAX_BOUND = 10**9

FORMATS = frozenset(
    {
        *("date-time", "date", "time", "duration", "email", "hostname"),
        *("ipv4", "ipv6", "uuid", "uri"),
    }
)
"""Formats that each engine enforces or ignores."""

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
KEYWORDS: Mapping[str, tuple[str, ...]] = {
    "object": ("properties", "required", "additionalProperties", "patternProperties"),
    "array": ("items", "prefixItems", "additionalItems", "minItems", "maxItems"),
    "string": ("minLength", "maxLength", "format", "pattern"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}

Schema = dict[str, Any]

CONSTRAINTS = frozenset(
    {"type", "enum", "const", "anyOf", "oneOf", *(name for names in KEYWORDS.values() for name in names)}
)
OWN_TYPE = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"})
_NOT_EVERYWHERE = ("??", "*?", "+?", "}?", "(?<", "(?P")
"""Parts of expressions that some engines do not know."""


def choices_of(given: Mapping[str, Any]) -> Sequence[Any]:
    """The alternatives of a schema that says nothing else of its values than their type; else none."""
    for name in ("anyOf", "oneOf"):
        found = given.get(name)
        if isinstance(found, list) and 0 < len(found) <= MAX_ALTERNATIVES:
            return () if given.keys() & _TYPED else found
    return ()


_TYPED = frozenset(name for names in KEYWORDS.values() for name in names) - {"additionalProperties"}


def types_of(given: Mapping[str, Any]) -> list[str]:
    """The types of a schema, guessed by its keywords if it names none; empty if it may be any."""
    kind = given.get("type")
    named = kind if isinstance(kind, list) else [] if kind is None else [kind]
    kinds = [str(one).lower() for one in named]
    if any(one not in TYPES for one in kinds):
        return []
    if kinds:
        return list(dict.fromkeys(kinds))
    guessed = [kind for kind, names in KEYWORDS.items() if any(name in given for name in names)]
    return guessed if len(guessed) == 1 else []


def type_of(value: Any) -> str:
    """The type of a JSON value; 1.0 is an integer."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    kinds: Mapping[type, str] = {int: "integer", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def is_of_type(value: Any, kind: str) -> bool:
    """Whether a value is of a type."""
    return kind == type_of(value) or (kind == "number" and type_of(value) == "integer")


def with_null(schema: Schema) -> Schema:
    """The schema, with null as a further value."""
    if not schema:
        return schema
    if "anyOf" in schema:
        return {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    return {"anyOf": [schema, {"type": "null"}]}


def counts_of(given: Mapping[str, Any], least: str, most: str) -> tuple[int | None, int | None]:
    """Two counts, without those that are not counts, too large, or contradict each other."""
    low, high = (value if is_integer(value := given.get(name), 0) else None for name in (least, most))
    if low is not None and high is not None and high < low:
        return None, None
    return None if low is None else min(low, MAX_COUNT), None if high is None or high > MAX_COUNT else high


def number_bounds(given: Mapping[str, Any]) -> Schema:
    """The bounds of a number, without large ones and those that leave none."""
    numbers = ((name, given.get(name)) for name in KEYWORDS["number"])
    found: dict[str, float] = {
        name: value
        for name, value in numbers
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_BOUND
    }
    low = [value for name, value in found.items() if name.lower().endswith("minimum")]
    high = [value for name, value in found.items() if name.lower().endswith("maximum")]
    if not low or not high or max(low) < min(high):
        return found
    return found if max(low) == min(high) and found.keys() <= {"minimum", "maximum"} else {}


def schema_of_types(kinds: Sequence[str]) -> Schema:
    """The schema of these types; of any without one."""
    if not kinds:
        return {}
    return {"type": kinds[0] if len(kinds) == 1 else list(kinds)}


def present(**values: int | None) -> Schema:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def is_finite(schema: Schema, finite: set[str]) -> bool:
    """Whether a schema has a finite value, given the definitions that have one."""
    if "$ref" in schema:
        return schema["$ref"].removeprefix("#/$defs/") in finite
    if "anyOf" in schema:
        return any(is_finite(part, finite) for part in schema["anyOf"])
    if isinstance(schema.get("type"), list):
        return True
    needed = [schema["properties"][name] for name in schema.get("required", ())]
    needed += schema.get("prefixItems", ())
    if schema.get("minItems") and isinstance(schema.get("items"), dict):
        needed.append(schema["items"])
    return all(is_finite(part, finite) for part in needed)


def is_known_everywhere(pattern: str) -> bool:
    """Whether each engine follows a pattern as it is written."""
    if any(part in pattern for part in _NOT_EVERYWHERE):
        return False
    try:
        pattern_form(pattern)
    except PatternError:
        return False
    return is_unambiguous(pattern)
