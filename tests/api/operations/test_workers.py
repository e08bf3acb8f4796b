"""/v1/admin/workers on a real ledger: the list, drains, and their records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import orjson
import pytest
import redis
from flask.testing import FlaskClient

from api.operations.workers_schema import WorkerList, WorkerObject
from api.wiring import make_services
from config.settings import ModelDefinition, Settings
from fleet.memory import DeviceMemory, Gpu
from tests.api.conftest import ADMIN_KEY, OTHER_KEY
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app, start_services

ADMIN = {"Authorization": f"Bearer {ADMIN_KEY}"}
ABOUT = {
    "host": "rack1",
    "pid": 77,
    "cuda_visible_devices": "0",
    "versions": {"stoker": "1.2", "python": "3.12.1", "driver": "570", "environments": {"vllm": "0.9"}},
}
GPU = Gpu(0, "GPU-a", "NVIDIA H200", 700, 1000, 0.5, 61, 300.0, 700.0)


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return replace(shared_settings, lease=LONG_LEASE, models={"alpha": ModelDefinition("alpha", "stub")})


@pytest.fixture
def client(settings: Settings) -> Iterator[FlaskClient]:
    services = make_services(settings)
    start_services(services)
    yield create_app(settings, services).test_client()
    services.stop()


@pytest.fixture(autouse=True)
def platform(settings: Settings) -> Iterator[SimulatedPlatform]:
    """Two workers; alpha is loaded on w1, whose GPU has figures."""
    connection = redis.Redis.from_url(settings.redis.url)
    platform = SimulatedPlatform(connection, settings)
    incarnation = platform.fleet.registry.register("w1", "cuda", orjson.dumps(ABOUT).decode())
    platform.incarnations["w1"] = incarnation
    platform._new_claims["w1"] = []
    platform.fleet.report_memory("w1", incarnation, DeviceMemory("GPU-a", 1000, 300, (GPU,)))
    platform.load()
    platform.register("w2")
    yield platform
    connection.close()


def test_the_list_has_all_that_workers_reported(client: FlaskClient) -> None:
    body = client.get("/v1/admin/workers", headers=ADMIN).get_json()
    assert WorkerList().validate(body) == {}
    first, second = body["data"]
    assert (first["name"], first["state"], first["device"], first["host"]) == ("w1", "live", "cuda", "rack1")
    assert first["versions"] == ABOUT["versions"]
    assert 0 <= first["heartbeat_age_s"] < 5
    assert first["gpus"][0] == {
        "index": 0,
        "uuid": "GPU-a",
        "name": "NVIDIA H200",
        "used_mib": 700,
        "total_mib": 1000,
        "utilization": 0.5,
        "temperature_c": 61,
        "power_w": 300.0,
        "power_limit_w": 700.0,
    }
    (replica,) = first["replicas"]
    assert (replica["model"], replica["slots"], replica["slots_used"]) == ("alpha", 2, 0)
    assert (second["memory"], second["host"], second["drain"]) == (None, None, None)


def test_the_list_is_read_in_pages(client: FlaskClient) -> None:
    first = client.get("/v1/admin/workers?limit=1", headers=ADMIN).get_json()
    assert ([one["name"] for one in first["data"]], first["has_more"]) == (["w1"], True)
    rest = client.get(f"/v1/admin/workers?after={first['last_id']}", headers=ADMIN).get_json()
    assert ([one["name"] for one in rest["data"]], rest["has_more"]) == (["w2"], False)
    for query in ("limit=101", "limit=x", f"after={'a' * 300}"):
        assert client.get(f"/v1/admin/workers?{query}", headers=ADMIN).status_code == 400


def test_a_drain_and_its_end_are_answered_with_the_worker_and_recorded(
    client: FlaskClient,
) -> None:
    drained = client.post("/v1/admin/workers/w1/drain", headers=ADMIN)
    assert (drained.status_code, WorkerObject().validate(drained.get_json())) == (200, {})
    drain = drained.get_json()["drain"]
    assert (drain["cause"], drain["actor"]) == ("operator", "boss")
    assert not drained.get_json()["replicas"][0]["ready"]
    again = client.post("/v1/admin/workers/w1/drain", headers=ADMIN)
    assert (again.status_code, again.get_json()["drain"]) == (200, drain)
    ended = client.delete("/v1/admin/workers/w1/drain", headers=ADMIN).get_json()
    assert (ended["drain"], ended["replicas"][0]["ready"]) == (None, True)
    page = client.get("/v1/governance/audit?subject=w1", headers=ADMIN).get_json()
    made = {(one["action"], one["actor"], one["outcome"]) for one in page["data"]}
    assert made == {("drain", "boss", "done"), ("end_drain", "boss", "done")}


def test_the_drain_of_a_worker_that_has_gone_can_be_ended(
    client: FlaskClient, platform: SimulatedPlatform
) -> None:
    client.post("/v1/admin/workers/w2/drain", headers=ADMIN)
    platform.fleet.registry.deregister("w2", platform.incarnations["w2"], "shut down")
    assert client.get("/v1/admin/workers/w2", headers=ADMIN).get_json()["state"] == "away"
    ended = client.delete("/v1/admin/workers/w2/drain", headers=ADMIN)
    assert (ended.status_code, ended.get_json()["drain"]) == (200, None)
    assert client.get("/v1/admin/workers/w2", headers=ADMIN).status_code == 404


@pytest.mark.parametrize("name", ["w9", "W1", "..", "a" * 65, "w1%0A"])
def test_an_unknown_worker_is_not_found(client: FlaskClient, name: str) -> None:
    for method in (client.post, client.delete):
        answer = method(f"/v1/admin/workers/{name}/drain", headers=ADMIN)
        assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "not_found")


def test_a_key_without_the_scope_admin_sees_and_drains_nothing(
    client: FlaskClient, platform: SimulatedPlatform
) -> None:
    other = {"Authorization": f"Bearer {OTHER_KEY}"}
    assert client.get("/v1/admin/workers", headers=other).status_code == 403
    assert client.post("/v1/admin/workers/w1/drain", headers=other).status_code == 403
    assert not platform.fleet.drains.is_drained("w1")
