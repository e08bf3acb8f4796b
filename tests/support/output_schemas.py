"""Generates JSON Schemas that answers can be made to fit, from a seed, and values that do not fit them."""

from __future__ import annotations

from random import Random
from typing import Any

Schema = dict[str, Any]

NAMES = ("a", "name", "größe", 'with "quotes"', "tab\t", "back\\slash", "<tag>", "🔥", "")
WORDS = ("", "red", "größer", 'a "b"', "line\nbreak", "\\", "</think>", "日本語")
BOUNDS = (0, 1, -1, 9, 10, -100, 99, 0.5, -0.25, 123456, 999999)
LOWER, UPPER = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")
FORMATS = ("date-time", "date", "time", "email", "uuid", "ipv4")
BOUNDED_PATTERNS = (
    "^@[a-zA-Z0-9_]{1,9}$",
    r"^\d{4}-(0[1-9]|1[0-2])$",
    r"^[^a-z.\n]{0,4}\.\w{1,5}?$",
    r"^(?:[-+]?[0-9]{1,3}(?:\.[0-9]{1,4})?|null)$",
)
PATTERNS = (
    *BOUNDED_PATTERNS,
    r"^(https?|ftp)://[^\s/]{1,9}(/.*)?$",
    r"^[A-Z][a-z]+(-[A-Z][a-z]+)*$",
)
LEAST, MOST = 0, 3


def output_schema(random: Random, *, strict: bool = False) -> Schema:
    """The schema of an object; a `strict` one is in OpenAI's strict subset."""
    return _Builder(random, strict=strict).root()


class _Builder:
    """Builds the parts of one schema."""

    def __init__(self, random: Random, *, strict: bool) -> None:
        self._random = random
        self._strict = strict
        self._recursive = random.random() < 0.2

    def root(self) -> Schema:
        """The whole schema."""
        schema = self._object(2)
        if self._recursive:
            node: Schema = {"type": "object", "properties": {"value": self._scalar()}}
            again = {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}
            node["properties"]["next"] = again
            node |= {"required": ["value", "next"], "additionalProperties": False}
            schema["$defs"] = {"node": node}
        return schema

    def _schema(self, depth: int) -> Schema:
        kinds = [self._scalar, self._enum]
        if self._recursive:
            kinds.append(lambda: {"$ref": "#/$defs/node"})
        if depth > 0:
            kinds += [lambda: self._object(depth - 1), lambda: self._array(depth - 1)]
            kinds.append(lambda: self._choice(depth - 1))
        return self._random.choice(kinds)()

    def _object(self, depth: int) -> Schema:
        if not self._strict and self._random.random() < 0.15:
            return {"type": "object", "additionalProperties": self._schema(depth)}
        names = self._random.sample(NAMES, self._random.randint(0, 4))
        schema: Schema = {"type": "object", "properties": {name: self._schema(depth) for name in names}}
        if self._strict or self._random.random() < 0.6:
            return {**schema, "required": names, "additionalProperties": False}
        required = self._random.sample(names, self._random.randint(0, len(names)))
        return {**schema, "required": required, "title": "An object"}

    def _array(self, depth: int) -> Schema:
        if not self._strict and self._random.random() < 0.2:
            return {"type": "array", "prefixItems": [self._schema(0), self._schema(0)], "items": False}
        least = self._random.randint(LEAST, MOST)
        bounds = {"minItems": least, "maxItems": least + self._random.randint(LEAST, MOST)}
        kept = {name: value for name, value in bounds.items() if self._random.random() < 0.6}
        return {"type": "array", "items": self._schema(depth), **kept}

    def _choice(self, depth: int) -> Schema:
        count = self._random.randint(1, 3)
        return {"anyOf": [self._schema(depth) for _ in range(count)]}

    def _enum(self) -> Schema:
        if self._random.random() < 0.3:
            return {"const": self._random.choice((*WORDS, 1, 1.5, None, True))}
        values = self._random.sample(WORDS, self._random.randint(1, 4))
        return {"type": "string", "enum": values}

    def _bounds(self, kind: str) -> Schema:
        """Bounds of numbers, between which there is at least one."""
        low = self._random.choice((*BOUNDS, self._random.uniform(-200, 200)))
        high = low + self._random.choice((1, 3, 9, 1234, 10**6, 0.75))
        low, high = (float(f"{bound:.2f}") for bound in (low, high))
        if kind == "integer":
            low, high = int(low), int(high) + 2
        names = (self._random.choice(LOWER), self._random.choice(UPPER))
        bounds = zip(names, (low, high), strict=True)
        return {name: bound for name, bound in bounds if self._random.random() < 0.8}

    def _scalar(self) -> Schema:
        kind = self._random.choice(("string", "integer", "number", "boolean", "null", "list"))
        if kind == "list":
            return {"type": ["integer", "null"], "minimum": self._random.randint(-3, 3)}
        if kind in ("integer", "number"):
            return {"type": kind, **self._numbers(kind)}
        return {"type": kind, **(self._texts() if kind == "string" else {})}

    def _numbers(self, kind: str) -> Schema:
        if self._random.random() < 0.2:
            low = self._random.randint(-30, 30)
            return {"multipleOf": self._random.choice((1, 3, 10)), "minimum": low, "maximum": low + 40}
        return self._bounds(kind) if self._random.random() < 0.6 else {}

    def _texts(self) -> Schema:
        if self._random.random() < 0.2:
            return {"format": self._random.choice(FORMATS)}
        if self._random.random() < 0.25:
            return {"pattern": self._random.choice(PATTERNS)}
        least = self._random.randint(0, 5)
        bounds = {"minLength": least, "maxLength": least + self._random.randint(0, 5)}
        return {name: value for name, value in bounds.items() if self._random.random() < 0.6}
