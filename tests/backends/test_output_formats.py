"""Answers fit generated schemas, whichever engine writes them: formats, strict tools, and both together.

`make test-runtimes` sends few schemas to each engine; STOKER_OUTPUT_SCHEMAS sets their number.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import pytest

from config.settings import ModelDefinition
from generation.generation import Generation, JsonFormat, NamedTool, Tool
from generation.schemas.output_schema import enforceable
from streams.events import ToolCallDelta
from tests.backends.conftest import DEMO_MODEL, Answer, Launched, Launcher, ask
from tests.support.output_schemas import BOUNDED_PATTERNS, Schema, output_schema

pytestmark = [pytest.mark.engines, pytest.mark.timeout(1800)]

SCHEMAS = int(os.environ.get("STOKER_OUTPUT_SCHEMAS", "40"))
SEED = int(os.environ.get("STOKER_OUTPUT_SEED", "1"))
SLOTS = 4
VLLM = {
    "vllm_max_model_len": 2048,
    "vllm_kv_cache_memory_bytes": 64 << 20,
    "vllm_chat_template_kwargs": {"enable_thinking": False},
}
MODELS: dict[str, dict[str, Any]] = {
    "llama_cpp": {"gguf_n_ctx": 2048, "gguf_threads": 1},
    "llama_server": {"llama_server_n_ctx": 2048 * SLOTS, "llama_server_threads": 1},
    "vllm": VLLM,
    "vllm_serve": VLLM,
}
TOOL = "get_weather"


@pytest.fixture(scope="module", params=MODELS)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, demo_checkpoint: Path
) -> Iterator[Launched]:
    """The demo model in each engine."""
    name = request.param
    path = demo_checkpoint if name.startswith("vllm") else DEMO_MODEL
    launcher = Launcher(tmp_path_factory.mktemp(name))
    model = ModelDefinition(
        "model", name, model_path=str(path), prompt_format="qwen3_template", options=MODELS[name]
    )
    yield launcher(model, slots=SLOTS)
    launcher.stop_all()


def answers(engine: Launched, requests: list[Generation]) -> list[Answer]:
    """The answers to all requests, of which several run at a time."""
    found: list[Answer] = []
    for at in range(0, len(requests), SLOTS):
        begun = [engine.begin(request, f"{at}-{i}") for i, request in enumerate(requests[at : at + SLOTS])]
        for answer, thread in begun:
            thread.join()
            assert answer.error is None, answer.error
            found.append(answer)
    return found


def sampled(at: int) -> dict[str, Any]:
    """The sampling of a request: greedy, or as far from it as requests may ask."""
    greedy = {"temperature": 0.0} if at % 4 == 0 else {"temperature": 2.0, "seed": at}
    return {"max_tokens": 400, **greedy}


def schemas(*, strict: bool = False) -> list[Schema]:
    """The schemas of this run."""
    return [output_schema(Random(SEED * 1_000_000 + at), strict=strict) for at in range(SCHEMAS)]


def arguments_of(answer: Answer) -> list[str]:
    """The arguments of each call of an answer."""
    calls: dict[int, str] = {}
    for delta in answer.deltas:
        if isinstance(delta, ToolCallDelta):
            calls[delta.index] = calls.get(delta.index, "") + delta.arguments
    return list(calls.values())


def is_complete(answer: Answer) -> bool:
    """Whether an answer was not cut off by max_tokens, the only reason for less."""
    assert answer.finish is not None
    assert answer.finish.reason in ("stop", "tool_calls", "length")
    return answer.finish.reason != "length"


def check(schema: Schema, text: str) -> None:
    """Check that a text is JSON that fits the schema."""
    try:
        jsonschema_rs.validate(schema, json.loads(text))
    except ValueError as error:
        raise AssertionError(f"{text!r} does not fit {json.dumps(schema)}: {error}") from error


def test_answers_fit_the_schemas_of_their_formats(engine: Launched) -> None:
    given = schemas()
    requests = [
        ask("What is the capital of Norway?", output_format=JsonFormat(enforceable(schema)), **sampled(at))
        for at, schema in enumerate(given)
    ]
    found = [(schema, answer) for schema, answer in zip(given, answers(engine, requests), strict=True)]
    complete = [(schema, answer.text) for schema, answer in found if is_complete(answer)]
    for schema, text in complete:
        check(schema, text)
    assert len(complete) > SCHEMAS / 4


def test_texts_fit_their_patterns_and_integers_are_multiples(engine: Launched) -> None:
    properties: dict[str, Any] = {
        f"p{at}": {"pattern": pattern} for at, pattern in enumerate(BOUNDED_PATTERNS)
    }
    properties["m"] = {"type": "integer", "multipleOf": 7, "minimum": -50, "maximum": 1000}
    schema = {"properties": properties, "required": list(properties), "additionalProperties": False}
    form = JsonFormat(enforceable(schema))
    requests = [ask("Anything.", output_format=form, **sampled(at)) for at in range(16)]
    complete = [answer.text for answer in answers(engine, requests) if is_complete(answer)]
    for text in complete:
        check(schema, text)
    assert complete


def test_any_object_answers_a_format_without_a_schema(engine: Launched) -> None:
    requests = [ask("Hi", output_format=JsonFormat(), **sampled(at)) for at in range(32)]
    complete = [answer.text for answer in answers(engine, requests) if is_complete(answer)]
    assert all(isinstance(json.loads(text), dict) for text in complete)
    assert complete


@pytest.mark.parametrize("choice", ["auto", "required", NamedTool(TOOL)])
def test_the_arguments_of_strict_tools_fit_their_schemas(engine: Launched, choice: Any) -> None:
    given = schemas(strict=True)
    requests = [
        ask(
            "What is the weather in Oslo?",
            tools=(Tool(TOOL, "The weather.", enforceable(schema), strict=True),),
            tool_choice=choice,
            **sampled(at),
        )
        for at, schema in enumerate(given)
    ]
    called = 0
    for schema, answer in zip(given, answers(engine, requests), strict=True):
        if is_complete(answer):
            for arguments in arguments_of(answer):
                called += 1
                check(schema, arguments)
    assert called > SCHEMAS / 8


def test_an_answer_is_a_call_or_json_when_there_are_tools(engine: Launched) -> None:
    schema = enforceable(
        {"type": "object", "properties": {"city": {"type": "string", "maxLength": 9}}, "required": ["city"]}
    )
    tool = Tool(TOOL, "The weather in a city.", schema, strict=True)
    fields = {"tools": (tool,), "output_format": JsonFormat(schema)}
    questions = ["What is the weather in Oslo?", "What is the capital of Norway?"]
    requests = [ask(questions[at % 2], **fields, **sampled(at)) for at in range(16)]
    kinds = set()
    for answer in answers(engine, requests):
        if is_complete(answer):
            calls = arguments_of(answer)
            kinds.add("call" if calls else "json")
            assert not (calls and answer.text)
            for text in calls or [answer.text]:
                check(schema, text)
    assert "json" in kinds


def test_reasoning_comes_before_the_constrained_answer(engine: Launched) -> None:
    schema = enforceable({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]})
    fields = {"thinking": "enabled", "temperature": 0.0, "max_tokens": 300}
    answer = engine.answer(ask("Think: what is 3+4?", output_format=JsonFormat(schema), **fields))
    assert answer.reasoning
    check(schema, answer.text)


def test_an_answer_has_at_most_one_call_when_calls_may_not_be_parallel(engine: Launched) -> None:
    tool = Tool(
        TOOL, "The weather in a city.", {"type": "object", "properties": {"city": {"type": "string"}}}
    )
    fields = {"tools": (tool,), "parallel_tool_calls": False}
    requests = [ask("What is the weather in Oslo?", **fields, **sampled(at)) for at in range(12)]
    counts = [len(arguments_of(answer)) for answer in answers(engine, requests)]
    assert max(counts) == 1
