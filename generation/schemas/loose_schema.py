"""Loosens the JSON Schema of a tool that is not strict, until every engine can compile a grammar of it.

What cannot be compiled is left out, in the smallest subschema that has it: a keyword, a bound, an enumeration
that is too long, a reference to nothing, and where nothing smaller helps, the whole subschema, which then
allows any value. So the result allows what the schema allows, except properties that an object does not list,
as always, and other lengths of a tuple. It never fails, and takes a time bounded by `MAX_PARTS`.

The result is an object's schema with the keywords `$ref` (a name in `$defs` of the root), `anyOf`, `enum`,
`const`, `type` (one, or a list) and those of each type in `loose_keywords.KEYWORDS`, beside `ANNOTATIONS`.
Usual schemas stay as they are. Sources: JSON Schema 2020-12 and draft-07, OpenAPI 3.0 (`nullable`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from generation.schemas.json_pointer import resolve
from generation.schemas.loose_keywords import (
    CONSTRAINTS,
    FORMATS,
    MAX_ALTERNATIVES,
    OWN_TYPE,
    Schema,
    choices_of,
    counts_of,
    is_finite,
    is_known_everywhere,
    is_of_type,
    number_bounds,
    present,
    schema_of_types,
    type_of,
    types_of,
    with_null,
)

MAX_PARTS = 1024
"""What a schema may cost: subschemas, those behind a `$ref` at each reference, and values of enumerations."""

MAX_DEPTH = 16
"""Levels of subschemas within one another, `anyOf` and `$ref` not counted."""

MAX_FOLLOWED = 64
"""Levels of subschemas with `anyOf` and each `$ref` followed."""

MAX_BYTES = 16 * 1024
"""The size of names and enumerated values together."""

MAX_PROPERTIES = 128
MAX_ENUM = 512
MAX_NAME = 256

_NULLABLE = ("const", "default")
ANNOTATIONS = ("title", "description", "default", "examples")
Loosened = Schema | bool
"""False for a schema that no value fits."""


def loosened(schema: Any) -> Schema:
    """The schema of a tool's parameters that every engine compiles; it allows objects only."""
    return _Loosener(schema).parameters()


