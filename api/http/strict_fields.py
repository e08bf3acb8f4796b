"""The fields of strict schemas. Their metadata documents them: apispec copies it into the OpenAPI document.

The first argument of each field is its description. Optional fields accept null as "not set", which OpenAI's
SDK sends; required fields do not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import marshmallow
from marshmallow import fields

from api.http.strict_schema import SchemaMismatch, StrictSchema, raise_mismatch

MAX_LOGIT_BIAS = 1024
"""The most tokens that one request may bias."""


def _field_arguments(description: str, required: bool, **keywords: object) -> dict[str, Any]:
    """The arguments of a marshmallow field; JSON Schema keywords go into its metadata."""
    metadata = {key: value for key, value in keywords.items() if value is not None}
    return {
        "required": required,
        "allow_none": not required,
        "metadata": {"description": description, **metadata},
    }


def _examples(example: object) -> list[object] | None:
    return None if example is None else [example]


def _only(value: float | None) -> list[float | None] | None:
    return None if value is None else [value, None]


class StringField(fields.String):
    """A string of `min_length` to `max_length` characters that matches `pattern` (a regex) as a whole."""

    json_type: ClassVar[type] = str

    def __init__(  # noqa: PLR0913 - one parameter for each JSON Schema keyword
        self,
        description: str,
        *,
        required: bool = False,
        min_length: int = 0,
        max_length: int | None = None,
        pattern: str | None = None,
        example: str | None = None,
        excludes: dict[str, object] | None = None,
    ) -> None:
        """`excludes`: the schema of values that the dialects refuse of those; for the document."""
        keywords = {
            "minLength": min_length or None,
            "maxLength": max_length,
            "examples": _examples(example),
            "not": excludes,
        }
        super().__init__(
            **_field_arguments(description, required, pattern=pattern and f"^{pattern}$", **keywords)
        )
        self.min_length, self.max_length = min_length, max_length
        self.matches = re.compile(pattern).fullmatch if pattern else None

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not str:
            raise SchemaMismatch("must be a string")
        if len(value) < self.min_length:
            raise SchemaMismatch(
                "must not be empty" if self.min_length == 1 else f"needs {self.min_length} characters or more"
            )
        if self.max_length is not None and len(value) > self.max_length:
            raise SchemaMismatch(f"is longer than {self.max_length} characters")
        if self.matches is not None and not self.matches(value):
            raise SchemaMismatch(f"must match {self.metadata['pattern']}")


MAX_EXACT = 2**53 - 1
"""The largest integer that every reader of JSON keeps as it is."""


class IntegerField(fields.Integer):
    """An integer from `minimum` to `maximum`. 5.0 is one (the schema makes it 5), true is not."""

    json_type: ClassVar[type] = int

    def __init__(  # noqa: PLR0913 - one parameter for each JSON Schema keyword
        self,
        description: str,
        *,
        required: bool = False,
        minimum: int | None = None,
        maximum: int = MAX_EXACT,
        example: int | None = None,
        only: int | None = None,
        excludes: dict[str, object] | None = None,
    ) -> None:
        """For the document: `only` is the single value that the dialects take of those, `excludes` the schema
        of values that they refuse.
        """
        keywords = {
            "minimum": minimum,
            "maximum": maximum,
            "examples": _examples(example),
            "enum": _only(only),
            "not": excludes,
        }
        super().__init__(strict=True, **_field_arguments(description, required, **keywords))
        self.minimum, self.maximum = minimum, maximum

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not int:
            raise SchemaMismatch("must be an integer")
        _check_range(value, self.minimum, self.maximum)


class NumberField(fields.Float):
    """A number from `minimum` to `maximum`, integers included. (The body reader rejects NaN and infinity.)"""

    def __init__(
        self,
        description: str,
        *,
        required: bool = False,
        minimum: float | None = None,
        maximum: float | None = None,
        only: float | None = None,
    ) -> None:
        """`only`: the single value that the dialects take of those; for the document."""
        keywords = {"minimum": minimum, "maximum": maximum, "enum": _only(only)}
        super().__init__(**_field_arguments(description, required, **keywords))
        self.minimum, self.maximum = minimum, maximum

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not float and type(value) is not int:
            raise SchemaMismatch("must be a number")
        _check_range(value, self.minimum, self.maximum)


def _check_range(value: float, minimum: float | None, maximum: float | None) -> None:
    if minimum is not None and value < minimum:
        raise SchemaMismatch(f"must be at least {minimum}")
    if maximum is not None and value > maximum:
        raise SchemaMismatch(f"must be at most {maximum}")


class BooleanField(fields.Boolean):
    """A boolean."""

    def __init__(self, description: str, *, required: bool = False) -> None:
        super().__init__(**_field_arguments(description, required))

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not bool:
            raise SchemaMismatch("must be true or false")


class EnumField(fields.String):
    """One of a few strings. `code` is the error code for any other string."""

    json_type: ClassVar[type] = str

    def __init__(
        self,
        description: str,
        values: Sequence[str],
        *,
        required: bool = False,
        code: str = "invalid_request",
    ) -> None:
        super().__init__(**_field_arguments(description, required))
        self.values, self.code = tuple(values), code
        self.hint = f"must be one of {', '.join(values)}"

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not str:
            raise SchemaMismatch("must be a string")
        if value not in self.values:
            raise SchemaMismatch(self.hint, self.code)


class FileField(fields.String):
    """A file of a multipart form, for the document: the view reads it itself."""

    def __init__(self, description: str, *, required: bool = False) -> None:
        super().__init__(required=required, metadata={"description": description, "format": "binary"})


class AnyField(fields.Field[Any]):
    """A value of any type, which is ignored or which its dialect checks."""

    def __init__(self, description: str) -> None:
        super().__init__(allow_none=True, metadata={"description": description})

    def check(self, value: object) -> None:
        """Accept any value."""


class ObjectField(fields.Dict):
    """A JSON object with any content (a JSON Schema)."""

    json_type: ClassVar[type] = dict

    def __init__(self, description: str, *, required: bool = False) -> None:
        super().__init__(**_field_arguments(description, required))

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not dict:
            raise SchemaMismatch("must be an object")


class MetadataField(fields.Dict):
    """OpenAI's `metadata`: up to 16 pairs of strings, keys of up to 64 and values of up to 512 characters."""

    MAX_PAIRS, MAX_KEY, MAX_VALUE = 16, 64, 512

    def __init__(self, description: str) -> None:
        value = {"type": "string", "maxLength": self.MAX_VALUE}
        keywords = {"maxProperties": self.MAX_PAIRS, "additionalProperties": value}
        super().__init__(**_field_arguments(description, required=False, **keywords))

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not dict:
            raise SchemaMismatch("must be an object")
        if len(value) > self.MAX_PAIRS:
            raise SchemaMismatch(f"has more than {self.MAX_PAIRS} pairs")
        for key, item in value.items():
            if len(key) > self.MAX_KEY:
                raise SchemaMismatch(f"has a key longer than {self.MAX_KEY} characters")
            if type(item) is not str or len(item) > self.MAX_VALUE:
                raise_mismatch(f"must be a string of up to {self.MAX_VALUE} characters", key)


