"""The fields of shapes. Each documents itself through its metadata, which apispec copies into OpenAPI.

The first argument of each is its description. Optional fields take null for "not set", as OpenAI's SDK sends
it; required ones do not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from marshmallow import fields

from api.schemas.strict_schema import Mismatch, Shape, mismatch


def _settings(about: str, required: bool, **documented: object) -> dict[str, Any]:
    """What marshmallow and apispec are told: JSON Schema keywords travel as metadata."""
    metadata = {key: value for key, value in documented.items() if value is not None}
    return {"required": required, "allow_none": not required, "metadata": {"description": about, **metadata}}


def _examples(example: object) -> list[object] | None:
    return None if example is None else [example]


class Text(fields.String):
    """A string of `least` to `most` characters, matching `pattern` (a regular expression) as a whole."""

    json_type: ClassVar[type] = str

    def __init__(  # noqa: PLR0913 - a keyword for each JSON Schema keyword
        self,
        about: str,
        *,
        required: bool = False,
        least: int = 0,
        most: int | None = None,
        pattern: str | None = None,
        example: str | None = None,
    ) -> None:
        documented = {"minLength": least or None, "maxLength": most, "examples": _examples(example)}
        super().__init__(**_settings(about, required, pattern=pattern and f"^{pattern}$", **documented))
        self.least, self.most = least, most
        self.matches = re.compile(pattern).fullmatch if pattern else None

    def check(self, value: object) -> None:
        """Raise `Mismatch` unless it is such a string."""
        if type(value) is not str:
            raise Mismatch("must be a string")
        if len(value) < self.least:
            raise Mismatch(
                "must not be empty" if self.least == 1 else f"needs {self.least} characters or more"
            )
        if self.most is not None and len(value) > self.most:
            raise Mismatch(f"is longer than {self.most} characters")
        if self.matches is not None and not self.matches(value):
            raise Mismatch(f"must match {self.metadata['pattern']}")


class Whole(fields.Integer):
    """An integer from `least` to `most`. True is not 1 and 5.0 is not 5."""

    def __init__(
        self,
        about: str,
        *,
        required: bool = False,
        least: int | None = None,
        most: int | None = None,
        example: int | None = None,
    ) -> None:
        documented = {"minimum": least, "maximum": most, "examples": _examples(example)}
        super().__init__(strict=True, **_settings(about, required, **documented))
        self.least, self.most = least, most

    def check(self, value: object) -> None:
        """Raise `Mismatch` unless it is such an integer."""
        if type(value) is not int:
            raise Mismatch("must be an integer")
        _check_range(value, self.least, self.most)


class Number(fields.Float):
    """A number from `least` to `most`, integers included. (The intake lets no NaN and no infinity in.)"""

    def __init__(
        self, about: str, *, required: bool = False, least: float | None = None, most: float | None = None
    ) -> None:
        super().__init__(**_settings(about, required, minimum=least, maximum=most))
        self.least, self.most = least, most

    def check(self, value: object) -> None:
        """Raise `Mismatch` unless it is such a number."""
        if type(value) is not float and type(value) is not int:
            raise Mismatch("must be a number")
        _check_range(value, self.least, self.most)


def _check_range(value: float, least: float | None, most: float | None) -> None:
    if least is not None and value < least:
        raise Mismatch(f"must be at least {least}")
    if most is not None and value > most:
        raise Mismatch(f"must be at most {most}")


class Flag(fields.Boolean):
    """True or false, and nothing that resembles them."""

    def __init__(self, about: str, *, required: bool = False) -> None:
        super().__init__(**_settings(about, required))

    def check(self, value: object) -> None:
        """Raise `Mismatch` unless it is a boolean."""
        if type(value) is not bool:
            raise Mismatch("must be true or false")


class Choice(fields.String):
    """One of a few words. `code` is the error's code for another word."""

    json_type: ClassVar[type] = str

    def __init__(
        self, about: str, words: Sequence[str], *, required: bool = False, code: str = "invalid_request"
    ) -> None:
        super().__init__(**_settings(about, required))
        self.words, self.code = tuple(words), code
        self.hint = f"must be one of {', '.join(words)}"

    def check(self, value: object) -> None:
        """Raise `Mismatch` unless it is one of the words."""
        if type(value) is not str:
            raise Mismatch("must be a string")
        if value not in self.words:
            raise Mismatch(self.hint, self.code)


