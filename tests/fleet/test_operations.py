"""What an operation shows: how far it is, how long it will take, and what it came to."""

from __future__ import annotations

import pytest

from fleet.load_request import LoadOutcome, LoadRequest
from fleet.operation import Operation
from tests.fleet.races import at_once
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("beyond/operations")


def operation(platform: SimulatedPlatform, change: LoadOutcome) -> Operation:
    assert change.operation
    found = platform.fleet.operation(change.operation.id)
    assert found
    return found


def load_takes(platform: SimulatedPlatform, seconds: float) -> LoadOutcome:
    change = platform.fleet.load("alpha")
    platform.advance_time(seconds)
    platform.finish_load(change)
    return change


def unload_takes(platform: SimulatedPlatform, seconds: float) -> LoadOutcome:
    change = platform.fleet.unload("alpha")
    platform.advance_time(seconds)
    platform.finish_unload(change)
    return change


def about(seconds: float) -> object:
    return pytest.approx(seconds, abs=0.3)


# ---- how long it will take


def test_before_there_was_one_nobody_knows_how_long_it_takes(platform: SimulatedPlatform) -> None:
    change = platform.fleet.load("alpha")
    platform.advance_time(5)
    assert operation(platform, change).eta_s is None


def test_the_next_one_takes_about_as_long(platform: SimulatedPlatform) -> None:
    load_takes(platform, 30)
    unload_takes(platform, 4)
    load = platform.fleet.load("alpha")
    assert operation(platform, load).eta_s == about(30)
    platform.advance_time(10)
    assert operation(platform, load).eta_s == about(20)
    platform.finish_load(load)
    assert operation(platform, platform.fleet.unload("alpha")).eta_s == about(4)


def test_a_third_of_what_is_expected_comes_from_each_new_one(platform: SimulatedPlatform) -> None:
    for seconds in (30, 60, 0):
        load_takes(platform, seconds)
        unload_takes(platform, 1)
    assert operation(platform, platform.fleet.load("alpha")).eta_s == about((30 * 2 / 3 + 60 / 3) * 2 / 3)


def test_each_model_is_known_by_its_own(platform: SimulatedPlatform) -> None:
    load_takes(platform, 30)
    assert operation(platform, platform.fleet.load("beta")).eta_s is None


def test_what_takes_longer_than_ever_ends_at_any_moment(platform: SimulatedPlatform) -> None:
    load_takes(platform, 3)
    unload_takes(platform, 1)
    change = platform.fleet.load("alpha")
    platform.advance_time(100)
    assert operation(platform, change).eta_s == 0


def test_at_the_end_nothing_is_left_to_wait_for(platform: SimulatedPlatform) -> None:
    load_takes(platform, 3)
    unload_takes(platform, 1)
    done = operation(platform, load_takes(platform, 7))
    assert (done.eta_s, done.duration_s) == (None, about(7))


def test_nothing_is_learned_from_a_failure(platform: SimulatedPlatform) -> None:
    change = platform.fleet.load("alpha")
    platform.advance_time(50)
    item = change.assignments[0]
    platform.crash(item.replica, item.worker, code="load_failed")
    failed = operation(platform, change)
    assert (failed.status, failed.eta_s, failed.duration_s) == ("failed", None, about(50))
    assert operation(platform, platform.fleet.load("alpha")).eta_s is None


def test_the_wait_for_another_model_is_no_part_of_a_load(platform: SimulatedPlatform) -> None:
    load_takes(platform, 30)
    unload_takes(platform, 1)
    platform.load("beta")
    change = platform.fleet.load("alpha", LoadRequest(evict="beta"))
    assert change.eviction
    platform.advance_time(200)
    assert operation(platform, change).eta_s == about(30)
    platform.finish_unload(change.eviction)
    (going,) = platform.recovery.resume_pending()
    platform.advance_time(10)
    assert operation(platform, change).eta_s == about(20)
    platform.advance_time(20)
    platform.finish_load(going)
    assert operation(platform, change).duration_s == about(230)
    unload_takes(platform, 1)
    assert operation(platform, platform.fleet.load("alpha")).eta_s == about(30), (
        "it took 30 s of workers' time"
    )


# ---- how far it is