class LogitBiasField(fields.Dict):
    """OpenAI's `logit_bias`: up to 1024 token ids, each with a number from -100 to 100."""

    MAX_ENTRIES, MOST = MAX_LOGIT_BIAS, 100
    TOKEN = re.compile(r"[0-9]{1,10}")

    def __init__(self, description: str) -> None:
        super().__init__(
            **_field_arguments(
                description,
                required=False,
                maxProperties=self.MAX_ENTRIES,
                patternProperties={
                    f"^{self.TOKEN.pattern}$": {"type": "number", "minimum": -self.MOST, "maximum": self.MOST}
                },
                additionalProperties=False,
            )
        )

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not dict:
            raise SchemaMismatch("must be an object")
        if len(value) > self.MAX_ENTRIES:
            raise SchemaMismatch(f"must have at most {self.MAX_ENTRIES} entries")
        for token, bias in value.items():
            if self.TOKEN.fullmatch(token) is None:
                raise SchemaMismatch("must have token ids as its keys")
            if type(bias) not in (int, float) or not -self.MOST <= bias <= self.MOST:
                raise_mismatch(f"must be a number from -{self.MOST} to {self.MOST}", token)


class ListField(fields.List[Any]):
    """An array of `min_items` to `max_items` values, each of which fits `inner`."""

    json_type: ClassVar[type] = list

    def __init__(
        self,
        description: str,
        inner: fields.Field[Any],
        *,
        required: bool = False,
        min_items: int = 0,
        max_items: int | None = None,
    ) -> None:
        inner.allow_none = False
        super().__init__(
            inner, **_field_arguments(description, required, minItems=min_items or None, maxItems=max_items)
        )
        self.min_items, self.max_items = min_items, max_items

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not list:
            raise SchemaMismatch("must be an array")
        if len(value) < self.min_items:
            raise SchemaMismatch("must not be empty")
        if self.max_items is not None and len(value) > self.max_items:
            raise SchemaMismatch(f"has more than {self.max_items} items")
        inner: Any = self.inner
        check = inner.check
        for index, item in enumerate(value):
            try:
                check(item)
            except SchemaMismatch as error:
                raise error.inside(index) from None


