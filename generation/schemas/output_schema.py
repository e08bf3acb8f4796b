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
from itertools import count
from typing import Any

from generation.schemas.alternatives import any_of, are_apart, enum_of
from generation.schemas.json_pointer import Path, resolve
from generation.schemas.number_schema import NUMBER, integer_schema, number_schema
from generation.schemas.schema_form import OutputSchemaError, Schema, count_of
from generation.schemas.string_schema import string_schema

MAX_PARTS = 2048
"""Subschemas of a form: `additionalProperties` is converted for each required name without a property."""

MAX_BYTES = 128 * 1024
"""The size of a form, as JSON."""

MAX_DEPTH = 64
"""Levels of subschemas, references followed where they are converted."""

MAX_LEAVES = 128
"""Alternatives of a `oneOf`, those behind references included: each is compared with each."""

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
            return any_of([self._typed(kind, schema, path) for kind in kinds], (*path, "type"))
        return self._typed(kinds, schema, path)

    def _alone(self, name: str, schema: Mapping[str, Any], path: Path) -> Schema:
        value = schema[name]
        path = (*path, name)
        if name == "$ref":
            return {"$ref": f"#/$defs/{self._defined(value, path)}"}
        if name in ("const", "enum"):
            return enum_of([value] if name == "const" else value, schema.get("type"), path)
        if not isinstance(value, list) or not value:
            raise OutputSchemaError("must be an array with items", path)
        if name == "allOf" and len(value) > 1:
            raise OutputSchemaError("can only have one item", path)
        found = [self._schema(item, (*path, at)) for at, item in enumerate(value) if item is not False]
        if name == "oneOf":
            self._exclusive.append((path, found))
        return any_of(found, path)

    # ---- types

    def _typed(self, kind: Any, schema: Mapping[str, Any], path: Path) -> Schema:
        convert: Mapping[str, Callable[[Mapping[str, Any], Path], Schema]] = {
            "object": self._object,
            "array": self._array,
            "string": lambda schema, path: string_schema(schema, path, self._patterns),
            "integer": integer_schema,
            "number": number_schema,
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
        least, most = count_of(schema, "minItems", path) or 0, count_of(schema, "maxItems", path)
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
                if not all(are_apart(left, right) for left in one for right in other):
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
