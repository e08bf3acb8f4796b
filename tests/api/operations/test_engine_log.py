"""GET /v1/admin/models/{name}/log over the real fleet."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
import redis
from flask.testing import FlaskClient

from api.operations.engine_log_schema import EngineLog
from api.wiring import make_services
from config.settings import ModelDefinition, RedisSettings, Settings
from fleet.engine_log import LogOrigin
from tests.api.conftest import ADMIN_KEY, KEY, tenants
from tests.conftest import ValkeyServer
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app

URL = "/v1/admin/models/org/beta/log"


@pytest.fixture
def settings(shared_server: ValkeyServer, tmp_path: Any) -> Settings:
    models = {name: ModelDefinition(name, "stub") for name in ("alpha", "org/beta")}
    prefix = f"t{secrets.token_hex(4)}"
    return Settings(
        data_dir=tmp_path,
        redis=RedisSettings(shared_server.url, prefix),
        lease=LONG_LEASE,
        models=models,
        tenants=tenants(),
    )


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    return SimulatedPlatform(client, settings)


@pytest.fixture
def http(settings: Settings) -> FlaskClient:
    http = create_app(settings, make_services(settings)).test_client()
    http.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    return http


def append(
    platform: SimulatedPlatform, call: str, *lines: str, model: str = "org/beta", load: str = ""
) -> None:
    origin = LogOrigin(model, f"{model}#{load or 'x'}.0", "w1", load)
    platform.fleet.engine_logs.append(call, origin, lines, 5 if call == "left out" else 0)


def test_the_log_of_a_model_is_read_with_its_origin(http: FlaskClient, platform: SimulatedPlatform) -> None:
    append(platform, "1", "<b>one</b>", load="load_1")
    append(platform, "left out", "two")
    body = http.get(URL).json
    assert EngineLog().validate(body) == {}
    assert [(one["text"], one["omitted_bytes"]) for one in body["data"]] == [
        ("<b>one</b>", 0),
        ("", 5),
        ("two", 0),
    ]
    first, _, last = body["data"]
    assert (first["replica"], first["worker"], first["operation_id"]) == ("org/beta#load_1.0", "w1", "load_1")
    assert last["operation_id"] is None
    assert (body["first_id"], body["last_id"]) == (first["id"], last["id"])
    assert (body["has_more"], body["has_gap"]) == (False, False)


def test_a_page_follows_the_log(http: FlaskClient, platform: SimulatedPlatform) -> None:
    append(platform, "1", "one", load="load_1")
    last = http.get(URL).json["last_id"]
    append(platform, "2", "two", "three", load="load_2")
    body = http.get(f"{URL}?after={last}&limit=1").json
    assert ([one["text"] for one in body["data"]], body["has_more"]) == (["two"], True)
    assert [one["text"] for one in http.get(f"{URL}?operation=load_1").json["data"]] == ["one"]
    assert [one["text"] for one in http.get(f"{URL}?replica=org/beta%23load_2.0&limit=1").json["data"]] == [
        "three"
    ]


def test_a_model_without_output_has_an_empty_log_and_an_unknown_one_none(http: FlaskClient) -> None:
    assert http.get("/v1/admin/models/alpha/log").json["data"] == []
    for query in ("", "?after=1-1"):
        answer = http.get(f"/v1/admin/models/absent/log{query}")
        assert (answer.status_code, answer.json["error"]["code"]) == (404, "unknown_model")


def test_the_log_of_a_dynamic_model_outlives_its_unload(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    append(platform, "1", "no weights", model="hub/gone")
    assert [one["text"] for one in http.get("/v1/admin/models/hub/gone/log").json["data"]] == ["no weights"]
    assert http.get("/v1/admin/models/hub/gone/log?replica=other").json["data"] == []
    assert http.get("/v1/admin/models/hub/gone").status_code == 404


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("after=x", "after"),
        ("limit=1001", "limit"),
        ("replica=" + "x" * 301, "replica"),
        ("operation=" + "x" * 301, "operation"),
    ],
)
def test_a_wrong_query_of_a_log_is_refused_with_its_parameter(
    http: FlaskClient, query: str, param: str
) -> None:
    answer = http.get(f"{URL}?{query}")
    assert (answer.status_code, answer.json["error"]["param"]) == (400, param)


def test_a_log_needs_the_scope_of_administrators(http: FlaskClient) -> None:
    answer = http.get(URL, headers={"X-API-Key": KEY})
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "admin_required")
