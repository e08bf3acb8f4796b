"""The plans of loads and unloads by administrators, and the settings of a model's last load."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import redis
from flask.testing import FlaskClient

import tasks.definitions
from api.operations.operation_plans_schema import LoadPlan, UnloadPlan
from api.wiring import make_services
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition, Settings
from fleet.load_request import LoadRequest
from tests.api.conftest import ADMIN_KEY, KEY
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app

Api = tuple[FlaskClient, SimulatedPlatform]


def model(name: str, backend: str, **options: object) -> ModelDefinition:
    defaults = {option.name: option.default for option in BACKENDS[backend].options}
    return ModelDefinition(
        name, backend, model_path="/models/x", replica_max=4, options={**defaults, **options}
    )


@pytest.fixture
def api(shared_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """The API over a real fleet, with a worker that starts no replica by itself."""
    models = [model("stub", "stub"), model("org/gguf", "llama_cpp"), model("other", "stub")]
    models += [model("exl", "exllamav3", exllama_cache_quant="8,8")]
    settings = replace(shared_settings, lease=LONG_LEASE, models={each.name: each for each in models})
    monkeypatch.setattr(tasks.definitions, "notify_workers", lambda _: None)
    client = redis.Redis.from_url(settings.redis.url)
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    http = create_app(settings, make_services(settings)).test_client()
    http.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    yield http, platform
    client.close()


def snapshot(platform: SimulatedPlatform) -> dict[bytes, bytes]:
    client: Any = platform.client
    return {key: client.dump(key) for key in client.keys(f"{platform.prefix}*") if b"clock" not in key}


def test_a_plan_shows_the_numbers_of_a_load_and_changes_nothing(api: Api) -> None:
    http, platform = api
    platform.load("other", slots=1)
    for _ in range(2):
        platform.admit(model="other")
    platform.report_memory("w1", free_mib=40)
    platform.fleet.report_artifacts({"org/gguf": 60})
    before = snapshot(platform)
    body = {"gguf_n_ctx": 8192, "replicas": 1, "evictModel": "other"}
    answer = http.post("/v1/admin/models/org/gguf/load/plan", json=body)
    plan = answer.json
    assert answer.status_code == 200
    assert snapshot(platform) == before
    assert LoadPlan().validate(plan) == {}
    assert (plan["modelId"], plan["replicas"], plan["override"]) == ("org/gguf", 1, {"gguf_n_ctx": 8192})
    assert (plan["memory"]["neededMB"], plan["memory"]["source"]) == (60, "model_artifact_size")
    assert [(each["worker"], each["freeMB"]) for each in plan["memory"]["devices"]] == [("w1", 40)]
    evicted = plan["evicts"]
    assert (evicted["modelId"], evicted["runningRequests"], evicted["waitingRequests"]) == ("other", 1, 1)


def test_a_plan_has_the_refusal_of_the_moment_when_the_memory_does_not_suffice(api: Api) -> None:
    http, platform = api
    platform.report_memory("w1", free_mib=40)
    platform.fleet.report_artifacts({"org/gguf": 60})
    plan = http.post("/v1/admin/models/org/gguf/load/plan", json={}).json
    refused = http.post("/v1/admin/models/org/gguf/load", json={}).json["error"]
    assert not plan["begins"]
    assert plan["problem"] == {name: refused[name] for name in ("code", "message", "param")}
    assert "60" in refused["message"]


def test_a_plan_names_the_field_of_a_refusal_of_the_moment(api: Api) -> None:
    http, platform = api
    assert platform.fleet.load("other").begun
    path, body = "/v1/admin/models/org/gguf/load", {"evictModel": "other"}
    plan = http.post(f"{path}/plan", json=body).json
    refused = http.post(path, json=body).json["error"]
    assert (refused["code"], refused["param"]) == ("model_loading", "evictModel")
    assert plan["problem"] == {name: refused[name] for name in ("code", "message", "param")}


@pytest.mark.parametrize(
    ("name", "body", "status", "param"),
    [
        ("org/gguf", {"gguf_n_ctx": 0}, 422, "gguf_n_ctx"),
        ("org/gguf", {"gguf_n_ctx": None}, 422, "gguf_n_ctx"),
        ("org/gguf", {"nothing_known": 1}, 422, "nothing_known"),
        ("org/gguf", {"gguf_type_k": "foo"}, 400, "gguf_type_k"),
        ("org/gguf", {"exllama_cache_size": 512}, 400, "exllama_cache_size"),
        ("org/gguf", {"replicas": 5}, 400, "replicas"),
        ("org/gguf", {"evictModel": "org/gguf"}, 400, "evictModel"),
        ("org/gguf", {"evictModel": "nosuch"}, 404, "evictModel"),
        ("nosuch", {}, 404, "model"),
    ],
)
def test_a_plan_is_refused_by_its_field_as_the_load_is(
    api: Api, name: str, body: dict[str, Any], status: int, param: str
) -> None:
    http, _ = api
    plan = http.post(f"/v1/admin/models/{name}/load/plan", json=body)
    load = http.post(f"/v1/admin/models/{name}/load", json=body)
    assert (plan.status_code, plan.json["error"]["param"]) == (status, param)
    assert plan.json == load.json


def test_a_plan_of_an_unload_shows_what_drains_and_the_time_of_another_load(api: Api) -> None:
    http, platform = api
    began = time.monotonic()
    outcome = platform.fleet.load("stub")
    platform.advance_time(12)
    platform.finish_load(outcome, slots=1)
    took_s = time.monotonic() - began
    for _ in range(3):
        platform.admit(model="stub")
    before = snapshot(platform)
    plan = http.get("/v1/admin/models/stub/unload/plan").json
    assert snapshot(platform) == before
    assert UnloadPlan().validate(plan) == {}
    assert (plan["begins"], plan["runningRequests"], plan["waitingRequests"]) == (True, 1, 2)
    assert 11.9 <= plan["reload"] <= 12.1 + took_s
    assert not http.get("/v1/admin/models/other/unload/plan").json["begins"]
    assert http.get("/v1/admin/models/nosuch/unload/plan").status_code == 404


@pytest.mark.parametrize(("method", "path"), [("POST", "load/plan"), ("GET", "unload/plan")])
def test_a_plan_needs_the_scope_admin_and_its_method(api: Api, method: str, path: str) -> None:
    http, _ = api
    place = f"/v1/admin/models/stub/{path}"
    refused = http.open(place, method=method, json={}, headers={"X-API-Key": KEY})
    assert (refused.status_code, refused.json["error"]["code"]) == (403, "admin_required")
    other = "GET" if method == "POST" else "POST"
    assert http.open(place, method=other, json={}).status_code == 405


def test_the_last_load_can_be_asked_for_again_after_the_unload(api: Api) -> None:
    http, platform = api
    body = {"exllama_cache_k_bits": 4, "exllama_cache_v_bits": 4, "replicas": 2}
    path = "/v1/admin/models/exl"
    assert http.get(path).json["last_load"] is None
    for _ in range(2):
        assert http.post(f"{path}/load", json=body).status_code == 202
        platform.finish_unload(platform.fleet.unload("exl"))
        row = http.get(path).json
        assert row["runtime_state"] in ("unloading", "unloaded")
        last = row["last_load"]
        # the stored override has the excluded option as null, which another request may not combine
        assert last["override"] == {"exllama_cache_k_bits": 4, "exllama_cache_v_bits": 4}
        assert row["last_load_override"] == {**last["override"], "exllama_cache_quant": None}
        assert last["replicas"] == 2
        assert last["at"] > 0
        body = {**last["override"], "replicas": last["replicas"]}


def test_a_refused_load_and_one_of_the_platform_leave_the_last_load_as_it_is(api: Api) -> None:
    http, platform = api
    path = "/v1/admin/models/org/gguf"
    http.post(f"{path}/load", json={"gguf_type_k": None})
    platform.fleet.unload("org/gguf")
    first = http.get(path).json["last_load"]
    assert (first["override"], first["replicas"]) == ({"gguf_type_k": None}, None)
    assert http.post(f"{path}/load", json={"gguf_n_ctx": 0}).status_code == 422
    definition = platform.settings.models["org/gguf"]
    checked = platform.fleet.loads.checked(definition, LoadRequest(override={"gguf_n_ctx": 512}))
    platform.client.hdel(f"{platform.prefix}model:org/gguf", "wanted")
    assert platform.fleet.loads.begin("org/gguf", checked, takeover=True).begun
    row = http.get(path).json
    assert row["load_override"] == {"gguf_n_ctx": 512}
    assert row["last_load"] == first
    platform.fleet.unload("org/gguf")
    assert http.post(f"{path}/load", json=first["override"]).status_code == 202
    assert http.get(path).json["last_load"]["at"] > first["at"]
