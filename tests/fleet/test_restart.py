"""Crashed engines are started again: back-off, the number of crashes in a window, and what resets it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import redis

from config.settings import RestartSettings, Settings
from fleet.load_request import LoadRequest
from fleet.model_row import ModelRow
from store.errors import ModelFailed
from tests.support.faults import replicas_of
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("beyond/a-crashed-engine")

LIMITS = RestartSettings(max_restarts=3)
WINDOW_S = 100.0


@pytest.fixture(autouse=True)
def _short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet.worker_reports.RESTART_WINDOW_S", WINDOW_S)
    monkeypatch.setattr("fleet.worker_reports.FIRST_RESTART_S", 2.0)
    monkeypatch.setattr("fleet.worker_reports.LONGEST_RESTART_S", 6.0)


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Two workers, and alpha loaded once, with one slot."""
    platform = SimulatedPlatform(client, replace(settings, restart=LIMITS))
    platform.register("w1")
    platform.load(slots=1)
    platform.register("w2")
    return platform


@pytest.fixture
def pair(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Alpha loaded on w1 and w2, one slot each."""
    platform = SimulatedPlatform(client, replace(settings, restart=LIMITS))
    platform.register("w1")
    platform.register("w2")
    platform.load(slots=1, replicas=2)
    return platform


def row(platform: SimulatedPlatform) -> ModelRow:
    return platform.fleet.row("alpha")


def crash_one(platform: SimulatedPlatform, code: str = "engine_crashed") -> None:
    replica = replicas_of(platform)[0]
    worker = platform.client.hget(f"{platform.prefix}replica:{replica}", "worker")
    assert worker
    platform.crash(replica, worker.decode(), code)


def delay(platform: SimulatedPlatform) -> int | None:
    """Seconds until the restart, rounded up over what the test itself took; None when none is due."""
    at = row(platform).restart_at
    return None if at is None else math.ceil(at - platform.fleet.scripts.now())


def look(platform: SimulatedPlatform) -> int:
    """What the recovery loop of a worker does; returns the number of replicas that it started."""
    started = 0
    for outcome in platform.recovery.replace_lost():
        platform.finish_load(outcome, slots=1)
        started += len(outcome.assignments)
    for name in platform.recovery.missing():
        outcome = platform.recovery.reload(name)
        platform.finish_load(outcome, slots=1)
        started += len(outcome.assignments)
    return started


def restart(platform: SimulatedPlatform) -> None:
    wait = delay(platform)
    assert wait is not None
    platform.advance_time(wait)
    assert look(platform) == 1


# ---- the last engine of a model


def test_a_crashed_model_is_loaded_again_after_the_delay(platform: SimulatedPlatform) -> None:
    crash_one(platform)
    found = row(platform)
    assert (found.state, found.code, found.last_error) == ("failed", "engine_crashed", "killed by SIGSEGV")
    assert (found.crashes, delay(platform)) == (1, 2.0)
    platform.advance_time(1.0)  # the clock goes on by itself, too
    assert look(platform) == 0
    platform.advance_time(1.0)
    assert look(platform) == 1
    found = row(platform)
    assert (found.state, found.loaded_replicas, found.crashes, found.restart_at) == ("loaded", 1, 1, None)


def test_jobs_without_output_wait_for_the_restart_and_are_served_after_it(
    platform: SimulatedPlatform,
) -> None:
    silent, waiting = platform.admit(), platform.admit()
    platform.run(silent)
    crash_one(platform)
    assert platform.waiting() == [silent, waiting]
    restart(platform)
    worker = row(platform).workers[0]
    assert [platform.serve_next(worker) for _ in range(2)] == [silent, waiting]


def test_jobs_wait_for_a_restart_no_longer_than_the_queue_allows(platform: SimulatedPlatform) -> None:
    platform.run(platform.admit())
    waiting = platform.admit()
    crash_one(platform)
    platform.run_for(platform.settings.queue.timeout_ms / 1000 + 1, "w1", "w2")
    assert platform.end(waiting).code == "queue_timeout"


def test_a_request_is_refused_with_the_time_of_the_restart(platform: SimulatedPlatform) -> None:
    crash_one(platform)
    with pytest.raises(ModelFailed, match="restarts in 2 s") as caught:
        platform.admit()
    assert caught.value.retry_after_s == 7, "the delay, and a while for the load"


def test_each_crash_in_the_window_doubles_the_delay_up_to_the_longest(platform: SimulatedPlatform) -> None:
    delays = []
    for _ in range(LIMITS.max_restarts):
        crash_one(platform)
        delays.append(delay(platform))
        restart(platform)
    assert delays == [2.0, 4.0, 6.0]


def test_a_model_that_crashes_too_often_waits_for_an_operator(platform: SimulatedPlatform) -> None:
    for _ in range(LIMITS.max_restarts):
        crash_one(platform)
        restart(platform)
    worker = row(platform).workers[0]
    running, waiting = platform.admit(), platform.admit()
    platform.run(running, worker)
    crash_one(platform)
    found = row(platform)
    assert (found.state, found.code, found.crashes, found.restart_at) == ("failed", "engine_crashed", 4, None)
    assert found.last_error == (
        "killed by SIGSEGV; its engines ended 4 times within 100 s, so it is not started again by itself"
    )
    assert (platform.end(running).code, platform.end(waiting).code) == ("engine_crashed", "model_failed")
    platform.advance_time(1000)
    assert (look(platform), platform.model()) == (0, "failed")
    with pytest.raises(ModelFailed, match="an operator must load it again"):
        platform.admit()


def test_crashes_before_the_window_do_not_count(platform: SimulatedPlatform) -> None:
    for _ in range(LIMITS.max_restarts):
        crash_one(platform)
        restart(platform)
    assert row(platform).crashes == 3
    platform.advance_time(WINDOW_S)
    platform.register("w1")  # the worker's lease has ended meanwhile
    platform.register("w2")
    look(platform)
    assert row(platform).crashes == 0
    crash_one(platform)
    assert (row(platform).crashes, delay(platform)) == (1, 2.0)


@pytest.mark.parametrize("crashes", [1, 4])
def test_a_load_by_an_operator_resets_the_count(platform: SimulatedPlatform, crashes: int) -> None:
    for _ in range(crashes - 1):
        crash_one(platform)
        restart(platform)
    crash_one(platform)
    platform.load(slots=1)
    found = row(platform)
    assert (found.state, found.crashes, found.restart_at, found.last_error) == ("loaded", 0, None, None)
    crash_one(platform)
    assert delay(platform) == 2.0


def test_an_unload_by_an_operator_ends_a_restart_that_is_due(platform: SimulatedPlatform) -> None:
    platform.run(platform.admit())
    waiting = platform.admit()
    crash_one(platform)
    platform.fleet.unload("alpha")
    assert platform.end(waiting).code == "model_unloading"
    found = row(platform)
    assert (found.state, found.crashes, found.restart_at) == ("unloaded", 0, None)
    platform.advance_time(10)
    assert look(platform) == 0


def test_a_restart_that_does_not_start_counts_as_a_crash_and_is_tried_again(
    platform: SimulatedPlatform,
) -> None:
    crash_one(platform)
    platform.advance_time(2)
    (item,) = platform.recovery.reload("alpha").assignments
    platform.starting(item.replica, item.worker)
    platform.crash(item.replica, item.worker, code="load_failed")
    found = row(platform)
    assert (found.state, found.code, found.crashes, delay(platform)) == ("failed", "load_failed", 2, 4.0)
    restart(platform)
    assert platform.model() == "loaded"


def test_a_restart_whose_worker_is_lost_is_repeated_at_once(platform: SimulatedPlatform) -> None:
    crash_one(platform)
    platform.advance_time(2)
    (item,) = platform.recovery.reload("alpha").assignments
    platform.register(item.worker)
    found = row(platform)
    assert (found.code, found.crashes, found.restart_at) == ("load_interrupted", 1, None)
    assert look(platform) == 1


def test_a_restart_has_the_replicas_and_the_override_of_the_load(platform: SimulatedPlatform) -> None:
    platform.finish_unload(platform.fleet.unload("alpha"))
    platform.finish_load(platform.fleet.loads.begin("alpha", LoadRequest(2, {"gguf_n_ctx": 2048})))
    crash_one(platform)
    crash_one(platform)
    platform.advance_time(4)
    assert look(platform) == 2
    assert row(platform).override == {"gguf_n_ctx": 2048}


def test_a_reload_before_the_restart_is_due_has_no_effect(platform: SimulatedPlatform) -> None:
    crash_one(platform)
    assert platform.recovery.reload("alpha").operation is None
    outcome = platform.fleet.loads.begin("alpha", LoadRequest(1), takeover=True)
    assert (outcome.operation, platform.model()) == (None, "failed"), "a process that read the row before"


def test_the_count_and_the_next_restart_survive_all_processes(platform: SimulatedPlatform) -> None:
    crash_one(platform)
    later = SimulatedPlatform(platform.client, platform.settings)
    later.advance_time(2.1)
    later.register("w1")
    assert row(later).crashes == 1
    assert look(later) == 1


def test_a_restart_of_the_platform_forgets_the_crashes(platform: SimulatedPlatform) -> None:
    crash_one(platform)
    platform.fleet.reset_to_configuration()
    found = row(platform)
    assert (found.state, found.crashes, found.restart_at) == ("unloaded", 0, None)


def test_a_stalled_engine_is_started_again_too(platform: SimulatedPlatform) -> None:
    crash_one(platform, "engine_stalled")
    assert row(platform).code == "engine_stalled"
    restart(platform)


@pytest.mark.rule("docs/out-of-scope")
def test_a_failed_load_by_an_operator_is_not_repeated(platform: SimulatedPlatform) -> None:
    crash_one(platform)
    (item,) = platform.fleet.load("alpha").assignments
    platform.starting(item.replica, item.worker)
    platform.crash(item.replica, item.worker, code="load_failed")
    found = row(platform)
    assert (found.state, found.code, found.crashes, found.restart_at) == ("failed", "load_failed", 0, None)


def test_a_crash_waits_for_an_operator_when_restarts_are_disabled(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, replace(settings, restart=RestartSettings(max_restarts=0)))
    platform.register()
    platform.load(slots=1)
    platform.run(platform.admit())
    waiting = platform.admit()
    crash_one(platform)
    assert platform.end(waiting).code == "model_failed"
    found = row(platform)
    assert (found.last_error, found.restart_at) == ("killed by SIGSEGV", None)
    platform.advance_time(1000)
    assert look(platform) == 0


# ---- one engine of several


def test_a_crashed_replica_is_started_again_and_the_other_serves_meanwhile(pair: SimulatedPlatform) -> None:
    crash_one(pair)
    found = row(pair)
    assert (found.state, found.loaded_replicas, found.code) == ("loaded", 1, "engine_crashed")
    assert (found.crashes, delay(pair)) == (1, 2.0)
    served = pair.admit()
    assert pair.status(served) == "running"
    assert look(pair) == 0, "not before the delay"
    late = pair.fleet.scripts.run(
        "replace_lost", model="alpha", lease_us=5_000_000, need_mib="", places=["alpha#late.0", "w1"]
    )
    assert late == [b"over"]
    restart(pair)
    found = row(pair)
    assert (found.state, found.loaded_replicas, found.restart_at, found.code) == ("loaded", 2, None, None)
    assert look(pair) == 0


def test_as_many_crashed_replicas_are_started_again_as_fit(pair: SimulatedPlatform) -> None:
    pair.register("w3")
    pair.finish_unload(pair.fleet.unload("alpha"))
    pair.load(slots=1, replicas=3)
    crash_one(pair)
    crash_one(pair)
    pair.fleet.report_artifacts({"alpha": 60})
    for worker, free_mib in (("w1", 70), ("w2", 10), ("w3", 10)):
        pair.report_memory(worker, free_mib)
    pair.advance_time(4)
    assert (look(pair), row(pair).crashed) == (1, 1)
    pair.report_memory("w2", 70)
    pair.report_memory("w1", 10)
    assert (look(pair), row(pair).loaded_replicas, row(pair).restart_at) == (1, 3, None)


def test_a_replica_lost_with_its_worker_does_not_wait_for_the_restart(pair: SimulatedPlatform) -> None:
    pair.register("w3")
    pair.finish_unload(pair.fleet.unload("alpha"))
    names = pair.load(slots=1, replicas=3)
    pair.crash(names[0], "w1")
    pair.register("w2")
    assert (row(pair).lost, delay(pair)) == (1, 2.0)
    assert (look(pair), delay(pair)) == (1, 2.0)
    restart(pair)
    assert row(pair).loaded_replicas == 3


def test_a_replacement_that_does_not_start_is_tried_again(pair: SimulatedPlatform) -> None:
    crash_one(pair)
    pair.advance_time(2)
    (item,) = pair.recovery.replace_lost()[0].assignments
    pair.starting(item.replica, item.worker)
    pair.crash(item.replica, item.worker, code="load_failed")
    found = row(pair)
    assert (found.state, found.code, found.crashes, delay(pair)) == ("loaded", "load_failed", 2, 4.0)
    restart(pair)


def test_replicas_that_crash_too_often_are_left_to_an_operator_and_the_other_serves(
    pair: SimulatedPlatform,
) -> None:
    for _ in range(LIMITS.max_restarts):
        crash_one(pair)
        restart(pair)
    crash_one(pair)
    found = row(pair)
    assert (found.state, found.loaded_replicas, found.code) == ("loaded", 1, "engine_crashed")
    assert (found.crashes, found.restart_at) == (4, None)
    pair.advance_time(1000)
    pair.register("w1")
    outcome = pair.fleet.load("alpha")
    assert outcome.begun
    pair.finish_load(outcome, slots=1)
    assert row(pair).crashes == 0


def test_a_crash_too_many_ends_the_restart_of_another_replica(pair: SimulatedPlatform) -> None:
    pair.register("w3")
    pair.finish_unload(pair.fleet.unload("alpha"))
    pair.load(slots=1, replicas=3)
    for _ in range(LIMITS.max_restarts - 1):
        crash_one(pair)
        restart(pair)
    crash_one(pair)
    assert row(pair).crashed == 1
    crash_one(pair)
    found = row(pair)
    assert (found.state, found.loaded_replicas, found.crashed, found.restart_at) == ("loaded", 1, 0, None)


def test_a_load_that_restores_replaces_a_restart_that_is_due(pair: SimulatedPlatform) -> None:
    crash_one(pair)
    outcome = pair.fleet.load("alpha")
    assert (len(outcome.assignments), row(pair).crashes, row(pair).restart_at) == (1, 0, None)
    pair.advance_time(10)
    assert look(pair) == 0


def test_a_reload_does_not_restore_a_model_that_is_loaded_by_now(pair: SimulatedPlatform) -> None:
    crash_one(pair)
    outcome = pair.fleet.loads.begin("alpha", LoadRequest(2), takeover=True)
    assert (outcome.operation, row(pair).crashes, len(row(pair).workers)) == (None, 1, 1)


def test_a_failed_restore_leaves_the_restart_of_another_replica_due(pair: SimulatedPlatform) -> None:
    crash_one(pair)
    (item,) = pair.fleet.load("alpha").assignments
    pair.starting(item.replica, item.worker)
    up = next(name for name in replicas_of(pair) if name != item.replica)
    pair.crash(up, "w1" if item.worker == "w2" else "w2")
    assert delay(pair) == 2.0
    pair.crash(item.replica, item.worker, code="load_failed")
    assert (pair.model(), delay(pair)) == ("failed", 2.0)


# ---- an unload of a model without replicas


def test_an_unload_of_a_crashed_model_is_an_operation_that_ends_at_once(platform: SimulatedPlatform) -> None:
    crash_one(platform)
    outcome = platform.fleet.unload("alpha")
    assert outcome.begun
    assert outcome.operation is not None
    assert (outcome.operation.status, outcome.operation.memory_mib) == ("completed", None)
    assert outcome.assignments == ()
    assert platform.client.hget(f"{platform.prefix}model:alpha", "unload_ms") is None, "it took no time"
    again = platform.fleet.unload("alpha")
    assert not again.begun
    assert again.operation == outcome.operation


def test_an_unload_of_a_model_that_waits_for_a_worker_is_an_operation(platform: SimulatedPlatform) -> None:
    for name in ("w1", "w2"):
        platform.fleet.registry.deregister(name, platform.incarnations[name], "shut down")
    assert (row(platform).state, row(platform).wanted) == ("unloaded", True)
    assert [platform.fleet.unload("alpha").begun for _ in range(2)] == [True, False]
    assert row(platform).wanted is False


def test_the_unload_of_a_crashed_model_for_another_one_is_in_the_outcome(platform: SimulatedPlatform) -> None:
    crash_one(platform)
    outcome = platform.fleet.load("beta", LoadRequest(evict="alpha"))
    assert outcome.begun
    assert outcome.eviction is not None
    assert (outcome.eviction.begun, outcome.eviction.assignments) == (True, ())
    platform.finish_load(outcome)
    assert platform.model("beta") == "loaded"
