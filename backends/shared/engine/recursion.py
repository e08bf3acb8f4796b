"""Finds recursion in JSON Schemas that a grammar cannot follow, and replaces it by any value.

llama.cpp copies the properties of what an `allOf` refers to, without an end if they hold the same `allOf`.

llama.cpp follows all alternatives that the text so far allows. If two alternatives of a schema begin alike
and both lead back to it, their number doubles at each level: `anyOf` of two arrays of itself has 2^n of them
after n brackets. Alternatives are distinguished by their types, and objects by a required first property.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

MAX_TARGETS = 64
"""Schemas with more parts that lead back to themselves lose all their recursion."""

MAP_KEYWORDS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
DATA_KEYWORDS = frozenset({"enum", "const", "default", "examples", "example"})
CHOICE_KEYWORDS = ("anyOf", "oneOf", "allOf")
ITEM_KEYWORDS = ("items", "prefixItems", "additionalItems")

Schema = Mapping[str, Any]
Ways = tuple[int, int]
"""Alternatives that lead back to a schema: those that are arrays, and those that are objects."""

NO_WAYS: Ways = (0, 0)


def without_ambiguous_recursion(root: Any, order: Callable[[Iterable[str]], list[str]] = list) -> Any:
    """The schema, with each reference `{}` that closes an ambiguous recursion: it allows every value.

    `order` is that of an object's properties in the grammar.
    """
    if not isinstance(root, Mapping):
        return root
    recursion = _Recursion(root, order)
    removed = recursion.removed()
    return _without(root, removed) if removed else root


class _Recursion:
    """The references of one schema."""

    def __init__(self, root: Schema, order: Callable[[Iterable[str]], list[str]]) -> None:
        self._root = root
        self._order = order
        self._schemas = {id(schema): schema for schema in _all(root)}
        self._held_by: dict[int, set[int]] = {}
        self._targets: dict[int, Schema] = {}
        for schema in self._schemas.values():
            found = _resolve(root, schema.get("$ref"))
            if found is not None and id(found) in self._schemas:
                self._targets[id(schema)] = found

    def removed(self) -> frozenset[int]:
        """The identities of the schemas whose reference closes an ambiguous recursion."""
        removed = {
            id(schema)
            for schema in self._schemas.values()
            if schema is not self._root and self._copies_itself(schema)
        }
        recursive = []
        for target in {id(target): target for target in self._targets.values()}.values():
            within = self._reachable(target)
            closing = {at for at in within if self._targets.get(at) is target}
            if closing:
                recursive.append((target, closing))
        for target, closing in recursive:
            if len(recursive) > MAX_TARGETS or max(_WaysBack(self, target).count()) > 1:
                removed |= closing
        return frozenset(removed)

    def _copies_itself(self, schema: Schema) -> bool:
        """Whether a part of the schema's `allOf` refers to what holds the schema."""
        return any(id(schema) in self._held(target) for target in self._copied(schema))

    def _held(self, target: Schema) -> set[int]:
        """The identities of all that a copied schema contains, and of what is copied to there."""
        known = self._held_by.get(id(target))
        if known is None:
            known = self._held_by[id(target)] = set()
            waiting = [target]
            while waiting:
                schema = waiting.pop()
                if id(schema) not in known:
                    known.add(id(schema))
                    waiting += [*_children(schema), *self._copied(schema)]
        return known

    def _copied(self, schema: Schema) -> list[Schema]:
        """What the parts of the schema's `allOf` refer to."""
        parts = [part for part in _listed(schema.get("allOf")) if isinstance(part, Mapping)]
        parts += [
            part for among in parts for part in _listed(among.get("anyOf")) if isinstance(part, Mapping)
        ]
        return [target for part in parts if (target := self.target(part)) is not None]

    def _reachable(self, start: Schema) -> set[int]:
        """The identities of all that a schema contains or refers to, itself included."""
        found: set[int] = set()
        waiting = [start]
        while waiting:
            schema = waiting.pop()
            if id(schema) not in found:
                found.add(id(schema))
                waiting += _children(schema)
                waiting += filter(None, [self.target(schema)])
        return found

    def target(self, schema: Schema) -> Schema | None:
        """What a schema's `$ref` names; None without one."""
        return self._targets.get(id(schema))

    def first_property(self, schema: Schema) -> tuple[str, str | None] | None:
        """The name and the only value of the property that an object begins with; None if it may vary."""
        followed = 0
        while (target := self.target(schema)) is not None and followed < MAX_TARGETS:
            schema, followed = target, followed + 1
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, Mapping) or not properties or not isinstance(required, list):
            return None
        name = self._order(properties)[0]
        if name not in required or any(key in schema for key in CHOICE_KEYWORDS):
            return None
        value = properties[name]
        if not isinstance(value, Mapping):
            return name, None
        values = [value["const"]] if "const" in value else value.get("enum")
        if not isinstance(values, list) or len(values) != 1:
            return name, None
        return name, json.dumps(values[0], sort_keys=True)


