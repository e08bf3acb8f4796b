"""/embedding: vectors in llama-server's own form, and what is refused."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from config.settings import ModelDefinition, Settings
from generation.generation import Embedding, Generation
from streams.events import End, Usage, VectorDelta
from tests.support.api_fakes import Fakes

FIRST, SECOND = (0.5, -0.25), (1.0, 0.0)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    vectors = ModelDefinition("vectors", "stub", options={"stub_dimensions": 8})
    return replace(settings, models={**settings.models, "vectors": vectors})


@pytest.fixture(autouse=True)
def _script(fakes: Fakes) -> None:
    made = [
        VectorDelta.of(index, struct.pack("<2f", *numbers)) for index, numbers in ((1, SECOND), (0, FIRST))
    ]
    fakes.ledger.script = [*made, End("completed", "stop", usage=Usage(7))]


@pytest.mark.parametrize("path", ["/embedding", "/embeddings"])
@pytest.mark.parametrize("field", ["content", "input"])
def test_each_input_has_a_list_with_its_vector(
    http: FlaskClient, fakes: Fakes, path: str, field: str
) -> None:
    answer = http.post(path, json={"model": "vectors", field: ["a", [1, 2]], "embd_normalize": 2})
    assert answer.get_json() == [
        {"index": 0, "embedding": [list(FIRST)]},
        {"index": 1, "embedding": [list(SECOND)]},
    ]
    job = fakes.ledger.only()
    assert Generation.from_json(job.generation).embedding == Embedding(("a", (1, 2)))


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"model": "demo", "content": "a"}, 501, "not_supported_error"),
        ({"model": "vectors"}, 400, "invalid_request_error"),
        ({"model": "vectors", "content": "a", "embd_normalize": -1}, 501, "not_supported_error"),
        ({"model": "vectors", "content": ""}, 400, "invalid_request_error"),
        ({"content": "a"}, 400, "invalid_request_error"),
    ],
)
def test_a_request_without_vectors_is_refused_in_llama_servers_form(
    http: FlaskClient, body: dict[str, object], status: int, kind: str
) -> None:
    answer = http.post("/embedding", json=body)
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (status, status, kind)
