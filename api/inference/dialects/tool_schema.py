"""Bounds the JSON Schemas that clients send for tools, before any engine compiles them to a grammar.

A grammar can cost far more than its schema's bytes: at each token, engines follow all alternatives that could
come next, in a thread that serves every request, and for some schemas that takes years. So a schema is
refused, with the path of the part that is too large, unless what is counted here bounds its cost. The counts
follow llama.cpp's converter (common/json-schema-to-grammar.cpp), the most sensitive one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from api.http.strict_schema import SchemaMismatch, raise_mismatch
from config.integers import is_integer
from generation.schemas.json_pointer import resolve
from generation.schemas.schema_pattern import PatternError, check_pattern

MAX_BYTES = 16 * 1024
MAX_BYTES_TOGETHER = 256 * 1024
"""The limit for all tools of a request, with their names and descriptions."""

MAX_DEPTH = 16
"""Levels of objects and arrays within a schema, the schema itself included, with `properties` not counted."""

MAX_FOLLOWED = 64
"""Levels of subschemas with each `$ref` followed; what another way led to before is not followed again."""

MAX_PROPERTIES = 128
MAX_ALTERNATIVES = 128
MAX_ENUM = 512
MAX_NAME = 256
MAX_EXPANDED = 1024
"""Subschemas, with those behind a `$ref` counted at each reference to them."""

MAX_PATH_KEY = 64  # characters of a key in the path of an error

_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"enum", "const", "default", "examples", "example"})
"""Keywords with values that are no schemas."""

_REPETITIONS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_CHOICES = ("anyOf", "oneOf", "allOf")


def check_tool_schema(schema: Mapping[str, Any]) -> None:
    """Check the schema of a tool's parameters. Raises `SchemaMismatch` with the path of what is refused."""
    if len(orjson.dumps(schema)) > MAX_BYTES:
        raise SchemaMismatch(f"is larger than {MAX_BYTES // 1024} KiB")
    _Checker(schema).check()


def check_tools_together(tools: Sequence[Any]) -> None:
    """Check the size of all tools of a request together. Raises `SchemaMismatch`."""
    if len(orjson.dumps(tools)) > MAX_BYTES_TOGETHER:
        raise SchemaMismatch(f"are larger than {MAX_BYTES_TOGETHER // 1024} KiB together")


class _Checker:
    """Checks one schema: each part by itself first, then what the references make of them."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._schemas: dict[int, Mapping[str, Any]] = {}
        """All subschemas by identity: a reference may name no other value."""
        self._expanded: dict[int, int] = {}
        self._open: set[int] = set()
        self._without_recursion: set[int] = set()

    def check(self) -> None:
        """Check all of it."""
        self._visit(self._root, 1)
        for part in list(self._schemas.values()):
            if "$ref" in part:
                self._target(part)
        for part in self._schemas.values():
            self._check_recursion(part, ())
        if self._size(self._root) > MAX_EXPANDED:
            raise SchemaMismatch(f"has more than {MAX_EXPANDED} parts, counted at each $ref to them")

    # ---- each part by itself

    def _visit(self, schema: Any, depth: int) -> None:
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            raise SchemaMismatch("must be a schema: an object, true or false")
        if depth > MAX_DEPTH:
            raise SchemaMismatch(f"is nested deeper than {MAX_DEPTH} levels")
        self._schemas[id(schema)] = schema
        _check_keywords(schema)
        for path, child in _children(schema):
            try:
                self._visit(child, depth + 1)
            except SchemaMismatch as error:
                for key in reversed(path):
                    error.inside(_shortened(key))
                raise

    # ---- references

    def _target(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The subschema that a `$ref` names. Raises `SchemaMismatch`."""
        found, _ = resolve(self._root, schema["$ref"])
        if isinstance(found, dict) and id(found) in self._schemas:
            return found
        raise SchemaMismatch(f"has a $ref that points to nothing in it: {str(schema['$ref'])[:80]!r}")

    def _check_recursion(self, schema: Any, above: tuple[int, ...]) -> None:
        """Refuse a schema that is an alternative of itself: no grammar of it reads a first character."""
        if isinstance(schema, bool) or id(schema) in self._without_recursion:
            return
        if id(schema) in above:
            raise SchemaMismatch("has a $ref that leads back to itself without a property or item in between")
        _check_followed(len(above))
        above = (*above, id(schema))
        if "$ref" in schema:
            self._check_recursion(self._target(schema), above)
        for name in _CHOICES:
            for choice in schema.get(name, ()):
                self._check_recursion(choice, above)
        self._without_recursion.add(id(schema))

    def _size(self, schema: Any) -> int:
        """The number of subschemas when each reference is replaced by its target; recursion counts once."""
        if not isinstance(schema, dict) or id(schema) in self._open:
            return 1
        known = self._expanded.get(id(schema))
        if known is None:
            _check_followed(len(self._open))
            self._open.add(id(schema))
            known = 1 + len(schema.get("enum", ()))
            known += sum(self._size(child) for path, child in _children(schema) if path[0] not in _UNUSED)
            if "$ref" in schema:
                known += self._size(self._target(schema))
            self._open.discard(id(schema))
            known = self._expanded[id(schema)] = min(known, MAX_EXPANDED + 1)
        return known


