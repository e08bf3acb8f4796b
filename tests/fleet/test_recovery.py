"""Who comes to the rescue: whatever a worker was doing when it went, nothing stays under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from fleet.load_request import Assignment, LoadRequest
from fleet.worker_row import WorkerRow
from tests.support.simulated_platform import SimulatedPlatform

LEASE = 5.0


def assigned(platform: SimulatedPlatform) -> Assignment:
    return platform.fleet.load("alpha").assignments[0]


def starting(platform: SimulatedPlatform) -> Assignment:
    item = assigned(platform)
    platform.starting(item.replica, item.worker)
    return item


def up_before_the_other(platform: SimulatedPlatform) -> Assignment:
    first, second = platform.fleet.load("alpha", LoadRequest(2)).assignments
    platform.starting(first.replica, first.worker)
    platform.up(first.replica, first.worker)
    platform.starting(second.replica, second.worker)
    return first


def assigned_beside_the_other(platform: SimulatedPlatform) -> Assignment:
    first, second = platform.fleet.load("alpha", LoadRequest(2)).assignments
    platform.starting(second.replica, second.worker)
    platform.up(second.replica, second.worker)
    return first


def loaded(platform: SimulatedPlatform) -> Assignment:
    item = starting(platform)
    platform.up(item.replica, item.worker)
    return item


def loaded_beside_another(platform: SimulatedPlatform) -> Assignment:
    platform.load(replicas=2)
    return Assignment("", "w1")


def loaded_twice_on_one_worker(platform: SimulatedPlatform) -> Assignment:
    platform.ledger.deregister("w2", platform.incarnations["w2"], "shut down")
    platform.load(replicas=2)
    return Assignment("", "w1")


def unloading(platform: SimulatedPlatform) -> Assignment:
    item = loaded(platform)
    platform.fleet.unload("alpha")
    return item


def stopping_beside_a_failure(platform: SimulatedPlatform) -> Assignment:
    first, second = platform.fleet.load("alpha", LoadRequest(2)).assignments
    platform.starting(first.replica, first.worker)
    platform.starting(second.replica, second.worker)
    platform.crash(second.replica, second.worker, code="load_failed")
    return first


def falls_silent(platform: SimulatedPlatform, worker: str) -> None:
    platform.run_for(LEASE + 1, *({"w1", "w2"} - {worker} & {row.name for row in platform.fleet.workers()}))


def is_restarted(platform: SimulatedPlatform, worker: str) -> None:
    platform.register(worker)


def says_goodbye(platform: SimulatedPlatform, worker: str) -> None:
    platform.ledger.deregister(worker, platform.incarnations[worker], f"worker {worker} was shut down")


FAULTS = (falls_silent, is_restarted, says_goodbye)
#                                        what it comes to, by fault            brought back?
MOMENTS: list[tuple[Callable[[SimulatedPlatform], Assignment], tuple[str, str, str], bool]] = [
    (assigned, ("failed", "failed", "unloaded"), True),
    (starting, ("failed", "failed", "unloaded"), True),
    (up_before_the_other, ("failed", "failed", "failed"), True),
    (assigned_beside_the_other, ("failed", "failed", "failed"), True),
    (loaded, ("failed", "failed", "unloaded"), True),
    (loaded_beside_another, ("loaded", "loaded", "loaded"), False),
    (loaded_twice_on_one_worker, ("failed", "failed", "unloaded"), True),
    (unloading, ("unloaded", "unloaded", "unloaded"), False),
    (stopping_beside_a_failure, ("failed", "failed", "failed"), False),
]


@pytest.mark.rule("beyond/a-worker-dies-in-the")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize(("moment", "after", "returns"), MOMENTS, ids=[case[0].__name__ for case in MOMENTS])
def test_a_worker_that_goes_leaves_nothing_under_way(
    platform: SimulatedPlatform,
    moment: Callable[[SimulatedPlatform], Assignment],
    after: tuple[str, str, str],
    returns: bool,
    fault: Callable[[SimulatedPlatform, str], None],
) -> None:
    gone = moment(platform).worker
    operation = platform.fleet.row("alpha").operation_id
    assert operation
    fault(platform, gone)
    row = platform.fleet.row("alpha")
    assert row.state == after[FAULTS.index(fault)]
    assert row.state.is_terminal
    assert ("alpha" in platform.recovery.missing()) == returns
    ended = platform.fleet.operation(operation)
    assert ended
    assert ended.status.is_terminal
    assert ended.finished_at
    assert platform.client.smembers(f"{platform.prefix}worker_replicas:{gone}") == set()


def test_what_is_left_of_an_interrupted_load_is_told_to_stop_and_then_loaded_again(
    platform: SimulatedPlatform,
) -> None:
    gone = up_before_the_other(platform).worker
    platform.register(gone)
    other = {"w1": "w2", "w2": "w1"}[gone]
    reply = platform.ledger.heartbeat(other, platform.incarnations[other])
    (replica,) = reply.replicas
    assert reply.replicas[replica] == "stopping"
    platform.stopped(replica, other)
    assert platform.recovery.missing() == ["alpha"]
    assert platform.load(replicas=2)
    assert platform.model() == "loaded"


def test_a_restarted_worker_does_not_take_up_what_it_was_assigned_in_its_former_life(
    platform: SimulatedPlatform,
) -> None:
    item = assigned(platform)
    platform.register(item.worker)
    assert platform.starting(item.replica, item.worker) is None
    assert platform.ledger.heartbeat(item.worker, platform.incarnations[item.worker]).replicas == {}


def test_a_former_life_can_report_nothing_about_the_replicas_of_the_next(platform: SimulatedPlatform) -> None:
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


# ---- what should be loaded and is not


@pytest.fixture
def enabled(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Alpha is enabled in the configuration, beta is not; one worker."""
    models = {**settings.models, "alpha": replace(settings.models["alpha"], enabled=True)}
    platform = SimulatedPlatform(client, replace(settings, models=models))
    platform.register()
    return platform


