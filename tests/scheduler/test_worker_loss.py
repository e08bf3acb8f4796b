"""Workers that fall silent, restart, drain or leave: their jobs are requeued or fail."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from fleet.load_request import LoadRequest
from store.errors import Fenced, ModelFailed
from tests.support.faults import recoverable, two_workers
from tests.support.simulated_platform import SimulatedPlatform

LEASE = 5.0
QUEUE_TIMEOUT = 120.0


# ---- workers


def test_a_silent_worker_is_removed_and_its_model_fails(platform: SimulatedPlatform) -> None:
    streaming, silent, waiting = platform.admit(), platform.admit(), platform.admit()
    platform.append_text(platform.run(streaming), 1, "Once")
    platform.run(silent)
    platform.run_for(LEASE - 1)
    assert platform.model() == "loaded"
    platform.run_for(1.5)
    row = platform.fleet.row("alpha")
    assert (row.state, row.code) == ("failed", "worker_lost")
    assert "w1" in (row.last_error or "")
    assert platform.end(streaming).code == "worker_lost"
    assert platform.status(silent) == platform.status(waiting) == "queued"
    assert platform.slots_taken() == 0
    assert platform.fleet.workers() == []
    with pytest.raises(Fenced):
        platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    with pytest.raises(ModelFailed):
        platform.admit()


def test_waiting_jobs_stay_queued_until_another_worker_loads_the_model(
    platform: SimulatedPlatform,
) -> None:
    running, *waiting = [platform.admit() for _ in range(4)]
    platform.run(running)
    platform.run_for(LEASE + 1)
    assert platform.waiting() == [running, *waiting]
    assert recoverable(platform) == ["alpha"]
    platform.register("w2")
    platform.load(slots=1)
    assert [platform.serve_next("w2") for _ in range(4)] == [running, *waiting]
    assert all(platform.end(id).status == "completed" for id in waiting)


def test_a_requeued_job_waits_no_longer_than_a_new_one(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run(id)  # its run could have taken ten minutes
    platform.run_for(LEASE + 1)
    assert platform.status(id) == "queued"
    platform.run_for(QUEUE_TIMEOUT - 2)
    assert platform.status(id) == "queued"
    platform.run_for(3)
    assert platform.end(id).code == "queue_timeout"


def test_the_wait_for_another_worker_is_limited(platform: SimulatedPlatform) -> None:
    waiting = [platform.admit() for _ in range(3)][2]
    platform.run_for(QUEUE_TIMEOUT + 1)
    assert platform.end(waiting).code == "queue_timeout"


def test_a_worker_lost_while_it_loads_leaves_no_model_loading(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("beta")
    platform.starting(outcome.assignments[0].replica)
    platform.run_for(LEASE + 1)
    row = platform.fleet.row("beta")
    assert (row.state, row.code) == ("failed", "load_interrupted")
    assert outcome.operation
    operation = platform.fleet.operation(outcome.operation.id)
    assert operation
    assert operation.status == "failed"
    assert sorted(recoverable(platform)) == ["alpha", "beta"]


def test_a_restarted_worker_frees_its_slots_at_once(platform: SimulatedPlatform) -> None:
    streaming, silent = platform.admit(), platform.admit()
    platform.append_text(platform.run(streaming), 1, "Once")
    platform.run(silent)
    platform.register("w1")
    assert platform.end(streaming).code == "worker_lost"
    assert platform.status(silent) == "queued"
    assert platform.slots_taken() == 0
    platform.claimed()
    platform.load()
    assert platform.claimed() == [silent]


def test_the_restart_of_a_worker_dispatches_its_jobs_to_the_other_replica_in_the_same_call(
    client: redis.Redis, settings: Settings
) -> None:
    platform, _ = two_workers(client, settings)
    first, second, waiting = platform.admit(), platform.admit(), platform.admit()
    mine = next(id for id in (first, second) if platform.field(id, "worker") == "w1")
    other = second if mine == first else first
    platform.run(mine, "w1")
    platform.release(platform.run(other, "w2"))
    assert platform.status(waiting) == "running"
    platform.release(platform.run(waiting, "w2"))
    platform.claimed("w2")
    platform.register("w1")
    assert platform.claimed("w2") == [mine]
    assert platform.model() == "loaded"
    assert platform.fleet.row("alpha").loaded_replicas == 1


def test_the_jobs_of_a_worker_that_leaves_are_requeued(platform: SimulatedPlatform) -> None:
    silent = platform.admit()
    platform.run(silent)
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "shut down")
    assert platform.status(silent) == "queued"
    assert platform.model() == "unloaded"
    assert recoverable(platform) == ["alpha"], "it left, and the model is still wanted"
    platform.register("w2")
    platform.load()
    assert platform.claimed("w2") == [silent]


def test_a_draining_worker_gets_no_new_jobs_or_replicas(client: redis.Redis, settings: Settings) -> None:
    platform, _ = two_workers(client, settings, slots=4)
    platform.fleet.registry.begin_shutdown("w1", platform.incarnations["w1"])
    ids = [platform.admit() for _ in range(4)]
    assert {platform.field(id, "worker") for id in ids} == {"w2"}
    outcome = platform.fleet.load("beta", LoadRequest(2))
    assert {item.worker for item in outcome.assignments} == {"w2"}


def test_a_replica_that_comes_up_on_a_draining_worker_gets_no_jobs(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    platform.register("w2")
    outcome = platform.fleet.load("alpha", LoadRequest(2))
    for item in outcome.assignments:
        platform.starting(item.replica, item.worker)
    platform.fleet.registry.begin_shutdown("w1", platform.incarnations["w1"])
    for item in outcome.assignments:
        platform.up(item.replica, item.worker)
    ids = [platform.admit() for _ in range(2)]
    assert {platform.field(id, "worker") for id in ids} == {"w2"}
    platform.register("w1")
    platform.register("w2")
    platform.load(replicas=2, slots=1)
    assert {platform.field(id, "worker") for id in ids} == {"w1", "w2"}, "a new incarnation does not drain"


def test_a_fenced_worker_can_neither_drain_nor_deregister_its_successor(
    platform: SimulatedPlatform,
) -> None:
    old = platform.incarnations["w1"]
    platform.register("w1")
    platform.load()
    platform.fleet.registry.begin_shutdown("w1", old)
    platform.fleet.registry.deregister("w1", old, "late goodbye")
    id = platform.admit()
    assert platform.run(id)
    assert platform.model() == "loaded"


def test_fences_grow_even_when_the_counter_was_lost(platform: SimulatedPlatform) -> None:
    first = platform.run(platform.admit())
    platform.client.delete(f"{platform.prefix}fence")
    second = platform.run(platform.admit())
    assert int(second.fence) > int(first.fence)
    platform.client.set(f"{platform.prefix}fence", int(second.fence) + 10**12)
    assert int(platform.register("w2")) == int(second.fence) + 10**12 + 1
