"""Lists of values and of alternatives, and whether a value can fit two of them."""

from __future__ import annotations

import json
from typing import Any

from generation.schemas.json_pointer import Path
from generation.schemas.schema_form import OutputSchemaError, Schema


def any_of(alternatives: list[Schema], path: Path) -> Schema:
    """The form of alternatives. Raises `OutputSchemaError` without any."""
    if not alternatives:
        raise OutputSchemaError("must not be empty", path)
    return alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}


def enum_of(values: Any, kinds: Any, path: Path) -> Schema:
    """The form of a list of values: those of a type, if the schema has one. Raises `OutputSchemaError`."""
    if not isinstance(values, list):
        raise OutputSchemaError("must be an array", path)
    if kinds is not None:
        kinds = kinds if isinstance(kinds, list) else [kinds]
        values = [value for value in values if any(_is_of_type(value, kind) for kind in kinds)]
    if not values:
        raise OutputSchemaError("has no value of the type", path)
    return {"enum": values}


def are_apart(one: Schema, other: Schema) -> bool:
    """Whether no value fits both schemas. False if that is not obvious."""
    if not all("enum" in schema or "type" in schema for schema in (one, other)):
        return False  # one of them allows any value
    if "enum" in one and "enum" in other:
        return not {_text(value) for value in one["enum"]} & {_text(value) for value in other["enum"]}
    kinds, others = _kinds(one), _kinds(other)
    if not kinds & others:
        return True
    if kinds != {"object"} or others != {"object"} or "enum" in one or "enum" in other:
        return False
    for name in set(one.get("required", ())) & set(other.get("required", ())):
        left, right = one["properties"][name], other["properties"][name]
        if "enum" in left and "enum" in right and are_apart(left, right):
            return True
    return False


def _kinds(schema: Schema) -> set[str]:
    values = schema.get("enum")
    kinds = {schema["type"]} if values is None else {kind for value in values for kind in _types(value)}
    return kinds | {"integer"} if "number" in kinds else kinds


def _text(value: Any) -> str:
    whole = isinstance(value, float) and value == int(value)
    return json.dumps(int(value) if whole else value, sort_keys=True)


def _is_of_type(value: Any, kind: Any) -> bool:
    return kind in _types(value) or (kind == "number" and "integer" in _types(value))


def _types(value: Any) -> tuple[str, ...]:
    """The type of a JSON value; 1.0 is an integer."""
    if isinstance(value, bool):
        return ("boolean",)
    if isinstance(value, int | float):
        return ("integer",) if float(value).is_integer() else ("number",)
    kinds: dict[type, str] = {str: "string", list: "array", dict: "object", type(None): "null"}
    return (kinds[type(value)],)
