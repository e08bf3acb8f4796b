"""OpenAI's subset of JSON Schema for `strict: true` (OpenAI, "Structured model outputs", Supported schemas).

The root is an object and no `anyOf`. Each object lists all its properties in `required` and has
`additionalProperties: false`. Some keywords are not in the subset. Clients generate such schemas; one that is
not in the subset is refused as OpenAI does it, so that a mistake shows up here and not at a later provider.
OpenAI's limits on size are wider than those of `tool_schema`, except the nesting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.http.strict_schema import SchemaMismatch, raise_mismatch

MAX_DEPTH = 10
NOT_IN_SUBSET = (
    *("allOf", "oneOf", "not", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas", "patternProperties", "propertyNames", "unevaluatedProperties"),
)


def check_strict(schema: Mapping[str, Any]) -> None:
    """Check a schema against the subset. Raises `SchemaMismatch` with the path of what is not in it."""
    if schema.get("type") != "object":
        raise_mismatch("must be object at the root of a strict schema", "type")
    if "anyOf" in schema:
        raise_mismatch("is not allowed at the root of a strict schema", "anyOf")
    _check(schema, 1)


def _check(schema: Any, depth: int) -> None:
    if not isinstance(schema, dict):
        return
    for name in NOT_IN_SUBSET:
        if name in schema:
            raise_mismatch("is not allowed in a strict schema", name)
    kinds = schema.get("type")
    if kinds == "object" or (isinstance(kinds, list) and "object" in kinds) or "properties" in schema:
        if depth > MAX_DEPTH:
            raise SchemaMismatch(
                f"is nested deeper than {MAX_DEPTH} levels, which a strict schema does not allow"
            )
        _check_object(schema)
        depth += 1
    for name in ("properties", "$defs", "definitions"):
        for key, part in schema.get(name, {}).items():
            _check_part(part, depth, name, key)
    _check_part(schema.get("items"), depth, "items")
    for name in ("anyOf", "prefixItems"):
        for at, part in enumerate(schema.get(name, ())):
            _check_part(part, depth, name, at)


def _check_part(part: Any, depth: int, *path: str | int) -> None:
    try:
        _check(part, depth)
    except SchemaMismatch as error:
        for key in reversed(path):
            error.inside(key)
        raise


def _check_object(schema: Mapping[str, Any]) -> None:
    if schema.get("additionalProperties") is not False:
        raise_mismatch("must be false in each object of a strict schema", "additionalProperties")
    required = schema.get("required", [])
    for name in schema.get("properties", {}):
        if not isinstance(required, list) or name not in required:
            raise_mismatch(f"must name each property of a strict schema: {name[:64]} is missing", "required")
