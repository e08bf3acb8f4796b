"""`truncation` of a response: a field of its job, for models whose engines count tokens."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from api.http.errors import ApiError
from api.inference.capabilities import check
from api.inference.responses import dialect as responses
from config.settings import ModelDefinition
from generation.generation import Generation
from tests.support.api_fakes import Fakes


def ask(http: FlaskClient, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = http.post("/v1/responses", json={"model": "demo", "input": "Hi", **body})
    return answer.status_code, answer.json


def generation_of(fakes: Fakes, id: str) -> Generation:
    return Generation.from_json(fakes.ledger.jobs[id].generation)


@pytest.mark.parametrize(("value", "expected"), [("auto", True), ("disabled", False), (None, False)])
def test_truncation_is_a_field_of_the_job_and_is_repeated(
    http: FlaskClient, fakes: Fakes, value: str | None, expected: bool
) -> None:
    _, response = ask(http, truncation=value)
    assert generation_of(fakes, response["id"]).truncate is expected
    assert response["truncation"] == (value or "disabled")


@pytest.mark.parametrize("value", [True, False, None])
def test_ollamas_truncate_is_a_field_of_the_job(http: FlaskClient, fakes: Fakes, value: bool | None) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    body = {"model": "demo", "messages": messages, "stream": False, "truncate": value}
    assert http.post("/api/chat", json=body).status_code == 200
    (job,) = fakes.ledger.jobs.values()
    assert Generation.from_json(job.generation).truncate is (value is True)


def test_input_tokens_are_counted_as_for_the_response(http: FlaskClient, fakes: Fakes) -> None:
    body = {"model": "demo", "input": "Hi", "truncation": "auto"}
    assert http.post("/v1/responses/input_tokens", json=body).status_code == 200
    (job,) = fakes.ledger.jobs.values()
    generation = Generation.from_json(job.generation)
    assert (generation.truncate, generation.count_only) == (True, True)


def test_truncation_is_refused_when_the_model_cannot_count() -> None:
    body = {"model": "m", "input": "Hi", "allow_remote": True}
    remote = ModelDefinition("m", "openai_remote")
    with pytest.raises(ApiError) as caught:
        check(remote, responses.parse({**body, "truncation": "auto"}))
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "truncation")
    check(remote, responses.parse({**body, "truncation": "disabled"}))


def test_long_chain_goes_on_without_its_oldest_turns_when_it_outgrows_a_body(
    http: FlaskClient, fakes: Fakes
) -> None:
    fields: dict[str, Any] = {"truncation": "auto", "instructions": "Be brief."}
    previous: dict[str, Any] = {}
    for letter in "abcde":
        status, response = ask(http, input=letter * 400_000, **fields, **previous)
        assert status == 200, response
        previous = {"previous_response_id": response["id"]}
    messages = generation_of(fakes, response["id"]).messages
    assert [message.text[:9] for message in messages] == ["Be brief.", "d" * 9, "Hello.", "e" * 9]
    status, error = ask(http, input="f" * 700_000, truncation="disabled", **previous)
    assert (status, error["error"]["code"]) == (413, "request_too_large")
