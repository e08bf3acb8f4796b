"""The type of an output schema's form, the error, and the sizes that it may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from config.integers import is_integer
from generation.schemas.json_pointer import Path

MAX_COUNT = 1000
"""The largest `minItems`, `maxItems`, `minLength` and `maxLength`: engines compile no more in time."""

Schema = dict[str, Any]


class OutputSchemaError(ValueError):
    """Raised when a schema cannot be enforced; `path` is that of the part which cannot."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.path = path


def size_of(schema: Mapping[str, Any], name: str, path: Path) -> int | None:
    """The value of a keyword for a size; None without one. Raises `OutputSchemaError`."""
    value = schema.get(name)
    if value is None:
        return None
    if not is_integer(value, 0):
        raise OutputSchemaError("must be an integer of at least 0", (*path, name))
    return value


def count_of(schema: Mapping[str, Any], name: str, path: Path) -> int | None:
    """The same for one that engines count: at most MAX_COUNT. Raises `OutputSchemaError`."""
    value = size_of(schema, name, path)
    if value is not None and value > MAX_COUNT:
        raise OutputSchemaError(
            f"is more than {MAX_COUNT}, the most that can be enforced on an answer", (*path, name)
        )
    return value
