"""Replicas that follow the load, on the real scripts: they are added by an operation, and drained."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from fleet.errors import InsufficientMemory
from fleet.load_request import LoadOutcome
from fleet.scaling.choice import GROWTH_PAUSE_S, SUSTAINED_S
from fleet.state_changes import STREAM_START
from governance.authorization import PLATFORM
from tests.fleet.races import run_concurrently
from tests.support.faults import replicas_of
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import scaled

QUIET_S = 120.0


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Alpha has 1 to 3 replicas; it is loaded with one of one slot, on w1 or w2."""
    models = {**settings.models, "alpha": replace(settings.models["alpha"], scale_max=3)}
    platform = SimulatedPlatform(client, replace(settings, models=models))
    platform.register("w1")
    platform.register("w2")
    platform.load(slots=1)
    return platform


@pytest.fixture
def busy(platform: SimulatedPlatform) -> SimulatedPlatform:
    """One request runs for 20 s by now, three wait, and the first look has seen it."""
    for _ in range(4):
        platform.admit()
    alive(platform, 20)
    assert platform.scaling.look() == []
    alive(platform, SUSTAINED_S)
    return platform


@pytest.fixture
def pair(busy: SimulatedPlatform) -> SimulatedPlatform:
    """Alpha has grown to two replicas; no request runs or waits any more."""
    busy.finish_load(grow(busy), slots=1)
    serve_all(busy)
    return busy


def alive(platform: SimulatedPlatform, seconds: float) -> None:
    platform.run_for(seconds, "w1", "w2")


def grow(platform: SimulatedPlatform) -> LoadOutcome:
    (outcome,) = platform.scaling.look()
    assert outcome.kind == "load"
    return outcome


def release(platform: SimulatedPlatform) -> LoadOutcome:
    """Let the quiet time pass, with looks at its beginning and end."""
    assert platform.scaling.look() == []
    alive(platform, QUIET_S)
    (outcome,) = platform.scaling.look()
    assert outcome.kind == "unload"
    return outcome


def serve_all(platform: SimulatedPlatform) -> None:
    while platform.serve_next("w1") or platform.serve_next("w2"):
        pass


def counts(platform: SimulatedPlatform) -> tuple[str, int, int, int]:
    """The state, and the replicas that are wanted, that accept jobs, and that exist."""
    row = platform.fleet.row("alpha")
    return str(row.state), row.replicas, row.loaded_replicas, len(row.hosted)


def reasons(platform: SimulatedPlatform) -> list[str]:
    changes = platform.fleet.state_changes.read(STREAM_START)
    return [one.message or "" for one in changes if str(one.was) == str(one.state) == "loaded"]


def test_a_queue_that_stays_long_gets_one_more_replica_by_an_operation(busy: SimulatedPlatform) -> None:
    outcome = grow(busy)
    assert counts(busy) == ("loaded", 2, 1, 2)
    assert outcome.operation
    assert (outcome.operation.kind, outcome.operation.replicas) == ("load", 1)
    assert outcome.operation.authority is not None
    assert outcome.operation.authority["actor"] == "platform"
    busy.finish_load(outcome, slots=1)
    assert counts(busy) == ("loaded", 2, 2, 2)
    assert busy.fleet.operation(outcome.operation.id).status == "completed"  # type: ignore[union-attr]
    assert len(busy.waiting()) == 2, "a waiting request has got the new slot"
    (reason,) = reasons(busy)
    found = re.fullmatch(r"3 requests wait, about (\d+) s: 1 → 2 replicas", reason)
    assert found, reason
    assert 144 <= int(found[1]) < 144 + scaled(6), "24 s and the time of the test itself, twice, for three"


def test_a_model_grows_by_one_replica_at_a_time_up_to_its_most(busy: SimulatedPlatform) -> None:
    for _ in range(3):
        for _ in range(2):
            busy.admit()
    grown = []
    for _ in range(4):
        for outcome in busy.scaling.look():
            assert busy.scaling.look() == [], "its operation is under way"
            busy.finish_load(outcome, slots=1)
            grown.append(counts(busy)[1])
        busy.scaling.look()
        alive(busy, SUSTAINED_S)
    assert grown == [2, 3]


