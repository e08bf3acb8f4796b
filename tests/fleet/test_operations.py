"""What an operation shows: how far it is, how long it will take, and what it came to."""

from __future__ import annotations

import pytest

from fleet.load_request import LoadOutcome, LoadRequest
from fleet.operation import Operation
from tests.fleet.races import at_once
from tests.support.simulated_platform import House

pytestmark = pytest.mark.rule("beyond/operations")


def operation(house: House, change: LoadOutcome) -> Operation:
    assert change.operation
    found = house.fleet.operation(change.operation.id)
    assert found
    return found


def load_takes(house: House, seconds: float) -> LoadOutcome:
    change = house.fleet.load("alpha")
    house.pass_time(seconds)
    house.bring_up(change)
    return change


def unload_takes(house: House, seconds: float) -> LoadOutcome:
    change = house.fleet.unload("alpha")
    house.pass_time(seconds)
    house.bring_down(change)
    return change


def about(seconds: float) -> object:
    return pytest.approx(seconds, abs=0.3)


# ---- how long it will take


def test_before_there_was_one_nobody_knows_how_long_it_takes(house: House) -> None:
    change = house.fleet.load("alpha")
    house.pass_time(5)
    assert operation(house, change).eta_s is None


def test_the_next_one_takes_about_as_long(house: House) -> None:
    load_takes(house, 30)
    unload_takes(house, 4)
    load = house.fleet.load("alpha")
    assert operation(house, load).eta_s == about(30)
    house.pass_time(10)
    assert operation(house, load).eta_s == about(20)
    house.bring_up(load)
    assert operation(house, house.fleet.unload("alpha")).eta_s == about(4)


def test_a_third_of_what_is_expected_comes_from_each_new_one(house: House) -> None:
    for seconds in (30, 60, 0):
        load_takes(house, seconds)
        unload_takes(house, 1)
    assert operation(house, house.fleet.load("alpha")).eta_s == about((30 * 2 / 3 + 60 / 3) * 2 / 3)


def test_each_model_is_known_by_its_own(house: House) -> None:
    load_takes(house, 30)
    assert operation(house, house.fleet.load("beta")).eta_s is None


def test_what_takes_longer_than_ever_ends_at_any_moment(house: House) -> None:
    load_takes(house, 3)
    unload_takes(house, 1)
    change = house.fleet.load("alpha")
    house.pass_time(100)
    assert operation(house, change).eta_s == 0


def test_at_the_end_nothing_is_left_to_wait_for(house: House) -> None:
    load_takes(house, 3)
    unload_takes(house, 1)
    done = operation(house, load_takes(house, 7))
    assert (done.eta_s, done.duration_s) == (None, about(7))


def test_nothing_is_learned_from_a_failure(house: House) -> None:
    change = house.fleet.load("alpha")
    house.pass_time(50)
    item = change.assignments[0]
    house.crash(item.replica, item.worker, code="load_failed")
    failed = operation(house, change)
    assert (failed.status, failed.eta_s, failed.duration_s) == ("failed", None, about(50))
    assert operation(house, house.fleet.load("alpha")).eta_s is None


def test_the_wait_for_another_model_is_no_part_of_a_load(house: House) -> None:
    load_takes(house, 30)
    unload_takes(house, 1)
    house.load("beta")
    change = house.fleet.load("alpha", LoadRequest(evict="beta"))
    assert change.first
    house.pass_time(200)
    assert operation(house, change).eta_s == about(30)
    house.bring_down(change.first)
    (going,) = house.rescue.resume_pending()
    house.pass_time(10)
    assert operation(house, change).eta_s == about(20)
    house.pass_time(20)
    house.bring_up(going)
    assert operation(house, change).duration_s == about(230)
    unload_takes(house, 1)
    assert operation(house, house.fleet.load("alpha")).eta_s == about(30), "it took 30 s of workers' time"


# ---- how far it is


