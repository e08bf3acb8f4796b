"""LoRA adapters by their configured names: in every API that generates, and only there."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from generation.generation import Generation
from tests.support.api_fakes import Fakes

MESSAGES = [{"role": "user", "content": "Hi."}]
REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/responses": {"input": "Hi."},
    "/v1/chat/completions": {"messages": MESSAGES},
    "/v1/completions": {"prompt": "Hi"},
    "/v1/messages": {"messages": MESSAGES, "max_tokens": 5},
    "/api/chat": {"messages": MESSAGES, "stream": False},
    "/api/generate": {"prompt": "Hi", "stream": False},
}
routes = pytest.mark.parametrize(("path", "body"), REQUESTS.items(), ids=lambda one: str(one)[:20])


def refusal(answer: Any) -> tuple[int, str, str]:
    error = answer.json["error"]
    fields = error if isinstance(error, dict) else answer.json
    return answer.status_code, fields["code"], fields["param"]


@routes
def test_lora_reaches_the_job_with_a_namespace_of_its_own(
    http: FlaskClient, fakes: Fakes, path: str, body: dict[str, Any]
) -> None:
    for fields in ({}, {"lora": "pirate"}, {"lora": None}):
        assert http.post(path, json={"model": "demo", **body, **fields}).status_code == 200
    found = [Generation.from_json(job.generation) for job in fakes.ledger.jobs.values()]
    assert [made.lora for made in found] == [None, "pirate", None]
    assert found[0].cache_namespace == found[2].cache_namespace != found[1].cache_namespace


@routes
def test_lora_that_the_model_lacks_is_refused_before_the_queue(
    http: FlaskClient, fakes: Fakes, path: str, body: dict[str, Any]
) -> None:
    for name in ("poet", "/srv/pirate", "../pirate"):
        asked = {"model": "demo", **body, "lora": name}
        assert refusal(http.post(path, json=asked)) == (400, "unknown_lora", "lora")
    for name in ("", "x" * 65, 7, ["pirate"]):
        asked = {"model": "demo", **body, "lora": name}
        assert refusal(http.post(path, json=asked)) == (400, "invalid_request", "lora")
    assert not fakes.ledger.jobs


def test_model_without_loras_refuses_the_field(http: FlaskClient) -> None:
    asked = {"model": "org/plain", "messages": MESSAGES, "lora": "pirate"}
    expected = (400, "unsupported_parameter", "lora")
    assert refusal(http.post("/v1/chat/completions", json=asked)) == expected


def test_embeddings_refuse_the_field(http: FlaskClient) -> None:
    asked = {"model": "demo", "input": "Hi.", "lora": "pirate"}
    assert refusal(http.post("/v1/embeddings", json=asked)) == (400, "unsupported_parameter", "lora")


def test_list_of_models_has_the_names_and_no_paths(http: FlaskClient) -> None:
    listed = http.get("/v1/models")
    assert {model["id"]: model["lora"] for model in listed.json["data"]} == {
        "demo": ["pirate"],
        "org/plain": [],
    }
    assert "/srv" not in listed.text
