"""Makes a value that fits a JSON Schema in the form of `generation.schemas.output_schema`.

Imports the standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...shared.engine.patterns import shortest_text

MAX_DEPTH = 64
"""Levels of references that are followed: the least deep alternative of a recursive schema is closer."""


FORMATS: Mapping[str, str] = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "email": "a@example.org",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "127.0.0.1",
}


class NoInstance(ValueError):
    """Raised when a schema has no value within `MAX_DEPTH`."""


def instance(root: Mapping[str, Any] | None) -> Any:
    """The smallest value that fits the schema; an empty object without one. Raises `NoInstance`."""
    return {} if root is None else _instance(root, root.get("$defs", {}), 0)


def _instance(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise NoInstance("the schema is nested too deeply")
    if "$ref" in schema:
        return _instance(defs[schema["$ref"].removeprefix("#/$defs/")], defs, depth + 1)
    if "anyOf" in schema:
        return _first(schema["anyOf"], defs, depth + 1)
    if "enum" in schema:
        return schema["enum"][0]
    if "type" not in schema:
        return None
    return _OF_TYPE[schema["type"]](schema, defs, depth + 1)


def _first(alternatives: list[Mapping[str, Any]], defs: Mapping[str, Any], depth: int) -> Any:
    """A value of the first alternative that has one, without references if possible."""
    plain_first = sorted(alternatives, key=lambda part: "$ref" in str(part))
    for part in plain_first:
        try:
            return _instance(part, defs, depth)
        except NoInstance:
            continue
    raise NoInstance("no alternative has a value")


def _object(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> dict[str, Any]:
    required, properties = schema.get("required", ()), schema.get("properties", {})
    return {name: _instance(properties[name], defs, depth) for name in properties if name in required}


def _array(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> list[Any]:
    fixed = [_instance(part, defs, depth) for part in schema.get("prefixItems", ())]
    missing = schema.get("minItems", 0) - len(fixed)
    return fixed + ([_instance(schema["items"], defs, depth)] * missing if missing > 0 else [])


def _string(schema: Mapping[str, Any], _defs: Mapping[str, Any], _depth: int) -> str:
    if "format" in schema:
        return FORMATS[schema["format"]]
    if "pattern" in schema:
        return shortest_text(schema["pattern"])
    least: int = schema.get("minLength", 0)
    return ("text " * (least // 5 + 1))[:least]


def _integer(schema: Mapping[str, Any], _defs: Mapping[str, Any], _depth: int) -> int:
    least: int = schema.get("minimum", min(0, schema.get("maximum", 0)))
    return least


def _number(schema: Mapping[str, Any], _defs: Mapping[str, Any], _depth: int) -> float:
    least: float = schema["minimum"]
    return 0 if least <= 0 <= schema["maximum"] else least


_OF_TYPE: Mapping[str, Any] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": lambda *_: True,
    "null": lambda *_: None,
}