def test_a_replica_goes_after_quiet_and_its_running_request_finishes(pair: SimulatedPlatform) -> None:
    running = pair.admit()
    (item,) = release(pair).assignments
    assert counts(pair) == ("loaded", 1, 1, 2)
    assert reasons(pair)[-1] == "one replica less was enough for 120 s: 2 → 1 replicas"
    assert pair.status(running) == "running"
    further = [pair.admit(), pair.admit()]
    assert {pair.field(id, "replica") for id in [running, *further]} - {""} == {
        replica for replica in replicas_of(pair) if replica != item.replica
    }
    pair.stopped(item.replica, item.worker)
    assert counts(pair) == ("loaded", 1, 1, 1)
    row = pair.fleet.row("alpha")
    assert (row.code, row.lost, row.crashes, row.restart_at) == (None, 0, 0, None)


def test_a_repeated_release_changes_nothing(pair: SimulatedPlatform) -> None:
    (item,) = release(pair).assignments
    answer = pair.fleet.scripts.run(
        "release_replica", model="alpha", wanted=2, replica=item.replica, reason="again"
    )
    assert answer == [b"over"]
    assert counts(pair) == ("loaded", 1, 1, 2)


def released(platform: SimulatedPlatform, wanted: int, replica: str) -> bool:
    """Whether the script takes a step down that was decided when so many replicas were wanted."""
    arguments = {"model": "alpha", "wanted": wanted, "replica": replica, "reason": "outdated"}
    return bool(platform.fleet.scripts.run("release_replica", **arguments) != [b"over"])


def test_a_step_down_is_refused_when_the_model_has_changed_since(pair: SimulatedPlatform) -> None:
    first, second = pair.fleet.row("alpha").hosted
    assert not released(pair, 3, first.name), "another number is wanted"
    assert not released(pair, 2, ""), "no replica is missing"
    assert not released(pair, 2, "alpha#unknown")
    pair.fleet.drains.begin(second.worker, PLATFORM)
    assert not released(pair, 2, first.name), "no other replica would accept jobs"
    pair.fleet.drains.end(second.worker, PLATFORM)
    pair.client.hset(f"{pair.prefix}model:alpha", "least", 2)
    assert not released(pair, 2, first.name), "its load began with two"
    assert counts(pair) == ("loaded", 2, 2, 2)
    pair.client.hset(f"{pair.prefix}model:alpha", "least", 1)
    assert released(pair, 2, first.name)


def test_no_replica_goes_while_an_operation_of_the_model_is_under_way(pair: SimulatedPlatform) -> None:
    pair.scaling.look()
    for _ in range(5):
        pair.admit()
    alive(pair, 20)
    assert pair.scaling.look() == []
    alive(pair, SUSTAINED_S)
    serving = [one.name for one in pair.fleet.row("alpha").hosted]
    outcome = grow(pair)
    assert not released(pair, 3, serving[0])
    pair.finish_load(outcome, slots=1)
    assert released(pair, 3, serving[0])


def test_a_step_up_is_refused_when_another_one_was_taken_since(pair: SimulatedPlatform) -> None:
    arguments = {"model": "alpha", "operation": "load_late", "lease_us": 5_000_000, "need_mib": ""}
    for wanted, answer in ((1, b"over"), (2, b"ok")):
        assert pair.fleet.scripts.run(
            "restore_replicas",
            **arguments,
            authorization=PLATFORM.argument(),
            grows_from=wanted,
            reason="outdated",
            places=("alpha#late.0", "w1"),
        ) == [answer]


def test_the_worker_learns_from_its_heartbeat_that_its_replica_goes(pair: SimulatedPlatform) -> None:
    (item,) = release(pair).assignments
    reply = pair.ledger.heartbeat(item.worker, pair.incarnations[item.worker])
    assert reply.replicas[item.replica] == "stopping"


def test_two_processes_that_look_at_once_take_one_step(busy: SimulatedPlatform) -> None:
    def look() -> LoadOutcome:
        return next(iter(busy.scaling.look()), LoadOutcome("load", None))

    outcomes, problems = run_concurrently(look, look, look)
    assert (sum(outcome.begun for outcome in outcomes), problems) == (1, [])
    assert counts(busy) == ("loaded", 2, 1, 2)


def test_looks_that_are_long_apart_are_not_in_a_row(busy: SimulatedPlatform) -> None:
    ttl = busy.client.pttl(f"{busy.prefix}scaling:alpha")
    assert 0 < ttl <= 15_000


