"""Shapes: marshmallow schemas whose fields check a JSON value strictly, without loading it.

One declaration serves two readers. apispec turns it into the OpenAPI document, like any marshmallow schema.
`Shape.check` holds a request body to it: exact JSON types (marshmallow's own load takes "5" for 5 and 1 for
true), unknown fields tolerated, the first mismatch named by its path. A check looks only at the fields that
were sent and copies nothing, which costs a fifteenth of `Schema.load` (2 against 30 us for a usual body).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, NoReturn, Protocol

import marshmallow


class Mismatch(Exception):
    """Raised when a value is not of its shape.

    `path` leads to the place (`input[3].type`); `code` is the error's, `invalid_request` unless the shape
    knows a more telling one.
    """

    def __init__(self, message: str, code: str = "invalid_request") -> None:
        """At no path yet: whoever looks inside adds its step with `under`."""
        super().__init__(message)
        self.message = message
        self.code = code
        self.path = ""

    def under(self, key: str | int) -> Mismatch:
        """The same, one step further out. Paths are only built once something is wrong."""
        step = f"[{key}]" if isinstance(key, int) else key
        joint = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{step}{joint}{self.path}"
        return self


def mismatch(message: str, *path: str | int, code: str = "invalid_request") -> NoReturn:
    """Raise a `Mismatch` at that path."""
    error = Mismatch(message, code)
    for key in reversed(path):
        error.under(key)
    raise error


class Checked(Protocol):
    """What a field of a shape can do."""

    allow_none: bool
    required: bool

    def check(self, value: object) -> None:
        """Return if the value (never None) is right, else raise `Mismatch`."""
        ...


class Shape(marshmallow.Schema):
    """A JSON object of fields from `api.schemas.strict_fields`; others are ignored unless it is `closed`."""

    closed: ClassVar[bool] = False

    class Meta:
        """Unknown fields pass: clients are newer than we are as often as older."""

        unknown = marshmallow.EXCLUDE

    @classmethod
    def may_be_empty(cls) -> bool:
        """Whether an object without any field has this shape; then no body at all will do too."""
        return not _fields(cls)[1]

    @classmethod
    def check(cls, value: object) -> None:
        """Return if the value has this shape, else raise `Mismatch`."""
        if type(value) is not dict:
            raise Mismatch("must be an object")
        known, required = _fields(cls)
        for key, item in value.items():
            field = known.get(key)
            if field is None:
                if cls.closed:
                    mismatch("is not a field of this request", key)
                continue
            if item is None:
                if not field.allow_none:
                    mismatch("must not be null", key)
                continue
            try:
                field.check(item)
            except Mismatch as error:
                raise error.under(key) from None
        for key in required:
            if key not in value:
                mismatch("is required", key)


@cache
def _fields(shape: type[Shape]) -> tuple[Mapping[str, Checked], tuple[str, ...]]:
    """A shape's fields by name, and the names of the required ones."""
    known: dict[str, Any] = dict(shape().fields)
    return known, tuple(name for name, field in known.items() if field.required)