def _check_followed(levels: int) -> None:
    if levels >= MAX_FOLLOWED:
        raise SchemaMismatch(f"is nested deeper than {MAX_FOLLOWED} levels, with each $ref followed")


_UNUSED = frozenset({"$defs", "definitions"})
"""Their subschemas count where they are referenced."""


def _children(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The subschemas directly within a schema, with their paths.

    Every object counts as one, whatever its keyword: an engine may know more keywords.
    """
    for key, value in schema.items():
        if key in _DATA:
            continue
        if key in _MAPS:
            yield from (((key, name), item) for name, item in value.items())
        elif isinstance(value, dict):
            yield (key,), value
        elif isinstance(value, list):
            yield from (((key, at), item) for at, item in enumerate(value) if isinstance(item, dict))


def _check_keywords(schema: Mapping[str, Any]) -> None:
    """Check the keywords that have a bound of their own. Raises `SchemaMismatch`."""
    for name in _MAPS & schema.keys():
        _check_map(name, schema[name])
    if not isinstance(schema.get("type"), str):
        _check_types(_check_list(schema, "type", MAX_ALTERNATIVES))
    _check_list(schema, "enum", MAX_ENUM)
    _check_list(schema, "prefixItems", MAX_ALTERNATIVES)
    for name in _CHOICES:
        for at, choice in enumerate(_check_list(schema, name, MAX_ALTERNATIVES)):
            _check_is_schema(choice, name, at)
    for name in ("items", "additionalProperties"):
        if not isinstance(schema.get(name), list):  # a list of items: the form of older drafts
            _check_is_schema(schema.get(name, True), name)
    for name in _REPETITIONS:
        _check_repetitions(name, schema.get(name))
    for name in ("Items", "Length", "Properties"):
        least, most = schema.get(f"min{name}"), schema.get(f"max{name}")
        if least is not None and most is not None and most < least:  # llama.cpp does not return from it
            raise_mismatch(f"must not be less than min{name}", f"max{name}")
    if "pattern" in schema:
        _check_pattern(schema["pattern"], "pattern")
    if "$ref" in schema and not isinstance(schema["$ref"], str):
        raise_mismatch("must be a string", "$ref")


def _check_list(schema: Mapping[str, Any], name: str, limit: int) -> list[Any]:
    """The list of a keyword, empty without the keyword. Raises `SchemaMismatch`."""
    value = schema.get(name)
    if name not in schema:
        return []
    if not isinstance(value, list):
        raise_mismatch("must be an array", name)
    if len(value) > limit:
        raise_mismatch(f"has more than {limit} items", name)
    return value


def _check_types(types: list[Any]) -> None:
    """Refuse a type that is there twice: each is an alternative, with all that the schema has for arrays."""
    for at, one in enumerate(types):
        if not isinstance(one, str):
            raise_mismatch("must be a string", "type", at)
        if one in types[:at]:
            raise_mismatch("must not appear twice", "type", at)


def _check_is_schema(value: Any, *path: str | int) -> None:
    if not isinstance(value, dict | bool):
        raise_mismatch("must be a schema: an object, true or false", *path)


def _check_map(name: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise_mismatch("must be an object", name)
    if len(value) > MAX_PROPERTIES:
        raise_mismatch(f"has more than {MAX_PROPERTIES} properties", name)
    for key in value:
        if len(key) > MAX_NAME:
            raise_mismatch(f"has a name longer than {MAX_NAME} characters", name)
        if name == "patternProperties":
            _check_pattern(key, name, key)


def _check_repetitions(name: str, value: Any) -> None:
    """Check a count, which may be large: the engines' adapters leave out what a grammar cannot count."""
    if value is not None and not is_integer(value, 0):
        raise_mismatch("must be an integer of at least 0", name)


def _check_pattern(pattern: Any, *path: str) -> None:
    if not isinstance(pattern, str):
        raise_mismatch("must be a string", *path)
    try:
        check_pattern(pattern)
    except PatternError as error:
        raise_mismatch(str(error), *map(_shortened_name, path))


def _shortened(key: str | int) -> str | int:
    return key if isinstance(key, int) else _shortened_name(key)


def _shortened_name(key: str) -> str:
    return key if len(key) <= MAX_PATH_KEY else f"{key[:MAX_PATH_KEY]}..."