class _WaysBack:
    """Counts the alternatives by which a schema leads back to itself."""

    def __init__(self, recursion: _Recursion, target: Schema) -> None:
        self._recursion = recursion
        self._target = target
        self._open: set[int] = set()
        self._known: dict[int, Ways] = {}

    def count(self) -> Ways:
        """The alternatives that begin alike, by type."""
        return self._within(self._target)

    def _of(self, schema: Any) -> Ways:
        if not isinstance(schema, Mapping) or id(schema) in self._open:
            return NO_WAYS
        if schema is self._target:
            return (1, 1)
        if id(schema) not in self._known:
            self._open.add(id(schema))
            self._known[id(schema)] = self._within(schema)
            self._open.discard(id(schema))
        return self._known[id(schema)]

    def _within(self, schema: Schema) -> Ways:
        items = max(
            (max(self._of(item)) for key in ITEM_KEYWORDS for item in _listed(schema.get(key))), default=0
        )
        named = schema.get("properties")
        values = named.values() if isinstance(named, Mapping) else ()
        properties = max((max(self._of(value)) for value in values), default=0)
        patterns = schema.get("patternProperties")
        others = [
            schema.get("additionalProperties"),
            *(patterns.values() if isinstance(patterns, Mapping) else ()),
        ]
        properties += sum(max(self._of(value)) for value in others)
        alternatives = [(items, properties), self._of(self._recursion.target(schema))]
        alternatives += [self._choice(_listed(schema.get(key))) for key in CHOICE_KEYWORDS]
        return sum(ways[0] for ways in alternatives), sum(ways[1] for ways in alternatives)

    def _choice(self, choices: list[Any]) -> Ways:
        """The ways of alternatives. Of those with different first properties only the most numerous count."""
        unknown, by_name = 0, dict[str, dict[str | None, int]]()
        for choice in choices:
            ways = self._of(choice)[1]
            first = self._recursion.first_property(choice) if ways else None
            if first is None:
                unknown += ways
            else:
                values = by_name.setdefault(first[0], {})
                values[first[1]] = values.get(first[1], 0) + ways
        named = (values.pop(None, 0) + max(values.values(), default=0) for values in by_name.values())
        return sum(self._of(choice)[0] for choice in choices), unknown + max(named, default=0)


def _all(root: Schema) -> Iterator[Schema]:
    waiting = [root]
    while waiting:
        schema = waiting.pop()
        yield schema
        waiting += _children(schema)


def _children(schema: Schema) -> list[Schema]:
    """The schemas directly within a schema."""
    found: list[Any] = []
    for key, value in schema.items():
        if key in MAP_KEYWORDS and isinstance(value, Mapping):
            found += value.values()
        elif key not in DATA_KEYWORDS:
            found += _listed(value)
    return [child for child in found if isinstance(child, Mapping)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _resolve(root: Schema, path: Any) -> Schema | None:
    """The schema at a JSON pointer (#/$defs/name); None when there is none."""
    start, *keys = path.split("/") if isinstance(path, str) else [""]
    found: Any = root if start == "#" else None
    for key in keys:
        name = key.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found if isinstance(found, Mapping) else None


def _without(value: Any, removed: frozenset[int]) -> Any:
    if id(value) in removed:
        return {}
    if isinstance(value, Mapping):
        return {key: item if key in DATA_KEYWORDS else _without(item, removed) for key, item in value.items()}
    return [_without(item, removed) for item in value] if isinstance(value, list) else value
