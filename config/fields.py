"""Strict marshmallow fields for the configuration: JSON types are not converted.

"5" is not accepted for 5, nor true for 1, nor 1.0 for 1. Each field can describe the values that it expects.
"""

from __future__ import annotations

import difflib
import ipaddress
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validates_schema

from config.addresses import is_address
from config.integers import bounds, is_integer, is_within
from config.rate_limit import RateLimit

MAX_SHOWN = 60  # characters of an invalid value in an error message

MAX_INT = 2**31 - 1


class StrictField(fields.Field[Any]):
    """A field that accepts the values for which `accepts` is true.

    The error for any other value names the expected values, and repeats the value unless it is `secret`.
    """

    def __init__(
        self,
        expects: str,
        accepts: Callable[[Any], bool],
        *,
        nullable: bool = False,
        secret: bool = False,
        convert: Callable[[Any], Any] | None = None,
    ) -> None:
        """`expects` completes the sentence "must be ..."; `convert` is applied to an accepted value."""
        self.expects = f"{expects} or null" if nullable else expects
        self.accepts = accepts
        self.secret = secret
        self.convert = convert
        super().__init__(allow_none=nullable, error_messages={"null": f"must be {self.expects}, not null"})

    def _deserialize(self, value: Any, *_: object, **__: object) -> Any:
        if not self.accepts(value):
            got = "" if self.secret else f", not {as_json(value)}"
            raise ValidationError(f"must be {self.expects}{got}")
        return self.convert(value) if self.convert else value


class AddressField(StrictField):
    """An address that matches the whole pattern and that `accepts` takes.

    Its error does not repeat the value, which may contain a password, and ends with `advice`.
    """

    def __init__(
        self,
        pattern: str,
        expects: str,
        accepts: Callable[[str], bool] = is_address,
        *,
        advice: str = "",
        nullable: bool = False,
    ) -> None:
        super().__init__(
            expects,
            lambda value: isinstance(value, str) and bool(re.fullmatch(pattern, value)) and accepts(value),
            nullable=nullable,
            secret=True,
        )
        self.advice = advice

    def _deserialize(self, value: Any, *_: object, **__: object) -> Any:
        try:
            return super()._deserialize(value)
        except ValidationError as error:
            raise ValidationError(f"{error.messages[0]}{self.advice}") from None


class NamedEntries(fields.Field[Any]):
    """An object whose keys are names chosen by the operator; `read(name, value)` validates each value.

    Unlike those of `fields.Dict`, its errors are stored under the plain name, so that their path is that in
    the file.
    """

    def __init__(self, thing: str, pattern: str, read: Callable[[str, Any], Any]) -> None:
        """`thing` is the noun for errors ("model"), `pattern` matches the valid names."""
        self.thing, self.pattern, self.read = thing, pattern, read
        super().__init__(error_messages={"null": "must be an object, not null"})

    def _deserialize(self, value: object, *_: object, **__: object) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValidationError(f"must be an object, not {as_json(value)}")
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
            raise ValidationError(f"is not a valid name for a {self.thing}; it must match {self.pattern}")
        return self.read(name, item)


class Section(Schema):
    """A group of settings with fixed keys; the error for an unknown key suggests the existing ones."""

    class Meta:
        """`_no_unknown_keys` reports unknown keys, with a better message than marshmallow's."""

        unknown = EXCLUDE

    error_messages = {"type": "must be an object"}  # noqa: RUF012 - the way of marshmallow

    def unknown_key(self, key: str) -> str:
        """The error message for an unknown key."""
        return f"is not a known field{suggestion(key, self.fields)}"

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _no_unknown_keys(self, _data: object, original: object, **_: object) -> None:
        if not isinstance(original, Mapping):
            return  # marshmallow reports it
        unknown = {key: [self.unknown_key(key)] for key in original if key not in self.fields}
        if unknown:
            raise ValidationError(unknown)


def integer(
    minimum: int | None = None, maximum: int | None = None, *, multiple: int = 1, nullable: bool = False
) -> StrictField:
    """An integer; both bounds are inclusive."""
    of = "" if multiple == 1 else f", a multiple of {multiple}"
    return StrictField(
        f"an integer{bounds(minimum, maximum)}{of}",
        lambda value: is_integer(value, minimum, maximum) and value % multiple == 0,
        nullable=nullable,
    )


def number(
    minimum: float | None = None, maximum: float | None = None, *, nullable: bool = False
) -> StrictField:
    """A finite number; both bounds are inclusive."""
    return StrictField(
        f"a number{bounds(minimum, maximum)}",
        lambda value: (
            type(value) in (int, float) and math.isfinite(value) and is_within(value, minimum, maximum)
        ),
        nullable=nullable,
        convert=float,
    )


