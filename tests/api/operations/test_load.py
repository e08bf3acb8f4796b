"""The validation of load requests: 422, 400 and 409 (Runtime Admin API, "Validation behavior")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import redis
from flask import Flask
from flask.testing import FlaskClient

import tasks.definitions
from api.http.strict_schema import SchemaMismatch
from api.operations.load_schema import LoadRequestBody
from api.wiring import make_services
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition, Settings
from fleet.catalogue import ModelCatalogue
from fleet.fleet import Fleet
from fleet.memory import DeviceMemory
from tests.api.conftest import ADMIN_KEY
from tests.seeds import RUNTIME_ADMIN_API
from tests.support.audit import audit_of
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app

# every example of that section: backend, body, status, the invalid field
INVALID: list[tuple[str, dict[str, Any], int, str]] = [
    ("llama_cpp", {"gguf_n_ctx": 0}, 422, "gguf_n_ctx"),
    ("exllamav3", {"exllama_cache_size": 0}, 422, "exllama_cache_size"),
    ("exllamav3", {"exllama_max_rq_tokens": 0}, 422, "exllama_max_rq_tokens"),
    ("llama_cpp", {"gguf_type_k": "q8-0"}, 400, "gguf_type_k"),
    ("llama_cpp", {"gguf_type_k": "foo"}, 400, "gguf_type_k"),
    ("exllamav3", {"exllama_cache_k_bits": 8}, 400, "exllama_cache_k_bits"),
    (
        "exllamav3",
        {"exllama_cache_quant": "8", "exllama_cache_k_bits": 8, "exllama_cache_v_bits": 8},
        400,
        "exllama_cache_k_bits",
    ),
    ("exllamav3", {"exllama_cache_size": 8000}, 400, "exllama_cache_size"),
    ("exllamav3", {"exllama_cache_quant": "fp16"}, 400, "exllama_cache_quant"),
    ("llama_server", {"llama_server_spec_type": "medusa"}, 400, "llama_server_spec_type"),
    ("llama_server", {"llama_server_spec_draft_n_max": 7}, 400, "llama_server_spec_draft_n_max"),
    ("llama_server", {"llama_server_spec_draft_p_min": 1.5}, 400, "llama_server_spec_draft_p_min"),
    ("llama_cpp", {"exllama_cache_size": 512}, 400, "exllama_cache_size"),
    ("vllm", {"llama_server_n_ctx": 512}, 400, "llama_server_n_ctx"),
    # further cases of the same rules
    ("llama_server", {"llama_server_spec_draft_n_max": 4}, 400, "llama_server_spec_draft_n_max"),
    ("llama_server", {"llama_server_spec_draft_p_min": 0.5}, 400, "llama_server_spec_draft_p_min"),
    ("llama_cpp", {"gguf_n_ctx": "8192"}, 422, "gguf_n_ctx"),
    ("llama_cpp", {"gguf_n_ctx": None}, 422, "gguf_n_ctx"),
    ("llama_cpp", {"gguf_n_ctx": 4096.5}, 422, "gguf_n_ctx"),
    ("llama_cpp", {"gguf_n_ctx": True}, 422, "gguf_n_ctx"),
    ("llama_cpp", {"gguf_flash_attn": "maybe"}, 400, "gguf_flash_attn"),
    ("llama_cpp", {"gguf_flash_attn": None}, 422, "gguf_flash_attn"),
    ("llama_cpp", {"nothing_known": 1}, 422, "nothing_known"),
    ("llama_cpp", {"gguf_n_gpu_layers": 1}, 422, "gguf_n_gpu_layers"),  # configured, not overridden
    ("llama_server", {"llama_server_mmproj": "x"}, 422, "llama_server_mmproj"),
    ("llama_server", {"llama_server_host": "0.0.0.0"}, 422, "llama_server_host"),  # noqa: S104 - refused
    ("vllm_serve", {"vllm_serve_api_key": "k"}, 422, "vllm_serve_api_key"),
    ("exllamav3", {"exllama_cache_k_bits": 1, "exllama_cache_v_bits": 8}, 422, "exllama_cache_k_bits"),
    ("exllamav3", {"exllama_cache_k_bits": 9, "exllama_cache_v_bits": 8}, 400, "exllama_cache_k_bits"),
    ("exllamav3", {"exllama_cache_k_bits": None, "exllama_cache_v_bits": 8}, 400, "exllama_cache_k_bits"),
    ("exllamav3", {"exllama_cache_quant": "8,9"}, 400, "exllama_cache_quant"),
    ("vllm", {"vllm_max_model_len": 255}, 422, "vllm_max_model_len"),
    ("vllm", {"vllm_num_speculative_tokens": 65}, 400, "vllm_num_speculative_tokens"),  # as configured
    ("llama_cpp", {"gguf_n_ctx": 1 << 40}, 400, "gguf_n_ctx"),
    ("vllm_serve", {"vllm_speculative_method": "two words"}, 400, "vllm_speculative_method"),
    ("ct2", {"gguf_n_ctx": 512}, 400, "gguf_n_ctx"),
    ("openai_remote", {"vllm_max_pixels": 200704}, 400, "vllm_max_pixels"),
    ("stub", {"llama_server_n_ctx": 512}, 400, "llama_server_n_ctx"),
    ("stub", {"replicas": 0}, 422, "replicas"),
    ("stub", {"replicas": 5}, 400, "replicas"),
    ("stub", {"evictModel": 3}, 422, "evictModel"),
    ("stub", {"evictModel": "m-stub"}, 400, "evictModel"),
    ("stub", {"evictModel": "unknown"}, 404, "evictModel"),
]
VALID: list[tuple[str, dict[str, Any]]] = [
    *[
        (backend, example["body"])
        for example in RUNTIME_ADMIN_API["load_bodies"]
        for backend in ([example["backend"]] if example["backend"] != "any" else BACKENDS)
    ],
    ("llama_cpp", {"gguf_type_k": None, "gguf_type_v": None}),
    ("exllamav3", {"exllama_cache_k_bits": None, "exllama_cache_v_bits": None}),
    ("vllm", {"vllm_kv_cache_dtype": "fp8_ds_mla"}),  # every value that vLLM knows is accepted
    ("vllm", {"vllm_max_model_len": 1000}),  # the step applies to forms only
    ("vllm", {"vllm_speculative_method": None, "vllm_speculative_model": None}),
    ("llama_server", {"llama_server_spec_type": None}),
    ("llama_server", {"llama_server_spec_type": "draft-mtp", "llama_server_spec_draft_p_min": 1}),
    ("stub", {}),
]
IMAGES: dict[str, dict[str, Any]] = {"llama_server": {"llama_server_mmproj": "/models/mmproj"}}
"""The models of these backends take images, since the specification's example of a load sets their size."""


