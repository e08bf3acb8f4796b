"""Models make room for each other: by the scripts, with what they hold in Redis."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from fleet.load_request import AS_CONFIGURED
from tests.fleet.on_demand.conftest import DemandPlatform, demand_settings


def loaded(platform: DemandPlatform, model: str = "alpha") -> str:
    """Load a model on demand, and run its request; returns the job."""
    id = platform.ask(model)
    assert platform.look_and_finish() == [("load", model)]
    return id


def test_an_idle_model_makes_room_for_one_that_requests_wait_for(platform: DemandPlatform) -> None:
    platform.release(platform.run(loaded(platform)))
    platform.advance_time(60)
    id = platform.ask("beta")
    assert platform.look_and_finish() == [("unload", "alpha")]
    assert platform.look_and_finish() == [("load", "beta")]
    assert platform.claimed() == [id]
    assert platform.model("alpha") == "unloaded"


def test_a_model_in_use_ends_its_requests_and_its_queue_waits_for_the_next_load(
    platform: DemandPlatform,
) -> None:
    running = loaded(platform)
    other = platform.ask()
    queued = platform.ask()
    platform.advance_time(600)
    wanted = platform.ask("beta", max_wait_ms=10**7)
    (leave,) = platform.look()
    assert (platform.status(running), platform.status(queued)) == ("running", "queued")
    assert platform.look() == [], "it leaves already"
    for id in (running, other):
        platform.release(platform.run(id))
        assert platform.end(id).status == "completed"
    platform.finish_unload(leave)
    assert platform.look_and_finish(slots=1) == [("load", "beta")]
    assert platform.in_demand() == ["alpha"]
    platform.release(platform.run(wanted))
    platform.advance_time(600)
    assert platform.look_and_finish() == [("unload", "beta")]
    assert platform.look_and_finish() == [("load", "alpha")]
    assert platform.status(queued) == "running"


def test_a_request_that_comes_before_the_unload_keeps_an_idle_model(platform: DemandPlatform) -> None:
    platform.release(platform.run(loaded(platform)))
    platform.advance_time(60)
    platform.ask("beta")
    platform.ask("alpha")
    outcome = platform.fleet.make_room("alpha", "beta", {}, idle_s=60.0)
    assert not outcome.begun
    assert platform.model("alpha") == "loaded"
    assert not platform.fleet.unload_idle("alpha", 60.0).begun


def test_a_model_without_requests_is_unloaded_after_its_time(client: redis.Redis, settings: Settings) -> None:
    given = demand_settings(settings)
    models = {name: replace(model, idle_unload_s=30.0) for name, model in given.models.items()}
    platform = DemandPlatform(client, replace(given, models=models))
    platform.register()
    platform.release(platform.run(loaded(platform)))
    platform.advance_time(29)
    assert platform.look() == []
    platform.advance_time(2)
    assert platform.look_and_finish() == [("unload", "alpha")]
    assert platform.model() == "unloaded"
    assert platform.recovery.missing() == []


def test_a_pinned_model_never_makes_room(client: redis.Redis, settings: Settings) -> None:
    given = demand_settings(settings)
    models = {**given.models, "alpha": replace(given.models["alpha"], pin=True)}
    platform = DemandPlatform(client, replace(given, models=models))
    platform.register()
    platform.release(platform.run(loaded(platform)))
    platform.advance_time(600)
    id = platform.ask("beta")
    assert platform.look() == []
    assert platform.end(id).code == "model_failed"
    assert "insufficient_memory" in platform.end(id).message
    assert platform.model("alpha") == "loaded"


def test_switches_are_charged_to_the_tenant_that_waits_and_forgotten(platform: DemandPlatform) -> None:
    platform.release(platform.run(loaded(platform)))
    assert platform.fleet.make_room("alpha", "beta", {"umbrella": 800.0, "wayne": 10.0}).begun
    assert (account(platform, "umbrella"), account(platform, "wayne")) == (800.0, 10.0)
    platform.advance_time(300)
    platform.ask("beta", tenant="umbrella")
    request = platform.fleet.loads.checked(platform.fleet.definition("beta"), AS_CONFIGURED)
    assert platform.fleet.loads.begin("beta", request, charges={"umbrella": 200.0}).begun
    assert account(platform, "umbrella") == pytest.approx(600.0, rel=0.01), "half of it was forgotten"


def account(platform: DemandPlatform, tenant: str) -> float:
    """The account of a tenant (ms) at the time of its latest charge."""
    text = platform.client.hget(f"{platform.prefix}switch_accounts", tenant)
    return float(text.split()[0]) if text else 0.0


def test_a_model_that_does_not_fit_beside_others_waits_for_memory(
    client: redis.Redis, settings: Settings
) -> None:
    platform = DemandPlatform(client, demand_settings(settings, max_loaded=None))
    platform.register()
    platform.report_memory(free_mib=100)
    platform.fleet.report_artifacts({"alpha": 60, "beta": 70})
    platform.release(platform.run(loaded(platform)))
    platform.report_memory(free_mib=40)
    platform.advance_time(60)
    platform.ask("beta")
    (leave,) = platform.look()
    assert leave.kind == "unload"
    platform.finish_unload(leave)
    assert platform.look() == [], "the driver has not reported the memory"
    assert platform.ledger.queue_order("beta").reason.startswith(
        "model is not loaded: the memory is being freed"
    )
    platform.report_memory(free_mib=100)
    assert platform.look_and_finish() == [("load", "beta")]


def test_a_look_goes_on_when_the_memory_that_is_freed_was_taken(
    client: redis.Redis, settings: Settings
) -> None:
    platform = DemandPlatform(client, demand_settings(settings, max_loaded=None))
    platform.register()
    platform.report_memory(free_mib=100)
    platform.fleet.report_artifacts({"alpha": 60, "beta": 70})
    platform.release(platform.run(loaded(platform)))
    platform.report_memory(free_mib=40)
    platform.advance_time(60)
    id = platform.ask("beta")
    (leave,) = platform.look()
    platform.report_memory(free_mib=5)
    assert platform.look() == []
    platform.finish_unload(leave)
    platform.report_memory(free_mib=65)
    assert platform.look() == []
    assert platform.status(id) == "queued"
    platform.advance_time(11)
    assert platform.look() == []
    assert platform.end(id).code == "model_failed", "no model can make room for it"


def test_the_model_makes_room_on_whose_gpu_the_other_one_fits(
    client: redis.Redis, settings: Settings
) -> None:
    given = demand_settings(settings, max_loaded=None)
    models = {**given.models, "gamma": replace(given.models["alpha"], name="gamma")}
    platform = DemandPlatform(client, replace(given, models=models))
    for worker, free_mib in (("w1", 100), ("w2", 50)):
        platform.register(worker)
        platform.report_memory(worker, free_mib=free_mib)
    platform.fleet.report_artifacts({"alpha": 70, "beta": 40, "gamma": 60})
    platform.release(platform.run(loaded(platform)))
    platform.report_memory(free_mib=30)
    platform.advance_time(1)
    platform.release(platform.run(loaded(platform, "beta"), "w2"))
    platform.report_memory("w2", free_mib=10)
    platform.advance_time(60)
    id = platform.ask("gamma")
    assert platform.look_and_finish() == [("unload", "alpha")], "beta's GPU is too small"
    platform.report_memory(free_mib=100)
    assert platform.look_and_finish() == [("load", "gamma")]
    assert platform.field(id, "worker") == "w1"


def test_both_models_stay_where_both_fit(client: redis.Redis, settings: Settings) -> None:
    platform = DemandPlatform(client, demand_settings(settings, max_loaded=None))
    platform.register()
    platform.report_memory(free_mib=100)
    platform.fleet.report_artifacts({"alpha": 30, "beta": 40})
    loaded(platform)
    platform.report_memory(free_mib=70)
    loaded(platform, "beta")
    assert (platform.model("alpha"), platform.model("beta")) == ("loaded", "loaded")


def test_a_worker_that_dies_while_its_model_makes_room_fails_no_waiting_request(
    platform: DemandPlatform,
) -> None:
    running = loaded(platform)
    others = [platform.ask() for _ in range(2)]
    platform.advance_time(60)
    platform.ask("beta", max_wait_ms=10**7)
    assert [outcome.kind for outcome in platform.look()] == ["unload"]
    platform.register()
    assert [platform.status(id) for id in (running, *others)] == ["queued"] * 3, "they had no output"
    assert platform.look_and_finish() == [("load", "beta")], "the room was made for it"
    platform.serve_next()
    platform.advance_time(60)
    assert platform.look_and_finish() == [("unload", "beta")]
    assert platform.look_and_finish(slots=3) == [("load", "alpha")]
    assert [platform.status(id) for id in (running, *others)] == ["running"] * 3


def test_a_request_is_queued_again_when_its_worker_dies_while_its_model_makes_room(
    platform: DemandPlatform,
) -> None:
    running = platform.ask(max_wait_ms=10**7)
    assert platform.look_and_finish() == [("load", "alpha")]
    platform.advance_time(60)
    wanted = platform.ask("beta", max_wait_ms=10**7)
    assert [outcome.kind for outcome in platform.look()] == ["unload"]
    platform.register()
    assert platform.status(running) == "queued", "no other request waits for its model"
    assert set(platform.in_demand()) == {"alpha", "beta"}
    assert platform.look_and_finish() == [("load", "beta")]
    assert platform.status(wanted) == "running"
    platform.serve_next()
    platform.advance_time(60)
    assert platform.look_and_finish() == [("unload", "beta")]
    assert platform.look_and_finish() == [("load", "alpha")]
    assert platform.status(running) == "running"


def test_a_switch_goes_on_when_its_process_ends_between_two_steps(platform: DemandPlatform) -> None:
    platform.release(platform.run(loaded(platform)))
    platform.advance_time(60)
    id = platform.ask("beta")
    (leave,) = platform.look()
    other = DemandPlatform(platform.client, platform.settings)
    other.advance_time(60)
    other.incarnations = platform.incarnations
    other.finish_unload(leave)
    assert other.look_and_finish() == [("load", "beta")]
    assert other.status(id) == "running"


def test_an_operation_shows_that_a_model_makes_room(platform: DemandPlatform) -> None:
    platform.release(platform.run(loaded(platform)))
    platform.advance_time(60)
    platform.ask("beta", tenant="umbrella")
    (leave,) = platform.look()
    assert leave.operation is not None
    assert leave.operation.authority is not None
    assert leave.operation.authority["requested_by"] == "umbrella"
    assert leave.operation.stage == "making room for beta"
    assert platform.ledger.queue_order("beta").reason == "model is not loaded: other models leave, about 1 s"


def test_only_a_loaded_model_makes_room(platform: DemandPlatform) -> None:
    assert not platform.fleet.make_room("alpha", "beta", {"acme": 5.0}).begun
    platform.fleet.load("alpha")
    assert not platform.fleet.make_room("alpha", "beta", {"acme": 5.0}).begun
    assert account(platform, "acme") == 0.0


def test_a_model_is_idle_since_the_end_of_its_last_request(platform: DemandPlatform) -> None:
    id = loaded(platform)
    platform.advance_time(50)
    platform.release(platform.run(id))
    platform.advance_time(10)
    assert not platform.fleet.make_room("alpha", "beta", {}, idle_s=30.0).begun
    platform.advance_time(21)
    assert platform.fleet.make_room("alpha", "beta", {}, idle_s=30.0).begun


def test_the_script_loads_no_model_without_requests_or_in_its_pause(platform: DemandPlatform) -> None:
    request = platform.fleet.loads.checked(platform.fleet.definition("alpha"), AS_CONFIGURED)
    assert not platform.fleet.loads.begin("alpha", request, charges={}).begun
    platform.ask()
    later_us = int((platform.fleet.scripts.now() + 60) * 1e6)
    platform.client.hset(f"{platform.prefix}model:alpha", "load_retry_us", later_us)
    assert not platform.fleet.loads.begin("alpha", request, charges={}).begun
    platform.advance_time(61)
    assert platform.fleet.loads.begin("alpha", request, charges={}).begun
