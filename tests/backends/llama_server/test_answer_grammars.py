"""The grammars of answers that llama-server gets in requests."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from backends.base import GenerationError
from backends.llama_server.answer_grammars import NO_GRAMMARS, AnswerGrammars
from backends.llama_server.request_body import request_body
from backends.shared.engine.syntax import QWEN3
from generation.generation import JsonFormat, NamedTool, Tool
from tests.backends.conftest import ask

SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
STRICT = (Tool("f", None, SCHEMA, strict=True),)
GRAMMARS = AnswerGrammars(QWEN3, frozenset({"enabled"}))


def sent(grammars: AnswerGrammars = GRAMMARS, **fields: Any) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(request_body(ask("hi", **fields), "generic", grammars))
    return body


@pytest.mark.parametrize(
    "fields",
    [
        {"output_format": JsonFormat(SCHEMA), "tools": STRICT},
        {"tools": STRICT},
        {"tools": STRICT, "tool_choice": "required"},
        {"tools": STRICT, "tool_choice": NamedTool("f")},
    ],
)
def test_tools_are_shown_and_left_to_the_grammar_when_the_answer_is_constrained(
    fields: dict[str, Any],
) -> None:
    body = sent(**fields)
    assert "<tool_call>" in body["grammar"].splitlines()[0]
    assert (body["tool_choice"], len(body["tools"])) == ("none", 1)
    assert "response_format" not in body


def test_the_server_reads_calls_itself_when_no_tool_is_strict() -> None:
    body = sent(tools=(Tool("f", None, SCHEMA),))
    assert "grammar" not in body
    assert body["tool_choice"] == "auto"
    assert "grammar" not in sent(tools=STRICT, tool_choice="none")


@pytest.mark.parametrize(
    ("thinking", "beginning"),
    [("default", 'root ::= ("<think>" '), ("enabled", "root ::= r"), ("disabled", "root ::=  [")],
)
def test_a_grammar_begins_with_the_reasoning_of_the_prompt(thinking: str, beginning: str) -> None:
    assert sent(output_format=JsonFormat(), thinking=thinking)["grammar"].startswith(beginning)


def test_strict_tools_are_refused_when_the_model_has_no_known_form_of_calls() -> None:
    with pytest.raises(GenerationError) as caught:
        sent(NO_GRAMMARS, tools=STRICT)
    assert caught.value.code == "invalid_prompt"
    assert "grammar" in sent(NO_GRAMMARS, output_format=JsonFormat())
