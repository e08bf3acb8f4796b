"""Generates JSON Schemas of tools that are meant to make a grammar compiler hang, from a seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Schema = dict[str, Any]

ATOMS = ("a", "b", ".", "[a-z]", r"\d", r"\w", "[^x]", "(a|ab)", "(a?b?c?d?)", "(.*)", "(a*)", r"\s", "é")
QUANTIFIERS = ("", "", "?", "*", "+", "{2}", "{0,40}", "{1,900}", "*?", "{3,}")
SCALARS = ("string", "integer", "number", "boolean", "null")
SIZES = (0, 1, 2, 40, 500, 1999, 2000, 10**6)
NUMBERS = (-(10**18), -9007199254740991, -(10**9), -1, 0, 1.5, 7, 123456789, 10**9, 260058147628138086, 1e300)

EXAMPLES: dict[str, Schema] = {
    "pattern": {"a": {"type": "string", "pattern": "^" + "(a?b?c?d?)?" * 100 + "$"}},
    "properties": {f"p{at}": {"type": "string"} for at in range(20_000)},
    "anyOf": {"a": {"anyOf": [{"type": "object", "properties": {f"p{at}": {}}} for at in range(5000)]}},
}
"""The properties of the schemas that an audit found."""


def hostile_schema(random: Random) -> Schema:
    """A schema of an object with hostile properties."""
    builder = _Builder(random)
    schema = builder.object(random.randint(1, 5))
    if builder.references:
        names = [f"d{at}" for at in range(random.randint(1, 8))]
        schema["$defs"] = {name: builder.schema(2) for name in names}
    return schema


class _Builder:
    """Builds the parts of one schema."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.references = random.random() < 0.4

    def schema(self, depth: int) -> Schema:
        """Any schema with at most that many levels."""
        kinds: list[Callable[[int], Schema]] = [self._string, self._integer, self._enum, self._scalar]
        if self.references:
            kinds += [self._reference, self._reference, self._recursion]
        if depth > 0:
            kinds += [self.object, self._array, self._choice, self._choice]
        return self._random.choice(kinds)(depth - 1)

    def object(self, depth: int) -> Schema:
        """An object with properties."""
        count = self._random.choice((1, 2, 3, 8, 60, 128, 129)) if depth < 2 else self._random.randint(1, 4)
        small = {"type": "string"}
        names = [self._random.choice(("p", "name" * 20, '"', "é")) + str(at) for at in range(count)]
        properties = {name: self.schema(depth) if at < 6 else small for at, name in enumerate(names)}
        schema: Schema = {"type": "object", "properties": properties}
        if self._random.random() < 0.5:
            schema["required"] = self._random.sample(names, self._random.randint(0, len(names)))
        if self._random.random() < 0.4:
            schema["additionalProperties"] = self._random.choice((True, False, self.schema(depth - 1)))
        return schema

    def _array(self, depth: int) -> Schema:
        if self._random.random() < 0.2:
            return {"type": "array", "prefixItems": [self.schema(depth - 1) for _ in range(3)]}
        bounds = {key: self._random.choice(SIZES) for key in ("minItems", "maxItems") if self._chance()}
        return {"type": "array", "items": self.schema(depth), **bounds}

    def _choice(self, depth: int) -> Schema:
        count = self._random.choice((1, 2, 3, 4, 100))
        few = [self.schema(depth) for _ in range(min(count, 4))]
        more = [{"type": "string", "maxLength": at} for at in range(count - len(few))]
        return {self._random.choice(("anyOf", "oneOf", "allOf")): few + more}

    def _string(self, _depth: int) -> Schema:
        schema: Schema = {"type": "string"}
        if self._chance():
            schema["pattern"] = self._pattern()
        for key in ("minLength", "maxLength"):
            if self._random.random() < 0.3:
                schema[key] = self._random.choice(SIZES)
        return schema

    def _pattern(self) -> str:
        parts = [
            self._random.choice(ATOMS) + self._random.choice(QUANTIFIERS)
            for _ in range(self._random.randint(1, 5))
        ]
        inner = self._random.choice(("", "|")).join(parts)
        text = f"({inner}){self._random.choice(QUANTIFIERS)}" if self._chance() else inner
        return f"^{text * self._random.choice((1, 1, 1, 2, 8, 30))}$"

    def _integer(self, _depth: int) -> Schema:
        bounds = {
            key: self._random.randint(-(10**18), 10**18) for key in ("minimum", "maximum") if self._chance()
        }
        return {"type": "integer", **bounds}

    def _enum(self, _depth: int) -> Schema:
        count = self._random.choice((1, 3, 100, 600))
        return {"enum": ["v" * self._random.randint(1, 30) + str(at) for at in range(count)]}

    def _scalar(self, _depth: int) -> Schema:
        return {"type": self._random.choice([*SCALARS, list(SCALARS)])}

    def _reference(self, _depth: int) -> Schema:
        return {"$ref": self._random.choice(("#", "#/$defs/d0", "#/$defs/d1", "#/$defs/d2", "#/nothing"))}

    def _recursion(self, _depth: int) -> Schema:
        """Alternatives that begin alike and hold nothing but the same again."""
        again = {"$ref": self._random.choice(("#/$defs/d0", "#/$defs/d1"))}
        arrays = [{"type": "array", "items": dict(again), "minItems": 1, "maxItems": at} for at in (2, 3)]
        objects = [
            {"type": "object", "properties": {"a": dict(again), "b": {"enum": [at]}}, "required": ["a"]}
            for at in (2, 3)
        ]
        return {"anyOf": self._random.choice((arrays, objects, arrays + objects))}

    def _chance(self) -> bool:
        return self._random.random() < 0.5
