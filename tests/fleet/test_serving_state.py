"""What counts as starting, draining and unhealthy, on the state that the workers left in Redis."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from fleet.engine_report import EngineReport
from fleet.fleet import Fleet
from governance.authorization import PLATFORM
from store.errors import StokerError
from tests.support.simulated_platform import SimulatedPlatform

MAX_WAITING = 4.0


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Two models, alpha enabled; one worker."""
    models = {**settings.models, "alpha": replace(settings.models["alpha"], enabled=True)}
    platform = SimulatedPlatform(client, replace(settings, models=models))
    platform.register()
    return platform


def problem(platform: SimulatedPlatform) -> str | None:
    return platform.fleet.serving_state().problem(MAX_WAITING)


def fail_load(platform: SimulatedPlatform, model: str, code: str) -> None:
    outcome = platform.fleet.load(model)
    for item in outcome.assignments:
        platform.starting(item.replica, item.worker)
        platform.crash(item.replica, item.worker, code)


def test_the_platform_starts_until_its_first_enabled_model_is_loaded(platform: SimulatedPlatform) -> None:
    assert platform.fleet.serving_state().is_starting
    outcome = platform.fleet.load("alpha")
    assert platform.fleet.serving_state().is_starting
    platform.finish_load(outcome)
    assert not platform.fleet.serving_state().is_starting
    platform.finish_unload(platform.fleet.unload("alpha"))
    platform.fleet.load("alpha")
    assert not platform.fleet.serving_state().is_starting, "a later load is no start"


def test_a_platform_without_enabled_models_does_not_start(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    assert not platform.fleet.serving_state().is_starting
    platform.fleet.load("beta")
    assert not platform.fleet.serving_state().is_starting


def test_a_failed_or_unwanted_model_is_not_awaited(platform: SimulatedPlatform) -> None:
    fail_load(platform, "alpha", "load_failed")
    assert not platform.fleet.serving_state().is_starting
    platform.fleet.unload("alpha")
    assert not platform.fleet.serving_state().is_starting


def test_a_restarted_platform_starts_again(platform: SimulatedPlatform) -> None:
    platform.load("alpha")
    platform.fleet.scripts.run("reset_to_configuration", models=[*platform.settings.models])
    assert platform.fleet.serving_state().is_starting


def test_the_platform_drains_when_all_workers_do(platform: SimulatedPlatform) -> None:
    second = platform.register("w2")
    assert not platform.fleet.serving_state().is_draining
    platform.fleet.registry.begin_shutdown("w1", platform.incarnations["w1"])
    assert not platform.fleet.serving_state().is_draining
    platform.fleet.registry.begin_shutdown("w2", second)
    assert platform.fleet.serving_state().is_draining
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "shut down")
    platform.fleet.registry.deregister("w2", second, "shut down")
    assert not platform.fleet.serving_state().is_draining, "no worker is no drain"


def test_a_platform_with_unloaded_or_loading_models_is_healthy(platform: SimulatedPlatform) -> None:
    assert problem(platform) is None
    fail_load(platform, "beta", "load_failed")
    assert problem(platform) == "all_models_failed"
    platform.fleet.load("alpha")
    assert problem(platform) is None


@pytest.mark.rule("runner/health-503-models-failed")
def test_health_is_lost_when_all_models_failed_and_none_is_served(platform: SimulatedPlatform) -> None:
    platform.load("alpha")
    fail_load(platform, "beta", "load_failed")
    assert problem(platform) is None, "alpha is served"
    platform.finish_unload(platform.fleet.unload("alpha"))
    assert problem(platform) == "all_models_failed"


@pytest.mark.rule("runner/health-503-gpu-oom")
@pytest.mark.parametrize("code", ["out_of_memory", "insufficient_memory"])
def test_health_is_lost_when_a_model_failed_for_lack_of_memory(
    platform: SimulatedPlatform, code: str
) -> None:
    fail_load(platform, "beta", "load_failed")
    fail_load(platform, "alpha", code)
    assert problem(platform) == "out_of_memory"
    platform.load("beta")
    assert problem(platform) is None, "another model is served"


