"""Converts JSON Schemas to rules of a grammar.

A schema becomes rules as far as a grammar can express it: types, properties and their order, required ones,
enumerations, alternatives, references within the schema, sizes. Patterns, formats and numeric bounds are left
out, and so is ambiguous recursion: the grammar allows every value that the schema allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .formats import FORMATS
from .gbnf import Rules, SchemaError, literal
from .number_rules import has_bounds, number_within
from .patterns import pattern_expression, positions
from .recursion import without_ambiguous_recursion

MAX_DEPTH = 40
MAX_REPEATED = 2000  # llama.cpp takes no more
RECURSION = "it has alternatives that begin alike and lead back to the same $ref"
SCALARS = ("string", "number", "integer", "boolean", "null")


class SchemaRules:
    """Converts one schema.

    The rules of an `exact` one, in the form of `generation.schemas.output_schema`, allow only what the
    schema allows; raises `SchemaError` for one that llama.cpp cannot follow in time.
    """

    def __init__(self, rules: Rules, root: Any, *, exact: bool = False) -> None:
        self._rules = rules
        self._exact = exact
        self._root = without_ambiguous_recursion(root, list if rules.notation.escaped else sorted)
        if exact and self._root is not root:
            raise SchemaError(RECURSION)
        self._references: dict[str, str] = {}
        self._leaves: dict[str, tuple[str, ...]] = {}  # the alternatives of a rule
        self._depth = 0

    def value(self) -> str:
        """The rule for the schema's values."""
        return self._value(self._root)

    def arguments(self) -> str:
        """The rule for a tool's arguments, which are always an object."""
        root = self._root
        if not isinstance(root, dict) or root.get("type", "object") != "object":
            raise SchemaError("parameters are not of the type object")
        alternatives = any(key in root for key in ("$ref", "anyOf", "oneOf", "allOf"))
        return self._value(root if alternatives else {**root, "type": "object"})

    def _value(self, schema: Any) -> str:
        """The name of a rule for a schema's values."""
        if schema is True:
            return "value"
        if not isinstance(schema, dict):
            raise SchemaError("a schema is not an object")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SchemaError("a schema is nested too deeply")
        try:
            return self._convert(schema)
        finally:
            self._depth -= 1

    def _convert(self, schema: dict[str, Any]) -> str:
        converters: dict[str, Callable[[Any], str]] = {
            "$ref": self._reference,
            "const": self._literal,
            "enum": lambda values: self._alternatives(values, self._literal),
            "anyOf": lambda schemas: self._alternatives(schemas, self._value),
            "oneOf": lambda schemas: self._alternatives(schemas, self._value),
            "allOf": lambda parts: self._value(self._merge(schema, parts)),
        }
        for key, convert in converters.items():
            if key in schema:
                return convert(schema[key])
        kind = schema.get("type", _guess_type(schema))
        if isinstance(kind, list):
            return self._alternatives([{**schema, "type": name} for name in kind], self._value)
        if kind in ("integer", "number") and self._exact and has_bounds(schema):
            return self._rules.rule(number_within(schema, whole=kind == "integer"))
        if kind == "value" or kind in SCALARS[1:]:
            return str(kind)
        by_type = {"object": self._object, "array": self._array, "string": self._string}
        if kind not in by_type:
            raise SchemaError(f"there is no type {str(kind)[:40]!r}")
        return by_type[kind](schema)

    def _alternatives(self, values: Any, rule_of: Callable[[Any], str]) -> str:
        """A rule for one of several values, each of which `rule_of` converts.

        Nested alternatives become one flat list, because llama.cpp follows each path.
        """
        if not isinstance(values, list) or not values:
            raise SchemaError("a list of alternatives is empty or not a list")
        names = [rule_of(value) for value in values]
        leaves = tuple(dict.fromkeys(leaf for name in names for leaf in self._leaves.get(name, (name,))))
        name = self._rules.rule(" | ".join(leaves))
        self._leaves[name] = leaves
        return name

    def _reference(self, path: Any) -> str:
        """A schema within this one, by its path (#/$defs/name); it may refer to itself."""
        if path not in self._references:
            name = self._references[path] = self._rules.reserve()
            found = self._value(self._resolve(path))
            self._rules.define(name, found)
            self._leaves[name] = self._leaves.get(found, (found,))
        return self._references[path]

    def _resolve(self, path: Any) -> Any:
        found = self._root
        try:
            start, *keys = path.split("/")
            for key in keys:
                found = found[key.replace("~1", "/").replace("~0", "~")]
        except (AttributeError, LookupError, TypeError):
            start = None
        if start != "#":
            raise SchemaError(f"the schema has nothing at {str(path)[:80]!r}")
        return found

    def _merge(self, schema: dict[str, Any], parts: Any) -> dict[str, Any]:
        """The parts of an `allOf` as one schema; a later part overrides an earlier one."""
        merged: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
        for part in parts:
            found = self._resolve(part["$ref"]) if "$ref" in part else part
            properties = {**merged.get("properties", {}), **found.get("properties", {})}
            required = [*merged.get("required", ()), *found.get("required", ())]
            merged |= {**found, "required": required}
            if properties:
                merged["properties"] = properties
        return merged

    def _object(self, schema: dict[str, Any]) -> str:
        properties = schema.get("properties") or {}
        more = schema.get("additionalProperties", not properties)
        if not isinstance(properties, dict):
            raise SchemaError("properties are not an object")
        if not properties and more is True:
            return "object"
        required = schema.get("required") or ()
        names = list(properties) if self._rules.notation.escaped else sorted(properties)
        first, then = '""', '""'
        if more is not False:
            pair = self._rules.rule(f'{self._rules.notation.key} ":" blank {self._value(more)}')
            then = self._rules.rule(f'("," blank {pair})*')
            first = self._rules.rule(f'({pair} ("," blank {pair})*)?')
        # `first` continues an object without properties, `then` one that needs a comma before the next one
        for name in reversed(names):
            key = literal(self._rules.notation.encode_key(name))
            pair = f'{key} ":" blank {self._value(properties[name])}'
            skip = ("", "") if name in required else (f" | {first}", f" | {then}")
            first = self._rules.rule(f"{pair} {then}{skip[0]}")
            then = self._rules.rule(f'"," blank {pair} {then}{skip[1]}')
        return self._rules.rule(f'"{{" blank {first} blank "}}"')

    def _array(self, schema: dict[str, Any]) -> str:
        fixed = schema.get("prefixItems")
        if isinstance(fixed, list) and fixed:
            items = ' "," blank '.join(self._value(item) for item in fixed)
            return self._rules.rule(f'"[" blank {items} blank "]"')
        item = self._value(schema.get("items", True))
        minimum, maximum = _bounds(schema, "minItems", "maxItems")
        if maximum == 0:
            return self._rules.rule('"[" blank "]"')
        another = self._rules.rule(f'"," blank {item}')
        more = _repetition(max(minimum - 1, 0), None if maximum is None else maximum - 1)
        items = item if maximum == 1 else f"{item} {another}{more}"
        items = items if minimum else f"({items})?"
        return self._rules.rule(f'"[" blank {items} blank "]"', maximum or minimum)

    def _string(self, schema: dict[str, Any]) -> str:
        if self._exact and "format" in schema:
            quote = literal(self._rules.notation.quote)
            return self._rules.rule(f"{quote} {FORMATS[schema['format']]} {quote}")
        if self._exact and "pattern" in schema:
            pattern, quote = schema["pattern"], literal(self._rules.notation.quote)
            body = f"{quote} {pattern_expression(pattern)} {quote}"
            return self._rules.rule(body, copies=positions(pattern))
        minimum, maximum = _bounds(schema, "minLength", "maxLength")
        if not minimum and maximum is None:
            return "string"
        quote = literal(self._rules.notation.quote)
        letters = "" if maximum == 0 else f"single{_repetition(minimum, maximum)}"
        return self._rules.rule(f"{quote} {letters} {quote}", maximum or minimum)

    def _literal(self, value: Any) -> str:
        """A rule for exactly this value."""
        return self._rules.rule(literal(self._rules.notation.encode_value(value)))


def _guess_type(schema: Mapping[str, Any]) -> str:
    """The type of a schema without `type`."""
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "value"


def _bounds(schema: Mapping[str, Any], minimum: str, maximum: str) -> tuple[int, int | None]:
    low, high = schema.get(minimum, 0), schema.get(maximum)
    if not isinstance(low, int) or not isinstance(high, int | None) or low < 0:
        raise SchemaError(f"{minimum} and {maximum} are not numbers")
    if high is not None and high < low:
        raise SchemaError(f"{maximum} is less than {minimum}")
    return min(low, MAX_REPEATED), None if high is None or high > MAX_REPEATED else high


def _repetition(minimum: int, maximum: int | None) -> str:
    return f"{{{minimum},{'' if maximum is None else maximum}}}"
