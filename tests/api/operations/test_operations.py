"""GET /v1/admin/operations over the real fleet."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis
from flask.testing import FlaskClient

from api.operations.admin_schema import MAX_TASK_IDS, OperationList
from api.wiring import make_services
from config.settings import FlowerSettings, ModelDefinition, Settings
from fleet.flush import FlushScope
from fleet.load_request import LoadRequest
from governance.authorization import ADMIN_KEY as BY_KEY
from governance.authorization import Authorization
from tests.api.conftest import ADMIN_KEY, KEY
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app

URL = "/v1/admin/operations"
pytestmark = pytest.mark.rule("beyond/operations")


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    models = {name: ModelDefinition(name, "stub", replica_max=40) for name in ("alpha", "org/beta")}
    return replace(
        shared_settings,
        lease=LONG_LEASE,
        flower=FlowerSettings(url="http://127.0.0.1:5555"),
        models=models,
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


def test_running_and_past_operations_are_listed_with_what_a_page_shows(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    boss = Authorization("boss", BY_KEY)
    platform.finish_load(platform.fleet.load("alpha", LoadRequest(override={}), boss))
    platform.fleet.load("org/beta", LoadRequest(), Authorization("gateway", "proposal", ("ann", "bob")))
    platform.fleet.flush(FlushScope("tag", tenant="acme", tag="<b>"), boss)
    body = http.get(URL).json
    assert OperationList().validate(body) == {}
    assert [one["kind"] for one in body["data"]] == ["flush", "load", "load"]
    flush, running, ended = body["data"]
    assert (flush["model"], flush["scope"]["tag"]) == (None, "<b>")
    assert (running["status"], running["duration_s"]) == ("pending", None)
    assert running["requested_by"] == {
        "actor": "gateway",
        "authority": "proposal",
        "signers": ["ann", "bob"],
        "proposal": None,
    }
    assert ended["requested_by"] == {
        "actor": "boss",
        "authority": "admin key",
        "signers": [],
        "proposal": None,
    }
    assert (ended["status"], ended["replicas"], ended["task_ids"]) == ("completed", 1, [ended["id"]])
    assert ended["duration_s"] >= 0
    assert (body["has_more"], body["first_id"], body["last_id"]) == (False, flush["id"], ended["id"])
    assert body["flower_url"] == "http://127.0.0.1:5555"


def test_the_tasks_of_many_replicas_are_shown_in_part(http: FlaskClient, platform: SimulatedPlatform) -> None:
    platform.fleet.load("alpha", LoadRequest(replicas=MAX_TASK_IDS + 4))
    (one,) = http.get(URL).json["data"]
    assert (one["replicas"], len(one["task_ids"])) == (MAX_TASK_IDS + 4, MAX_TASK_IDS)
    assert one["task_ids"][:2] == [one["id"], f"{one['id']}.1"]


def test_pages_follow_one_another_while_operations_begin(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    begun = [platform.fleet.flush(FlushScope()).operation for _ in range(5)]
    seen, after = [], ""
    for _ in range(3):
        page = http.get(URL, query_string={"limit": "2", **({"after": after} if after else {})}).json
        seen += [one["id"] for one in page["data"]]
        after = page["last_id"]
        platform.fleet.flush(FlushScope())
    assert seen == [one.id for one in reversed(begun) if one]
    assert not page["has_more"]


def test_the_list_is_filtered_by_kind_model_and_status(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    platform.load("alpha")
    platform.fleet.load("org/beta")
    platform.fleet.flush(FlushScope("model", model="alpha"))

    def found(**query: str) -> list[tuple[str, str]]:
        rows = http.get(URL, query_string=query).json["data"]
        return [(one["kind"], one["model"]) for one in rows]

    assert found(kind="load") == [("load", "org/beta"), ("load", "alpha")]
    assert found(model="alpha") == [("flush", "alpha"), ("load", "alpha")]
    assert found(status="completed") == [("load", "alpha")]
    assert found(status="open", kind="load") == [("load", "org/beta")]
    assert found(model="no such model") == []


def test_an_empty_list_is_no_error(http: FlaskClient) -> None:
    body = http.get(URL).json
    assert OperationList().validate(body) == {}
    assert (body["data"], body["has_more"], body["last_id"]) == ([], False, None)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"kind": "pull"}, "kind"),
        ({"status": "done"}, "status"),
        ({"limit": "1001"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"model": "x" * 257}, "model"),
        ({"after": "load_0"}, "after"),
    ],
)
def test_a_wrong_parameter_is_refused_by_its_name(
    http: FlaskClient, query: dict[str, str], param: str
) -> None:
    answer = http.get(URL, query_string=query)
    assert (answer.status_code, answer.json["error"]["param"]) == (400, param)


def test_without_flower_the_list_has_no_address(settings: Settings) -> None:
    without = replace(settings, flower=FlowerSettings())
    http = create_app(without, make_services(without)).test_client()
    assert http.get(URL, headers={"X-API-Key": ADMIN_KEY}).json["flower_url"] is None


def test_only_administrators_list_operations(http: FlaskClient) -> None:
    assert http.get(URL, headers={"X-API-Key": KEY}).status_code == 403
