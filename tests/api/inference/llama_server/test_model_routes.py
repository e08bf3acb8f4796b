"""/props, /slots and /lora-adapters: what is shown, to whom, and what never is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from api.access.caller import Caller
from config.settings import ModelDefinition, Settings
from fleet.engine_properties import MAX_TEMPLATE_BYTES, decode_properties, encode_properties
from fleet.model_row import ModelRow
from fleet.states import ModelState
from tests.support.api_fakes import Fakes

REPORTED = {
    "params": {"temperature": 0.8, "samplers": ["top_k"], "lora": [{"id": 0, "path": "/srv/a"}], "stop": []},
    "chat_template": "{{ messages }}",
    "chat_template_caps": {"supports_tools": True},
    "bos_token": "<s>",
    "eos_token": "</s>",
    "model_path": "/srv/models/secret.gguf",
    "media_marker": "<__media__>",
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    drafts = ModelDefinition("drafts", "llama_server", options={"llama_server_spec_type": "draft-mtp"})
    return replace(settings, models={**settings.models, "drafts": drafts})


@pytest.fixture(autouse=True)
def busy(fakes: Fakes) -> dict[str, int]:
    """How many requests run in each model, whose replica has two slots."""
    running = {"demo": 0}
    row_of = fakes.fleet.row_of

    def row(model: ModelDefinition) -> ModelRow:
        return replace(row_of(model), slots=2, inflight=running.get(model.name, 0))

    fakes.fleet.row_of = row  # type: ignore[method-assign]
    return running


def test_the_properties_of_a_model_are_those_of_its_engine(http: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.properties["demo"] = encode_properties(REPORTED)
    answer = http.get("/props?model=demo")
    body = answer.get_json()
    assert answer.status_code == 200
    assert body["default_generation_settings"] == {
        "params": {"temperature": 0.8, "samplers": ["top_k"]},
        "n_ctx": 4096,
    }
    assert (body["total_slots"], body["model_alias"], body["model_path"]) == (2, "demo", "demo")
    assert (body["chat_template"], body["chat_template_caps"]) == ("{{ messages }}", {"supports_tools": True})
    assert (body["bos_token"], body["eos_token"], body["is_sleeping"]) == ("<s>", "</s>", False)
    assert body["modalities"] == {"vision": False, "video": False, "audio": False}
    assert "/srv" not in answer.get_data(as_text=True)


def test_a_model_whose_engine_reports_nothing_has_empty_properties(http: FlaskClient) -> None:
    body = http.get("/props?model=org/plain").get_json()
    assert (body["chat_template"], body["default_generation_settings"]["params"]) == ("", {})


def test_the_properties_of_several_models_are_those_of_a_router(
    http: FlaskClient, settings: Settings
) -> None:
    body = http.get("/props").get_json()
    assert (body["role"], body["max_instances"], body["models_autoload"]) == (
        "router",
        len(settings.models),
        False,
    )
    assert body["default_generation_settings"] == {"params": {}, "n_ctx": 0}
    assert body["build_info"].startswith("stoker-")


def test_a_key_of_one_model_sees_that_and_no_other(
    http: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Caller, "may_use", lambda _caller, model: model == "demo")
    assert http.get("/props").get_json()["model_alias"] == "demo"
    assert len(http.get("/slots").get_json()) == 2
    for path in ("/props", "/slots", "/lora-adapters"):
        answer = http.get(f"{path}?model=org/plain")
        assert (answer.status_code, answer.get_json()["error"]["type"]) == (403, "permission_error")


@pytest.mark.parametrize(
    ("state", "status", "message"),
    [
        (ModelState.LOADING, 503, "Loading model"),
        (ModelState.UNLOADED, 409, "model demo is not loaded"),
        (ModelState.FAILED, 409, "model demo failed; an operator must load it again"),
    ],
)
@pytest.mark.parametrize("path", ["/props", "/slots"])
def test_a_model_that_is_not_loaded_has_neither_properties_nor_slots(
    http: FlaskClient, fakes: Fakes, path: str, *, state: ModelState, status: int, message: str
) -> None:
    fakes.fleet.states["demo"] = state
    answer = http.get(f"{path}?model=demo")
    assert (answer.status_code, answer.get_json()["error"]["message"]) == (status, message)


@pytest.mark.parametrize(
    "path", ["/props?model=nobody", "/slots?model=nobody", "/lora-adapters?model=nobody"]
)
def test_an_unknown_model_is_404(http: FlaskClient, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.get_json()["error"]["type"]) == (404, "not_found_error")


def test_slots_show_how_many_are_taken_and_nothing_of_requests(
    http: FlaskClient, busy: dict[str, int]
) -> None:
    busy["demo"] = 1
    slot = {"n_ctx": 4096, "speculative": False}
    expected = [{"id": 0, **slot, "is_processing": True}, {"id": 1, **slot, "is_processing": False}]
    assert http.get("/slots?model=demo&fail_on_no_slot=1").get_json() == expected
    assert all(slot["speculative"] for slot in http.get("/slots?model=drafts").get_json())
    busy["demo"] = 2
    answer = http.get("/slots?model=demo&fail_on_no_slot=1")
    error = {"code": 503, "message": "no slot available", "type": "unavailable_error"}
    assert (answer.status_code, answer.get_json()) == (503, {"error": error})


@pytest.mark.parametrize("path", ["/slots", "/lora-adapters"])
def test_a_request_without_a_model_is_refused_where_there_are_several(http: FlaskClient, path: str) -> None:
    answer = http.get(path)
    assert answer.status_code == 400
    assert answer.get_json()["error"]["message"] == "model name is missing from the request"


def test_adapters_have_their_names_and_no_paths(http: FlaskClient) -> None:
    adapters = http.get("/lora-adapters?model=demo").get_json()
    assert adapters == [{"id": 0, "path": "pirate", "scale": 0.0}]


@pytest.mark.parametrize("path", ["/props", "/lora-adapters"])
def test_a_change_for_all_tenants_is_refused(http: FlaskClient, path: str) -> None:
    answer = http.post(path, json=[{"id": 0, "scale": 1.0}])
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (501, 501, "not_supported_error")


def test_properties_are_bounded() -> None:
    many = {f"name{number}": number for number in range(1000)}
    large = {"params": many | {"text": "x" * 5000}, "chat_template": "\u00e9" * MAX_TEMPLATE_BYTES}
    data = encode_properties({**large, "bos_token": "x" * 5000, "eos_token": 7})
    kept = decode_properties(data)
    assert len(kept["params"]) == 128
    assert (kept["chat_template"], kept["bos_token"], kept["eos_token"]) == ("", "", "")
    assert encode_properties(None) == b""
    assert decode_properties(None)["params"] == {}
