"""What the list of models tells a client that offers them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.operations import model_facts
from api.operations.model_facts import configured_context
from config.settings import ModelDefinition, Settings
from fleet.operation import begun_operation
from fleet.states import ModelState
from store.errors import StorageUnavailable
from tests.api.conftest import ADMIN_KEY
from tests.support.api_fakes import Fakes, FakeUsage

MODELS = {
    "demo": ModelDefinition("demo", "stub"),
    "gguf": ModelDefinition(
        "gguf", "llama_cpp", model_path="/srv/m.gguf", on_demand="load", options={"gguf_n_ctx": 2048}
    ),
    "vectors": ModelDefinition("vectors", "llama_cpp", options={"gguf_pooling": "mean"}),
    "translator": ModelDefinition("translator", "ct2", options={"ct2_task": "translate"}),
    "scribe": ModelDefinition("scribe", "stub", options={"stub_media": "transcript"}),
    "voices": ModelDefinition("voices", "sherpa", options={"sherpa_voices": {"alloy": "0"}}),
    "painter": ModelDefinition(
        "painter", "comfyui", options={"comfyui_sizes": ["64x64"], "comfyui_quality": {"low": 8}}
    ),
    "editor": ModelDefinition("editor", "comfyui", options={"comfyui_edit_workflow": "/srv/edit.json"}),
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, models=MODELS)


def chat_of(client: FlaskClient, model: str) -> Any:
    listed = {one["id"]: one["chat"] for one in client.get("/v1/models").get_json()["data"]}
    assert client.get(f"/v1/models/{model}").get_json()["chat"] == listed[model]
    return listed[model]


def test_loaded_model_has_its_abilities_and_its_speed(http: FlaskClient) -> None:
    facts = chat_of(http, "demo")
    assert facts["tokens_per_second"] == 40.0
    assert (facts["quantization"], facts["loading"]) == ("Q8_0", None)
    assert (facts["output"], facts["input"]) == ("text", ["text", "document"])
    assert {"temperature", "top_p", "top_k", "seed", "stop"} <= set(facts["sampling"])
    assert (facts["tools"], facts["multi_turn"]) == (True, True)
    assert chat_of(http, "gguf")["tokens_per_second"] is None


def test_models_with_other_outputs_have_their_own_facts(http: FlaskClient) -> None:
    assert (chat_of(http, "vectors")["output"], chat_of(http, "vectors")["tools"]) == ("embeddings", False)
    facts = chat_of(http, "translator")
    assert "top_k" not in facts["sampling"]


def test_models_of_audio_and_images_have_their_choices(http: FlaskClient) -> None:
    assert (chat_of(http, "scribe")["input"], chat_of(http, "scribe")["output"]) == (["audio"], "transcript")
    assert chat_of(http, "voices")["voices"] == ["alloy"]
    facts = chat_of(http, "painter")
    assert (facts["image_sizes"], facts["image_qualities"]) == (["64x64"], ["low"])
    assert (facts["input"], facts["output"]) == (["text"], "image")
    assert chat_of(http, "editor")["input"] == ["text", "image"]
    assert chat_of(http, "demo")["image_sizes"] == chat_of(http, "demo")["voices"] == []


def test_rights_to_load_follow_the_caller(http: FlaskClient, app: Flask, fakes: Fakes) -> None:
    admin = app.test_client()
    admin.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {ADMIN_KEY}"

    def rights(client: FlaskClient, model: str) -> tuple[bool, bool, str]:
        facts = chat_of(client, model)
        return facts["can_load"], facts["may_load"], facts["on_demand"]

    fakes.fleet.states |= dict.fromkeys(MODELS, ModelState.UNLOADED)
    assert rights(http, "demo") == (False, False, "reject")
    assert rights(http, "gguf") == (True, False, "load")
    assert rights(admin, "demo") == (True, True, "reject")


def test_a_model_that_is_not_loaded_has_its_configured_context(http: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["gguf"] = ModelState.UNLOADED
    facts = chat_of(http, "gguf")
    assert facts["context_length"] in (2048, fakes.fleet.row("gguf").context)
    assert http.get("/v1/models/gguf").get_json()["context_length"] is None


def test_a_load_without_a_known_operation_has_begun(http: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["gguf"] = ModelState.LOADING
    assert chat_of(http, "gguf")["loading"] == {"progress": 0.0, "eta_s": None}


def test_no_speed_is_shown_when_there_is_too_much_usage(
    http: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_facts, "MAX_USAGE_ROWS", 1)
    assert chat_of(http, "demo")["tokens_per_second"] is None


def test_models_are_listed_without_speeds_when_usage_cannot_be_read(
    http: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeUsage, "read", Mock(side_effect=StorageUnavailable("down")))
    assert chat_of(http, "demo")["tokens_per_second"] is None


def test_model_that_loads_has_its_progress(http: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["demo"] = ModelState.UNLOADED
    assert http.get("/v1/models/demo").json["chat"]["loading"] is None
    fakes.fleet.states["demo"] = ModelState.LOADING
    fakes.fleet.operation_ids["demo"] = "load_1"
    operation = begun_operation("load_1", "demo")
    fakes.fleet.operations["load_1"] = replace(operation, progress=0.41, eta_s=12.0)
    assert http.get("/v1/models/demo").json["chat"]["loading"] == {"progress": 0.41, "eta_s": 12.0}


def test_model_shows_without_paths_why_its_load_failed(http: FlaskClient, fakes: Fakes) -> None:
    assert chat_of(http, "gguf")["failure"] is None
    fakes.fleet.failures["gguf"] = "out_of_memory", "/srv/models/m.gguf takes 9 GiB: 4 GiB are free"
    assert chat_of(http, "gguf")["failure"] is None, "it is loaded: an earlier failure counts no more"
    reason = {"code": "out_of_memory", "message": "... takes 9 GiB: 4 GiB are free"}
    fakes.fleet.states["gguf"] = ModelState.FAILED
    assert chat_of(http, "gguf")["failure"] == reason
    fakes.fleet.states["gguf"] = ModelState.UNLOADED  # as after a load for a request has failed
    assert chat_of(http, "gguf")["failure"] == reason
    assert chat_of(http, "demo")["failure"] is None


def test_model_shows_the_code_alone_when_its_worker_was_lost(http: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.failures["demo"] = "worker_lost", "the worker gpu-7.internal was lost"
    fakes.fleet.states["demo"] = ModelState.FAILED
    assert chat_of(http, "demo")["failure"] == {"code": "worker_lost", "message": None}


def test_context_follows_from_the_configuration_where_it_is_set() -> None:
    stub = ModelDefinition("m", backend="stub", options={"stub_context": 128})
    assert configured_context(stub) == 128
    assert configured_context(ModelDefinition("m", backend="stub")) == 4096
    assert configured_context(ModelDefinition("m", backend="openai_remote")) is None