class _Loosener:
    """Loosens one schema."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._names: dict[str, str] = {}  # of the definitions, by JSON pointer
        self._defs: dict[str, Schema] = {}
        self._sizes: dict[str, int] = {}
        self._parts = MAX_PARTS
        self._bytes = MAX_BYTES
        self._depth = 0
        self._followed = 0
        self._direct: frozenset[str] = frozenset()
        """Definitions that the present subschema is an alternative of."""

    def parameters(self) -> Schema:
        """The whole schema."""
        root = self._root
        if isinstance(root, Mapping) and not choices_of(root) and "$ref" not in root and "allOf" not in root:
            root = {**root, "type": "object"}
        found = self._schema(root)
        self._bound_recursion()
        if isinstance(found, bool) or not self._is_object(found, set()):
            found = {"type": "object"}
        used = self._used(found)
        defs = {name: part for name, part in self._defs.items() if name in used}
        return {**found, "$defs": defs} if defs else found

    def _used(self, schema: Schema) -> set[str]:
        """The definitions that a schema refers to, also by others."""
        used: set[str] = set()
        waiting: list[Any] = [schema]
        while waiting:
            part = waiting.pop()
            if isinstance(part, list):
                waiting += part
            if not isinstance(part, dict):
                continue
            name = part["$ref"].removeprefix("#/$defs/") if isinstance(part.get("$ref"), str) else ""
            if name in self._defs and name not in used:
                used.add(name)
                waiting.append(self._defs[name])
            for key in ("items", "additionalProperties", "anyOf", "prefixItems"):
                waiting.append(part.get(key))
            waiting += (part.get("properties") or {}).values()
        return used

    def _is_object(self, schema: Schema, followed: set[str]) -> bool:
        """Whether a schema allows objects only."""
        if "anyOf" in schema:
            return all(self._is_object(part, followed) for part in schema["anyOf"])
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            return name in followed or self._is_object(self._defs[name], followed | {name})
        return schema.get("type") == "object"

    def _schema(self, schema: Any) -> Loosened:
        if isinstance(schema, bool):
            return {} if schema else False
        self._parts -= 1
        if not isinstance(schema, Mapping) or self._parts < 0 or self._followed >= MAX_FOLLOWED:
            return {}
        self._followed += 1
        try:
            # many clients write null for a keyword that is absent
            named = {name: value for name, value in schema.items() if value is not None or name in _NULLABLE}
            given = self._merged(named)
            kept = {name: given[name] for name in ANNOTATIONS if name in given}
            found = self._converted(given)
            if isinstance(found, bool):
                return found
            if given.get("nullable") is True:
                found = with_null(found)
            order = {name: at for at, name in enumerate(given)}
            return dict(sorted({**kept, **found}.items(), key=lambda item: order.get(item[0], -1)))
        finally:
            self._followed -= 1

    def _converted(self, given: Mapping[str, Any]) -> Loosened:
        if "$ref" in given:
            return self._reference(given["$ref"])
        if "const" in given or isinstance(given.get("enum"), list):
            return self._enum(given)
        if alternatives := choices_of(given):
            return self._any_of(alternatives, given.get("type"))
        kinds = types_of(given)
        found = schema_of_types(kinds)
        for kind in kinds:
            convert: Mapping[str, Callable[[Mapping[str, Any]], Schema]] = {
                "object": self._object,
                "array": self._array,
                "string": self._string,
                "integer": number_bounds,
                "number": number_bounds,
            }
            if kind in convert:
                found |= convert[kind](given)
        return found

    # ---- combinations

    def _merged(self, schema: Schema) -> Schema:
        """The schema with the parts of its `allOf`, and of what a `$ref` beside other keywords names.

        Of keywords that two of them have, the first counts; properties and required names are joined.
        """
        parts = schema.get("allOf")
        parts = list(parts) if isinstance(parts, list) else []
        rest = {name: value for name, value in schema.items() if name != "allOf"}
        own = rest.keys() - {*ANNOTATIONS, "$ref", "$defs", "definitions", "nullable"}
        if "$ref" in rest and (own & CONSTRAINTS or parts):
            parts.insert(0, {"$ref": rest.pop("$ref")})
        if len(parts) == 1 and not own & CONSTRAINTS and isinstance(parts[0], Mapping):
            return self._merged({**parts[0], **rest}) if "allOf" in parts[0] else {**parts[0], **rest}
        for part in parts[:MAX_ALTERNATIVES]:
            self._add(rest, part)
        return rest

    def _add(self, merged: Schema, part: Any) -> None:
        for _ in range(MAX_FOLLOWED):
            self._parts -= 1
            if not isinstance(part, Mapping) or "$ref" not in part or self._parts < 0:
                break
            part, _ = resolve(self._root, part["$ref"])
        if not isinstance(part, Mapping) or "$ref" in part or self._parts < 0:
            return
        if self._followed >= MAX_FOLLOWED or len(part.get("properties") or ()) > MAX_PROPERTIES:
            return
        self._followed += 1
        part = self._merged(dict(part))
        self._followed -= 1
        for name, value in part.items():
            known = merged.get(name)
            if name == "properties" and isinstance(known, Mapping) and isinstance(value, Mapping):
                self._parts -= len(value) // 8
                merged[name] = {**value, **known}
            elif name == "required" and isinstance(known, list) and isinstance(value, list):
                merged[name] = [*known, *value[:MAX_PROPERTIES]]
            else:
                merged.setdefault(name, value)

    def _any_of(self, alternatives: Sequence[Any], kind: Any) -> Loosened:
        found = []
        for part in alternatives:
            typed = part
            if kind is not None and isinstance(part, Mapping) and not part.keys() & OWN_TYPE:
                typed = {**part, "type": kind}
            one = self._schema(typed)
            if one is False:
                continue
            if one == {}:
                return {}
            found.append(one)
        return {"anyOf": found} if found else False

    def _enum(self, given: Mapping[str, Any]) -> Loosened:
        """The values, or their types if they are too many."""
        values = [given["const"]] if "const" in given else given["enum"]
        kinds = types_of({"type": given["type"]}) if "type" in given else []
        if kinds:
            values = [value for value in values if any(is_of_type(value, kind) for kind in kinds)]
        if not values:
            return schema_of_types(kinds)
        size = 0 if len(values) > MAX_ENUM else len(orjson.dumps(values))
        if len(values) <= min(MAX_ENUM, self._parts) and size <= self._bytes:
            self._parts -= len(values)
            self._bytes -= size
            plain = {"type": kinds[0]} if len(kinds) == 1 else {}
            return {**plain, "const": values[0]} if "const" in given else {**plain, "enum": values}
        return schema_of_types(kinds or list(dict.fromkeys(map(type_of, values))))

    # ---- references

    def _reference(self, pointer: Any) -> Loosened:
        """A reference to a definition, which is loosened at the first one."""
        if not isinstance(pointer, str) or len(pointer) > MAX_BYTES:
            return {}
        name = self._names.get(pointer)
        if name is not None:
            self._parts -= self._sizes.get(name, 1)
            return {} if name in self._direct or self._parts < 0 else {"$ref": f"#/$defs/{name}"}
        target, _ = resolve(self._root, pointer)
        if not isinstance(target, Mapping):
            return {} if target is not False else False
        last = pointer.rpartition("/")[2]
        plain = "".join(
            letter if letter.isascii() and letter.isalnum() else "_" for letter in last[:MAX_NAME]
        )
        plain = plain if plain.strip("_") else "root"
        name, number = plain, 1
        while name in self._defs:
            number += 1
            name = f"{plain}_{number}"
        self._names[pointer], self._defs[name] = name, {}
        before, direct = self._parts, self._direct
        self._direct |= {name}
        found = self._schema(target)
        self._direct = direct
        self._sizes[name] = before - self._parts
        if isinstance(found, bool):
            return {}
        self._defs[name] = found
        return {"$ref": f"#/$defs/{name}"}

    def _within(self, schema: Any) -> Loosened:
        """A schema of a property or an item."""
        if self._depth >= MAX_DEPTH:
            return {}
        direct, self._direct = self._direct, frozenset()
        self._depth += 1
        try:
            return self._schema(schema)
        finally:
            self._depth -= 1
            self._direct = direct

    def _bound_recursion(self) -> None:
        """Let definitions without a finite value allow any."""
        finite: set[str] = set()
        while True:
            more = {name for name, part in self._defs.items() if is_finite(part, finite)} - finite
            if not more:
                break
            finite |= more
        for name in self._defs.keys() - finite:
            self._defs[name] = {}

    # ---- types

    def _object(self, given: Mapping[str, Any]) -> Schema:
        properties = given.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = given.get("required")
        required = required if isinstance(required, list) else []
        required = [name for name in required[: 4 * MAX_PROPERTIES] if isinstance(name, str)]
        more = self._further(given)
        size = sum(map(len, properties))
        if (
            len(properties) > MAX_PROPERTIES
            or any(len(name) > MAX_NAME for name in properties)
            or size > self._bytes
        ):
            return {}
        self._bytes -= size
        within = {name: self._within(value) for name, value in properties.items()}
        found: Schema = {name: part for name, part in within.items() if not isinstance(part, bool)}
        if found and more is not False:
            found |= {name: {} for name in required[:MAX_PROPERTIES] if name not in properties}
        listed: Schema = (
            {"properties": found} if found or isinstance(given.get("properties"), Mapping) else {}
        )
        names = list(dict.fromkeys(name for name in required if name in found))
        if more is not None:
            listed["additionalProperties"] = more
        return {**listed, **({"required": names} if "required" in given and found else {})}

    def _further(self, given: Mapping[str, Any]) -> Loosened | None:
        """The schema of properties that are not listed; None if nothing says what they are."""
        more, patterns = given.get("additionalProperties"), given.get("patternProperties")
        if isinstance(patterns, Mapping) and patterns:
            more = next(iter(patterns.values())) if len(patterns) == 1 and more is False else True
        if more is None:
            return None
        return more if isinstance(more, bool) else self._within(more)

    def _array(self, given: Mapping[str, Any]) -> Schema:
        fixed, rest = given.get("prefixItems"), given.get("items")
        if isinstance(rest, list):  # those of drafts before 2020-12
            fixed, rest = rest, given.get("additionalItems")
        least, most = counts_of(given, "minItems", "maxItems")
        bounds = present(minItems=least, maxItems=most)
        if isinstance(fixed, list) and fixed:
            return self._tuple(fixed, rest, least, most) or bounds
        if rest is None:
            return bounds
        items = self._within(rest)
        return {"items": {}, "maxItems": 0} if isinstance(items, bool) else {"items": items, **bounds}

    def _tuple(self, fixed: Sequence[Any], rest: Any, least: int | None, most: int | None) -> Schema:
        """A tuple, or an array of its items if there may be others; any array if it is too long."""
        if len(fixed) > MAX_ALTERNATIVES:
            return {}
        parts = [part for item in fixed if not isinstance(part := self._within(item), bool)]
        size = len(parts)
        is_whole = size == len(fixed) and (least or 0) <= size and (most is None or most >= size)
        if is_whole and not isinstance(rest, Mapping):
            return {"prefixItems": parts, "minItems": size, "maxItems": size}
        others = self._within(True if rest is None else rest)
        items = parts if isinstance(others, bool) else [*parts, others]
        if not items:
            return {}
        return {"items": {} if {} in items else {"anyOf": items}, **present(minItems=least, maxItems=most)}

    def _string(self, given: Mapping[str, Any]) -> Schema:
        name = given.get("format")
        if isinstance(name, str) and name in FORMATS:
            return {"format": name}
        pattern = given.get("pattern")
        if isinstance(pattern, str) and self._is_kept(pattern):
            return {"pattern": pattern}
        least, most = counts_of(given, "minLength", "maxLength")
        return present(minLength=least, maxLength=most)

    def _is_kept(self, pattern: str) -> bool:
        self._parts -= len(pattern) // 16
        return self._parts >= 0 and is_known_everywhere(pattern)
