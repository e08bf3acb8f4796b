"""Ollama's routes for vectors: what a request becomes, and what it answers."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from api.inference.ollama.schema import OllamaVector, OllamaVectors
from config.settings import ModelDefinition, Settings
from fleet.states import ModelState
from generation.generation import Embedding, Generation
from streams.events import End, Event, Usage, VectorDelta
from tests.support.api_fakes import Fakes

FIRST, SECOND = [0.5, -0.25], [1.0, 0.0]
END = End("completed", "stop", usage=Usage(7), queue_ms=3, run_ms=5)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    vectors = ModelDefinition("vectors", "stub", options={"stub_dimensions": 8})
    return replace(settings, models={**settings.models, "vectors": vectors})


@pytest.fixture(autouse=True)
def _script(fakes: Fakes) -> None:
    made: list[Event] = [
        VectorDelta.of(1, struct.pack("<2f", *SECOND)),
        VectorDelta.of(0, struct.pack("<2f", *FIRST)),
    ]
    fakes.ledger.script = [*made, END]
    fakes.fleet.states["vectors"] = ModelState.LOADED


def asked(fakes: Fakes) -> Embedding | None:
    return Generation.from_json(fakes.ledger.only().generation).embedding


def test_each_input_has_a_vector_in_their_order(http: FlaskClient, fakes: Fakes) -> None:
    body = {
        "model": "vectors:latest",
        "input": ["a", "b"],
        "dimensions": 2,
        "truncate": True,
        "keep_alive": "5m",
    }
    answer = http.post("/api/embed", json=body | {"options": {"num_ctx": 64}})
    made = answer.get_json()
    assert OllamaVectors().validate(made) == {}
    assert (made["model"], made["embeddings"]) == ("vectors", [FIRST, SECOND])
    assert (made["prompt_eval_count"], made["load_duration"]) == (7, 3_000_000)
    assert made["total_duration"] == 8_000_000
    assert asked(fakes) == Embedding(("a", "b"), 2)
    assert "X-GPU-Time-Ms" in answer.headers


def test_the_older_route_has_one_vector(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [VectorDelta.of(0, struct.pack("<2f", *FIRST)), END]
    made = http.post("/api/embeddings", json={"model": "vectors", "prompt": "a"}).get_json()
    assert OllamaVector().validate(made) == {}
    assert made == {"embedding": FIRST}
    assert asked(fakes) == Embedding(("a",))


@pytest.mark.parametrize(
    ("path", "body", "made"),
    [
        ("/api/embed", {}, {"model": "vectors", "embeddings": []}),
        ("/api/embed", {"input": ""}, {"model": "vectors", "embeddings": []}),
        ("/api/embed", {"input": []}, {"model": "vectors", "embeddings": []}),
        ("/api/embed", {"input": None, "prompt": "x"}, {"model": "vectors", "embeddings": []}),
        ("/api/embed", {"messages": [{"role": "user"}]}, {"model": "vectors", "embeddings": []}),
        ("/api/embeddings", {"input": ["x"]}, {"embedding": []}),
        ("/api/embeddings", {"images": ["x"], "suffix": "y", "input": 7}, {"embedding": []}),
        ("/api/embeddings", {"prompt": ""}, {"embedding": []}),
    ],
)
def test_a_request_without_an_input_is_answered_if_the_model_is_loaded(
    http: FlaskClient, fakes: Fakes, path: str, body: dict[str, object], made: dict[str, object]
) -> None:
    assert http.post(path, json={"model": "vectors", **body}).get_json() == made
    fakes.fleet.states["vectors"] = ModelState.UNLOADED
    assert http.post(path, json={"model": "vectors", **body}).get_json()["code"] == "model_not_loaded"
    assert not fakes.ledger.jobs


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": ["a", ""]}, "input[1]"),
        ({"input": [1]}, "input[0]"),
        ({"input": ["a"] * 2049}, "input"),
        ({"input": {"a": 1}}, "input"),
        ({"input": "a", "dimensions": "2"}, "dimensions"),
        ({"input": "a", "truncate": "no"}, "truncate"),
    ],
)
def test_an_invalid_field_is_refused(
    http: FlaskClient, fakes: Fakes, body: dict[str, object], param: str
) -> None:
    answer = http.post("/api/embed", json={"model": "vectors", **body})
    error = answer.get_json()
    assert (answer.status_code, error["param"], error["code"]) == (400, param, "invalid_request")
    assert isinstance(error["error"], str)
    assert not fakes.ledger.jobs


@pytest.mark.parametrize("dimensions", [0, -1, None])
def test_dimensions_below_one_are_all_dimensions(
    http: FlaskClient, fakes: Fakes, dimensions: int | None
) -> None:
    assert http.post("/api/embed", json={"model": "vectors", "input": "a", "dimensions": dimensions}).json
    assert asked(fakes) == Embedding(("a",), None)


def test_models_refuse_requests_of_another_kind(http: FlaskClient, fakes: Fakes) -> None:
    for path, body, code in (
        ("/api/embed", {"model": "demo", "input": "a"}, "embeddings_unsupported"),
        ("/api/embeddings", {"model": "demo", "prompt": "a"}, "embeddings_unsupported"),
        ("/api/generate", {"model": "vectors", "prompt": "a"}, "generation_unsupported"),
    ):
        answer = http.post(path, json=body)
        assert (answer.status_code, answer.get_json()["code"]) == (400, code)
    assert not fakes.ledger.jobs
    assert http.post("/api/show", json={"model": "vectors"}).get_json()["capabilities"] == ["embedding"]
