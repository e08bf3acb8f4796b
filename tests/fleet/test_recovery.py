"""Recovery after the loss of a worker at any moment: every operation under way ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from fleet.load_request import Assignment, LoadRequest
from fleet.worker_reports import FIRST_RESTART_S
from fleet.worker_row import WorkerRow
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.small_steps import make_steps_small

LEASE = 5.0


def assigned(platform: SimulatedPlatform) -> Assignment:
    return platform.fleet.load("alpha").assignments[0]


def starting(platform: SimulatedPlatform) -> Assignment:
    item = assigned(platform)
    platform.starting(item.replica, item.worker)
    return item


def first_replica_up(platform: SimulatedPlatform) -> Assignment:
    first, second = platform.fleet.load("alpha", LoadRequest(2)).assignments
    platform.starting(first.replica, first.worker)
    platform.up(first.replica, first.worker)
    platform.starting(second.replica, second.worker)
    return first


def assigned_with_the_other_up(platform: SimulatedPlatform) -> Assignment:
    first, second = platform.fleet.load("alpha", LoadRequest(2)).assignments
    platform.starting(second.replica, second.worker)
    platform.up(second.replica, second.worker)
    return first


def loaded(platform: SimulatedPlatform) -> Assignment:
    item = starting(platform)
    platform.up(item.replica, item.worker)
    return item


def loaded_on_two_workers(platform: SimulatedPlatform) -> Assignment:
    platform.load(replicas=2)
    return Assignment("", "w1")


def loaded_twice_on_one_worker(platform: SimulatedPlatform) -> Assignment:
    platform.fleet.registry.deregister("w2", platform.incarnations["w2"], "shut down")
    platform.load(replicas=2)
    return Assignment("", "w1")


def unloading(platform: SimulatedPlatform) -> Assignment:
    item = loaded(platform)
    platform.fleet.unload("alpha")
    return item


def stopping_after_a_failure(platform: SimulatedPlatform) -> Assignment:
    first, second = platform.fleet.load("alpha", LoadRequest(2)).assignments
    platform.starting(first.replica, first.worker)
    platform.starting(second.replica, second.worker)
    platform.crash(second.replica, second.worker, code="load_failed")
    return first


def misses_heartbeats(platform: SimulatedPlatform, worker: str) -> None:
    platform.run_for(LEASE + 1, *({"w1", "w2"} - {worker} & {row.name for row in platform.fleet.workers()}))


def is_restarted(platform: SimulatedPlatform, worker: str) -> None:
    platform.register(worker)


def is_shut_down(platform: SimulatedPlatform, worker: str) -> None:
    platform.fleet.registry.deregister(
        worker, platform.incarnations[worker], f"worker {worker} was shut down"
    )


FAULTS = (misses_heartbeats, is_restarted, is_shut_down)
#                                        state after each of FAULTS           reloaded?
SCENARIOS: list[tuple[Callable[[SimulatedPlatform], Assignment], tuple[str, str, str], bool]] = [
    (assigned, ("failed", "failed", "unloaded"), True),
    (starting, ("failed", "failed", "unloaded"), True),
    (first_replica_up, ("failed", "failed", "failed"), True),
    (assigned_with_the_other_up, ("failed", "failed", "failed"), True),
    (loaded, ("failed", "failed", "unloaded"), True),
    (loaded_on_two_workers, ("loaded", "loaded", "loaded"), False),
    (loaded_twice_on_one_worker, ("failed", "failed", "unloaded"), True),
    (unloading, ("unloaded", "unloaded", "unloaded"), False),
    (stopping_after_a_failure, ("failed", "failed", "failed"), False),
]


@pytest.mark.rule("beyond/a-worker-dies-in-the")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize(
    ("scenario", "after", "is_reloaded"), SCENARIOS, ids=[case[0].__name__ for case in SCENARIOS]
)
def test_a_lost_worker_leaves_no_operation_under_way(
    platform: SimulatedPlatform,
    scenario: Callable[[SimulatedPlatform], Assignment],
    after: tuple[str, str, str],
    is_reloaded: bool,
    fault: Callable[[SimulatedPlatform, str], None],
) -> None:
    lost = scenario(platform).worker
    operation = platform.fleet.row("alpha").operation_id
    assert operation
    fault(platform, lost)
    row = platform.fleet.row("alpha")
    assert row.state == after[FAULTS.index(fault)]
    assert row.state.is_terminal
    assert ("alpha" in platform.recovery.missing()) == is_reloaded
    ended = platform.fleet.operation(operation)
    assert ended
    assert ended.status.is_terminal
    assert ended.finished_at
    assert platform.client.smembers(f"{platform.prefix}worker_replicas:{lost}") == set()


def test_the_remaining_replicas_of_an_interrupted_load_stop_before_the_next_load(
    platform: SimulatedPlatform,
) -> None:
    lost = first_replica_up(platform).worker
    platform.register(lost)
    other = {"w1": "w2", "w2": "w1"}[lost]
    reply = platform.ledger.heartbeat(other, platform.incarnations[other])
    (replica,) = reply.replicas
    assert reply.replicas[replica] == "stopping"
    platform.stopped(replica, other)
    assert platform.recovery.missing() == ["alpha"]
    assert platform.load(replicas=2)
    assert platform.model() == "loaded"


def test_a_restarted_worker_does_not_start_replicas_of_its_former_incarnation(
    platform: SimulatedPlatform,
) -> None:
    item = assigned(platform)
    platform.register(item.worker)
    assert platform.starting(item.replica, item.worker) is None
    assert platform.ledger.heartbeat(item.worker, platform.incarnations[item.worker]).replicas == {}


def test_reports_of_a_former_incarnation_are_ignored(platform: SimulatedPlatform) -> None:
    former = platform.incarnations["w1"]
    platform.register("w1")
    item = platform.fleet.load("alpha").assignments[0]
    assert item.worker == "w1"
    assert platform.fleet.replica_starting(item.replica, "w1", former) is None
    platform.starting(item.replica)
    assert not platform.fleet.replica_up(item.replica, "w1", former, 2, 1)
    platform.fleet.replica_down(item.replica, "w1", former, code="load_failed", message="killed")
    assert platform.model() == "loading"
    assert platform.up(item.replica)
    platform.fleet.replica_down(item.replica, "w1", former, code="engine_crashed", message="killed")
    assert platform.model() == "loaded"


# ---- models that should be loaded and are not


@pytest.fixture
def enabled(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Alpha is enabled in the configuration, beta is not; one worker."""
    models = {**settings.models, "alpha": replace(settings.models["alpha"], enabled=True)}
    platform = SimulatedPlatform(client, replace(settings, models=models))
    platform.register()
    return platform


