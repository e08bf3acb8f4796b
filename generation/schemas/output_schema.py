"""Converts the JSON Schemas of answers and of strict tools into a form that every engine can enforce.

Engines know different parts of JSON Schema, and leave out what they do not know. Here a schema is converted
to the parts that all of them enforce, or refused with the path of what cannot be enforced: an answer then
fits the client's schema, whichever engine wrote it. The result may be narrower than the schema (an object
with listed properties has no others), never wider.

The form, for engines: each schema is `{}` (any value) or has exactly one of

- `$ref`: a name in `$defs` of the root,
- `anyOf`: a list of schemas,
- `enum`: a list of values,
- `type`: one type, with `properties`, `required` (a part of the properties) and `additionalProperties` (false
  if there are properties, else false or a schema) for an object; `minItems`, `maxItems`, `items` and
  `prefixItems` for an array; `minLength` and `maxLength`, or a `format` of `FORMATS`, or a `pattern` in the
  form of `pattern_form` (a format beside it is an annotation), for a string; `minimum` and `maximum` for a
  number, and for an integer or none of the two,

and its `title` and `description`. Bounds on the whole (bytes, depth, ...) are checked before
(`api.inference.dialects.tool_schema`). Source: JSON Schema 2020-12, "Core" and "Validation".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from itertools import count
from math import ceil, floor
from typing import Any

from config.integers import is_integer
from generation.schemas.format_patterns import FORMAT_PATTERNS, format_patterns
from generation.schemas.json_pointer import Path, resolve
from generation.schemas.pattern_automaton import automaton
from generation.schemas.pattern_form import fits_pattern, pattern_form
from generation.schemas.schema_pattern import PatternError

MAX_COUNT = 1000
"""The largest `minItems`, `maxItems`, `minLength` and `maxLength`: engines compile no more in time."""

MAX_PARTS = 2048
"""Subschemas of a form: `additionalProperties` is converted for each required name without a property."""

MAX_BYTES = 128 * 1024
"""The size of a form, as JSON."""

MAX_DEPTH = 64
"""Levels of subschemas, references followed where they are converted."""

MAX_MULTIPLES = 512
"""Values that `multipleOf` leaves: they become an `enum`."""

MAX_PATTERNS = 64
"""Different patterns of a schema: a pattern takes up to some milliseconds to convert."""

MAX_LEAVES = 128
"""Alternatives of a `oneOf`, those behind references included: each is compared with each."""

Schema = dict[str, Any]

ANNOTATIONS = ("title", "description")
IGNORED = frozenset(
    {
        *(
            "default",
            "examples",
            "example",
            "deprecated",
            "readOnly",
            "writeOnly",
            "$comment",
            "$schema",
            "$id",
        ),
        *("discriminator", "nullable", "contentEncoding", "contentMediaType", "$defs", "definitions"),
    }
)
"""Keywords without an effect on what is valid."""

UNCOMBINED_KEYWORDS = ("$ref", "anyOf", "oneOf", "allOf", "const", "enum")
"""Keywords that no other one may accompany (`type` may accompany the last two)."""

NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
LARGEST = 10**15 - 1
"""The largest absolute value of a number with a bound: larger ones are not exact in double precision."""

FORMATS = ("date-time", "date", "time", "email", "uuid", "ipv4")
"""The formats that all engines know."""

KEYWORDS: Mapping[str, tuple[str, ...]] = {
    "object": ("properties", "required", "additionalProperties", "propertyNames"),
    "array": ("items", "prefixItems", "additionalItems", "minItems", "maxItems"),
    "string": ("minLength", "maxLength", "format", "pattern"),
    "integer": (*NUMBER, "multipleOf"),
    "number": (*NUMBER, "multipleOf"),
    "boolean": (),
    "null": (),
}
"""The keywords of each type."""

KNOWN_KEYWORDS = frozenset(
    {"type", *UNCOMBINED_KEYWORDS, *(name for names in KEYWORDS.values() for name in names)}
)


class OutputSchemaError(ValueError):
    """Raised when a schema cannot be enforced; `path` is that of the part which cannot."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.path = path


