"""The Embeddings dialect: what a request becomes, what it answers, and which models refuse it."""

from __future__ import annotations

import base64
import struct
from dataclasses import replace

import openai
import pytest
from flask.testing import FlaskClient

from api.http.errors import ApiError
from api.inference import capabilities
from api.inference.embeddings import dialect as embeddings
from api.inference.embeddings.schema import EmbeddingsObject
from config.settings import ModelDefinition, Settings
from generation.generation import Embedding, Generation
from streams.events import End, Event, Usage, VectorDelta
from tests.support.api_fakes import Fakes

ASK = {"model": "vectors", "input": ["a", "b"]}
FIRST, SECOND = (0.5, -0.25), (1.0, 0.0)
MADE: list[Event] = [
    VectorDelta.of(1, struct.pack("<2f", *SECOND)),
    VectorDelta.of(0, struct.pack("<2f", *FIRST)),
    End("completed", "stop", usage=Usage(7)),
]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    vectors = ModelDefinition("vectors", "stub", options={"stub_dimensions": 8})
    return replace(settings, models={**settings.models, "vectors": vectors})


@pytest.fixture(autouse=True)
def _script(fakes: Fakes) -> None:
    fakes.ledger.script = [*MADE]


def asked(fakes: Fakes) -> Embedding | None:
    return Generation.from_json(fakes.ledger.only().generation).embedding


def test_the_vectors_are_in_the_order_of_the_inputs(http: FlaskClient, fakes: Fakes) -> None:
    answer = http.post("/v1/embeddings", json=ASK | {"dimensions": 2, "user": "u"})
    body = answer.get_json()
    assert EmbeddingsObject().validate(body) == {}
    assert [one["embedding"] for one in body["data"]] == [list(FIRST), list(SECOND)]
    assert [one["index"] for one in body["data"]] == [0, 1]
    assert body["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
    assert asked(fakes) == Embedding(("a", "b"), 2)
    job = fakes.ledger.only()
    assert (job.dialect, job.store) == ("embeddings", False)
    assert job.cost < 256  # there is no answer, whose length would be estimated
    assert "X-GPU-Time-Ms" in answer.headers


@pytest.mark.parametrize(
    ("given", "inputs"),
    [("a", ("a",)), ([1, 2], ((1, 2),)), ([[1], [2, 3]], ((1,), (2, 3))), (["a"] * 2048, ("a",) * 2048)],
)
def test_an_input_is_a_text_or_tokens_or_a_list_of_them(
    http: FlaskClient, fakes: Fakes, given: object, inputs: tuple[object, ...]
) -> None:
    assert http.post("/v1/embeddings", json=ASK | {"input": given}).status_code == 200
    assert asked(fakes) == Embedding(inputs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": ["a", ""]}, "input[1]"),
        ({"input": [[]]}, "input[0]"),
        ({"input": ["a", 1]}, "input[1]"),
        ({"input": [1, "a"]}, "input[1]"),
        ({"input": [1, [2]]}, "input[1]"),
        ({"input": [True]}, "input[0]"),
        ({"input": [-1]}, "input[0]"),
        ({"input": [[1, "a"]]}, "input[0][1]"),
        ({"input": ["a"] * 2049}, "input"),
        ({"input": None}, "input"),
        ({"encoding_format": "int8"}, "encoding_format"),
        ({"dimensions": 0}, "dimensions"),
    ],
)
def test_an_invalid_field_is_refused(
    http: FlaskClient, fakes: Fakes, fields: dict[str, object], param: str
) -> None:
    answer = http.post("/v1/embeddings", json=ASK | fields)
    error = answer.get_json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (400, param, "invalid_request")
    assert not fakes.ledger.jobs


def test_a_model_that_makes_no_vectors_refuses_the_request(http: FlaskClient, fakes: Fakes) -> None:
    answer = http.post("/v1/embeddings", json=ASK | {"model": "demo"})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "embeddings_unsupported")
    assert not fakes.ledger.jobs


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}),
        ("/v1/responses", {"input": "Hi"}),
        ("/v1/completions", {"prompt": "Hi"}),
        ("/v1/responses/input_tokens", {"input": "Hi"}),
    ],
)
def test_a_model_that_makes_vectors_refuses_all_else(
    http: FlaskClient, fakes: Fakes, path: str, body: dict[str, object]
) -> None:
    answer = http.post(path, json={"model": "vectors", **body})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "generation_unsupported")
    assert not fakes.ledger.jobs


def test_dimensions_are_refused_when_the_backend_cannot_shorten_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = replace(capabilities.BACKENDS["stub"], shortens_vectors=False)
    monkeypatch.setattr(capabilities, "BACKENDS", {"stub": backend})
    model = ModelDefinition("vectors", "stub", options={"stub_dimensions": 8})
    assert capabilities.check(model, embeddings.parse(ASK))
    with pytest.raises(ApiError) as caught:
        capabilities.check(model, embeddings.parse(ASK | {"dimensions": 4}))
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "dimensions")


def test_openais_sdk_reads_vectors_in_both_formats(sdk: openai.OpenAI) -> None:
    # the SDK asks for base64 by default, which its own types refuse before it decodes them
    lenient = openai.OpenAI(api_key=sdk.api_key, base_url=sdk.base_url, max_retries=0)
    with lenient:
        default = lenient.embeddings.create(model="vectors", input=["a", "b"])
    numbers = sdk.embeddings.create(model="vectors", input=["a", "b"], encoding_format="float")
    for vectors in (default, numbers):
        assert [tuple(one.embedding) for one in vectors.data] == [FIRST, SECOND]


def test_base64_has_the_float32_numbers(http: FlaskClient) -> None:
    body = http.post("/v1/embeddings", json=ASK | {"encoding_format": "base64"}).get_json()
    assert base64.b64decode(body["data"][0]["embedding"]) == struct.pack("<2f", *FIRST)