def test_an_enabled_model_that_was_never_loaded_is_missing(enabled: SimulatedPlatform) -> None:
    assert enabled.recovery.missing() == ["alpha"]


def test_a_model_is_not_missing_while_it_is_loading_loaded_or_unloading(enabled: SimulatedPlatform) -> None:
    outcome = enabled.fleet.load("alpha")
    assert enabled.recovery.missing() == []
    enabled.starting(outcome.assignments[0].replica)
    enabled.up(outcome.assignments[0].replica)
    assert enabled.recovery.missing() == []
    enabled.fleet.unload("alpha")
    assert enabled.recovery.missing() == []


def test_a_model_that_an_operator_unloaded_stays_unloaded(enabled: SimulatedPlatform) -> None:
    (replica,) = enabled.load()
    enabled.fleet.unload("alpha")
    enabled.stopped(replica)
    assert enabled.recovery.missing() == []
    enabled.register()
    assert enabled.recovery.missing() == []


def test_a_model_that_was_unloaded_before_its_first_load_stays_unloaded(
    enabled: SimulatedPlatform,
) -> None:
    enabled.fleet.unload("alpha")
    assert enabled.recovery.missing() == []
    enabled.load()
    enabled.register()
    assert enabled.recovery.missing() == ["alpha"], "it was loaded by an operator since"


@pytest.mark.rule("state/runtime-state-2")
def test_a_model_that_an_operator_loaded_is_missing_although_it_is_not_enabled(
    enabled: SimulatedPlatform,
) -> None:
    enabled.load("beta")
    enabled.register()
    assert enabled.recovery.missing() == ["alpha", "beta"]


def test_a_crashed_model_is_missing_when_its_restart_is_due(enabled: SimulatedPlatform) -> None:
    (replica,) = enabled.load()
    enabled.crash(replica)
    assert enabled.recovery.missing() == []
    enabled.advance_time(FIRST_RESTART_S)
    assert enabled.recovery.missing() == ["alpha"]


@pytest.mark.rule("docs/out-of-scope")
def test_a_failed_load_is_not_repeated(enabled: SimulatedPlatform) -> None:
    outcome = enabled.fleet.load("alpha")
    enabled.starting(outcome.assignments[0].replica)
    enabled.crash(outcome.assignments[0].replica, code="load_failed")
    assert enabled.recovery.missing() == []


