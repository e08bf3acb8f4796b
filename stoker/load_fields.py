"""The fields that `stoker load --set FIELD=VALUE` sets, with the types of the model's `load_constraints`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

Constraints = Mapping[str, Mapping[str, Any]]

INTEGER = re.compile(r"[+-]?[0-9]+")
MAX_DIGITS = 19
"""Of an integer, its sign included; no field takes as many, and Python converts only a few thousand."""


class InvalidAssignment(ValueError):
    """Raised for a FIELD=VALUE that the model's backend does not take; the text is one sentence."""


def parse_assignments(texts: Sequence[str], row: Mapping[str, Any]) -> dict[str, Any]:
    """Parse each FIELD=VALUE for a model, given its row of the Runtime Admin API. Returns values by field.

    The value of an integer field is an integer, of a string field a string, also when it consists of digits;
    `null` is null. Whether a value is allowed is checked by the API. Raises `InvalidAssignment`.
    """
    return dict(_parse(text, row) for text in texts)


def split_assignment(text: str) -> tuple[str, str]:
    """Return the field and the text of its value. Raises `InvalidAssignment`."""
    field, sign, value = text.partition("=")
    if not field or not sign:
        raise InvalidAssignment(f"{text} is not in the form FIELD=VALUE")
    return field, value


def _parse(text: str, row: Mapping[str, Any]) -> tuple[str, Any]:
    field, value = split_assignment(text)
    constraints: Constraints = row.get("load_constraints") or {}
    if field not in constraints:
        known = f"only {', '.join(constraints)}" if constraints else "nor any other field"
        raise InvalidAssignment(
            f"a load of {row.get('name')} ({row.get('resolved_backend')}) has no field {field}, {known}"
        )
    return field, _typed(field, value, str(constraints[field].get("kind")))


def _typed(field: str, value: str, kind: str) -> Any:
    """Return a value as the type of its field; `kind` is that of the Runtime Admin API."""
    if value == "null":
        return None
    if kind.startswith("integer"):
        if not INTEGER.fullmatch(value):
            raise InvalidAssignment(f"{field} must be an integer, not {value}")
        if len(value) > MAX_DIGITS:
            raise InvalidAssignment(f"{field} has more than {MAX_DIGITS} digits")
        return int(value)
    if kind == "float":
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise InvalidAssignment(f"{field} must be a number, not {value}")
        return number
    return _without_quotes(value)


def _without_quotes(value: str) -> str:
    """Return a string that is written as in JSON, or as it is."""
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value
    return value