class Object(fields.Dict):
    """A JSON object whose inside is not ours to check (a JSON Schema)."""

    json_type: ClassVar[type] = dict

    def __init__(self, about: str, *, required: bool = False) -> None:
        super().__init__(**_settings(about, required))

    def check(self, value: object) -> None:
        """Raise `Mismatch` unless it is an object."""
        if type(value) is not dict:
            raise Mismatch("must be an object")


class Labels(fields.Dict):
    """Up to 16 pairs of text, keys of up to 64 and values of up to 512 characters (OpenAI's `metadata`)."""

    PAIRS, KEY, VALUE = 16, 64, 512

    def __init__(self, about: str) -> None:
        value = {"type": "string", "maxLength": self.VALUE}
        documented = {"maxProperties": self.PAIRS, "additionalProperties": value}
        super().__init__(**_settings(about, required=False, **documented))

    def check(self, value: object) -> None:
        """Raise `Mismatch` unless it is such an object."""
        if type(value) is not dict:
            raise Mismatch("must be an object")
        if len(value) > self.PAIRS:
            raise Mismatch(f"holds more than {self.PAIRS} pairs")
        for key, item in value.items():
            if len(key) > self.KEY:
                raise Mismatch(f"has a key longer than {self.KEY} characters")
            if type(item) is not str or len(item) > self.VALUE:
                mismatch(f"must be a string of up to {self.VALUE} characters", key)


class Items(fields.List[Any]):
    """An array of `least` to `most` values, each of which fits `inner`."""

    json_type: ClassVar[type] = list

    def __init__(
        self,
        about: str,
        inner: fields.Field[Any],
        *,
        required: bool = False,
        least: int = 0,
        most: int | None = None,
    ) -> None:
        inner.allow_none = False
        super().__init__(inner, **_settings(about, required, minItems=least or None, maxItems=most))
        self.least, self.most = least, most

    def check(self, value: object) -> None:
        """Raise `Mismatch` unless it is such an array."""
        if type(value) is not list:
            raise Mismatch("must be an array")
        if len(value) < self.least:
            raise Mismatch("must not be empty")
        if self.most is not None and len(value) > self.most:
            raise Mismatch(f"holds more than {self.most} items")
        inner: Any = self.inner
        check = inner.check
        for index, item in enumerate(value):
            try:
                check(item)
            except Mismatch as error:
                raise error.under(index) from None


class Part(fields.Nested):
    """An object of another shape."""

    json_type: ClassVar[type] = dict

    def __init__(self, about: str, shape: type[Shape], *, required: bool = False) -> None:
        super().__init__(shape, **_settings(about, required))
        self.check = shape.check


class Either(fields.Field[Any]):
    """One of several kinds, told apart by their JSON type: "text, or an array of parts"."""

    def __init__(self, about: str, *options: fields.Field[Any], required: bool = False) -> None:
        super().__init__(**_settings(about, required))
        for option in options:
            option.allow_none = False  # null is for the field as a whole
        self.options = options
        kinds: tuple[Any, ...] = options
        self.by_type = {kind.json_type: kind.check for kind in kinds}
        names = {str: "a string", list: "an array", dict: "an object"}
        self.hint = f"must be {' or '.join(names[kind] for kind in self.by_type)}"

    def check(self, value: object) -> None:
        """Raise `Mismatch` unless it fits the option of its JSON type."""
        check = self.by_type.get(type(value))
        if check is None:
            raise Mismatch(self.hint)
        check(value)


class Tagged(fields.Field[Any]):
    """An object whose `type` names its shape.

    `default` is the type of an object that names none; `code` the error's code for a type that is not here.
    """

    json_type: ClassVar[type] = dict

    def __init__(
        self,
        about: str,
        shapes: Mapping[str, type[Shape]],
        *,
        required: bool = False,
        default: str | None = None,
        code: str = "invalid_request",
    ) -> None:
        super().__init__(**_settings(about, required))
        self.shapes, self.default, self.code = shapes, default, code

    def check(self, value: object) -> None:
        """Raise `Mismatch` unless it is an object of one of the shapes."""
        if type(value) is not dict:
            raise Mismatch("must be an object")
        tag = value.get("type")
        if tag is None:
            tag = self.default
        if tag is None:
            mismatch("is required", "type")
        shape = self.shapes.get(tag) if type(tag) is str else None
        if shape is None:
            # an unsupported parameter is named as a whole (text.format), an unsupported item by its type
            where = () if self.code == "unsupported_parameter" else ("type",)
            mismatch(f"must be of type {' or '.join(self.shapes)}", *where, code=self.code)
        shape.check(value)
