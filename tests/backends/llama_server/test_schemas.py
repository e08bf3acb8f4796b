"""The schemas that llama.cpp's server gets."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from backends.llama_server.adapter import _body
from generation.generation import Tool
from tests.backends.conftest import ask

COSTLY = {"pattern": "^.*.*$", "minimum": 9007199254740991, "exclusiveMaximum": -1e300, "maxItems": 2000}
CHEAP = {"pattern": r"^\d{4}-\d\d$", "minimum": -5, "maximum": 10**9, "maxLength": 1000, "minItems": 3}


def sent(schema: dict[str, Any]) -> Any:
    """The schema of a tool as the server gets it."""
    generation = ask("x", tools=(Tool("f", None, schema),), tool_choice="required")
    return orjson.loads(_body(generation, "generic"))["tools"][0]["function"]["parameters"]


def test_costly_keywords_are_left_out_when_a_schema_has_them() -> None:
    rest = {"type": "string"}
    schema = {"properties": {"a": {**rest, **COSTLY}, "b": {"anyOf": [{**rest, **COSTLY}]}}}
    assert sent(schema) == {"properties": {"a": rest, "b": {"anyOf": [rest]}}}


def test_a_schema_is_sent_as_it_is_when_nothing_is_costly() -> None:
    schema = {"properties": {"a": CHEAP, "b": {"items": [CHEAP, True]}}}
    assert sent(schema) == schema


def test_names_and_data_are_kept_when_they_look_like_costly_keywords() -> None:
    schema = {"properties": {"pattern": {"enum": [COSTLY], "default": COSTLY}, "minimum": {"const": COSTLY}}}
    assert sent(schema) == schema


@pytest.mark.parametrize("pattern", ["abc", "^abc", "abc$", r"^abc\$"])
def test_a_pattern_is_left_out_when_it_is_not_anchored(pattern: str) -> None:
    assert sent({"pattern": pattern}) == {}


def test_a_least_number_is_lowered_when_the_server_counts_no_further() -> None:
    assert sent({"minItems": 2000}) == {"minItems": 1000}


def test_large_counts_are_left_out() -> None:
    text = {"type": "string", "description": "x"}
    assert sent({"properties": {"maxItems": {**text, "maxLength": 65_536}}}) == {
        "properties": {"maxItems": text}
    }


def test_recursion_allows_every_value_when_its_alternatives_begin_alike() -> None:
    array = {"type": "array", "items": {"$ref": "#"}}
    schema = orjson.loads(orjson.dumps({"anyOf": [array, {**array, "minItems": 1}]}))
    assert sent(schema) == {
        "anyOf": [{"type": "array", "items": {}}, {"type": "array", "items": {}, "minItems": 1}]
    }
