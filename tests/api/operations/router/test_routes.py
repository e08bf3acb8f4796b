"""/models/load and /models/unload: what they begin, for whom, and llama-server's errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.access.caller import Caller
from api.operations.router import routes
from config.settings import GovernanceSettings, Settings
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import wait_until

LOAD, UNLOAD = "/models/load", "/models/unload"


def post(client: FlaskClient, path: str, model: str) -> tuple[int, Any]:
    answer = client.post(path, json={"model": model})
    return answer.status_code, answer.get_json()


def error(client: FlaskClient, path: str, model: str) -> tuple[int, str, str]:
    status, body = post(client, path, model)
    assert body["error"]["code"] == status
    return status, body["error"]["type"], body["error"]["message"]


def status_of(client: FlaskClient, model: str) -> Any:
    listed = client.get("/v1/models").get_json()["data"]
    return next(one["status"] for one in listed if one["id"] == model)


@pytest.mark.rule("llama-server/router-load")
def test_a_model_is_loaded_and_unloaded(admin: FlaskClient, platform: SimulatedPlatform) -> None:
    assert status_of(admin, "demo")["value"] == "unloaded"
    assert post(admin, LOAD, "demo") == (200, {"success": True})
    assert status_of(admin, "demo")["value"] == "loading"
    replica = platform.fleet.row("demo").hosted[0].name
    platform.starting(replica)
    platform.up(replica)
    assert status_of(admin, "demo") == {"value": "loaded", "args": [], "failed": False}
    assert post(admin, UNLOAD, "demo") == (200, {"success": True})
    assert status_of(admin, "demo")["value"] == "loaded"  # until its engine has ended
    platform.stopped(replica)
    assert status_of(admin, "demo")["value"] == "unloaded"


@pytest.mark.rule("llama-server/router-errors")
def test_errors_are_those_of_the_router(admin: FlaskClient, platform: SimulatedPlatform) -> None:
    assert error(admin, LOAD, "nope") == (404, "not_found_error", "model is not found")
    assert error(admin, UNLOAD, "nope") == (400, "invalid_request_error", "model is not found")
    assert error(admin, UNLOAD, "demo") == (400, "invalid_request_error", "model is not running")
    platform.load("demo")
    assert error(admin, LOAD, "demo") == (400, "invalid_request_error", "model is already running")
    assert admin.post(LOAD, json={}).status_code == 400


@pytest.mark.rule("llama-server/router-load")
def test_an_unload_cancels_a_load(admin: FlaskClient, platform: SimulatedPlatform) -> None:
    post(admin, LOAD, "demo")
    operation = platform.fleet.row("demo").operation_id
    assert post(admin, UNLOAD, "demo") == (200, {"success": True})
    found = platform.fleet.operation(operation or "")
    assert found is not None
    assert str(found.status) == "cancelled"


@pytest.mark.rule("llama-server/router-status")
def test_a_load_shows_its_progress_to_those_that_may_load(
    admin: FlaskClient, http: FlaskClient, other: FlaskClient, platform: SimulatedPlatform
) -> None:
    post(http, LOAD, "demo")
    replica = platform.fleet.row("demo").hosted[0].name
    platform.starting(replica)
    platform.fleet.replica_progress(replica, 0.5, "reading")
    progress = {"stages": ["text_model"], "current": "text_model", "value": 0.5}
    for client in (admin, http):
        assert status_of(client, "demo")["progress"] == progress
    assert "progress" not in status_of(other, "demo")
    platform.crash(replica, code="load_failed")
    assert status_of(other, "demo") == {"value": "unloaded", "args": [], "failed": True, "exit_code": 1}


@pytest.mark.rule("llama-server/router-rights")
def test_a_tenant_needs_the_right_to_load(other: FlaskClient) -> None:
    for path in (LOAD, UNLOAD):
        status, kind, message = error(other, path, "demo")
        assert (status, kind) == (403, "permission_error")
        assert "`may_load`" in message
    for answer in (other.get("/models/sse"), other.get("/v1/models?reload=1")):
        assert answer.status_code == 403
        assert "`may_load`" in answer.get_json()["error"]["message"]


@pytest.mark.rule("llama-server/router-rights")
def test_a_tenant_adds_and_removes_no_model(http: FlaskClient) -> None:
    assert http.post("/models", json={"model": "o/n:Q4"}).status_code == 403
    assert http.delete("/models?model=demo").status_code == 403


@pytest.mark.rule("llama-server/router-rights")
def test_a_model_that_the_key_may_not_use_is_not_found(
    http: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Caller, "may_use", lambda _caller, model: model == "demo")
    assert error(http, LOAD, "gguf")[:1] == (404,)
    assert error(http, UNLOAD, "gguf") == (400, "invalid_request_error", "model is not found")
    assert post(http, LOAD, "demo")[0] == 200


@pytest.mark.rule("llama-server/router-rights")
def test_a_tenant_takes_no_model_from_others(
    http: FlaskClient, admin: FlaskClient, platform: SimulatedPlatform
) -> None:
    platform.load("pinned")
    platform.load("demo")
    job = platform.admit(model="demo")
    assert job
    assert error(http, UNLOAD, "pinned")[0] == 409
    status, _, message = error(http, UNLOAD, "demo")
    assert (status, "in use" in message) == (409, True)
    assert post(admin, UNLOAD, "demo")[0] == 200
    assert post(admin, UNLOAD, "pinned")[0] == 200


@pytest.mark.rule("llama-server/router-rights")
@pytest.mark.parametrize("state", ["loaded", "loading"])
def test_a_request_that_comes_before_the_unload_of_a_tenant_keeps_its_model(
    state: str, http: FlaskClient, platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    if state == "loaded":
        platform.load("demo")
    else:
        assert post(http, LOAD, "demo")[0] == 200

    def check_and_admit(*_: Any) -> None:
        jobs.append(platform.admit(model="demo", load_on_demand=True))

    jobs: list[str] = []
    monkeypatch.setattr(routes, "check_not_governed", check_and_admit)
    status, _, message = error(http, UNLOAD, "demo")
    assert (status, "in use" in message) == (409, True)
    assert platform.model("demo") == state
    assert [platform.status(id) in ("running", "queued") for id in jobs] == [True]


@pytest.mark.rule("llama-server/router-rights")
def test_a_tenant_cancels_its_own_loads_only(
    http: FlaskClient, admin: FlaskClient, platform: SimulatedPlatform
) -> None:
    post(admin, LOAD, "demo")
    status, _, message = error(http, UNLOAD, "demo")
    assert (status, "loaded for others" in message) == (409, True)
    assert platform.model("demo") == "loading"
    post(admin, UNLOAD, "demo")
    assert post(http, LOAD, "demo")[0] == 200
    assert post(http, UNLOAD, "demo") == (200, {"success": True})


@pytest.mark.rule("llama-server/router-rights")
def test_an_operation_records_the_tenant_that_began_it(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    post(http, LOAD, "demo")
    operation = platform.fleet.operation(platform.fleet.row("demo").operation_id or "")
    assert operation is not None
    assert operation.authority == {"actor": "one", "authority": "tenant key"}


class TestGoverned:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, governance=replace(GovernanceSettings(), admin="governed"))

    @pytest.mark.rule("llama-server/router-rights")
    def test_a_governed_platform_needs_a_proposal(
        self, admin: FlaskClient, http: FlaskClient, platform: SimulatedPlatform
    ) -> None:
        for client in (admin, http):
            assert error(client, LOAD, "demo")[:2] == (403, "permission_error")
        platform.load("demo")
        for client in (admin, http):
            assert error(client, UNLOAD, "demo")[:2] == (403, "permission_error")


@pytest.mark.rule("llama-server/router-status")
def test_arguments_have_paths_for_administrators_only(
    admin: FlaskClient, http: FlaskClient, other: FlaskClient
) -> None:
    everyone = ["llama-server", "--parallel", "2", "--ctx-size", "2048", "--cache-type-k", "q8_0"]
    assert status_of(admin, "gguf")["args"] == [
        *["llama-server", "--parallel", "2", "--model", "/srv/models/gguf.gguf"],
        *["--ctx-size", "2048", "--cache-type-k", "q8_0", "--lora", "/srv/a.gguf"],
    ]
    for client in (http, other):
        assert status_of(client, "gguf")["args"] == everyone
        assert b"/srv" not in client.get("/v1/models").data
    listed = {one["id"]: one for one in admin.get("/v1/models").get_json()["data"]}
    assert listed["gguf"]["path"] == "/srv/models/gguf.gguf"
    assert (listed["gguf"]["source"], listed["gguf"]["can_remove"]) == ("settings", False)


@pytest.mark.rule("llama-server/router-autoload")
def test_a_get_loads_the_model_for_those_that_may_load(
    http: FlaskClient, other: FlaskClient, platform: SimulatedPlatform
) -> None:
    for client, query in ((other, "&autoload=true"), (http, ""), (http, "&autoload=false")):
        answer = client.get(f"/props?model=demo{query}")
        assert (answer.status_code, platform.fleet.row("demo").state) == (409, "unloaded")
    answer = http.get("/props?model=demo&autoload=true")
    assert (answer.status_code, answer.get_json()["error"]["message"]) == (503, "Loading model")
    assert platform.fleet.row("demo").state == "loading"
    assert http.get("/slots?model=demo&autoload=1").status_code == 503


def test_list_of_models_has_the_progress_of_a_load(
    http: FlaskClient, other: FlaskClient, platform: SimulatedPlatform
) -> None:
    def loading() -> Any:
        return other.get("/v1/models/demo").get_json()["chat"]["loading"]

    assert loading() is None
    post(http, LOAD, "demo")
    replica = platform.fleet.row("demo").hosted[0].name
    platform.starting(replica)
    platform.fleet.replica_progress(replica, 0.5, "reading")
    wait_until(lambda: (loading() or {}).get("progress") == 0.5, 10)  # reads are shared for a while
    assert loading()["eta_s"] >= 0
