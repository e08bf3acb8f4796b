"""The schemas of required tools that vLLM compiles to a grammar."""

from __future__ import annotations

from typing import Any

import pytest

from backends.base import GenerationError
from backends.vllm.request_body import vllm_body
from backends.vllm.schemas import MAX_CHARACTERS
from generation.generation import JsonFormat, Tool
from tests.backends.conftest import ask

TEXT = {"type": "string"}


def of(properties: dict[str, Any], others: Any = None) -> dict[str, Any]:
    """The schema of an object with these properties, and others."""
    more = {} if others is None else {"additionalProperties": others}
    return {"type": "object", "properties": properties, **more}


def sent(*schemas: dict[str, Any], choice: str = "required") -> list[Any]:
    """The schemas of tools as vLLM gets them."""
    tools = tuple(Tool(f"f{at}", None, schema) for at, schema in enumerate(schemas))
    body = vllm_body(ask("x", tools=tools, tool_choice=choice), "generic")
    return [tool["function"]["parameters"] for tool in body["tools"]]


def test_a_schema_is_sent_as_it_is_when_it_is_compiled_quickly() -> None:
    schema = {
        "type": "object",
        "properties": {
            "date": {**TEXT, "pattern": r"^\d{4}-\d\d-\d\d$"},
            "maxLength": {**TEXT, "minLength": 1, "maxLength": 100},
            "items": {"type": "array", "maxItems": 1000, "items": TEXT},
        },
        "additionalProperties": False,
    }
    assert sent(schema) == [schema]


@pytest.mark.parametrize(
    "costly",
    [
        {"maxLength": 200},
        {"minLength": 65_536},
        {"pattern": "^([a-z]{1,9}|.){1,58}$"},
        {"pattern": "(?=a)"},
        {"maxItems": 10**9},
    ],
)
def test_costly_keywords_are_left_out(costly: dict[str, Any]) -> None:
    assert sent(of({"a": {**TEXT, **costly}})) == [of({"a": TEXT})]


def test_the_characters_of_all_tools_together_have_a_limit() -> None:
    half = of({"a": {**TEXT, "maxLength": MAX_CHARACTERS // 2}})
    assert sent(half, half, half) == [half, half, of({"a": TEXT})]


def test_names_by_pattern_are_left_out() -> None:
    schema = {"patternProperties": {"^x": TEXT}, "additionalProperties": False}
    assert sent(schema) == [{"type": "object", "additionalProperties": TEXT}]


@pytest.mark.parametrize("others", [True, TEXT])
def test_an_object_with_many_names_may_have_no_others(others: Any) -> None:
    few = of(dict.fromkeys(["name1", "name2"], TEXT), others)
    many = of({f"{at:02}" * 10: TEXT for at in range(10)}, others)
    closed = {**many, "additionalProperties": False}
    assert sent(few, many, closed) == [few, closed, closed]


def test_names_with_a_common_beginning_count_its_characters_once() -> None:
    schema = of({"n" * 100 + str(at): TEXT for at in range(10)}, True)
    assert sent(schema) == [schema]


def test_a_schema_is_sent_as_it_is_when_no_call_is_required() -> None:
    schema = {"properties": {"a": {**TEXT, "maxLength": 5000}}}
    assert sent(schema, choice="auto") == [schema]


LONG = {"type": "string", "maxLength": MAX_CHARACTERS + 1}


@pytest.mark.parametrize(
    "fields",
    [
        {"output_format": JsonFormat(LONG)},
        {"tools": (Tool("f", None, LONG, strict=True),)},
        {"tools": (Tool("f", None, LONG, strict=True),), "tool_choice": "required"},
    ],
)
def test_a_schema_that_the_answer_has_to_fit_is_refused_when_it_compiles_slowly(fields: Any) -> None:
    with pytest.raises(GenerationError) as caught:
        vllm_body(ask("hi", **fields), "generic", "hermes")
    assert caught.value.code == "invalid_prompt"
    assert "too long to compile" in str(caught.value)


def test_a_strict_tool_is_refused_when_the_grammar_does_not_know_the_calls_of_the_parser() -> None:
    request = ask("hi", tools=(Tool("f", None, {"type": "object"}, strict=True),))
    for parser in ("mistral", None):
        with pytest.raises(GenerationError, match="cannot make arguments fit"):
            vllm_body(request, "generic", parser)
    assert vllm_body(request, "generic", "hermes")["tools"][0]["function"]["strict"]


def test_lengths_of_tools_that_are_not_strict_are_bounded_and_not_refused() -> None:
    assert sent(of({"a": LONG})) == [of({"a": TEXT})]
