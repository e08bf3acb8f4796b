"""The progress, the ETA and the result of an operation."""

from __future__ import annotations

import pytest

from fleet.load_request import LoadOutcome, LoadRequest
from fleet.operation import Operation
from tests.fleet.races import run_concurrently
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import scaled

pytestmark = pytest.mark.rule("beyond/operations")


def operation(platform: SimulatedPlatform, outcome: LoadOutcome) -> Operation:
    assert outcome.operation
    found = platform.fleet.operation(outcome.operation.id)
    assert found
    return found


def load_takes(platform: SimulatedPlatform, seconds: float) -> LoadOutcome:
    outcome = platform.fleet.load("alpha")
    platform.advance_time(seconds)
    platform.finish_load(outcome)
    return outcome


def unload_takes(platform: SimulatedPlatform, seconds: float) -> LoadOutcome:
    outcome = platform.fleet.unload("alpha")
    platform.advance_time(seconds)
    platform.finish_unload(outcome)
    return outcome


def about(seconds: float) -> object:
    """These seconds, and the time that the calls of the test have taken."""
    return pytest.approx(seconds, abs=scaled(0.3))


# ---- ETA


def test_the_first_load_of_a_model_has_no_eta(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha")
    platform.advance_time(5)
    assert operation(platform, outcome).eta_s is None


def test_the_eta_is_the_duration_of_the_earlier_operation(platform: SimulatedPlatform) -> None:
    load_takes(platform, 30)
    unload_takes(platform, 4)
    load = platform.fleet.load("alpha")
    assert operation(platform, load).eta_s == about(30)
    platform.advance_time(10)
    assert operation(platform, load).eta_s == about(20)
    platform.finish_load(load)
    assert operation(platform, platform.fleet.unload("alpha")).eta_s == about(4)


def test_each_operation_contributes_a_third_to_the_expected_duration(platform: SimulatedPlatform) -> None:
    for seconds in (30, 60, 0):
        load_takes(platform, seconds)
        unload_takes(platform, 1)
    assert operation(platform, platform.fleet.load("alpha")).eta_s == about((30 * 2 / 3 + 60 / 3) * 2 / 3)


def test_the_eta_of_a_model_ignores_other_models(platform: SimulatedPlatform) -> None:
    load_takes(platform, 30)
    assert operation(platform, platform.fleet.load("beta")).eta_s is None


def test_the_eta_of_an_operation_that_takes_longer_is_zero(platform: SimulatedPlatform) -> None:
    load_takes(platform, 3)
    unload_takes(platform, 1)
    outcome = platform.fleet.load("alpha")
    platform.advance_time(100)
    assert operation(platform, outcome).eta_s == 0


def test_an_ended_operation_has_a_duration_and_no_eta(platform: SimulatedPlatform) -> None:
    load_takes(platform, 3)
    unload_takes(platform, 1)
    done = operation(platform, load_takes(platform, 7))
    assert (done.eta_s, done.duration_s) == (None, about(7))


def test_a_failed_load_does_not_count_for_the_expected_duration(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha")
    platform.advance_time(50)
    item = outcome.assignments[0]
    platform.crash(item.replica, item.worker, code="load_failed")
    failed = operation(platform, outcome)
    assert (failed.status, failed.eta_s, failed.duration_s) == ("failed", None, about(50))
    assert operation(platform, platform.fleet.load("alpha")).eta_s is None


def test_the_expected_duration_excludes_the_wait_for_an_eviction(platform: SimulatedPlatform) -> None:
    load_takes(platform, 30)
    unload_takes(platform, 1)
    platform.load("beta")
    outcome = platform.fleet.load("alpha", LoadRequest(evict="beta"))
    assert outcome.eviction
    platform.advance_time(200)
    assert operation(platform, outcome).eta_s == about(30)
    platform.finish_unload(outcome.eviction)
    (resumed,) = platform.recovery.resume_pending()
    platform.advance_time(10)
    assert operation(platform, outcome).eta_s == about(20)
    platform.advance_time(20)
    platform.finish_load(resumed)
    assert operation(platform, outcome).duration_s == about(230)
    unload_takes(platform, 1)
    assert operation(platform, platform.fleet.load("alpha")).eta_s == about(30), (
        "only the 30 s of its workers count"
    )


# ---- progress


def test_the_progress_of_an_unload_counts_ended_replicas_as_done(
    platform: SimulatedPlatform,
) -> None:
    platform.load(replicas=2)
    outcome = platform.fleet.unload("alpha")
    first, second = outcome.assignments
    begun = operation(platform, outcome)
    assert (begun.status, begun.stage, begun.progress, begun.replicas) == ("running", "draining", 0, 2)
    platform.fleet.replica_progress(first.replica, 0.5, "draining: 1 request is running")
    half = operation(platform, outcome)
    assert (half.stage, half.progress) == ("draining: 1 request is running", 0.25)
    platform.stopped(first.replica, first.worker)
    platform.fleet.replica_progress(second.replica, 0.5, "draining: 2 requests run")
    assert operation(platform, outcome).progress == 0.75
    platform.stopped(second.replica, second.worker)
    assert (operation(platform, outcome).status, operation(platform, outcome).progress) == ("completed", 1)


def test_the_progress_of_a_load_does_not_show_in_the_unload_that_follows(platform: SimulatedPlatform) -> None:
    platform.load(replicas=2)
    outcome = platform.fleet.unload("alpha")
    platform.fleet.replica_progress(outcome.assignments[0].replica, 0.0, "draining: 1 request is running")
    assert operation(platform, outcome).progress == 0


# ---- result


def test_a_load_has_its_measured_memory_and_an_unload_the_same(platform: SimulatedPlatform) -> None:
    load = platform.fleet.load("alpha", LoadRequest(2))
    assert operation(platform, load).memory_mib is None
    platform.finish_load(load, memory_mib=350)
    assert operation(platform, load).memory_mib == 700
    unload = platform.fleet.unload("alpha")
    assert operation(platform, unload).memory_mib == 700
    platform.finish_unload(unload)
    assert operation(platform, unload).memory_mib == 700


def test_an_unload_of_an_unmeasured_model_has_no_memory(platform: SimulatedPlatform) -> None:
    platform.finish_load(platform.fleet.load("alpha", LoadRequest(2)))
    unload = platform.fleet.unload("alpha")
    assert operation(platform, unload).memory_mib is None


def test_a_failure_has_a_code_and_a_sentence(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha")
    platform.register(outcome.assignments[0].worker)
    failed = operation(platform, outcome)
    assert (failed.status, failed.code) == ("failed", "load_interrupted")
    assert failed.error
    assert failed.error.endswith("was restarted")


def test_a_later_crash_does_not_change_the_ended_load(
    platform: SimulatedPlatform,
) -> None:
    outcome = platform.fleet.load("alpha")
    platform.finish_load(outcome)
    done = operation(platform, outcome)
    platform.advance_time(60)
    platform.crash(outcome.assignments[0].replica, outcome.assignments[0].worker)
    assert platform.model() == "failed"
    assert operation(platform, outcome) == done


# ---- concurrent calls


@pytest.mark.rule("state/loading")
def test_of_concurrent_loads_one_begins_and_all_have_the_same_operation(
    platform: SimulatedPlatform,
) -> None:
    outcomes, problems = run_concurrently(
        *[lambda: SimulatedPlatform(platform.client, platform.settings).fleet.load("alpha")] * 4
    )
    assert problems == []
    assert sorted(outcome.begun for outcome in outcomes) == [False, False, False, True]
    assert len({operation(platform, outcome).id for outcome in outcomes}) == 1
    assert len(platform.fleet.row("alpha").workers) == 1


def test_of_concurrent_unloads_one_begins_and_all_have_the_same_operation(
    platform: SimulatedPlatform,
) -> None:
    platform.load(replicas=2)
    outcomes, problems = run_concurrently(
        *[lambda: SimulatedPlatform(platform.client, platform.settings).fleet.unload("alpha")] * 4
    )
    assert problems == []
    assert sorted(len(outcome.assignments) for outcome in outcomes) == [0, 0, 0, 2]
    assert len({operation(platform, outcome).id for outcome in outcomes}) == 1


@pytest.mark.rule("load/validation-409")
def test_of_a_concurrent_load_and_unload_the_later_one_counts(platform: SimulatedPlatform) -> None:
    platform.load()
    platform.fleet.unload("alpha")
    for replica in platform.client.smembers(f"{platform.prefix}replicas:alpha"):
        platform.stopped(replica.decode())
    outcomes, problems = run_concurrently(
        lambda: SimulatedPlatform(platform.client, platform.settings).fleet.load("alpha"),
        lambda: SimulatedPlatform(platform.client, platform.settings).fleet.unload("alpha"),
    )
    assert problems == []
    load, unload = sorted(outcomes, key=lambda outcome: outcome.kind)
    assert load.begun
    if unload.begun:  # it came second, and cancelled the load: no worker had begun to start the engine
        assert (operation(platform, load).status, platform.model()) == ("cancelled", "unloaded")
    else:
        assert (operation(platform, load).status, platform.model()) == ("pending", "loading")


def test_the_eta_of_a_first_load_follows_from_its_progress(platform: SimulatedPlatform) -> None:
    load = platform.fleet.load("alpha")
    replica, worker = load.assignments[0].replica, load.assignments[0].worker
    platform.starting(replica, worker)
    assert operation(platform, load).eta_s is None, "nothing was read yet"
    platform.advance_time(10)
    platform.fleet.replica_progress(replica, 0.25, "loading the model")
    assert operation(platform, load).eta_s == about(30)
    platform.fleet.replica_progress(replica, 0.5, "loading the model")
    assert operation(platform, load).eta_s == about(10)