def test_a_model_whose_replicas_do_not_follow_the_load_costs_nothing(
    client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load()
    monkeypatch.setattr(platform.fleet.scripts, "run", None)
    assert platform.scaling.look(["beta"]) == []
    assert not client.keys(f"{platform.prefix}scaling:*")


# ---- a step that fails


def test_a_further_replica_that_does_not_start_is_not_missing(busy: SimulatedPlatform) -> None:
    outcome = grow(busy)
    (item,) = outcome.assignments
    busy.starting(item.replica, item.worker)
    busy.crash(item.replica, item.worker, code="load_failed")
    row = busy.fleet.row("alpha")
    assert (counts(busy), row.code, row.last_error) == (("loaded", 1, 1, 1), None, None)
    assert reasons(busy)[-1] == "no further replica was added (killed by SIGSEGV): 2 → 1 replicas"
    assert busy.fleet.operation(outcome.operation.id).status == "failed"  # type: ignore[union-attr]
    for _ in range(3):
        assert busy.scaling.look() == []
        alive(busy, SUSTAINED_S)
    alive(busy, GROWTH_PAUSE_S)
    assert grow(busy)


def test_the_loss_of_the_worker_of_a_further_replica_leaves_nothing_to_be_replaced(
    busy: SimulatedPlatform,
) -> None:
    (item,) = grow(busy).assignments
    busy.register(item.worker)
    assert (counts(busy), busy.fleet.row("alpha").lost) == (("loaded", 1, 1, 1), 0)
    assert busy.recovery.replace_lost() == []
    assert grow(busy), "the loss of a worker says nothing about the next start"


def test_an_operator_cancels_the_operation_of_a_further_replica(busy: SimulatedPlatform) -> None:
    outcome = grow(busy)
    assert outcome.operation
    assert busy.fleet.cancel_load(outcome.operation).assignments == outcome.assignments
    assert counts(busy) == ("loaded", 1, 1, 1)
    assert busy.scaling.look() == []
    assert reasons(busy)[-1] == "no further replica was added (the load was cancelled): 2 → 1 replicas"


def test_a_model_that_fails_while_it_grows_begins_with_the_replicas_of_its_load(
    busy: SimulatedPlatform,
) -> None:
    (first,) = replicas_of(busy)
    (item,) = grow(busy).assignments
    for replica, worker in ((first, "w1" if item.worker == "w2" else "w2"), (item.replica, item.worker)):
        busy.starting(item.replica, item.worker)
        busy.crash(replica, worker)
    assert busy.model() == "failed"
    alive(busy, 5)
    assert len(busy.recovery.reload("alpha").assignments) == 1


@pytest.mark.parametrize("fault", ["lost", "crashed"])
def test_a_missing_replica_is_given_up_and_not_started_again(pair: SimulatedPlatform, fault: str) -> None:
    gone = pair.fleet.row("alpha").hosted[0]
    if fault == "lost":
        pair.register(gone.worker)
    else:
        pair.crash(gone.name, gone.worker)
    assert release(pair).assignments == ()
    row = pair.fleet.row("alpha")
    assert (counts(pair), row.lost, row.crashed, row.restart_at) == (("loaded", 1, 1, 1), 0, 0, None)
    assert row.last_error is None
    assert pair.recovery.replace_lost() == []


def test_a_further_replica_does_not_make_crashes_forgotten(pair: SimulatedPlatform) -> None:
    gone = pair.fleet.row("alpha").hosted[0]
    pair.crash(gone.name, gone.worker)
    assert pair.fleet.row("alpha").crashes == 1
    pair.scaling.look()
    alive(pair, QUIET_S)
    pair.scaling.look()
    for _ in range(4):
        pair.admit()
    alive(pair, 20)
    pair.scaling.look()
    alive(pair, SUSTAINED_S)
    assert grow(pair)
    assert pair.fleet.row("alpha").crashes == 1


def test_a_load_of_a_grown_model_restores_what_it_wants_now(pair: SimulatedPlatform) -> None:
    gone = pair.fleet.row("alpha").hosted[0]
    pair.crash(gone.name, gone.worker)
    assert len(pair.fleet.load("alpha").assignments) == 1


# ---- while a replica goes


def other_of(pair: SimulatedPlatform, leaving: str) -> tuple[str, str]:
    (other,) = (replica for replica in pair.fleet.row("alpha").hosted if replica.name != leaving)
    return other.name, other.worker


def test_a_model_fails_with_its_last_replica_while_another_one_goes(pair: SimulatedPlatform) -> None:
    (item,) = release(pair).assignments
    pair.crash(*other_of(pair, item.replica))
    row = pair.fleet.row("alpha")
    assert (row.state, row.code) == ("failed", "engine_crashed")
    pair.stopped(item.replica, item.worker)
    alive(pair, 5)
    (loaded,) = pair.recovery.reload("alpha").assignments
    pair.starting(loaded.replica, loaded.worker)
    pair.up(loaded.replica, loaded.worker, 1)
    assert counts(pair) == ("loaded", 1, 1, 1)


@pytest.mark.parametrize("gracefully", [True, False])
def test_a_replica_that_goes_may_end_with_its_worker(pair: SimulatedPlatform, gracefully: bool) -> None:
    (item,) = release(pair).assignments
    if gracefully:
        pair.fleet.registry.deregister(item.worker, pair.incarnations[item.worker], "shut down")
    else:
        pair.register(item.worker)
    assert (counts(pair), pair.fleet.row("alpha").lost) == (("loaded", 1, 1, 1), 0)


def test_the_other_worker_is_shut_down_while_a_replica_goes(pair: SimulatedPlatform) -> None:
    (item,) = release(pair).assignments
    _, worker = other_of(pair, item.replica)
    pair.fleet.registry.deregister(worker, pair.incarnations[worker], "shut down")
    assert pair.model() == "failed"
    pair.stopped(item.replica, item.worker)
    assert pair.recovery.missing() == ["alpha"]


def test_an_engine_that_crashes_while_it_drains_is_not_started_again(pair: SimulatedPlatform) -> None:
    (item,) = release(pair).assignments
    pair.crash(item.replica, item.worker)
    row = pair.fleet.row("alpha")
    assert (row.state, row.crashes, row.crashed, row.restart_at, row.code) == ("loaded", 0, 0, None, None)


def test_a_replica_without_an_operation_that_crashes_while_it_drains_is_no_crash(
    pair: SimulatedPlatform,
) -> None:
    pair.register(pair.fleet.row("alpha").hosted[0].worker)
    (outcome,) = pair.recovery.replace_lost()
    pair.finish_load(outcome, slots=1)
    (item,) = outcome.assignments
    assert released(pair, 2, item.replica)
    pair.crash(item.replica, item.worker)
    assert pair.fleet.row("alpha").crashes == 0


def test_an_unload_ends_all_replicas_also_the_one_that_goes(pair: SimulatedPlatform) -> None:
    release(pair)
    outcome = pair.fleet.unload("alpha")
    assert len(outcome.assignments) == 2
    pair.finish_unload(outcome)
    assert (pair.model(), pair.fleet.row("alpha").replicas) == ("unloaded", 1)


def test_the_end_of_a_drain_gives_a_replica_that_goes_no_requests(pair: SimulatedPlatform) -> None:
    (item,) = release(pair).assignments
    pair.client.hset(f"{pair.prefix}worker:{item.worker}", "draining", "operator")
    pair.client.hset(f"{pair.prefix}operator_drains", item.worker, "{}")
    pair.fleet.drains.end(item.worker, PLATFORM)
    assert counts(pair) == ("loaded", 1, 1, 2)


# ---- memory


def test_a_model_that_waits_for_memory_gets_that_of_a_surplus_replica(pair: SimulatedPlatform) -> None:
    pair.fleet.report_artifacts({"alpha": 40, "beta": 60})
    for worker in ("w1", "w2"):
        pair.report_memory(worker, 50)
    with pytest.raises(InsufficientMemory):
        pair.fleet.load("beta")
    (outcome,) = pair.scaling.look(["beta"])
    (item,) = outcome.assignments
    assert reasons(pair)[-1] == "beta waits for memory: 2 → 1 replicas"
    pair.stopped(item.replica, item.worker)
    pair.report_memory(item.worker, 90)
    assert pair.scaling.look(["beta"]) == []
    assert pair.fleet.load("beta").begun


def test_no_replica_is_added_while_a_load_waits_for_the_unload_of_another_model(
    busy: SimulatedPlatform,
) -> None:
    busy.client.zadd(f"{busy.prefix}evicting", {"beta": 1e18})
    busy.client.hset(f"{busy.prefix}model:beta", "state", "loading")
    assert busy.scaling.look() == []
