"""The Rerank dialect: what a request becomes, what it answers, and which models refuse it."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from api.access.caller import Caller
from api.inference.rerank.schema import MAX_DOCUMENTS, RerankObject
from config.settings import ModelDefinition, Settings
from generation.generation import Embedding, Generation
from streams.events import End, Event, Usage, VectorDelta
from tests.support.api_fakes import Fakes

ASK = {"model": "ranker", "query": "a question", "documents": ["one", {"text": "two"}, "three"]}
SCORES = (0.25, -1.5, 0.25)
MADE: list[Event] = [
    *(VectorDelta.of(index, struct.pack("<f", SCORES[index])) for index in (2, 0, 1)),
    End("completed", "stop", usage=Usage(9)),
]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    ranker = ModelDefinition("ranker", "stub", options={"stub_rerank": True})
    vectors = ModelDefinition("vectors", "stub", options={"stub_dimensions": 8})
    return replace(settings, models={**settings.models, "ranker": ranker, "vectors": vectors})


@pytest.fixture(autouse=True)
def _script(fakes: Fakes) -> None:
    fakes.ledger.script = [*MADE]


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_the_best_document_is_first(http: FlaskClient, fakes: Fakes, path: str) -> None:
    answer = http.post(path, json=ASK)
    body = answer.get_json()
    assert RerankObject().validate(body) == {}
    assert body["results"] == [
        {"index": 0, "relevance_score": 0.25},
        {"index": 2, "relevance_score": 0.25},
        {"index": 1, "relevance_score": -1.5},
    ]
    assert body["usage"] == {"prompt_tokens": 9, "total_tokens": 9}
    assert body["id"].startswith("rerank_")
    assert body["object"] == "list"
    job = fakes.ledger.only()
    asked = Generation.from_json(job.generation).embedding
    assert asked == Embedding(("one", "two", "three"), query="a question")
    assert (job.dialect, job.store) == ("rerank", False)
    assert "X-GPU-Time-Ms" in answer.headers


def test_the_best_results_are_returned_with_their_documents(http: FlaskClient) -> None:
    body = http.post("/v1/rerank", json=ASK | {"top_n": 2, "return_documents": True}).get_json()
    assert [(one["index"], one["document"]) for one in body["results"]] == [
        (0, {"text": "one"}),
        (2, {"text": "three"}),
    ]
    assert len(http.post("/v1/rerank", json=ASK | {"top_n": 99}).get_json()["results"]) == 3


def test_the_model_may_be_left_out_where_there_is_one(
    http: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = {name: value for name, value in ASK.items() if name != "model"}
    answer = http.post("/rerank", json=without)
    assert answer.get_json()["error"]["message"] == "model name is missing from the request"
    monkeypatch.setattr(Caller, "may_use", lambda _caller, model: model == "ranker")
    assert http.post("/rerank", json=without).get_json()["model"] == "ranker"


def test_the_query_is_charged_with_each_document(http: FlaskClient, fakes: Fakes) -> None:
    for documents in (["one"], ["one"] * 11):
        http.post("/v1/rerank", json=ASK | {"query": "a" * 4000, "documents": documents})
    first, second = (job.cost for job in fakes.ledger.jobs.values())
    assert second - first >= 10 * 1000


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"query": ""}, "query"),
        ({"query": None}, "query"),
        ({"documents": []}, "documents"),
        ({"documents": ["a", ""]}, "documents[1]"),
        ({"documents": [{"text": ""}]}, "documents[0].text"),
        ({"documents": [{"title": "a"}]}, "documents[0].text"),
        ({"documents": ["a", 1]}, "documents[1]"),
        ({"documents": ["a"] * (MAX_DOCUMENTS + 1)}, "documents"),
        ({"documents": "a"}, "documents"),
        ({"top_n": 0}, "top_n"),
        ({"return_documents": "yes"}, "return_documents"),
    ],
)
def test_an_invalid_field_is_refused(
    http: FlaskClient, fakes: Fakes, fields: dict[str, object], param: str
) -> None:
    answer = http.post("/v1/rerank", json=ASK | fields)
    error = answer.get_json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (400, param, "invalid_request")
    assert not fakes.ledger.jobs


@pytest.mark.parametrize(
    ("model", "path", "body", "code"),
    [
        ("demo", "/v1/rerank", {"query": "a", "documents": ["a"]}, "rerank_unsupported"),
        ("vectors", "/v1/rerank", {"query": "a", "documents": ["a"]}, "rerank_unsupported"),
        ("ranker", "/v1/embeddings", {"input": "a"}, "embeddings_unsupported"),
        ("ranker", "/v1/responses", {"input": "a"}, "generation_unsupported"),
        ("ranker", "/v1/completions", {"prompt": "a"}, "generation_unsupported"),
    ],
)
def test_a_model_refuses_a_request_of_another_kind(
    http: FlaskClient, model: str, path: str, body: dict[str, object], code: str
) -> None:
    answer = http.post(path, json={"model": model, **body})
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, code, "model")
