"""Converts the schemas of numbers: bounds that are exact, and multiples one by one."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import ceil, floor
from typing import Any

from generation.schemas.json_pointer import Path
from generation.schemas.schema_form import OutputSchemaError, Schema

MAX_MULTIPLES = 512
"""Values that `multipleOf` leaves: they become an `enum`."""

NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
LARGEST = 10**15 - 1
"""The largest absolute value of a number with a bound: larger ones are not exact in double precision."""


def integer_schema(schema: Mapping[str, Any], path: Path) -> Schema:
    """The form of an integer's schema, without its type. Raises `OutputSchemaError`."""
    if (step := _step(schema, path)) > 1:
        return _multiples(schema, step, path)
    if not any(name in schema for name in NUMBER):
        return {}
    low, high = _bounds_of(schema, path)
    least = floor(low[1]) + 1 if low[0] == "exclusiveMinimum" else ceil(low[1])
    most = ceil(high[1]) - 1 if high[0] == "exclusiveMaximum" else floor(high[1])
    if least > most:
        raise OutputSchemaError("allows no integer", (*path, high[0]))
    return {"minimum": least, "maximum": most}


def _step(schema: Mapping[str, Any], path: Path) -> int:
    """The integer of which values have to be multiples, 1 for all. Raises `OutputSchemaError`."""
    step = schema.get("multipleOf", 1)
    if isinstance(step, bool) or not isinstance(step, int | float) or step <= 0:
        raise OutputSchemaError("must be a number above 0", (*path, "multipleOf"))
    if step != int(step):
        raise OutputSchemaError("must be an integer: other numbers are not exact", (*path, "multipleOf"))
    return int(step)


def _multiples(schema: Mapping[str, Any], step: int, path: Path) -> Schema:
    """The multiples of a step within the bounds, one by one: no grammar counts in steps."""
    given = {name: value for name, value in schema.items() if name != "multipleOf"}
    bounds = integer_schema(given, path) if any(name in schema for name in NUMBER) else {}
    least, most = bounds.get("minimum", -LARGEST), bounds.get("maximum", LARGEST)
    first, last = -(-least // step), most // step
    if last - first >= MAX_MULTIPLES:
        message = f"needs bounds with at most {MAX_MULTIPLES} multiples between them"
        raise OutputSchemaError(message, (*path, "multipleOf"))
    if last < first:
        raise OutputSchemaError("allows no integer within the bounds", (*path, "multipleOf"))
    return {"enum": [factor * step for factor in range(first, last + 1)]}


def number_schema(schema: Mapping[str, Any], path: Path) -> Schema:
    """The form of a number's schema; its type is `number` unless it has one. Raises `OutputSchemaError`."""
    if "multipleOf" in schema:
        found = integer_schema(schema, path)
        return found if "enum" in found else {**found, "type": "integer"}
    # without bounds, engines would write exponents that no reader of JSON takes
    low, high = _bounds_of(schema, path)
    least = _beside(low[1], 1) if low[0] == "exclusiveMinimum" else low[1]
    most = _beside(high[1], -1) if high[0] == "exclusiveMaximum" else high[1]
    if least > most:
        raise OutputSchemaError("allows no number that can be written", (*path, high[0]))
    return {"minimum": least, "maximum": most}


def _beside(bound: float, sign: int) -> float:
    """The next number above or below a bound, with as many digits as double precision surely has."""
    value = Decimal(str(bound))
    digits = len(str(abs(int(value))))
    return float(value + sign * Decimal(10) ** -min(6, 14 - digits))


def _bounds_of(schema: Mapping[str, Any], path: Path) -> tuple[tuple[str, float], tuple[str, float]]:
    """The lower and the upper bound of a number, each with its name."""
    low = _bound(schema, "minimum", "exclusiveMinimum", 1, path)
    high = _bound(schema, "maximum", "exclusiveMaximum", -1, path)
    if low[1] > high[1]:
        raise OutputSchemaError("allows no number", (*path, high[0]))
    return low, high


def _bound(
    schema: Mapping[str, Any], inclusive: str, exclusive: str, sign: int, path: Path
) -> tuple[str, float]:
    """The narrower of two bounds, within LARGEST, and its name.

    `sign` is 1 for lower bounds and -1 for upper ones.
    """
    found: list[tuple[float, bool, str]] = [(-LARGEST, False, inclusive)]
    for name in (inclusive, exclusive):
        value = schema.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise OutputSchemaError("must be a number", (*path, name))
        if value * sign > LARGEST:
            raise OutputSchemaError(f"is beyond {LARGEST}", (*path, name))
        found.append(
            (value * sign, name == exclusive, name) if abs(value) <= LARGEST else (-LARGEST, False, inclusive)
        )
    value, _, name = max(found)
    return name, value * sign