def test_an_unload_shows_the_mean_of_its_replicas_and_those_that_are_gone(house: House) -> None:
    house.load(replicas=2)
    change = house.fleet.unload("alpha")
    first, second = change.assignments
    begun = operation(house, change)
    assert (begun.status, begun.stage, begun.progress, begun.replicas) == ("running", "draining", 0, 2)
    house.fleet.replica_progress(first.replica, 0.5, "draining: 1 request runs")
    half = operation(house, change)
    assert (half.stage, half.progress) == ("draining: 1 request runs", 0.25)
    house.stopped(first.replica, first.worker)
    house.fleet.replica_progress(second.replica, 0.5, "draining: 2 requests run")
    assert operation(house, change).progress == 0.75
    house.stopped(second.replica, second.worker)
    assert (operation(house, change).status, operation(house, change).progress) == ("completed", 1)


def test_the_progress_of_a_load_does_not_show_in_the_unload_that_follows(house: House) -> None:
    house.load(replicas=2)
    change = house.fleet.unload("alpha")
    house.fleet.replica_progress(change.assignments[0].replica, 0.0, "draining: 1 request runs")
    assert operation(house, change).progress == 0


# ---- what it came to


def test_a_load_says_what_it_took_and_an_unload_what_it_gives_back(house: House) -> None:
    load = house.fleet.load("alpha", LoadRequest(2))
    assert operation(house, load).memory_mib is None
    house.bring_up(load, memory_mib=350)
    assert operation(house, load).memory_mib == 700
    unload = house.fleet.unload("alpha")
    assert operation(house, unload).memory_mib == 700
    house.bring_down(unload)
    assert operation(house, unload).memory_mib == 700


def test_what_could_not_be_measured_is_not_made_up(house: House) -> None:
    house.bring_up(house.fleet.load("alpha", LoadRequest(2)))
    unload = house.fleet.unload("alpha")
    assert operation(house, unload).memory_mib is None


def test_a_failure_has_a_code_and_a_sentence(house: House) -> None:
    change = house.fleet.load("alpha")
    house.register(change.assignments[0].worker)
    failed = operation(house, change)
    assert (failed.status, failed.code) == ("failed", "load_interrupted")
    assert failed.error
    assert failed.error.endswith("was restarted")


def test_what_becomes_of_a_model_later_does_not_change_how_its_load_ended(house: House) -> None:
    change = house.fleet.load("alpha")
    house.bring_up(change)
    done = operation(house, change)
    house.pass_time(60)
    house.crash(change.assignments[0].replica, change.assignments[0].worker)
    assert house.model() == "failed"
    assert operation(house, change) == done


# ---- at the same time


@pytest.mark.rule("state/loading")
def test_of_two_loads_at_once_one_begins_and_both_have_the_same_operation(house: House) -> None:
    changes, problems = at_once(*[lambda: House(house.client, house.settings).fleet.load("alpha")] * 4)
    assert problems == []
    assert sorted(change.begun for change in changes) == [False, False, False, True]
    assert len({operation(house, change).id for change in changes}) == 1
    assert len(house.fleet.row("alpha").workers) == 1


def test_of_two_unloads_at_once_one_begins_and_both_have_the_same_operation(house: House) -> None:
    house.load(replicas=2)
    changes, problems = at_once(*[lambda: House(house.client, house.settings).fleet.unload("alpha")] * 4)
    assert problems == []
    assert sorted(len(change.assignments) for change in changes) == [0, 0, 0, 2]
    assert len({operation(house, change).id for change in changes}) == 1


@pytest.mark.rule("load/validation-409")
def test_a_load_and_an_unload_at_once_leave_one_of_them_under_way(house: House) -> None:
    house.load()
    house.fleet.unload("alpha")
    for replica in house.client.smembers(f"{house.prefix}replicas:alpha"):
        house.stopped(replica.decode())
    changes, problems = at_once(
        lambda: House(house.client, house.settings).fleet.load("alpha"),
        lambda: House(house.client, house.settings).fleet.unload("alpha"),
    )
    assert house.model() == "loading", (
        "an unload of what is unloaded does nothing, one of what loads is refused"
    )
    assert [problem.code for problem in problems] in ([], ["model_loading"])
    assert sum(change.begun for change in changes) == 1
