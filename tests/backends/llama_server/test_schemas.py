"""The schemas that llama.cpp's server gets."""

from __future__ import annotations

from typing import Any

import orjson

from backends.llama_server.request_body import request_body
from generation.generation import Tool
from tests.backends.conftest import ask

COSTLY = {"pattern": "^.*.*$", "minimum": 9007199254740991, "exclusiveMaximum": -1e300, "maxItems": 2000}


def sent(schema: dict[str, Any]) -> Any:
    """The schema of a tool as the server gets it."""
    generation = ask("x", tools=(Tool("f", None, schema),), tool_choice="required")
    return orjson.loads(request_body(generation, "generic"))["tools"][0]["function"]["parameters"]


def test_a_schema_lacks_what_the_server_cannot_compile() -> None:
    costly = {"type": "string", **COSTLY}
    schema = {"type": "object", "properties": {"a": costly, "b": {"anyOf": [costly]}, "c": False}}
    text = {"type": "string"}
    assert sent(schema) == {"type": "object", "properties": {"a": text, "b": {"anyOf": [text]}}}


def test_recursion_allows_every_value_when_its_alternatives_begin_alike() -> None:
    array = {"type": "array", "items": {"$ref": "#/properties/a"}}
    schema = {"properties": {"a": {"anyOf": [array, {**array, "minItems": 1}]}}}
    plain = {"type": "array", "items": {}}
    choice = {"anyOf": [plain, {**plain, "minItems": 1}]}
    form = sent(schema)
    assert form["$defs"]["a"] == choice
