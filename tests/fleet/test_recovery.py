"""Who comes to the rescue: whatever a worker was doing when it went, nothing stays under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from fleet.load_request import Assignment, LoadRequest
from fleet.worker_row import WorkerRow
from tests.support.simulated_platform import House

LEASE = 5.0


def assigned(house: House) -> Assignment:
    return house.fleet.load("alpha").assignments[0]


def starting(house: House) -> Assignment:
    item = assigned(house)
    house.starting(item.replica, item.worker)
    return item


def up_before_the_other(house: House) -> Assignment:
    first, second = house.fleet.load("alpha", LoadRequest(2)).assignments
    house.starting(first.replica, first.worker)
    house.up(first.replica, first.worker)
    house.starting(second.replica, second.worker)
    return first


def assigned_beside_the_other(house: House) -> Assignment:
    first, second = house.fleet.load("alpha", LoadRequest(2)).assignments
    house.starting(second.replica, second.worker)
    house.up(second.replica, second.worker)
    return first


def loaded(house: House) -> Assignment:
    item = starting(house)
    house.up(item.replica, item.worker)
    return item


def loaded_beside_another(house: House) -> Assignment:
    house.load(replicas=2)
    return Assignment("", "w1")


def loaded_twice_on_one_worker(house: House) -> Assignment:
    house.ledger.deregister("w2", house.incarnations["w2"], "shut down")
    house.load(replicas=2)
    return Assignment("", "w1")


def unloading(house: House) -> Assignment:
    item = loaded(house)
    house.fleet.unload("alpha")
    return item


def stopping_beside_a_failure(house: House) -> Assignment:
    first, second = house.fleet.load("alpha", LoadRequest(2)).assignments
    house.starting(first.replica, first.worker)
    house.starting(second.replica, second.worker)
    house.crash(second.replica, second.worker, code="load_failed")
    return first


def falls_silent(house: House, worker: str) -> None:
    house.live(LEASE + 1, *({"w1", "w2"} - {worker} & {row.name for row in house.fleet.workers()}))


def is_restarted(house: House, worker: str) -> None:
    house.register(worker)


def says_goodbye(house: House, worker: str) -> None:
    house.ledger.deregister(worker, house.incarnations[worker], f"worker {worker} was shut down")


FAULTS = (falls_silent, is_restarted, says_goodbye)
#                                        what it comes to, by fault            brought back?
MOMENTS: list[tuple[Callable[[House], Assignment], tuple[str, str, str], bool]] = [
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
    house: House,
    moment: Callable[[House], Assignment],
    after: tuple[str, str, str],
    returns: bool,
    fault: Callable[[House, str], None],
) -> None:
    gone = moment(house).worker
    operation = house.fleet.row("alpha").operation_id
    assert operation
    fault(house, gone)
    row = house.fleet.row("alpha")
    assert row.state == after[FAULTS.index(fault)]
    assert row.state.is_terminal
    assert ("alpha" in house.rescue.missing()) == returns
    ended = house.fleet.operation(operation)
    assert ended
    assert ended.status.is_terminal
    assert ended.finished_at
    assert house.client.smembers(f"{house.prefix}hosts:{gone}") == set()


def test_what_is_left_of_an_interrupted_load_is_told_to_stop_and_then_loaded_again(house: House) -> None:
    gone = up_before_the_other(house).worker
    house.register(gone)
    other = {"w1": "w2", "w2": "w1"}[gone]
    pulse = house.ledger.heartbeat(other, house.incarnations[other])
    (replica,) = pulse.replicas
    assert pulse.replicas[replica] == "stopping"
    house.stopped(replica, other)
    assert house.rescue.missing() == ["alpha"]
    assert house.load(replicas=2)
    assert house.model() == "loaded"


def test_a_restarted_worker_does_not_take_up_what_it_was_assigned_in_its_former_life(house: House) -> None:
    item = assigned(house)
    house.register(item.worker)
    assert house.starting(item.replica, item.worker) is None
    assert house.ledger.heartbeat(item.worker, house.incarnations[item.worker]).replicas == {}


def test_a_former_life_can_report_nothing_about_the_replicas_of_the_next(house: House) -> None:
    former = house.incarnations["w1"]
    house.register("w1")
    item = house.fleet.load("alpha").assignments[0]
    assert item.worker == "w1"
    assert house.fleet.replica_starting(item.replica, "w1", former) is None
    house.starting(item.replica)
    assert not house.fleet.replica_up(item.replica, "w1", former, 2, 1)
    house.fleet.replica_down(item.replica, "w1", former, code="load_failed", message="killed")
    assert house.model() == "loading"
    assert house.up(item.replica)
    house.fleet.replica_down(item.replica, "w1", former, code="engine_crashed", message="killed")
    assert house.model() == "loaded"


# ---- what should be loaded and is not


@pytest.fixture
def enabled(client: redis.Redis, settings: Settings) -> House:
    """Alpha is enabled in the configuration, beta is not; one worker."""
    models = {**settings.models, "alpha": replace(settings.models["alpha"], enabled=True)}
    house = House(client, replace(settings, models=models))
    house.register()
    return house


def test_an_enabled_model_that_was_never_loaded_is_missing(enabled: House) -> None:
    assert enabled.rescue.missing() == ["alpha"]


def test_nothing_is_missing_while_it_is_on_its_way(enabled: House) -> None:
    change = enabled.fleet.load("alpha")
    assert enabled.rescue.missing() == []
    enabled.starting(change.assignments[0].replica)
    enabled.up(change.assignments[0].replica)
    assert enabled.rescue.missing() == []
    enabled.fleet.unload("alpha")
    assert enabled.rescue.missing() == []


def test_what_an_operator_unloaded_stays_unloaded(enabled: House) -> None:
    (replica,) = enabled.load()
    enabled.fleet.unload("alpha")
    enabled.stopped(replica)
    assert enabled.rescue.missing() == []
    enabled.register()
    assert enabled.rescue.missing() == []


def test_what_an_operator_unloaded_before_it_was_ever_loaded_stays_unloaded(enabled: House) -> None:
    enabled.fleet.unload("alpha")
    assert enabled.rescue.missing() == []
    enabled.load()
    enabled.register()
    assert enabled.rescue.missing() == ["alpha"], "it was loaded by hand since"


@pytest.mark.rule("state/runtime-state-2")
def test_what_an_operator_loaded_is_wanted_though_it_is_not_enabled(enabled: House) -> None:
    enabled.load("beta")
    enabled.register()
    assert enabled.rescue.missing() == ["alpha", "beta"]


def test_a_crashed_engine_waits_for_an_operator(enabled: House) -> None:
    (replica,) = enabled.load()
    enabled.crash(replica)
    assert enabled.rescue.missing() == []


@pytest.mark.rule("docs/out-of-scope")
def test_a_load_that_failed_waits_for_an_operator(enabled: House) -> None:
    change = enabled.fleet.load("alpha")
    enabled.starting(change.assignments[0].replica)
    enabled.crash(change.assignments[0].replica, code="load_failed")
    assert enabled.rescue.missing() == []


def test_a_lost_model_that_an_operator_unloads_is_not_brought_back(enabled: House) -> None:
    enabled.load()
    enabled.live(LEASE + 1)
    assert enabled.rescue.missing() == ["alpha"]
    enabled.fleet.unload("alpha")
    assert enabled.rescue.missing() == []
    assert enabled.model() == "unloaded"


def test_when_the_platform_starts_anew_only_the_configuration_counts(enabled: House) -> None:
    enabled.load("beta")
    (replica,) = enabled.load("alpha")
    enabled.crash(replica)
    enabled.fleet.unload("alpha")
    enabled.fleet.restart_load()
    assert enabled.rescue.missing() == ["alpha"]
    assert enabled.fleet.workers() == []
    for row in enabled.fleet.rows():
        assert (row.state, row.last_error, row.code) == ("unloaded", None, None)


def test_who_waits_through_a_new_start_is_served_when_the_model_is_back(enabled: House) -> None:
    enabled.load(slots=1)
    ids = [enabled.admit() for _ in range(3)]
    enabled.fleet.restart_load()
    assert enabled.waiting() == ids
    enabled.register("w2")
    enabled.load(slots=1)
    assert [enabled.serve("w2") for _ in ids] == ids


def test_a_takeover_gives_way_to_an_operator_who_unloads_meanwhile(
    enabled: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    enabled.load()
    enabled.register()
    workers = enabled.fleet.workers

    def unloaded_meanwhile(asker: str) -> list[WorkerRow]:
        enabled.fleet.unload("alpha")
        return workers(asker)

    monkeypatch.setattr(enabled.fleet, "workers", unloaded_meanwhile)
    assert enabled.rescue.reload("alpha").operation is None
    assert enabled.model() == "unloaded"


def test_what_stands_in_the_way_of_a_model_is_told_while_it_is_unloaded(enabled: House) -> None:
    enabled.fleet.report_obstacle("alpha", "no room")
    assert enabled.fleet.row("alpha").last_error == "no room"
    enabled.load()
    enabled.fleet.report_obstacle("alpha", "no room")
    assert enabled.fleet.row("alpha").last_error is None