class NestedField(fields.Nested):
    """An object with a schema of its own."""

    json_type: ClassVar[type] = dict

    def __init__(self, description: str, schema: type[StrictSchema], *, required: bool = False) -> None:
        super().__init__(schema, **_field_arguments(description, required))
        self.check = schema.check


class UnionField(fields.Field[Any]):
    """One of several fields, distinguished by their JSON type: a string, or an array of parts."""

    def __init__(self, description: str, *options: fields.Field[Any], required: bool = False) -> None:
        super().__init__(**_field_arguments(description, required))
        for option in options:
            option.allow_none = False  # null is a value of the union, not of an option
        self.options = options
        kinds: tuple[Any, ...] = options
        self.by_type = {kind.json_type: kind.check for kind in kinds}
        names = {str: "a string", int: "an integer", list: "an array", dict: "an object"}
        self.hint = f"must be {' or '.join(names[kind] for kind in self.by_type)}"

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        check = self.by_type.get(type(value))
        if check is None:
            raise SchemaMismatch(self.hint)
        check(value)


class TaggedUnionField(fields.Field[Any]):
    """An object whose `type` selects one of `schemas`.

    `default` is the type of an object without one, or with an empty one; `code` is the error code for an
    unknown type, unless `other` is the schema of all objects of such types.
    """

    json_type: ClassVar[type] = dict

    def __init__(  # noqa: PLR0913 - one parameter for each choice of a schema
        self,
        description: str,
        schemas: Mapping[str, type[StrictSchema]],
        *,
        required: bool = False,
        default: str | None = None,
        code: str = "invalid_request",
        other: type[StrictSchema] | None = None,
    ) -> None:
        super().__init__(**_field_arguments(description, required))
        self.schemas, self.default, self.code, self.other = schemas, default, code, other

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not dict:
            raise SchemaMismatch("must be an object")
        tag = value.get("type")
        if tag is None or tag == "":
            tag = self.default
        if tag is None:
            raise_mismatch("is required", "type")
        schema = self.schemas.get(tag, self.other) if type(tag) is str else None
        if schema is None:
            # the path names an unsupported parameter itself (text.format), but the `type` of an item
            suffix = () if self.code == "unsupported_parameter" else ("type",)
            raise_mismatch(f"must be of type {' or '.join(self.schemas)}", *suffix, code=self.code)
        schema.check(value)


class OneOfSchemasField(fields.Field[Any]):
    """An object of an answer that fits one of the `schemas`."""

    schemas: tuple[type[marshmallow.Schema], ...]