@pytest.mark.rule("runner/health-503-queue-saturated")
def test_health_is_lost_when_the_queues_of_all_served_models_are_saturated(
    platform: SimulatedPlatform,
) -> None:
    platform.load("alpha", slots=1)
    for _ in range(1 + int(MAX_WAITING)):
        assert problem(platform) is None
        platform.admit()
    assert problem(platform) == "queue_saturated"
    platform.load("beta", slots=1)
    assert problem(platform) is None, "beta has room"


@pytest.mark.rule("runner/health-models-saturated")
def test_one_saturated_model_is_counted_while_others_have_room(platform: SimulatedPlatform) -> None:
    platform.load("alpha", slots=1)
    platform.load("beta", slots=1)
    for _ in range(1 + int(MAX_WAITING)):
        assert platform.fleet.serving_state().saturated(MAX_WAITING) == 0
        platform.admit()
    assert platform.fleet.serving_state().saturated(MAX_WAITING) == 1
    assert platform.fleet.serving_state().saturated(0) == 0, "without a queue none is saturated"


@pytest.mark.rule("runner/health-progress")
def test_health_is_lost_within_the_lease_of_a_frozen_worker(platform: SimulatedPlatform) -> None:
    platform.load("alpha")
    platform.run_for(10, "w1")
    assert problem(platform) is None
    platform.run_for(platform.settings.lease.lease_ms / 1000 + 1)
    assert problem(platform) == "all_models_failed"


@pytest.mark.rule("runner/health-progress")
def test_health_is_lost_when_no_engine_makes_progress(platform: SimulatedPlatform) -> None:
    first, second = (replica for replica in platform.load("alpha", replicas=2))
    incarnation, report = platform.incarnations["w1"], EngineReport()
    platform.fleet.report_engines("w1", incarnation, {first: (report, True)})
    assert problem(platform) is None, "the other one does"
    platform.fleet.report_engines("w1", incarnation, {second: (report, True)})
    assert problem(platform) == "no_progress"
    platform.fleet.report_engines("w1", incarnation, {first: (report, False)})
    assert problem(platform) is None


def test_a_stalled_engine_of_a_draining_worker_does_not_count(platform: SimulatedPlatform) -> None:
    second = platform.register("w2")
    replicas = platform.load("alpha", replicas=2)
    (stalled,) = (
        one for one in replicas if platform.client.sismember(f"{platform.prefix}worker_replicas:w2", one)
    )
    platform.fleet.report_engines("w2", second, {stalled: (EngineReport(), True)})
    platform.fleet.registry.begin_shutdown("w2", second)
    assert problem(platform) is None, "the replica of the first worker serves"


@pytest.mark.rule("runner/runner-id")
def test_the_id_of_the_platform_stays_the_same_in_all_processes(
    platform: SimulatedPlatform, client: redis.Redis
) -> None:
    made = platform.fleet.runner_id()
    assert made == platform.fleet.runner_id() == Fleet(client, platform.settings).runner_id()
    assert made.startswith("stoker-")
    configured = replace(platform.settings, runner_id="safebox-model-llm-1")
    assert Fleet(client, configured).runner_id() == "safebox-model-llm-1"


def test_the_state_cannot_be_read_without_redis(settings: Settings) -> None:
    away = redis.Redis(port=1, socket_connect_timeout=0.1)
    with pytest.raises(StokerError):
        Fleet(away, settings).serving_state()


def test_a_platform_whose_only_loaded_model_is_drained_is_healthy_although_another_one_failed(
    platform: SimulatedPlatform,
) -> None:
    platform.load("alpha")
    fail_load(platform, "beta", "load_failed")
    assert problem(platform) is None
    platform.fleet.drains.begin("w1", PLATFORM)
    assert problem(platform) is None, "it was drained on purpose"
    platform.finish_unload(platform.fleet.unload("alpha"))
    assert problem(platform) == "all_models_failed"


def test_a_platform_with_a_model_that_requests_load_is_healthy(
    client: redis.Redis, settings: Settings
) -> None:
    models = {**settings.models, "beta": replace(settings.models["beta"], on_demand="load")}
    platform = SimulatedPlatform(client, replace(settings, models=models))
    platform.register()
    fail_load(platform, "alpha", "load_failed")
    assert problem(platform) is None
    fail_load(platform, "beta", "load_failed")
    assert problem(platform) == "all_models_failed"