def flag(*, nullable: bool = False) -> StrictField:
    """A boolean."""
    return StrictField("true or false", lambda value: type(value) is bool, nullable=nullable)


def text(*, nullable: bool = False) -> StrictField:
    """A string that is not empty and has no NUL."""
    return StrictField("a non-empty string", _is_text, nullable=nullable)


def choice(values: Iterable[Any], *, nullable: bool = False) -> StrictField:
    """One of these strings."""
    allowed = tuple(values)
    return StrictField(
        one_of(allowed), lambda value: isinstance(value, str) and value in allowed, nullable=nullable
    )


def word(values: Iterable[str], synonyms: Mapping[str, str] | None = None) -> StrictField:
    """One of these strings, in upper or lower case, or a synonym of one."""
    words = {value: value for value in values} | dict(synonyms or {})
    return StrictField(
        one_of(values),
        lambda value: isinstance(value, str) and value.strip().lower() in words,
        convert=lambda value: words[value.strip().lower()],
    )


def matching(pattern: str, expects: str, *, secret: bool = False, nullable: bool = False) -> StrictField:
    """A string that matches the whole pattern; `expects` describes it."""
    return StrictField(
        expects,
        lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None,
        secret=secret,
        nullable=nullable,
    )


def texts(*, nullable: bool = False) -> StrictField:
    """A list of strings, converted to a tuple."""
    return StrictField(
        "a list of strings",
        lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
        nullable=nullable,
        convert=tuple,
    )


def mapping(*, nullable: bool = False, secret: bool = False) -> StrictField:
    """An object with any content."""
    return StrictField(
        "an object", lambda value: isinstance(value, Mapping), nullable=nullable, secret=secret
    )


def texts_by_name(  # noqa: PLR0913 - one parameter for each property of the object
    expects: str,
    name: str,
    pattern: str,
    *,
    most: int | None = None,
    nullable: bool = False,
    secret: bool = False,
) -> StrictField:
    """An object of at most so many strings, whose keys match `name` and values `pattern`.

    `expects` describes it.
    """
    return StrictField(
        expects,
        lambda value: (
            isinstance(value, Mapping)
            and (most is None or len(value) <= most)
            and all(re.fullmatch(name, key) for key in value)
            and all(isinstance(text, str) and re.fullmatch(pattern, text) for text in value.values())
        ),
        nullable=nullable,
        secret=secret,
    )


def rate() -> StrictField:
    """A rate limit as text, converted to a `RateLimit`; null: none."""
    return StrictField(
        'a rate limit such as "100req/min" (s, min, hour or day)',
        _is_rate_limit,
        nullable=True,
        convert=RateLimit,
    )


def networks() -> StrictField:
    """A list of IP addresses and networks (CIDR), converted to a tuple."""
    return StrictField(
        "a list of IP addresses and networks",
        lambda value: isinstance(value, list) and all(map(_is_network, value)),
        convert=tuple,
    )


def moment(*, nullable: bool = False) -> StrictField:
    """A date or a time (ISO 8601), in UTC unless it names another zone; converted to Unix seconds."""
    return StrictField(
        'a date such as "2027-01-31" or a time such as "2027-01-31T12:00:00Z"',
        lambda value: unix_seconds(value) is not None,
        nullable=nullable,
        convert=unix_seconds,
    )


def unix_seconds(value: object) -> float | None:
    """The Unix time in seconds of an ISO date or time, which is in UTC without a zone; None for any other."""
    try:
        when = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if when is None:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def as_json(value: object) -> str:
    """A value as JSON, cut to `MAX_SHOWN` characters. An address may contain a password: it is not shown."""
    encoded = json.dumps(value, ensure_ascii=False, default=str)
    if "://" in encoded:
        return "an address"
    return encoded if len(encoded) <= MAX_SHOWN else f"{encoded[:MAX_SHOWN]}..."


def one_of(values: Iterable[Any]) -> str:
    """The phrase `one of "a", "b"`, or just `"a"` for a single value."""
    quoted = [as_json(value) for value in values]
    return quoted[0] if len(quoted) == 1 else f"one of {', '.join(quoted)}"


def suggestion(key: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown name: the nearest known name, else all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.75)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(names)}"


def _is_rate_limit(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(RateLimit(value))
    except ValueError:
        return False


def _is_network(value: object) -> bool:
    try:
        return isinstance(value, str) and ipaddress.ip_network(value) is not None
    except ValueError:
        return False


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def is_digest(value: object) -> bool:
    """Whether a value is a SHA-256 digest in lower-case hex digits."""
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")