def test_a_lost_model_that_an_operator_unloads_is_not_reloaded(enabled: SimulatedPlatform) -> None:
    enabled.load()
    enabled.run_for(LEASE + 1)
    assert enabled.recovery.missing() == ["alpha"]
    enabled.fleet.unload("alpha")
    assert enabled.recovery.missing() == []
    assert enabled.model() == "unloaded"


def test_only_the_configuration_counts_after_a_restart_of_the_platform(enabled: SimulatedPlatform) -> None:
    enabled.load("beta")
    (replica,) = enabled.load("alpha")
    enabled.crash(replica)
    enabled.fleet.unload("alpha")
    enabled.fleet.reset_to_configuration()
    assert enabled.recovery.missing() == ["alpha"]
    assert enabled.fleet.workers() == []
    for row in enabled.fleet.rows():
        assert (row.state, row.last_error, row.code) == ("unloaded", None, None)


def test_jobs_that_wait_during_a_restart_are_served_when_the_model_is_loaded(
    enabled: SimulatedPlatform,
) -> None:
    enabled.load(slots=1)
    ids = [enabled.admit() for _ in range(3)]
    enabled.fleet.reset_to_configuration()
    assert enabled.waiting() == ids
    enabled.register("w2")
    enabled.load(slots=1)
    assert [enabled.serve_next("w2") for _ in ids] == ids


def test_a_reload_gives_way_to_a_concurrent_unload_by_an_operator(
    enabled: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    enabled.load()
    enabled.register()
    workers = enabled.fleet.workers

    def unloaded_meanwhile(for_model: str) -> list[WorkerRow]:
        enabled.fleet.unload("alpha")
        return workers(for_model)

    monkeypatch.setattr(enabled.fleet, "workers", unloaded_meanwhile)
    assert enabled.recovery.reload("alpha").operation is None
    assert enabled.model() == "unloaded"


def test_a_load_error_is_shown_while_the_model_is_unloaded(enabled: SimulatedPlatform) -> None:
    enabled.fleet.report_load_error("alpha", "no memory")
    assert enabled.fleet.row("alpha").last_error == "no memory"
    enabled.load()
    enabled.fleet.report_load_error("alpha", "no memory")
    assert enabled.fleet.row("alpha").last_error is None


# ---- one of all workers looks


def test_one_of_many_workers_looks_in_an_interval(platform: SimulatedPlatform) -> None:
    looks, began = 0, time.monotonic()
    for _ in range(100):
        platform.advance_time(0.1)
        looks += platform.recovery.is_due(2.0)
    took_s = time.monotonic() - began  # which passes beside the ten seconds
    assert 5 <= looks <= 1 + (10 + took_s) / 1.5, "about every 1.5 seconds"


def test_a_lone_worker_looks_every_time_it_asks(platform: SimulatedPlatform) -> None:
    for _ in range(5):
        assert platform.recovery.is_due(2.0)
        platform.advance_time(1.9)


def lose_the_model(platform: SimulatedPlatform) -> None:
    loaded(platform)
    platform.run_for(LEASE + 1)


def lose_a_replica(platform: SimulatedPlatform) -> None:
    platform.load(replicas=2)
    platform.run_for(LEASE + 1, "w1")


def unload_the_model(platform: SimulatedPlatform) -> None:
    item = loaded(platform)
    platform.fleet.unload("alpha")
    platform.stopped(item.replica, item.worker)


def register_a_worker(platform: SimulatedPlatform) -> None:
    platform.register("w3")


@pytest.mark.parametrize(
    "event",
    [lose_the_model, lose_a_replica, unload_the_model, register_a_worker],
    ids=lambda one: one.__name__,
)
def test_the_next_worker_that_asks_looks_after_an_event(
    platform: SimulatedPlatform, event: Callable[[SimulatedPlatform], None]
) -> None:
    platform.recovery.is_due(1e6)
    assert not platform.recovery.is_due(1e6)
    event(platform)
    assert platform.recovery.is_due(1e6)
    assert not platform.recovery.is_due(1e6)


def test_a_clock_that_was_set_back_does_not_stop_the_looks(platform: SimulatedPlatform) -> None:
    platform.advance_time(3600)
    assert platform.recovery.is_due(2.0)
    platform.advance_time(-3600)
    assert platform.recovery.is_due(2.0)


def test_a_restart_of_the_platform_removes_workers_in_steps(
    client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_steps_small(monkeypatch)
    platform = SimulatedPlatform(client, settings)
    for number in range(7):
        platform.register(f"w{number}")
    platform.load(replicas=4)
    platform.fleet.reset_to_configuration()
    assert platform.fleet.workers() == []
    assert platform.model() == "unloaded"
