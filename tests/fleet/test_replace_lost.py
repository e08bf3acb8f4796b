"""The replacement of replicas that a loaded model lost with their workers, while the others serve."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import RestartSettings, Settings
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.worker_reports import FIRST_RESTART_S
from governance.authorization import ADMIN_KEY, Authorization
from tests.fleet.races import run_concurrently
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("beyond/a-replica-lost")

LEASE = 5.0


def shuts_down(platform: SimulatedPlatform, worker: str) -> None:
    platform.fleet.registry.deregister(
        worker, platform.incarnations[worker], f"worker {worker} was shut down"
    )


def misses_heartbeats(platform: SimulatedPlatform, worker: str) -> None:
    platform.run_for(LEASE + 1, *({row.name for row in platform.fleet.workers()} - {worker}))


def is_restarted(platform: SimulatedPlatform, worker: str) -> None:
    platform.register(worker)


@pytest.fixture
def pair(platform: SimulatedPlatform) -> SimulatedPlatform:
    """Alpha is loaded on w1 and w2, one slot each."""
    platform.load(slots=1, replicas=2)
    return platform


def lost(platform: SimulatedPlatform) -> int:
    return platform.fleet.row("alpha").lost


@pytest.mark.parametrize(
    "fault", [shuts_down, misses_heartbeats, is_restarted], ids=lambda fault: fault.__name__
)
def test_a_replica_lost_with_its_worker_is_replaced(pair: SimulatedPlatform, fault: object) -> None:
    fault(pair, "w2")  # type: ignore[operator]
    row = pair.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.replicas, row.lost) == ("loaded", 1, 2, 1)
    (outcome,) = pair.recovery.replace_lost()
    assert (outcome.kind, outcome.operation, len(outcome.assignments)) == ("load", None, 1)
    assert (lost(pair), pair.recovery.replace_lost()) == (0, [])
    pair.finish_load(outcome, slots=1)
    row = pair.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.replicas) == ("loaded", 2, 2)


def test_the_remaining_replicas_serve_and_waiting_jobs_get_the_new_slots(pair: SimulatedPlatform) -> None:
    shuts_down(pair, "w2")
    ids = [pair.admit() for _ in range(3)]
    assert pair.slots_taken() == 1
    (outcome,) = pair.recovery.replace_lost()
    item = outcome.assignments[0]
    pair.starting(item.replica, item.worker)
    assert (pair.slots_taken(), pair.model()) == (1, "loaded")
    assert pair.fleet.replica_progress(item.replica, 0.5, "reading weights")
    pair.up(item.replica, item.worker, 1)
    assert (pair.slots_taken(), pair.waiting()) == (2, ids[2:])


def test_a_replacement_changes_no_operation(pair: SimulatedPlatform) -> None:
    row = pair.fleet.row("alpha")
    before = pair.fleet.operation(row.operation_id or "")
    shuts_down(pair, "w2")
    (outcome,) = pair.recovery.replace_lost()
    item = outcome.assignments[0]
    pair.starting(item.replica, item.worker)
    pair.fleet.replica_progress(item.replica, 0.5, "reading weights")
    pair.up(item.replica, item.worker)
    assert pair.fleet.operation(row.operation_id or "") == before
    assert pair.fleet.row("alpha").loaded_at == row.loaded_at


def test_a_replacement_has_the_override_of_the_load(platform: SimulatedPlatform) -> None:
    platform.finish_load(platform.fleet.loads.begin("alpha", LoadRequest(2, {"gguf_n_ctx": 2048})))
    shuts_down(platform, "w2")
    item = platform.recovery.replace_lost()[0].assignments[0]
    start = platform.fleet.replica_starting(item.replica, item.worker, platform.incarnations[item.worker])
    assert start
    assert (start.model, start.override) == ("alpha", {"gguf_n_ctx": 2048})


def test_a_crashed_engine_is_not_replaced_before_its_restart_is_due(pair: SimulatedPlatform) -> None:
    pair.crash(next(iter(pair.ledger.heartbeat("w1", pair.incarnations["w1"]).replicas)))
    assert (pair.model(), lost(pair), pair.recovery.replace_lost()) == ("loaded", 0, [])


def test_a_replacement_that_does_not_start_is_repeated_as_after_a_crash(pair: SimulatedPlatform) -> None:
    shuts_down(pair, "w2")
    item = pair.recovery.replace_lost()[0].assignments[0]
    pair.starting(item.replica, item.worker)
    pair.crash(item.replica, item.worker, code="load_failed")
    row = pair.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.lost, row.crashed) == ("loaded", 1, 0, 1)
    assert pair.recovery.replace_lost() == []
    pair.advance_time(FIRST_RESTART_S)
    assert len(pair.recovery.replace_lost()) == 1


def test_an_error_is_over_when_all_replicas_are_up_although_a_worker_drains(pair: SimulatedPlatform) -> None:
    shuts_down(pair, "w2")
    item = pair.recovery.replace_lost()[0].assignments[0]
    pair.starting(item.replica, item.worker)
    pair.crash(item.replica, item.worker, code="load_failed")
    assert pair.fleet.row("alpha").last_error
    pair.fleet.drains.begin("w1", Authorization("acme", ADMIN_KEY))
    pair.register("w3")
    pair.advance_time(FIRST_RESTART_S)
    (outcome,) = pair.recovery.replace_lost()
    pair.finish_load(outcome, slots=1)
    row = pair.fleet.row("alpha")
    assert (row.loaded_replicas, row.last_error, row.code) == (1, None, None), "a drained one is up, too"


def test_a_replacement_that_is_lost_with_its_worker_is_replaced(pair: SimulatedPlatform) -> None:
    shuts_down(pair, "w2")
    pair.register("w3")
    item = pair.recovery.replace_lost()[0].assignments[0]
    assert item.worker == "w3"
    pair.register("w3")
    assert lost(pair) == 1
    assert len(pair.recovery.replace_lost()) == 1


def test_a_model_that_loses_its_last_replica_during_a_replacement_stays_loaded(
    pair: SimulatedPlatform,
) -> None:
    shuts_down(pair, "w2")
    pair.register("w3")
    (outcome,) = pair.recovery.replace_lost()
    waiting = pair.admit(), pair.admit()
    shuts_down(pair, "w1")
    row = pair.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.lost) == ("loaded", 0, 1)
    pair.finish_load(outcome, slots=2)
    assert [pair.status(id) for id in waiting] == ["running", "running"]


def test_waiting_jobs_fail_when_the_only_remaining_replacement_fails_too_often(
    client: redis.Redis, settings: Settings
) -> None:
    pair = SimulatedPlatform(client, replace(settings, restart=RestartSettings(max_restarts=0)))
    pair.register("w1")
    pair.register("w2")
    pair.load(slots=1, replicas=2)
    shuts_down(pair, "w2")
    pair.register("w3")
    item = pair.recovery.replace_lost()[0].assignments[0]
    pair.starting(item.replica, item.worker)
    shuts_down(pair, "w1")
    waiting = pair.admit()
    pair.crash(item.replica, item.worker, code="load_failed")
    assert pair.model() == "failed"
    assert pair.end(waiting).code == "model_failed"


def test_as_many_replicas_are_replaced_as_fit(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, settings)
    for worker in ("w1", "w2", "w3"):
        platform.register(worker)
    platform.load(replicas=3)
    platform.fleet.report_artifacts({"alpha": 60})
    platform.report_memory("w1", 70)
    shuts_down(platform, "w2")
    shuts_down(platform, "w3")
    assert lost(platform) == 2
    (outcome,) = platform.recovery.replace_lost()
    assert ([item.worker for item in outcome.assignments], lost(platform)) == (["w1"], 1)
    assert platform.recovery.replace_lost() == [], "promised memory is not free"
    platform.finish_load(outcome)
    platform.report_memory("w1", 10)
    assert platform.recovery.replace_lost() == []
    platform.register("w2")
    platform.report_memory("w2", 100)
    assert [item.worker for item in platform.recovery.replace_lost()[0].assignments] == ["w2"]
    assert lost(platform) == 0


def test_each_replacement_serves_as_soon_as_it_is_up(platform: SimulatedPlatform) -> None:
    platform.register("w3")
    platform.load(slots=1, replicas=3)
    for worker in ("w2", "w3"):
        platform.register(worker)
    (outcome,) = platform.recovery.replace_lost()
    first, second = outcome.assignments
    for _ in range(3):
        platform.admit()
    for item in (first, second):
        platform.starting(item.replica, item.worker)
    platform.up(second.replica, second.worker, 1)
    assert (platform.slots_taken(), platform.fleet.row("alpha").loaded_replicas) == (2, 2)
    platform.up(first.replica, first.worker, 1)
    assert platform.slots_taken() == 3


def test_a_model_without_memory_does_not_delay_the_replacement_of_another(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, settings)
    for worker in ("w1", "w2"):
        platform.register(worker)
    platform.load("alpha", replicas=2)
    platform.load("beta", replicas=2)
    shuts_down(platform, "w2")
    platform.fleet.report_artifacts({"alpha": 60, "beta": 10})
    platform.report_memory("w1", 30)
    (outcome,) = platform.recovery.replace_lost()
    assert outcome.assignments[0].replica.startswith("beta#")


def test_a_replica_lost_before_an_unload_is_not_replaced_after_it(pair: SimulatedPlatform) -> None:
    shuts_down(pair, "w2")
    outcome = pair.fleet.unload("alpha")
    assert pair.recovery.replace_lost() == []
    late = pair.fleet.scripts.run(
        "replace_lost", model="alpha", lease_us=5_000_000, need_mib="", places=["alpha#late.0", "w1"]
    )
    assert late == [b"over"], "a call that read the rows before the unload has no effect"
    pair.finish_unload(outcome)
    pair.load()
    assert (lost(pair), pair.recovery.replace_lost()) == (0, [])


def test_a_replacement_stops_when_the_model_is_unloaded(pair: SimulatedPlatform) -> None:
    shuts_down(pair, "w2")
    item = pair.recovery.replace_lost()[0].assignments[0]
    pair.starting(item.replica, item.worker)
    outcome = pair.fleet.unload("alpha")
    assert item in outcome.assignments
    assert not pair.up(item.replica, item.worker)
    pair.finish_unload(outcome)
    assert pair.model() == "unloaded"


def test_concurrent_calls_of_replace_lost_replace_a_replica_once(pair: SimulatedPlatform) -> None:
    shuts_down(pair, "w2")

    def replace_lost() -> LoadOutcome:
        outcomes = SimulatedPlatform(pair.client, pair.settings).recovery.replace_lost()
        return outcomes[0] if outcomes else LoadOutcome("load", None)

    outcomes, problems = run_concurrently(replace_lost, replace_lost, replace_lost)
    assert problems == []
    assert sorted(len(outcome.assignments) for outcome in outcomes) == [0, 0, 1]
    assert len(pair.fleet.row("alpha").workers) == 2


def test_a_repeated_call_of_replace_lost_assigns_once(platform: SimulatedPlatform) -> None:
    platform.register("w3")
    platform.load(replicas=3)
    for worker in ("w2", "w3"):
        platform.register(worker)
    for _ in range(2):
        answer = platform.fleet.scripts.run(
            "replace_lost", model="alpha", lease_us=5_000_000, need_mib="", places=["alpha#again.0", "w2"]
        )
        assert answer == [b"ok"]
    assert (lost(platform), len(platform.fleet.row("alpha").workers)) == (1, 2)


def test_a_replica_is_not_replaced_when_the_chosen_worker_has_left(
    pair: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.register("w3")
    shuts_down(pair, "w2")
    seen = pair.fleet.workers()
    shuts_down(pair, "w3")
    monkeypatch.setattr(pair.fleet, "workers", lambda _for_model: seen)
    assert (pair.recovery.replace_lost(), lost(pair)) == ([], 1)