@pytest.fixture
def loadable(shared_settings: Settings) -> Iterator[tuple[FlaskClient, SimulatedPlatform]]:
    """The API over a real fleet: a model of each backend, and a worker that starts no replica."""
    models = {
        f"m-{name}": ModelDefinition(
            f"m-{name}",
            name,
            model_path="/models/x",
            replica_max=4,
            options={option.name: option.default for option in backend.options} | IMAGES.get(name, {}),
        )
        for name, backend in BACKENDS.items()
    }
    text = models["m-llama_server"]
    models["m-text"] = replace(
        text, name="m-text", options={**text.options, **dict.fromkeys(IMAGES["llama_server"])}
    )
    settings = replace(shared_settings, lease=LONG_LEASE, models=models)
    client = redis.Redis.from_url(settings.redis.url)
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    app: Flask = create_app(settings, make_services(settings))  # not started: loads need no subscriber
    http = app.test_client()
    http.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    yield http, platform
    client.close()


@pytest.fixture(autouse=True)
def _no_wake_up_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.definitions, "notify_workers", lambda _: None)


def fleet_is_unchanged(platform: SimulatedPlatform) -> bool:
    return all(row.state == "unloaded" and row.operation_id is None for row in platform.fleet.rows())


@pytest.mark.rule(
    "field/load-constraints",
    "field/llama-cpp",
    "field/exllama-cache-k-bits-exllama",
    "field/llama-server-2",
    "load/validation-422",
    "load/validation-400-invalid-load-request",
)
@pytest.mark.parametrize(
    ("backend", "body", "status", "param"), INVALID, ids=[f"{b}-{body}" for b, body, _, _ in INVALID]
)
def test_an_invalid_load_is_refused_with_its_status_and_changes_no_state(
    loadable: tuple[FlaskClient, SimulatedPlatform],
    backend: str,
    body: dict[str, Any],
    status: int,
    param: str,
) -> None:
    http, platform = loadable
    answer = http.post(f"/v1/admin/models/m-{backend}/load", json=body)
    codes = {422: "unprocessable_request", 400: "invalid_load_request", 404: "unknown_model"}
    error = answer.json["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, codes[status], param)
    assert param in error["message"] or status == 404
    assert fleet_is_unchanged(platform)


def test_an_unknown_field_is_refused_with_the_place_that_lists_the_fields() -> None:
    with pytest.raises(SchemaMismatch, match="is not a field of a load: the model's `load_constraints` has"):
        LoadRequestBody.check({"nothing_known": 1})


@pytest.mark.rule(
    "state/core-concepts",
    "models/replicas-replica-max",
    "field/effective-loaded-values",
    "field/vllm-kv-cache-dtype",
    "load/example-load-bodies",
    "load/runtime-only",
)
@pytest.mark.parametrize(("backend", "body"), VALID, ids=[f"{b}-{body}" for b, body in VALID])
def test_a_valid_load_begins_and_its_override_is_shown_by_key(
    loadable: tuple[FlaskClient, SimulatedPlatform], backend: str, body: dict[str, Any]
) -> None:
    http, platform = loadable
    answer = http.post(f"/v1/admin/models/m-{backend}/load", json=body)
    assert (answer.status_code, answer.json["runtime_state"]) == (202, "loading")
    override = {key: value for key, value in body.items() if key != "replicas"}
    assert answer.json["load_override"] == override
    assert answer.json["replicas"] == body.get("replicas", 1)
    configured = answer.json["definition"]
    assert {key: configured[key] for key in override} == {
        key: BACKENDS[backend].option(key).default  # type: ignore[union-attr]
        for key in override
    }, "an override changes no definition"
    assert platform.fleet.operation(answer.json["operation"]["id"])
    replica = next(iter(platform.client.smembers(f"{platform.prefix}worker_replicas:w1"))).decode()
    start = platform.fleet.replica_starting(replica, "w1", platform.incarnations["w1"])
    assert start
    assert (start.model, start.override) == (f"m-{backend}", override)


def test_an_override_shows_the_fields_that_it_excludes_as_null(
    loadable: tuple[FlaskClient, SimulatedPlatform], monkeypatch: pytest.MonkeyPatch
) -> None:
    http, platform = loadable
    model = platform.settings.models["m-exllamav3"]
    quantised = replace(model, options={**model.options, "exllama_cache_quant": "8,8"})
    fleet: Fleet = http.application.extensions["stoker"][Fleet]
    changed = replace(platform.settings, models={"m-exllamav3": quantised})
    monkeypatch.setattr(fleet, "catalogue", ModelCatalogue(platform.client, changed))
    body = {"exllama_cache_k_bits": 4, "exllama_cache_v_bits": 4}
    for _ in range(2):  # the same again is the same
        shown = http.post("/v1/admin/models/m-exllamav3/load", json=body).json
        assert shown["load_override"] == {**body, "exllama_cache_quant": None}
        assert shown["definition"]["exllama_cache_quant"] == "8,8"


@pytest.mark.rule("load/validation-400-invalid-load-request")
def test_the_size_of_images_is_refused_for_a_text_model(
    loadable: tuple[FlaskClient, SimulatedPlatform],
) -> None:
    http, platform = loadable
    field = "llama_server_image_max_tokens"
    answer = http.post("/v1/admin/models/m-text/load", json={field: 512})
    error = answer.json["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "invalid_load_request", field)
    assert fleet_is_unchanged(platform)


@pytest.mark.rule("beyond/evictmodel")
def test_an_eviction_is_400_while_the_model_is_loaded_or_loading(
    loadable: tuple[FlaskClient, SimulatedPlatform],
) -> None:
    http, platform = loadable
    platform.load("m-stub")
    platform.load("m-ct2")
    platform.fleet.load("m-vllm")
    for name in ("m-stub", "m-vllm"):
        answer = http.post(f"/v1/admin/models/{name}/load", json={"evictModel": "m-ct2"})
        error = answer.json["error"]
        assert (answer.status_code, error["code"], error["param"]) == (
            400,
            "invalid_load_request",
            "evictModel",
        )
    assert platform.model("m-ct2") == "loaded"


@pytest.mark.rule("models/load-override", "beyond/operations")
def test_a_failed_load_shows_the_override_that_it_asked_for(
    loadable: tuple[FlaskClient, SimulatedPlatform],
) -> None:
    http, platform = loadable
    override = {"gguf_n_ctx": 8192, "gguf_type_k": None}
    begun = http.post("/v1/admin/models/m-llama_cpp/load", json=override).json["operation"]
    replica = next(iter(platform.client.smembers(f"{platform.prefix}worker_replicas:w1"))).decode()
    platform.starting(replica)
    platform.crash(replica, code="load_failed")
    row = http.get("/v1/admin/models/m-llama_cpp").json
    operation = http.get(f"/v1/admin/operations/{begun['id']}").json
    assert (row["runtime_state"], row["load_override"], row["last_load_override"]) == ("failed", {}, override)
    assert (operation["status"], operation["load_override"]) == ("failed", override)


@pytest.mark.rule("beyond/a-load-is-cancelled")
@pytest.mark.parametrize("restores", [False, True], ids=["load", "restore"])
def test_a_cancelled_load_is_recorded_in_the_audit_chain(
    loadable: tuple[FlaskClient, SimulatedPlatform], restores: bool
) -> None:
    http, platform = loadable
    if restores:
        platform.load("m-stub", replicas=2)
        replicas = platform.client.smembers(f"{platform.prefix}worker_replicas:w1")
        platform.crash(next(iter(replicas)).decode())
    load = http.post("/v1/admin/models/m-stub/load").json["operation"]
    for _ in range(2):  # the second request changes nothing
        assert http.delete(f"/v1/admin/operations/{load['id']}").status_code in (200, 202)
    audit = audit_of(platform.settings)
    recorded = [
        (record.actor, record.action, record.outcome, record.detail["operation"])
        for record in audit.records()
    ]
    changes = [entry for entry in recorded if entry[2] != "done"]
    assert len(recorded) - len(changes) == 1  # the second request
    own = [(actor, action, outcome) for actor, action, outcome, id in changes if id == load["id"]]
    assert own == [("boss", "load", "begun"), ("boss", "load", "cancelled")]
    others = [(actor, action) for actor, action, _, id in changes if id != load["id"] and actor == "boss"]
    assert others == [("boss", "unload")] * 2 * (not restores)


@pytest.mark.rule("unload/rules", "beyond/a-crashed-engine")
def test_the_unload_of_a_failed_model_ends_its_restart_and_is_in_the_audit_chain(
    loadable: tuple[FlaskClient, SimulatedPlatform],
) -> None:
    http, platform = loadable
    platform.load("m-stub")
    platform.crash(next(iter(platform.client.smembers(f"{platform.prefix}worker_replicas:w1"))).decode())
    assert platform.fleet.row("m-stub").restart_at is not None
    rows = [http.post("/v1/admin/models/m-stub/unload") for _ in range(2)]  # the second changes nothing
    assert [row.status_code for row in rows] == [200, 200]
    operation = rows[0].json["operation"]
    assert (operation["kind"], operation["status"], rows[0].json["runtime_state"]) == (
        "unload",
        "completed",
        "unloaded",
    )
    assert rows[1].json["operation"]["id"] == operation["id"]
    assert platform.fleet.row("m-stub").restart_at is None
    records = [record for record in audit_of(platform.settings).records() if record.actor == "boss"]
    assert [
        (record.action, record.subject, record.outcome, record.detail["operation"]) for record in records
    ] == [("unload", "m-stub", outcome, operation["id"]) for outcome in ("begun", "completed", "done")]


@pytest.mark.rule("beyond/a-load-is-cancelled", "models/loaded-replicas")
def test_a_cancelled_load_has_no_loaded_replicas_while_its_engine_ends(
    loadable: tuple[FlaskClient, SimulatedPlatform],
) -> None:
    http, platform = loadable
    http.post("/v1/admin/models/m-stub/load")
    platform.starting(next(iter(platform.client.smembers(f"{platform.prefix}worker_replicas:w1"))).decode())
    row = http.post("/v1/admin/models/m-stub/unload").json
    assert (row["runtime_state"], row["loaded_replicas"]) == ("unloading", 0)


@pytest.mark.rule("load/rules-2", "load/rules-4", "load/validation-400")
def test_overrides_on_a_loaded_model_are_400(loadable: tuple[FlaskClient, SimulatedPlatform]) -> None:
    http, platform = loadable
    platform.load("m-llama_cpp")
    for body in ({"gguf_n_ctx": 8192}, {"replicas": 1}):
        answer = http.post("/v1/admin/models/m-llama_cpp/load", json=body)
        error = answer.json["error"]
        assert (answer.status_code, error["code"], error["param"]) == (
            400,
            "invalid_load_request",
            next(iter(body)),
        )
    again = http.post("/v1/admin/models/m-llama_cpp/load", json={})
    assert (again.status_code, again.json["load_override"]) == (200, {})


@pytest.mark.rule("state/loading", "load/rules-2", "load/rules-4")
def test_a_load_of_a_loading_model_is_200_if_it_asks_for_the_same(
    loadable: tuple[FlaskClient, SimulatedPlatform],
) -> None:
    http, _ = loadable
    url = "/v1/admin/models/m-llama_cpp/load"
    first = http.post(url, json={"gguf_n_ctx": 8192}).json["operation"]["id"]
    for same in ({}, {"gguf_n_ctx": 8192}, {"gguf_n_ctx": 8192, "replicas": 1}):
        answer = http.post(url, json=same)
        assert (answer.status_code, answer.json["operation"]["id"]) == (200, first)
    assert http.post(url, json={"gguf_n_ctx": 4096}).status_code == 400


@pytest.mark.rule("load/validation-409")
def test_a_load_while_unloading_is_409(loadable: tuple[FlaskClient, SimulatedPlatform]) -> None:
    http, platform = loadable
    platform.load("m-stub")
    platform.fleet.unload("m-stub")
    for body in ({}, {"replicas": 2}):
        answer = http.post("/v1/admin/models/m-stub/load", json=body)
        assert (answer.status_code, answer.json["error"]["code"]) == (409, "model_unloading")


@pytest.mark.rule("beyond/memory")
def test_a_load_without_free_memory_is_409_with_the_numbers(
    loadable: tuple[FlaskClient, SimulatedPlatform],
) -> None:
    http, platform = loadable
    platform.fleet.report_artifacts({"m-stub": 9000})
    platform.fleet.report_memory("w1", platform.incarnations["w1"], DeviceMemory("gpu", 24000, 8000))
    answer = http.post("/v1/admin/models/m-stub/load", json={})
    error = answer.json["error"]
    assert (answer.status_code, error["code"]) == (409, "insufficient_memory")
    assert "9000 MiB" in error["message"]
    assert "8000 of 24000 MiB" in error["message"]
    assert fleet_is_unchanged(platform)


@pytest.mark.rule("docs/documentation-2")
def test_the_document_describes_every_field_of_a_load(
    loadable: tuple[FlaskClient, SimulatedPlatform],
) -> None:
    http, _ = loadable
    document = http.get("/openapi.json").json
    operation = document["paths"]["/v1/admin/models/{name}/load"]["post"]
    assert operation["requestBody"]["required"] is False
    properties = document["components"]["schemas"]["LoadRequest"]["properties"]
    live = {name for backend in BACKENDS.values() for name in backend.load_fields}
    assert set(properties) == live | {"replicas", "evictModel"} == set(LoadRequestBody().fields)
    assert all(entry["description"] for entry in properties.values())
    assert properties["gguf_n_ctx"]["minimum"] == 1
    assert properties["exllama_cache_quant"]["type"] == ["string", "null"]
    for name, entry in properties.items():
        assert "null" in entry["type"] or "null" not in entry["description"], name
    assert "One of" not in properties["vllm_kv_cache_dtype"]["description"], "vLLM knows more"
    assert "draft-simple" not in properties["llama_server_spec_type"]["description"]


def test_a_definition_hides_only_secrets(
    loadable: tuple[FlaskClient, SimulatedPlatform], monkeypatch: pytest.MonkeyPatch
) -> None:
    http, platform = loadable
    model = platform.settings.models["m-vllm_serve"]
    secret = replace(model, options={**model.options, "vllm_serve_environment": {"HF_TOKEN": "hf_secret"}})
    fleet: Fleet = http.application.extensions["stoker"][Fleet]
    changed = replace(platform.settings, models={"m-vllm_serve": secret})
    monkeypatch.setattr(fleet, "catalogue", ModelCatalogue(platform.client, changed))
    answer = http.get("/v1/admin/models/m-vllm_serve")
    assert "hf_secret" not in answer.text
    assert answer.json["definition"]["vllm_serve_environment"] == "***"
    assert answer.json["definition"]["vllm_serve_binary"] is None


def test_a_load_of_a_loaded_model_is_recorded_although_it_changes_nothing(
    loadable: tuple[FlaskClient, SimulatedPlatform],
) -> None:
    http, platform = loadable
    platform.load("m-stub")
    assert http.post("/v1/admin/models/m-stub/load").status_code == 200
    record = list(audit_of(platform.settings).records())[-1]
    assert (record.actor, record.action, record.subject, record.outcome) == ("boss", "load", "m-stub", "done")