def test_an_unload_shows_the_mean_of_its_replicas_and_those_that_are_gone(
    platform: SimulatedPlatform,
) -> None:
    platform.load(replicas=2)
    change = platform.fleet.unload("alpha")
    first, second = change.assignments
    begun = operation(platform, change)
    assert (begun.status, begun.stage, begun.progress, begun.replicas) == ("running", "draining", 0, 2)
    platform.fleet.replica_progress(first.replica, 0.5, "draining: 1 request runs")
    half = operation(platform, change)
    assert (half.stage, half.progress) == ("draining: 1 request runs", 0.25)
    platform.stopped(first.replica, first.worker)
    platform.fleet.replica_progress(second.replica, 0.5, "draining: 2 requests run")
    assert operation(platform, change).progress == 0.75
    platform.stopped(second.replica, second.worker)
    assert (operation(platform, change).status, operation(platform, change).progress) == ("completed", 1)


def test_the_progress_of_a_load_does_not_show_in_the_unload_that_follows(platform: SimulatedPlatform) -> None:
    platform.load(replicas=2)
    change = platform.fleet.unload("alpha")
    platform.fleet.replica_progress(change.assignments[0].replica, 0.0, "draining: 1 request runs")
    assert operation(platform, change).progress == 0


# ---- what it came to


def test_a_load_says_what_it_took_and_an_unload_what_it_gives_back(platform: SimulatedPlatform) -> None:
    load = platform.fleet.load("alpha", LoadRequest(2))
    assert operation(platform, load).memory_mib is None
    platform.finish_load(load, memory_mib=350)
    assert operation(platform, load).memory_mib == 700
    unload = platform.fleet.unload("alpha")
    assert operation(platform, unload).memory_mib == 700
    platform.finish_unload(unload)
    assert operation(platform, unload).memory_mib == 700


def test_what_could_not_be_measured_is_not_made_up(platform: SimulatedPlatform) -> None:
    platform.finish_load(platform.fleet.load("alpha", LoadRequest(2)))
    unload = platform.fleet.unload("alpha")
    assert operation(platform, unload).memory_mib is None


def test_a_failure_has_a_code_and_a_sentence(platform: SimulatedPlatform) -> None:
    change = platform.fleet.load("alpha")
    platform.register(change.assignments[0].worker)
    failed = operation(platform, change)
    assert (failed.status, failed.code) == ("failed", "load_interrupted")
    assert failed.error
    assert failed.error.endswith("was restarted")


def test_what_becomes_of_a_model_later_does_not_change_how_its_load_ended(
    platform: SimulatedPlatform,
) -> None:
    change = platform.fleet.load("alpha")
    platform.finish_load(change)
    done = operation(platform, change)
    platform.advance_time(60)
    platform.crash(change.assignments[0].replica, change.assignments[0].worker)
    assert platform.model() == "failed"
    assert operation(platform, change) == done


# ---- at the same time


@pytest.mark.rule("state/loading")
def test_of_two_loads_at_once_one_begins_and_both_have_the_same_operation(
    platform: SimulatedPlatform,
) -> None:
    changes, problems = at_once(
        *[lambda: SimulatedPlatform(platform.client, platform.settings).fleet.load("alpha")] * 4
    )
    assert problems == []
    assert sorted(change.begun for change in changes) == [False, False, False, True]
    assert len({operation(platform, change).id for change in changes}) == 1
    assert len(platform.fleet.row("alpha").workers) == 1


def test_of_two_unloads_at_once_one_begins_and_both_have_the_same_operation(
    platform: SimulatedPlatform,
) -> None:
    platform.load(replicas=2)
    changes, problems = at_once(
        *[lambda: SimulatedPlatform(platform.client, platform.settings).fleet.unload("alpha")] * 4
    )
    assert problems == []
    assert sorted(len(change.assignments) for change in changes) == [0, 0, 0, 2]
    assert len({operation(platform, change).id for change in changes}) == 1


@pytest.mark.rule("load/validation-409")
def test_a_load_and_an_unload_at_once_leave_one_of_them_under_way(platform: SimulatedPlatform) -> None:
    platform.load()
    platform.fleet.unload("alpha")
    for replica in platform.client.smembers(f"{platform.prefix}replicas:alpha"):
        platform.stopped(replica.decode())
    changes, problems = at_once(
        lambda: SimulatedPlatform(platform.client, platform.settings).fleet.load("alpha"),
        lambda: SimulatedPlatform(platform.client, platform.settings).fleet.unload("alpha"),
    )
    assert platform.model() == "loading", (
        "an unload of what is unloaded does nothing, one of what loads is refused"
    )
    assert [problem.code for problem in problems] in ([], ["model_loading"])
    assert sum(change.begun for change in changes) == 1
