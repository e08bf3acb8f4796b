"""Hostile JSON Schemas of tools and formats against real engines: none may stall one.

`make fuzz-schemas` sends 10,000 to each engine (STOKER_FUZZED_SCHEMAS); `make test-runtimes` sends few.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from api.http.strict_schema import SchemaMismatch
from api.inference.dialects.output_format_fields import check_output_schema
from backends.base import GenerationError
from config.settings import ModelDefinition
from generation.generation import JsonFormat, Tool
from tests.backends.conftest import DEMO_MODEL, Launched, Start, ask
from tests.support.hostile_schemas import Schema, hostile_schema

SCHEMAS = int(os.environ.get("STOKER_FUZZED_SCHEMAS", "100"))
SEED = int(os.environ.get("STOKER_FUZZ_SEED", "1"))
MODELS = {
    "llama_server": {"llama_server_n_ctx": 4096, "llama_server_threads": 1},
    "llama_cpp": {"gguf_n_ctx": 4096, "gguf_threads": 1},
}
STALLED_S = 30.0


def ends(engine: Launched, schema: Schema, at: int) -> bool:
    """Whether a request with that schema ends, with an answer: a schema of a tool is not refused."""
    fields = {"tools": (Tool("f", None, schema),), "tool_choice": "required" if at % 4 else "auto"}
    answer, thread = engine.begin(
        ask("What is the weather in Oslo?", max_tokens=100, seed=at, **fields), str(at)
    )
    thread.join(STALLED_S)
    return not thread.is_alive() and answer.error is None


@pytest.mark.engines
@pytest.mark.parametrize("backend", MODELS)
def test_an_engine_answers_when_a_property_refers_to_its_object_by_all_of(start: Start, backend: str) -> None:
    model = ModelDefinition("model", backend, model_path=str(DEMO_MODEL), options=MODELS[backend])
    node = {"type": "object", "properties": {"parent": {"allOf": [{"$ref": "#/$defs/node"}]}}}
    schema = {"type": "object", "properties": {"node": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    tool = Tool("f", None, {**schema, "required": ["node"]})
    answer = start(model, 1).answer(ask("Oslo", max_tokens=20, tools=(tool,), tool_choice="required"))
    assert answer.error is None


def formats(seed: int, number: int) -> list[tuple[int, Schema]]:
    """Hostile schemas that can be the format of an answer, in their form for engines."""
    found: list[tuple[int, Schema]] = []
    for at in range(seed * 1_000_000, seed * 1_000_000 + 100 * number):
        try:
            found.append((at, check_output_schema(hostile_schema(Random(at)))))
        except SchemaMismatch:
            continue
    return found[:number]


@pytest.mark.engines
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", MODELS)
def test_no_engine_is_lost_when_formats_are_hostile(start: Start, backend: str) -> None:
    model = ModelDefinition("model", backend, model_path=str(DEMO_MODEL), options=MODELS[backend])
    engine = start(model, 1)
    schemas = formats(SEED, SCHEMAS)
    assert len(schemas) > SCHEMAS / 2
    for at, schema in schemas:
        request = ask("Hi", max_tokens=100, seed=at, output_format=JsonFormat(schema))
        answer, thread = engine.begin(request, str(at))
        thread.join(STALLED_S)
        assert not thread.is_alive(), f"the format of seed {at} stalls {backend}"
        assert isinstance(answer.error, GenerationError | None)
    assert engine.answer(ask("What is the capital of Norway?", temperature=0.0)).text


@pytest.mark.engines
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", MODELS)
def test_no_engine_is_lost_when_schemas_are_hostile(start: Start, backend: str) -> None:
    model = ModelDefinition("model", backend, model_path=str(DEMO_MODEL), options=MODELS[backend])
    engine = start(model, 1)
    for at in range(SEED * 1_000_000, SEED * 1_000_000 + SCHEMAS):
        schema = hostile_schema(Random(at))
        assert ends(engine, schema, at), f"the schema of seed {at} stalls {backend}"
    assert engine.answer(ask("What is the capital of Norway?", temperature=0.0)).text
