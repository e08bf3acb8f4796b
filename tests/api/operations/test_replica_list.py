"""The replicas of one model, in GET /v1/admin/models/{name}, over the real fleet."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from api.operations.admin_schema import ModelDetail
from api.wiring import make_services
from config.settings import ModelDefinition, Settings
from fleet.engine_report import EngineReport
from fleet.load_request import LoadRequest
from fleet.memory import DeviceMemory, Gpu
from tests.api.conftest import ADMIN_KEY
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return replace(
        shared_settings,
        lease=LONG_LEASE,
        models={"org/beta": ModelDefinition("org/beta", "stub", replica_max=2)},
    )


def test_the_replicas_of_a_model_are_listed_with_their_workers_and_gpus(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, settings)
    for worker in ("w1", "w2"):
        platform.register(worker)
    gpu = Gpu(1, "GPU-a", "<b>H200</b>", 10, 1000)
    memory = DeviceMemory("GPU-a", 1000, 990, (gpu,))
    platform.fleet.report_memory("w1", platform.incarnations["w1"], memory)
    http = create_app(settings, make_services(settings)).test_client()
    http.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY

    assert http.get("/v1/admin/models/org/beta").json["replica_list"] == []
    outcome = platform.fleet.load("org/beta", LoadRequest(2))
    of_w1 = next(item for item in outcome.assignments if item.worker == "w1")
    platform.starting(of_w1.replica, "w1")
    report = EngineReport(cache_capacity=4, cache_unit="sequences", prompt_tokens=300, cached_tokens=100)
    platform.fleet.replica_up(of_w1.replica, "w1", platform.incarnations["w1"], 3, 4242, engine=report)
    row = http.get("/v1/admin/models/org/beta").json
    assert ModelDetail().validate(row) == {}
    up, assigned = row["replica_list"]
    assert up == {
        "name": of_w1.replica,
        "worker": "w1",
        "state": "up",
        "accepts_requests": False,
        "slots": 3,
        "running_requests": 0,
        "gpus": [{"index": 1, "name": "<b>H200</b>"}],
        "cache_capacity": 4,
        "cache_unit": "sequences",
        "prompt_tokens": 300,
        "cached_tokens": 100,
        "cache_hit_rate": 0.3333,
    }
    assert (assigned["cache_capacity"], assigned["cache_hit_rate"]) == (None, None)
    assert (assigned["worker"], assigned["state"], assigned["slots"], assigned["gpus"]) == (
        "w2",
        "assigned",
        0,
        [],
    )
    assert "replica_list" not in http.get("/v1/admin/models").json["models"][0]
