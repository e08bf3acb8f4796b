"""What the list of models tells a client that offers them."""

from __future__ import annotations

from dataclasses import replace

from flask.testing import FlaskClient

from api.operations.model_facts import configured_context
from config.settings import ModelDefinition
from fleet.operation import begun_operation
from fleet.states import ModelState
from tests.support.api_fakes import Fakes


def test_models_have_what_a_list_of_them_shows(http: FlaskClient) -> None:
    listed = {model["id"]: model["chat"] for model in http.get("/v1/models").json["data"]}
    assert listed["demo"] == http.get("/v1/models/demo").json["chat"]
    chat = listed["demo"]
    assert (chat["output"], chat["loading"], chat["can_load"]) == ("text", None, False)
    assert chat["input"][0] == "text"
    assert set(chat["sampling"]) >= {"temperature", "top_p"}
    assert chat["quantization"] == "Q8_0"


def test_model_that_loads_has_its_progress(http: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["demo"] = ModelState.UNLOADED
    assert http.get("/v1/models/demo").json["chat"]["loading"] is None
    fakes.fleet.states["demo"] = ModelState.LOADING
    fakes.fleet.operation_ids["demo"] = "load_1"
    operation = begun_operation("load_1", "demo")
    fakes.fleet.operations["load_1"] = replace(operation, progress=0.41, eta_s=12.0)
    assert http.get("/v1/models/demo").json["chat"]["loading"] == {"progress": 0.41, "eta_s": 12.0}


def test_context_follows_from_the_configuration_where_it_is_set() -> None:
    stub = ModelDefinition("m", backend="stub", options={"stub_context": 128})
    assert configured_context(stub) == 128
    assert configured_context(ModelDefinition("m", backend="stub")) == 4096
    assert configured_context(ModelDefinition("m", backend="openai_remote")) is None
