"""Replicas that follow the load of another model go before a model is unloaded, or requests fail."""

from __future__ import annotations

from dataclasses import replace

import redis

from config.settings import Settings
from fleet.load_request import LoadRequest
from tests.fleet.on_demand.conftest import DemandPlatform, demand_settings


def test_a_model_on_demand_waits_for_the_memory_of_surplus_replicas_of_another_one(
    client: redis.Redis, settings: Settings
) -> None:
    given = demand_settings(settings, max_loaded=None)
    alpha = replace(given.models["alpha"], on_demand="reject", scale_max=3)
    platform = DemandPlatform(client, replace(given, models={**given.models, "alpha": alpha}))
    platform.register("w1")
    platform.register("w2")
    platform.fleet.report_artifacts({"alpha": 40, "beta": 60})
    platform.finish_load(platform.fleet.load("alpha", LoadRequest(2)))
    platform.client.hset(
        f"{platform.prefix}model:alpha", "least", 1
    )  # as if the second one had followed the load
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 50)

    waiting = platform.ask("beta")
    assert platform.look() == []
    assert (platform.status(waiting), platform.in_demand()) == ("queued", ["beta"])
    (released,) = platform.scaling.look()
    (item,) = released.assignments
    assert platform.look() == [], "the replica stops"
    platform.stopped(item.replica, item.worker)
    platform.report_memory(item.worker, 90)
    assert platform.scaling.look() == []
    assert platform.look_and_finish() == [("load", "beta")]
    assert platform.status(waiting) == "running"
    assert platform.model("alpha") == "loaded"
