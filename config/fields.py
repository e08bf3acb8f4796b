"""Strict marshmallow fields: each knows in words what it expects, and takes nothing else.

JSON has types; a configuration should mean what it says. So "5" is not 5, true is not 1 and 1.0 is not 1.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validates_schema

MAX_SHOWN = 60  # characters of a wrong value that an error repeats


class Strict(fields.Field[Any]):
    """A value that `fits`, or an error that says what was expected; `secret` ones are not repeated in it."""

    def __init__(
        self,
        expects: str,
        fits: Callable[[Any], bool],
        *,
        nullable: bool = False,
        secret: bool = False,
        convert: Callable[[Any], Any] | None = None,
    ) -> None:
        """Expect what the words say and the predicate accepts; `convert` is applied to what fits."""
        self.expects = f"{expects} or null" if nullable else expects
        self.fits = fits
        self.secret = secret
        self.convert = convert
        super().__init__(allow_none=nullable, error_messages={"null": f"must be {self.expects}, not null"})

    def _deserialize(self, value: Any, *_: object, **__: object) -> Any:
        if not self.fits(value):
            got = "" if self.secret else f", not {shown(value)}"
            raise ValidationError(f"must be {self.expects}{got}")
        return self.convert(value) if self.convert else value


class Named(fields.Field[Any]):
    """An object whose keys are names that people choose; each value is read by `read(name, value)`.

    Unlike `fields.Dict` it keeps errors under the plain name, so that a path reads as in the file.
    """

    def __init__(self, thing: str, pattern: str, read: Callable[[str, Any], Any]) -> None:
        """Name what is named (for errors), the names allowed, and how a value is read."""
        self.thing, self.pattern, self.read = thing, pattern, read
        super().__init__(error_messages={"null": "must be an object, not null"})

    def _deserialize(self, value: object, *_: object, **__: object) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValidationError(f"must be an object, not {shown(value)}")
        result: dict[str, Any] = {}
        problems: dict[str, Any] = {}
        for name, item in value.items():
            try:
                result[name] = self._read(name, item)
            except ValidationError as error:
                problems[name] = error.messages
        if problems:
            raise ValidationError(problems)
        return result

    def _read(self, name: str, item: object) -> object:
        if not re.fullmatch(self.pattern, name, re.ASCII) or ".." in name:
            raise ValidationError(f"is not a name for a {self.thing}; it must match {self.pattern}")
        return self.read(name, item)


class Section(Schema):
    """A group of settings with a fixed set of keys; an unknown key is answered with those that exist."""

    class Meta:
        """Unknown keys are reported by `_no_unknown_keys`, which says more than marshmallow would."""

        unknown = EXCLUDE

    error_messages = {"type": "must be an object"}  # noqa: RUF012 - marshmallow's own way to set it

    def unknown_key(self, key: str) -> str:
        """What to say about a key that is not known here."""
        return f"is not known here{suggestion(key, self.fields)}"

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _no_unknown_keys(self, _data: object, original: object, **_: object) -> None:
        if not isinstance(original, Mapping):
            return  # marshmallow has said so already
        unknown = {key: [self.unknown_key(key)] for key in original if key not in self.fields}
        if unknown:
            raise ValidationError(unknown)


def integer(
    minimum: int | None = None, maximum: int | None = None, *, multiple: int = 1, nullable: bool = False
) -> Strict:
    """A whole number within its bounds (both inclusive)."""
    of = "" if multiple == 1 else f", a multiple of {multiple}"
    return Strict(
        f"an integer{_bounds(minimum, maximum)}{of}",
        lambda value: type(value) is int and _within(value, minimum, maximum) and value % multiple == 0,
        nullable=nullable,
    )


def number(minimum: float | None = None, maximum: float | None = None, *, nullable: bool = False) -> Strict:
    """A finite number within its bounds (both inclusive)."""
    return Strict(
        f"a number{_bounds(minimum, maximum)}",
        lambda value: (
            type(value) in (int, float) and math.isfinite(value) and _within(value, minimum, maximum)
        ),
        nullable=nullable,
        convert=float,
    )


def flag(*, nullable: bool = False) -> Strict:
    """A boolean."""
    return Strict("true or false", lambda value: type(value) is bool, nullable=nullable)


def text(*, nullable: bool = False) -> Strict:
    """A text that is not empty and holds no NUL."""
    return Strict("a text that is not empty", _is_text, nullable=nullable)


def choice(values: Iterable[Any], *, nullable: bool = False) -> Strict:
    """One of the texts given."""
    allowed = tuple(values)
    return Strict(
        listed(allowed), lambda value: isinstance(value, str) and value in allowed, nullable=nullable
    )


def matching(pattern: str, expects: str, *, secret: bool = False, nullable: bool = False) -> Strict:
    """A text that matches the whole pattern, which `expects` puts in words."""
    return Strict(
        expects,
        lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None,
        secret=secret,
        nullable=nullable,
    )


def texts(*, nullable: bool = False) -> Strict:
    """A list of texts, read as a tuple."""
    return Strict(
        "a list of texts",
        lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
        nullable=nullable,
        convert=tuple,
    )


def mapping(*, nullable: bool = False, secret: bool = False) -> Strict:
    """An object with any keys."""
    return Strict("an object", lambda value: isinstance(value, Mapping), nullable=nullable, secret=secret)


def texts_by_name(
    expects: str, name: str, pattern: str, *, nullable: bool = False, secret: bool = False
) -> Strict:
    """An object whose names and texts match these patterns, which `expects` puts in words."""
    return Strict(
        expects,
        lambda value: (
            isinstance(value, Mapping)
            and all(re.fullmatch(name, key) for key in value)
            and all(isinstance(text, str) and re.fullmatch(pattern, text) for text in value.values())
        ),
        nullable=nullable,
        secret=secret,
    )


def shown(value: object) -> str:
    """A value as JSON would write it, cut when it is long."""
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= MAX_SHOWN else f"{written[:MAX_SHOWN]}..."


def listed(values: Iterable[Any]) -> str:
    """Several values as a phrase: `"a"`, or `one of "a", "b"`."""
    quoted = [shown(value) for value in values]
    return quoted[0] if len(quoted) == 1 else f"one of {', '.join(quoted)}"


def suggestion(key: str, known: Iterable[str]) -> str:
    """A nudge towards the names that exist: the nearest one, else all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.75)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(names)}"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def _within(value: float, minimum: float | None, maximum: float | None) -> bool:
    return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)


def _bounds(minimum: float | None, maximum: float | None) -> str:
    if minimum is not None and maximum is not None:
        return f" from {minimum} to {maximum}"
    if minimum is not None:
        return f" of at least {minimum}"
    return f" of at most {maximum}" if maximum is not None else ""