def enforceable(schema: Mapping[str, Any]) -> Schema:
    """The schema in the form for engines. Raises `OutputSchemaError`."""
    return _Converter(schema).convert()


class _Converter:
    """Converts one schema and what it refers to."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._names: dict[str, str] = {}  # of the definitions, by JSON pointer
        self._defs: dict[str, Schema] = {}
        self._exclusive: list[tuple[Path, list[Schema]]] = []
        self._parts = 0
        self._depth = 0
        self._patterns: set[str] = set()

    def convert(self) -> Schema:
        """The whole schema."""
        found = self._schema(self._root, ())
        for path, alternatives in self._exclusive:
            self._check_apart(alternatives, path)
        finite = self._finite_names()
        if not _is_finite(found, finite):
            raise OutputSchemaError("allows no finite value: it always contains itself")
        form = {**found, "$defs": self._defs} if self._defs else found
        if len(json.dumps(form)) > MAX_BYTES:
            raise OutputSchemaError(f"is larger than {MAX_BYTES // 1024} KiB in the form for engines")
        return form

    def _schema(self, schema: Any, path: Path) -> Schema:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise OutputSchemaError(f"has more than {MAX_PARTS} parts in the form for engines")
        if self._depth >= MAX_DEPTH:
            raise OutputSchemaError(f"is nested deeper than {MAX_DEPTH} levels, with each $ref followed")
        self._depth += 1
        try:
            return self._part(schema, path)
        finally:
            self._depth -= 1

    def _part(self, schema: Any, path: Path) -> Schema:
        if schema is True:
            return {}
        if schema is False:
            raise OutputSchemaError("allows no value", path)
        if not isinstance(schema, Mapping):
            raise OutputSchemaError("must be a schema: an object, true or false", path)
        names = [
            name for name in schema if name not in IGNORED and name not in ANNOTATIONS and name[:2] != "x-"
        ]
        for name in names:
            if name not in KNOWN_KEYWORDS:
                if name == "uniqueItems" and schema[name] is False:
                    continue
                raise OutputSchemaError("is a keyword that cannot be enforced on answers", (*path, name))
        found = self._converted(schema, names, path)
        kept = {name: schema[name] for name in ANNOTATIONS if isinstance(schema.get(name), str)}
        if schema.get("nullable") is True:  # OpenAPI 3.0
            found = {"anyOf": [found, {"type": "null"}]}
        return {**kept, **found}

    def _converted(self, schema: Mapping[str, Any], names: Sequence[str], path: Path) -> Schema:
        for name in UNCOMBINED_KEYWORDS:
            if name in schema:
                allowed = {name, "type"} if name in ("const", "enum") else {name}
                if others := [other for other in names if other not in allowed]:
                    raise OutputSchemaError(f"cannot be combined with {name}", (*path, others[0]))
                return self._alone(name, schema, path)
        kinds = schema["type"] if "type" in schema else _guessed_type(names, path)
        if kinds is None:
            return {}
        if isinstance(kinds, list):
            return _any_of([self._typed(kind, schema, path) for kind in kinds], (*path, "type"))
        return self._typed(kinds, schema, path)

    def _alone(self, name: str, schema: Mapping[str, Any], path: Path) -> Schema:
        value = schema[name]
        path = (*path, name)
        if name == "$ref":
            return {"$ref": f"#/$defs/{self._defined(value, path)}"}
        if name in ("const", "enum"):
            return _enum([value] if name == "const" else value, schema.get("type"), path)
        if not isinstance(value, list) or not value:
            raise OutputSchemaError("must be an array with items", path)
        if name == "allOf" and len(value) > 1:
            raise OutputSchemaError("can only have one item", path)
        found = [self._schema(item, (*path, at)) for at, item in enumerate(value) if item is not False]
        if name == "oneOf":
            self._exclusive.append((path, found))
        return _any_of(found, path)

    # ---- types

    def _typed(self, kind: Any, schema: Mapping[str, Any], path: Path) -> Schema:
        convert: Mapping[str, Callable[[Mapping[str, Any], Path], Schema]] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "integer": _integer,
            "number": _number,
        }
        if not isinstance(kind, str) or kind not in KEYWORDS:
            raise OutputSchemaError("is not a JSON Schema type", (*path, "type"))
        found = convert[kind](schema, path) if kind in convert else {}
        return found if "enum" in found else {"type": kind, **found}

    def _object(self, schema: Mapping[str, Any], path: Path) -> Schema:
        given, more = schema.get("properties") or {}, schema.get("additionalProperties", True)
        if not isinstance(given, Mapping):
            raise OutputSchemaError("must be an object", (*path, "properties"))
        required = schema.get("required") or []
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise OutputSchemaError("must be an array of names", (*path, "required"))
        given, more = _with_names(schema.get("propertyNames", True), given, more, path)
        properties = {
            name: self._schema(part, (*path, "properties", name))
            for name, part in given.items()
            if part is not False or name in required
        }
        for at, name in enumerate(required):
            if name not in properties:
                if more is False:
                    raise OutputSchemaError("is not among the properties", (*path, "required", at))
                properties[name] = self._schema(more, (*path, "additionalProperties"))
        names = list(dict.fromkeys(required))
        if given or properties or more is False:
            return {"properties": properties, "required": names, "additionalProperties": False}
        return {"additionalProperties": self._schema(more, (*path, "additionalProperties"))}

    def _array(self, schema: Mapping[str, Any], path: Path) -> Schema:
        least, most = _count(schema, "minItems", path) or 0, _count(schema, "maxItems", path)
        fixed, items = schema.get("prefixItems") or [], schema.get("items", True)
        place = "prefixItems"
        if isinstance(items, list):  # that of drafts before 2020-12, with further items in `additionalItems`
            fixed, items, place = items, schema.get("additionalItems", True), "items"
        if not isinstance(fixed, list):
            raise OutputSchemaError("must be an array", (*path, "prefixItems"))
        if fixed:
            # all of them and no more: narrower than JSON Schema, which allows fewer and others after them
            if least > len(fixed) or (most is not None and most < len(fixed)):
                raise OutputSchemaError("does not fit minItems or maxItems", (*path, place))
            found = [self._schema(item, (*path, place, at)) for at, item in enumerate(fixed)]
            return {"prefixItems": found, "items": False, "minItems": len(fixed), "maxItems": len(fixed)}
        if items is False:
            most = 0
        if most is not None and most < least:
            raise OutputSchemaError("must not be less than minItems", (*path, "maxItems"))
        bounds: Schema = {"minItems": least} if least else {}
        if most is not None:
            bounds["maxItems"] = most
        return {"items": {} if most == 0 else self._schema(items, (*path, "items")), **bounds}

    # ---- strings

    def _string(self, schema: Mapping[str, Any], path: Path) -> Schema:
        least, most = _size(schema, "minLength", path), _size(schema, "maxLength", path)
        if least is not None and most is not None and most < least:
            raise OutputSchemaError("must not be less than minLength", (*path, "maxLength"))
        name, pattern = schema.get("format"), schema.get("pattern")
        if pattern is not None:  # a format beside it is an annotation
            found = self._pattern(pattern, name, (*path, "pattern"))
            candidates = (form for form in _patterns_of(name) if fits_pattern(form, pattern))
            for candidate in (found, *(() if _has_lengths(found, least, most) else candidates)):
                if _has_lengths(candidate, least, most):
                    return {"pattern": candidate}
            raise OutputSchemaError("cannot be combined with such a length", (*path, "pattern"))
        if name is None:
            lengths = {
                "minLength": _count(schema, "minLength", path) or None,
                "maxLength": _count(schema, "maxLength", path),
            }
            return {name: value for name, value in lengths.items() if value is not None}
        if not _patterns_of(name):
            raise OutputSchemaError(f"must be one of {', '.join(FORMAT_PATTERNS)}", (*path, "format"))
        if name in FORMATS and not least and most is None:
            return {"format": name}
        for candidate in _patterns_of(name):
            if _has_lengths(candidate, least, most):
                return {"pattern": candidate}
        raise OutputSchemaError("cannot be combined with such a length", (*path, "format"))

    def _pattern(self, pattern: Any, name: Any, path: Path) -> str:
        """The form of a pattern, or else that of the format beside it, whose texts fit the pattern."""
        if not isinstance(pattern, str):
            raise OutputSchemaError("must be a string", path)
        self._patterns.add(pattern)
        if len(self._patterns) > MAX_PATTERNS:
            raise OutputSchemaError(f"is one of more than {MAX_PATTERNS} different patterns", path)
        try:
            return pattern_form(pattern)
        except PatternError as error:
            for candidate in _patterns_of(name):
                if fits_pattern(candidate, pattern):
                    return candidate
            raise OutputSchemaError(str(error), path) from error

    # ---- references

    def _defined(self, pointer: Any, path: Path) -> str:
        """The name of a definition, which is converted at the first reference to it."""
        if not isinstance(pointer, str):
            raise OutputSchemaError("must be a string", path)
        known = self._names.get(pointer)
        if known is not None:
            return known
        target, keys = resolve(self._root, pointer)
        if target is None:
            raise OutputSchemaError("points to nothing in the schema", path)
        last = str(keys[-1]) if keys else "root"
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in last)
        name = next(name for name in _numbered(plain) if name not in self._defs)
        self._names[pointer] = name
        self._defs[name] = {}
        self._defs[name] = self._schema(target, keys)
        return name

    def _check_apart(self, alternatives: Sequence[Schema], path: Path) -> None:
        """Check that no value fits two alternatives of a `oneOf`. Raises `OutputSchemaError`."""
        flat = [self._leaves(alternative) for alternative in alternatives]
        if sum(map(len, flat)) > MAX_LEAVES:
            raise OutputSchemaError(f"has more than {MAX_LEAVES} alternatives, with each $ref followed", path)
        for at, one in enumerate(flat):
            for other in flat[at + 1 :]:
                if not all(_apart(left, right) for left in one for right in other):
                    raise OutputSchemaError("has alternatives that can fit the same value: use anyOf", path)

    def _leaves(self, schema: Schema) -> list[Schema]:
        """The alternatives of a schema, references followed."""
        found: list[Schema] = []
        followed: set[str] = set()
        waiting = [schema]
        while waiting:
            part = waiting.pop()
            if "$ref" in part:
                name = part["$ref"].removeprefix("#/$defs/")
                if name not in followed:
                    followed.add(name)
                    waiting.append(self._defs[name])
            elif "anyOf" in part:
                waiting += part["anyOf"]
            else:
                found.append(part)
        return found

    def _finite_names(self) -> frozenset[str]:
        """The definitions that have a finite value."""
        finite: set[str] = set()
        while True:
            before = len(finite)
            for name, schema in reversed(self._defs.items()):  # a definition is behind those that refer to it
                if name not in finite and _is_finite(schema, finite):
                    finite.add(name)
            if len(finite) == before:
                return frozenset(finite)


def _numbered(name: str) -> Iterator[str]:
    """A name, and then others that begin with it."""
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _guessed_type(names: Sequence[str], path: Path) -> str | None:
    """The type of a schema without one, by its keywords; None if it has none."""
    guessed = ("object", "array", "string", "number")
    kinds = [kind for kind in guessed if any(name in KEYWORDS[kind] for name in names)]
    if len(kinds) > 1:
        raise OutputSchemaError("needs a type", path)
    return kinds[0] if kinds else None


def _any_of(alternatives: list[Schema], path: Path) -> Schema:
    if not alternatives:
        raise OutputSchemaError("must not be empty", path)
    return alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}


def _enum(values: Any, kinds: Any, path: Path) -> Schema:
    if not isinstance(values, list):
        raise OutputSchemaError("must be an array", path)
    if kinds is not None:
        kinds = kinds if isinstance(kinds, list) else [kinds]
        values = [value for value in values if any(_is_of_type(value, kind) for kind in kinds)]
    if not values:
        raise OutputSchemaError("has no value of the type", path)
    return {"enum": values}


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


def _with_names(
    names: Any, properties: Mapping[str, Any], more: Any, path: Path
) -> tuple[Mapping[str, Any], Any]:
    """The properties and the further ones of an object whose names fit a schema: any, or some by name."""
    if names in (True, {}) or (isinstance(names, Mapping) and not names.keys() - {"type", *ANNOTATIONS}):
        return properties, more
    values = (
        names.get("enum", [names["const"]] if "const" in names else None)
        if isinstance(names, Mapping)
        else None
    )
    if not isinstance(values, list):
        raise OutputSchemaError("is a keyword that cannot be enforced on answers", (*path, "propertyNames"))
    given = {name: properties.get(name, more) for name in values if isinstance(name, str)}
    return {name: part for name, part in given.items() if part is not False}, False


def _patterns_of(name: Any) -> tuple[str, ...]:
    """The patterns of a format; none if it is unknown."""
    return format_patterns(name) if isinstance(name, str) else ()


def _has_lengths(pattern: str, least: int | None, most: int | None) -> bool:
    """Whether all texts of a pattern have these lengths."""
    if not least and most is None:
        return True
    shortest, longest = automaton(pattern[1:-1]).lengths()
    return shortest >= (least or 0) and (most is None or (longest is not None and longest <= most))


def _integer(schema: Mapping[str, Any], path: Path) -> Schema:
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
    bounds = _integer(given, path) if any(name in schema for name in NUMBER) else {}
    least, most = bounds.get("minimum", -LARGEST), bounds.get("maximum", LARGEST)
    first, last = -(-least // step), most // step
    if last - first >= MAX_MULTIPLES:
        message = f"needs bounds with at most {MAX_MULTIPLES} multiples between them"
        raise OutputSchemaError(message, (*path, "multipleOf"))
    if last < first:
        raise OutputSchemaError("allows no integer within the bounds", (*path, "multipleOf"))
    return {"enum": [factor * step for factor in range(first, last + 1)]}


def _number(schema: Mapping[str, Any], path: Path) -> Schema:
    if "multipleOf" in schema:
        found = _integer(schema, path)
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


def _size(schema: Mapping[str, Any], name: str, path: Path) -> int | None:
    value = schema.get(name)
    if value is None:
        return None
    if not is_integer(value, 0):
        raise OutputSchemaError("must be an integer of at least 0", (*path, name))
    return value


def _count(schema: Mapping[str, Any], name: str, path: Path) -> int | None:
    value = _size(schema, name, path)
    if value is not None and value > MAX_COUNT:
        raise OutputSchemaError(
            f"is more than {MAX_COUNT}, the most that can be enforced on an answer", (*path, name)
        )
    return value


def _apart(one: Schema, other: Schema) -> bool:
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
        if "enum" in left and "enum" in right and _apart(left, right):
            return True
    return False


def _kinds(schema: Schema) -> set[str]:
    values = schema.get("enum")
    kinds = {schema["type"]} if values is None else {kind for value in values for kind in _types(value)}
    return kinds | {"integer"} if "number" in kinds else kinds


def _text(value: Any) -> str:
    whole = isinstance(value, float) and value == int(value)
    return json.dumps(int(value) if whole else value, sort_keys=True)


def _is_finite(schema: Schema, finite: Set[str]) -> bool:
    """Whether a schema has a finite value, given the definitions that have one."""
    if "$ref" in schema:
        return schema["$ref"].removeprefix("#/$defs/") in finite
    if "anyOf" in schema:
        return any(_is_finite(part, finite) for part in schema["anyOf"])
    needed = [schema["properties"][name] for name in schema.get("required", ())]
    needed += schema.get("prefixItems", ())
    if schema.get("minItems") and isinstance(schema.get("items"), dict):
        needed.append(schema["items"])
    return all(_is_finite(part, finite) for part in needed)
