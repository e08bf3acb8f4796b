"""A request is sent to a remote server only if its body allows that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import openai
import pytest
from flask.testing import FlaskClient

from config.settings import ModelDefinition, Settings
from tests.support.api_fakes import Fakes

ASK = {"responses": {"input": "Hi"}, "chat/completions": {"messages": [{"role": "user", "content": "Hi"}]}}
PATHS = pytest.mark.parametrize("path", ASK)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    options = {"openai_remote_url": "https://far.example/v1"}
    far = ModelDefinition("far", "openai_remote", options=options)
    return replace(settings, models={**settings.models, "far": far})


def ask(http: FlaskClient, path: str, model: str, **more: Any) -> Any:
    return http.post(f"/v1/{path}", json={"model": model, **ASK[path], **more})


@PATHS
@pytest.mark.parametrize("more", [{}, {"allow_remote": False}, {"allow_remote": None}, {"stream": True}])
def test_a_remote_model_refuses_a_request_that_does_not_allow_it_before_admission(
    http: FlaskClient, fakes: Fakes, path: str, more: dict[str, Any]
) -> None:
    answer = ask(http, path, "far", **more)
    assert answer.status_code == 403
    error = answer.json["error"]
    assert (error["code"], error["param"]) == ("remote_not_allowed", "allow_remote")
    assert error["type"] == "permission_error"
    assert "far runs on another operator's server: set `allow_remote: true`" in error["message"]
    assert "far.example" not in answer.text
    assert answer.headers["x-should-retry"] == "false"
    assert not fakes.ledger.jobs


@PATHS
def test_a_request_that_allows_it_is_admitted(http: FlaskClient, fakes: Fakes, path: str) -> None:
    assert ask(http, path, "far", allow_remote=True).status_code == 200
    assert fakes.ledger.only().model == "far"


@PATHS
@pytest.mark.parametrize("allowed", [True, False, None])
def test_a_local_model_accepts_any_value(http: FlaskClient, path: str, allowed: bool | None) -> None:
    assert ask(http, path, "demo", allow_remote=allowed).status_code == 200


@PATHS
@pytest.mark.parametrize("wrong", ["true", 1, 0, [], {}])
@pytest.mark.parametrize("model", ["far", "demo"])
def test_values_that_only_resemble_a_boolean_are_refused(
    http: FlaskClient, fakes: Fakes, *, path: str, wrong: object, model: str
) -> None:
    answer = ask(http, path, model, allow_remote=wrong)
    assert answer.status_code == 400
    assert answer.json["error"]["code"] == "invalid_request"
    assert answer.json["error"]["param"] == "allow_remote"
    assert not fakes.ledger.jobs


def test_the_list_of_models_shows_which_are_remote(http: FlaskClient) -> None:
    listed = http.get("/v1/models").json["data"]
    assert {model["id"] for model in listed if model["remote"]} == {"far"}
    assert http.get("/v1/models/far").json["remote"] is True


def test_openais_sdk_sends_allow_remote_as_an_extra_field(sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.PermissionDeniedError) as caught:
        sdk.responses.create(model="far", input="Hi")
    assert (caught.value.code, caught.value.param) == ("remote_not_allowed", "allow_remote")
    assert sdk.responses.create(model="far", input="Hi", extra_body={"allow_remote": True}).output_text
    messages: Any = [{"role": "user", "content": "Hi"}]
    completion = sdk.chat.completions.create(
        model="far", messages=messages, extra_body={"allow_remote": True}
    )
    assert completion.choices[0].message.content
