"""GET /v1/admin/changes over the real fleet."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
import redis
from flask.testing import FlaskClient

from api.operations.events_schema import ChangeList, ProposalChangedEvent, StateChangedEvent
from api.wiring import make_services
from config.settings import ModelDefinition, RedisSettings, Settings
from fleet.load_request import LoadRequest
from tests.api.conftest import ADMIN_KEY, KEY, tenants
from tests.conftest import ValkeyServer
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app

URL = "/v1/admin/changes"


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
    platform = SimulatedPlatform(client, settings)
    platform.register()
    return platform


@pytest.fixture
def http(settings: Settings) -> FlaskClient:
    http = create_app(settings, make_services(settings)).test_client()
    http.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    return http


def fail_load(platform: SimulatedPlatform, model: str, message: str) -> None:
    (item,) = platform.fleet.load(model, LoadRequest(1)).assignments
    platform.starting(item.replica)
    incarnation = platform.incarnations["w1"]
    platform.fleet.replica_down(item.replica, "w1", incarnation, code="load_failed", message=message)


def test_changes_are_listed_from_the_newest_with_the_reason_of_a_failure(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    platform.load("alpha")
    fail_load(platform, "org/beta", "<b>no weights</b>")
    body = http.get(URL).json
    assert ChangeList().validate(body) == {}
    assert all(StateChangedEvent().validate(one) == {} for one in body["data"])
    listed = [(one["model"], one["from"], one["to"]) for one in body["data"]]
    assert listed == [
        ("org/beta", "loading", "failed"),
        ("org/beta", "unloaded", "loading"),
        ("alpha", "loading", "loaded"),
        ("alpha", "unloaded", "loading"),
    ]
    failed = body["data"][0]
    assert (failed["code"], failed["message"]) == ("load_failed", "<b>no weights</b>")
    assert failed["operation_id"].startswith("load_")
    assert (body["has_more"], body["first_id"]) == (False, failed["id"])


def test_changes_of_one_model_are_listed_without_those_of_others_and_of_proposals(
    http: FlaskClient, platform: SimulatedPlatform, client: redis.Redis
) -> None:
    platform.load("alpha")
    platform.load("org/beta")
    entry = {
        **{"proposal": "p1", "kind": "model-load", "was": "", "status": "open", "at_us": 1},
        **{"operation": "", "message": "", "signatures": 0, "threshold": 2},
    }
    client.xadd(f"{platform.prefix}changes", entry)  # type: ignore[arg-type]
    of_all = http.get(URL).json["data"]
    assert [one["type"] for one in of_all] == ["proposal", *4 * ["state"]]
    assert ProposalChangedEvent().validate(of_all[0]) == {}
    assert {one["model"] for one in http.get(f"{URL}?model=org/beta").json["data"]} == {"org/beta"}
    assert http.get(f"{URL}?model=absent").json["data"] == []


@pytest.mark.parametrize("query", ["", "&model=alpha"])
def test_pages_of_changes_together_have_each_one_once(
    http: FlaskClient, platform: SimulatedPlatform, query: str
) -> None:
    platform.load("alpha")
    platform.load("org/beta")
    whole = [one["id"] for one in http.get(f"{URL}?limit=1000{query}").json["data"]]
    paged: list[str] = []
    page: dict[str, Any] = {"has_more": True, "last_id": ""}
    while page["has_more"]:
        page = http.get(f"{URL}?limit=1{query}&before={page['last_id']}").json
        paged += [one["id"] for one in page["data"]]
    assert len(whole) >= 2
    assert paged == whole


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("before=x", "before"),
        ("before=1-99999999999999999999", "before"),
        ("before=%2B", "before"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("model=" + "x" * 257, "model"),
    ],
)
def test_a_wrong_query_of_changes_is_refused_with_its_parameter(
    http: FlaskClient, query: str, param: str
) -> None:
    answer = http.get(f"{URL}?{query}")
    assert (answer.status_code, answer.json["error"]["param"]) == (400, param)


def test_no_change_is_listed_before_the_first_possible_id(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    platform.load("alpha")
    assert http.get(f"{URL}?before=0-0").json["data"] == []
    assert len(http.get(f"{URL}?before={2**64 - 1}-{2**64 - 1}").json["data"]) == 2


def test_changes_need_the_scope_of_administrators(http: FlaskClient) -> None:
    answer = http.get(URL, headers={"X-API-Key": KEY})
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "admin_required")
