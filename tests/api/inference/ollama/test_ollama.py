"""Ollama's routes beside the generations: the models, loading, errors."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from fleet.states import ModelState
from tests.support.api_fakes import Fakes
from tests.support.pictures import DOT


def test_the_models_are_listed_in_ollamas_form(http: FlaskClient) -> None:
    names = [model["id"] for model in http.get("/v1/models").get_json()["data"]]
    assert [model["model"] for model in http.get("/api/tags").get_json()["models"]] == names
    shown = http.post("/api/show", json={"model": "demo:latest"}).get_json()
    assert "completion" in shown["capabilities"]
    assert http.get("/api/version").get_json()["version"].count(".") == 2


def test_only_loaded_models_run(http: FlaskClient) -> None:
    states = {model["id"]: model["state"] for model in http.get("/v1/models").get_json()["data"]}
    running = {model["name"] for model in http.get("/api/ps").get_json()["models"]}
    assert running == {name for name, state in states.items() if state == "loaded"}


def test_the_context_of_a_model_is_shown_when_it_is_loaded(http: FlaskClient, fakes: Fakes) -> None:
    (running,) = (row for row in http.get("/api/ps").get_json()["models"] if row["name"] == "demo")
    shown = http.post("/api/show", json={"model": "demo"}).get_json()["model_info"]
    context = http.get("/v1/models/demo").get_json()["context_length"]
    assert running["context_length"] == context > 0
    assert shown[f"{shown['general.architecture']}.context_length"] == context
    fakes.fleet.states["demo"] = ModelState.UNLOADED
    unloaded = http.post("/api/show", json={"model": "demo"}).get_json()["model_info"]
    assert not any(name.endswith("context_length") for name in unloaded)


def test_the_root_is_answered_without_a_key(http: FlaskClient) -> None:
    answers = [ask("/", headers={"Authorization": ""}) for ask in (http.head, http.get)]
    assert [answer.status_code for answer in answers] == [200, 200]
    whole = "Stoker is running: docs describes its API, ui/ has its pages\n"
    assert [answer.get_data(as_text=True) for answer in answers] == ["", whole]


def test_the_root_leads_a_browser_to_the_ui_and_no_other_client(http: FlaskClient) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    answer = http.get("/", headers=browser)
    assert (answer.status_code, answer.headers["Location"]) == (302, "ui/")
    for accept in ("*/*", "application/json", "text/plain, text/html;q=0.5"):
        answer = http.get("/", headers={"Accept": accept})
        assert (answer.status_code, answer.headers["Vary"]) == (200, "Accept"), accept


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
def test_a_request_without_a_prompt_is_answered_if_the_model_is_loaded(
    http: FlaskClient, fakes: Fakes, path: str
) -> None:
    answer = http.post(path, json={"model": "demo"}).get_json()
    assert (answer["done"], answer["done_reason"]) == (True, "load")
    assert not fakes.ledger.jobs


def test_an_image_without_a_prompt_is_a_question_and_no_load(http: FlaskClient) -> None:
    body = {"model": "demo", "images": [DOT.partition(",")[2]], "stream": False}
    assert http.post("/api/generate", json=body).get_json()["code"] == "image_unsupported"


@pytest.mark.parametrize("path", ["pull", "create", "copy", "push", "blobs/sha256:0"])
def test_a_call_that_changes_models_is_refused_with_the_way_of_operators(
    http: FlaskClient, path: str
) -> None:
    answer = http.post(f"/api/{path}", json={"model": "x"})
    assert (answer.status_code, answer.get_json()["code"]) == (404, "not_found")
    assert "stoker load" in answer.get_json()["error"]
    assert "stoker load" not in http.post("/api/none", json={}).get_json()["error"]


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (ModelState.UNLOADED, "model_not_loaded"),
        (ModelState.LOADING, "model_loading"),
        (ModelState.FAILED, "model_failed"),
    ],
)
def test_a_request_without_a_prompt_is_refused_unless_the_model_is_loaded(
    http: FlaskClient, fakes: Fakes, state: ModelState, code: str
) -> None:
    fakes.fleet.states["demo"] = state
    answer = http.post("/api/chat", json={"model": "demo", "messages": []})
    assert (answer.status_code >= 400, answer.get_json()["code"]) == (True, code)


def test_no_thinking_is_the_default_of_a_model_without_the_switch(http: FlaskClient) -> None:
    body = {"model": "org/plain", "prompt": "Hi", "stream": False, "think": False}
    assert http.post("/api/generate", json=body).status_code == 200
    refused = http.post("/api/generate", json=body | {"think": True})
    assert (refused.status_code, refused.get_json()["param"]) == (400, "think")


def test_an_unknown_path_or_method_is_refused_in_ollamas_form(http: FlaskClient) -> None:
    for answer, status in ((http.post("/api/none", json={}), 404), (http.get("/api/chat"), 405)):
        assert answer.status_code == status
        assert isinstance(answer.get_json()["error"], str)


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TYPES = [None, "", "application/x-www-form-urlencoded", "text/plain", "application/octet-stream", "*/*"]


@pytest.mark.parametrize("content_type", TYPES)
@pytest.mark.parametrize("path", ["chat", "generate", "embed", "embeddings", "show"])
def test_a_body_below_api_is_read_as_json_whatever_its_type(
    http: FlaskClient, path: str, content_type: str | None
) -> None:
    """curl names the type of forms, LiteLLM none."""
    headers = {} if content_type is None else {"Content-Type": content_type}
    answer = http.post(f"/api/{path}", data='{"model": "none"}', headers=headers)
    assert (answer.status_code, answer.get_json()["code"]) == (404, "unknown_model")


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/api/generate", {**FORM, "Origin": "http://localhost"}),
        ("/api/generate", {**FORM, "Sec-Fetch-Site": "cross-site"}),
        ("/api/generate", {"Content-Type": "text/plain", "Origin": "http://localhost"}),
        ("/api/generate", {"Sec-Fetch-Site": "same-site"}),
        ("/v1/chat/completions", FORM),
        ("/v1/chat/completions", {}),
    ],
)
def test_a_body_of_another_type_is_refused_when_a_browser_may_have_sent_it(
    http: FlaskClient, path: str, headers: dict[str, str]
) -> None:
    answer = http.post(path, data='{"model": "demo"}', headers=headers)
    assert answer.status_code == 415


def test_a_body_of_the_type_of_forms_is_refused_when_it_comes_with_a_cookie(http: FlaskClient) -> None:
    http.set_cookie("a", "b")
    assert http.post("/api/generate", data='{"model": "demo"}', headers=FORM).status_code == 415