def test_an_enabled_model_that_was_never_loaded_is_missing(enabled: SimulatedPlatform) -> None:
    assert enabled.recovery.missing() == ["alpha"]


def test_nothing_is_missing_while_it_is_on_its_way(enabled: SimulatedPlatform) -> None:
    change = enabled.fleet.load("alpha")
    assert enabled.recovery.missing() == []
    enabled.starting(change.assignments[0].replica)
    enabled.up(change.assignments[0].replica)
    assert enabled.recovery.missing() == []
    enabled.fleet.unload("alpha")
    assert enabled.recovery.missing() == []


def test_what_an_operator_unloaded_stays_unloaded(enabled: SimulatedPlatform) -> None:
    (replica,) = enabled.load()
    enabled.fleet.unload("alpha")
    enabled.stopped(replica)
    assert enabled.recovery.missing() == []
    enabled.register()
    assert enabled.recovery.missing() == []


def test_what_an_operator_unloaded_before_it_was_ever_loaded_stays_unloaded(
    enabled: SimulatedPlatform,
) -> None:
    enabled.fleet.unload("alpha")
    assert enabled.recovery.missing() == []
    enabled.load()
    enabled.register()
    assert enabled.recovery.missing() == ["alpha"], "it was loaded by hand since"


@pytest.mark.rule("state/runtime-state-2")
def test_what_an_operator_loaded_is_wanted_though_it_is_not_enabled(enabled: SimulatedPlatform) -> None:
    enabled.load("beta")
    enabled.register()
    assert enabled.recovery.missing() == ["alpha", "beta"]


def test_a_crashed_engine_waits_for_an_operator(enabled: SimulatedPlatform) -> None:
    (replica,) = enabled.load()
    enabled.crash(replica)
    assert enabled.recovery.missing() == []


@pytest.mark.rule("docs/out-of-scope")
def test_a_load_that_failed_waits_for_an_operator(enabled: SimulatedPlatform) -> None:
    change = enabled.fleet.load("alpha")
    enabled.starting(change.assignments[0].replica)
    enabled.crash(change.assignments[0].replica, code="load_failed")
    assert enabled.recovery.missing() == []


def test_a_lost_model_that_an_operator_unloads_is_not_brought_back(enabled: SimulatedPlatform) -> None:
    enabled.load()
    enabled.run_for(LEASE + 1)
    assert enabled.recovery.missing() == ["alpha"]
    enabled.fleet.unload("alpha")
    assert enabled.recovery.missing() == []
    assert enabled.model() == "unloaded"


def test_when_the_platform_starts_anew_only_the_configuration_counts(enabled: SimulatedPlatform) -> None:
    enabled.load("beta")
    (replica,) = enabled.load("alpha")
    enabled.crash(replica)
    enabled.fleet.unload("alpha")
    enabled.fleet.reset_to_configuration()
    assert enabled.recovery.missing() == ["alpha"]
    assert enabled.fleet.workers() == []
    for row in enabled.fleet.rows():
        assert (row.state, row.last_error, row.code) == ("unloaded", None, None)


def test_who_waits_through_a_new_start_is_served_when_the_model_is_back(enabled: SimulatedPlatform) -> None:
    enabled.load(slots=1)
    ids = [enabled.admit() for _ in range(3)]
    enabled.fleet.reset_to_configuration()
    assert enabled.waiting() == ids
    enabled.register("w2")
    enabled.load(slots=1)
    assert [enabled.serve_next("w2") for _ in ids] == ids


def test_a_takeover_gives_way_to_an_operator_who_unloads_meanwhile(
    enabled: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    enabled.load()
    enabled.register()
    workers = enabled.fleet.workers

    def unloaded_meanwhile(asker: str) -> list[WorkerRow]:
        enabled.fleet.unload("alpha")
        return workers(asker)

    monkeypatch.setattr(enabled.fleet, "workers", unloaded_meanwhile)
    assert enabled.recovery.reload("alpha").operation is None
    assert enabled.model() == "unloaded"


def test_what_stands_in_the_way_of_a_model_is_told_while_it_is_unloaded(enabled: SimulatedPlatform) -> None:
    enabled.fleet.report_load_error("alpha", "no room")
    assert enabled.fleet.row("alpha").last_error == "no room"
    enabled.load()
    enabled.fleet.report_load_error("alpha", "no room")
    assert enabled.fleet.row("alpha").last_error is None
