"""A load that has another model unloaded first: nobody waits for it in a process, and somebody goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.errors import InsufficientMemory, InvalidLoadRequest, StateConflict
from fleet.fleet import MEMORY_RELEASE_S
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.operation import Operation
from fleet.worker_row import WorkerRow
from scheduler.errors import UnknownModel
from tests.fleet.races import at_once
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("beyond/evictmodel")

EVICT = LoadRequest(evict="beta")
TAKES = 60


@pytest.fixture
def full(platform: SimulatedPlatform) -> SimulatedPlatform:
    """Beta fills the only worker; alpha has no room beside it."""
    platform.ledger.deregister("w2", platform.incarnations["w2"], "shut down")
    platform.fleet.report_artifacts({"alpha": TAKES, "beta": TAKES})
    platform.report_memory("w1", 100)
    platform.load("beta")
    platform.report_memory("w1", 100 - TAKES)
    return platform


def operation(platform: SimulatedPlatform, change: LoadOutcome) -> Operation:
    assert change.operation
    found = platform.fleet.operation(change.operation.id)
    assert found
    return found


def begin_and_die(platform: SimulatedPlatform, replicas: int = 1) -> str:
    """What is left of a process that died between the load and the unload: its operation."""
    patience_us = 1_220_000_000
    arguments = ("alpha", "load_left", replicas, 5_000_000, "{}", TAKES, "", "beta", patience_us, "", 0)
    platform.fleet.scripts.run("begin_load", *arguments)
    return "load_left"


def beta_goes(platform: SimulatedPlatform, change: LoadOutcome) -> None:
    platform.finish_unload(change)
    platform.report_memory("w1", 100)


# ---- as it should be


def test_a_load_unloads_the_other_model_first_and_then_goes_on(full: SimulatedPlatform) -> None:
    change = full.fleet.load("alpha", EVICT)
    first = change.eviction
    assert first
    assert (change.begun, change.assignments, first.kind, first.begun) == (True, (), "unload", True)
    assert [item.worker for item in first.assignments] == ["w1"]
    assert (full.model("alpha"), full.model("beta")) == ("loading", "unloading")
    waiting = operation(full, change)
    assert (waiting.status, waiting.stage, waiting.evicts) == ("pending", "unloading beta", "beta")
    assert full.recovery.resume_pending() == [], "beta is still there"

    beta_goes(full, first)
    (going,) = full.recovery.resume_pending()
    assert going.operation
    assert going.operation.id == waiting.id
    assert operation(full, change).stage == "waiting for a worker"
    full.finish_load(going)
    assert (full.model("alpha"), full.model("beta")) == ("loaded", "unloaded")
    assert (operation(full, change).status, full.recovery.resume_pending()) == ("completed", [])


def test_what_runs_on_the_evicted_model_may_finish_and_who_waits_is_told(full: SimulatedPlatform) -> None:
    running, _, waiting = (full.admit(model="beta") for _ in range(3))
    claim = full.run(running)
    full.fleet.load("alpha", EVICT)
    assert full.end(waiting).code == "model_unloading"
    full.release(claim)
    assert full.end(running).status == "completed"


def test_what_a_load_asks_for_waits_with_it(full: SimulatedPlatform) -> None:
    full.fleet.report_artifacts({"alpha": 30})
    change = full.fleet.begin("alpha", LoadRequest(2, {"gguf_n_ctx": 2048}, "beta"))
    assert change.eviction
    beta_goes(full, change.eviction)
    (going,) = full.recovery.resume_pending()
    for item in going.assignments:
        start = full.fleet.replica_starting(item.replica, "w1", full.incarnations["w1"])
        assert start
        assert start.override == {"gguf_n_ctx": 2048}
    assert len(going.assignments) == 2


def test_the_same_load_again_changes_nothing_while_it_waits(full: SimulatedPlatform) -> None:
    change = full.fleet.load("alpha", EVICT)
    again = full.fleet.load("alpha", EVICT)
    assert (again.begun, again.eviction, again.operation) == (False, None, operation(full, change))


# ---- what stands in its way


def test_an_evicted_model_that_is_unloaded_already_is_not_waited_for(platform: SimulatedPlatform) -> None:
    change = platform.fleet.load("alpha", EVICT)
    assert (change.eviction, len(change.assignments)) == (None, 1)
    platform.finish_load(change)
    assert platform.model("alpha") == "loaded"


def test_an_evicted_model_that_was_lost_is_not_brought_back(full: SimulatedPlatform) -> None:
    full.register("w1")
    full.report_memory("w1", 100)
    assert full.recovery.missing() == ["beta"]
    assert full.fleet.load("alpha", EVICT).assignments
    assert (full.recovery.missing(), full.model("beta")) == ([], "unloaded")


def test_an_evicted_model_that_unloads_already_is_waited_for(full: SimulatedPlatform) -> None:
    unload = full.fleet.unload("beta")
    change = full.fleet.load("alpha", EVICT)
    assert change.eviction
    assert (change.eviction.begun, change.eviction.operation, change.assignments) == (
        False,
        unload.operation,
        (),
    )
    beta_goes(full, unload)
    assert len(full.recovery.resume_pending()) == 1


def test_what_is_left_of_a_failed_model_is_waited_for(platform: SimulatedPlatform) -> None:
    first, second = platform.fleet.load("beta", LoadRequest(2)).assignments
    for item in (first, second):
        platform.starting(item.replica, item.worker)
    platform.crash(first.replica, first.worker, code="load_failed")
    change = platform.fleet.load("alpha", EVICT)
    assert (change.assignments, platform.model("beta")) == ((), "unloading")
    platform.stopped(second.replica, second.worker)
    assert len(platform.recovery.resume_pending()) == 1


def test_an_evicted_model_that_is_being_loaded_is_a_conflict(platform: SimulatedPlatform) -> None:
    platform.fleet.load("beta")
    with pytest.raises(StateConflict) as refusal:
        platform.fleet.load("alpha", EVICT)
    assert (refusal.value.code, refusal.value.param) == ("model_loading", "evictModel")
    assert (platform.model("alpha"), platform.model("beta")) == ("unloaded", "loading")


def test_an_evicted_model_that_is_not_configured_is_unknown(platform: SimulatedPlatform) -> None:
    with pytest.raises(UnknownModel) as refusal:
        platform.fleet.load("alpha", LoadRequest(evict="gamma"))
    assert refusal.value.param == "evictModel"
    assert platform.model() == "unloaded"


def test_a_model_does_not_evict_itself(full: SimulatedPlatform) -> None:
    with pytest.raises(InvalidLoadRequest) as refusal:
        full.fleet.load("beta", EVICT)
    assert refusal.value.param == "evictModel"
    assert full.model("beta") == "loaded"


def test_two_models_do_not_evict_each_other(full: SimulatedPlatform) -> None:
    full.fleet.load("alpha", EVICT)
    with pytest.raises(StateConflict) as refusal:
        full.fleet.load("beta", LoadRequest(evict="alpha"))
    assert refusal.value.code == "model_unloading"


# ---- room


def test_what_the_evicted_model_gives_back_counts(full: SimulatedPlatform) -> None:
    with pytest.raises(InsufficientMemory):
        full.fleet.load("alpha")
    assert full.fleet.load("alpha", EVICT).begun


def test_a_load_that_would_not_fit_even_then_unloads_nothing(full: SimulatedPlatform) -> None:
    full.fleet.report_artifacts({"alpha": 101})
    with pytest.raises(InsufficientMemory) as refusal:
        full.fleet.load("alpha", EVICT)
    numbers = "needs about 101 MiB, and w1 has 40 of 100 MiB free, and 60 more without the evicted model"
    assert numbers in refusal.value.message
    assert (full.model("alpha"), full.model("beta")) == ("unloaded", "loaded")


def test_when_nobody_knows_what_comes_back_it_is_tried(platform: SimulatedPlatform) -> None:
    platform.fleet.report_artifacts({"alpha": TAKES})
    platform.load("beta")
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 10)
    assert platform.fleet.load("alpha", EVICT).eviction


def test_a_load_waits_until_the_driver_shows_what_came_back(full: SimulatedPlatform) -> None:
    change = full.fleet.load("alpha", EVICT)
    assert change.eviction
    full.finish_unload(change.eviction)  # and its memory does not show yet
    full.advance_time(MEMORY_RELEASE_S - 1)
    assert full.recovery.resume_pending() == []
    assert full.model("alpha") == "loading"
    full.report_memory("w1", 100)
    assert len(full.recovery.resume_pending()) == 1


def test_a_load_that_finds_no_room_after_all_is_given_up_with_the_numbers(full: SimulatedPlatform) -> None:
    change = full.fleet.load("alpha", EVICT)
    assert change.eviction
    full.advance_time(100)  # beta took its time
    full.finish_unload(change.eviction)
    full.report_memory("w1", 59)
    assert full.recovery.resume_pending() == []
    assert full.model("alpha") == "loading", "a driver may need a moment"
    full.advance_time(MEMORY_RELEASE_S + 1)
    full.recovery.resume_pending()
    row = full.fleet.row("alpha")
    numbers = "alpha needs about 60 MiB, and w1 has 59 of 100 MiB free"
    assert (row.state, row.code) == ("failed", "insufficient_memory")
    assert (row.last_error or "").startswith(numbers)
    ended = operation(full, change)
    assert (ended.status, ended.code, ended.error) == ("failed", "insufficient_memory", row.last_error)
    assert ended.finished_at
    full.recovery.resume_pending()
    assert full.recovery.missing() == [], "nobody tries again by himself"


def test_a_load_whose_workers_all_left_is_given_up(full: SimulatedPlatform) -> None:
    change = full.fleet.load("alpha", EVICT)
    full.ledger.deregister("w1", full.incarnations["w1"], "shut down")
    full.advance_time(MEMORY_RELEASE_S + 1)
    full.recovery.resume_pending()
    assert (full.fleet.row("alpha").code, operation(full, change).code) == ("no_worker", "no_worker")


def test_who_waits_for_a_load_that_is_given_up_is_told(full: SimulatedPlatform) -> None:
    waiting = lost_with_a_line(full)
    change = full.fleet.load("alpha", EVICT)
    assert change.eviction
    full.finish_unload(change.eviction)
    full.report_memory("w1", 0)
    full.advance_time(MEMORY_RELEASE_S + 1)
    full.recovery.resume_pending()
    assert full.end(waiting).code == "model_failed"


def lost_with_a_line(full: SimulatedPlatform) -> str:
    """Alpha was lost with its worker while somebody waited for it; returns who."""
    full.register("w2")
    full.load("alpha", slots=1)
    full.admit()
    waiting = full.admit()
    full.ledger.deregister("w2", full.incarnations["w2"], "shut down")
    assert waiting in full.waiting()
    return waiting


# ---- somebody dies, or is slow


def test_when_its_process_dies_before_the_unload_somebody_else_begins_that(full: SimulatedPlatform) -> None:
    id = begin_and_die(full)
    (change,) = full.recovery.resume_pending()
    assert (change.kind, change.begun, full.model("beta")) == ("unload", True, "unloading")
    assert full.recovery.resume_pending() == []
    beta_goes(full, change)
    (going,) = full.recovery.resume_pending()
    assert going.operation
    assert (going.kind, going.operation.id) == ("load", id)


def test_an_evicted_model_that_is_lost_before_its_unload_does_not_come_back(full: SimulatedPlatform) -> None:
    begin_and_die(full)
    full.register("w1")
    full.report_memory("w1", 100)
    assert full.recovery.missing() == ["beta"]
    assert [change.kind for change in full.recovery.resume_pending()] == ["load"]
    assert full.recovery.missing() == []


def test_a_load_that_waits_can_be_taken_back(full: SimulatedPlatform) -> None:
    change = full.fleet.load("alpha", EVICT)
    assert change.eviction
    back = full.fleet.unload("alpha")
    assert (back.begun, back.assignments) == (False, ())
    row = full.fleet.row("alpha")
    assert (row.state, row.wanted, row.last_error) == ("unloaded", False, None)
    ended = operation(full, change)
    assert (ended.status, ended.code) == ("failed", "load_cancelled")
    beta_goes(full, change.eviction)
    assert full.recovery.resume_pending() == []
    assert full.recovery.missing() == []
    assert full.model("beta") == "unloaded", "its unload had begun"
    assert full.fleet.load("beta").begun, "nothing is kept any more"


def test_what_was_given_back_is_kept_for_the_load_that_waits(full: SimulatedPlatform) -> None:
    change = full.fleet.load("alpha", EVICT)
    assert change.eviction
    beta_goes(full, change.eviction)
    with pytest.raises(InsufficientMemory, match="of them promised"):
        full.fleet.load("beta")
    assert [again.kind for again in full.recovery.resume_pending()] == ["load"]


def test_an_evicted_model_that_somebody_loads_again_is_unloaded_again(full: SimulatedPlatform) -> None:
    change = full.fleet.load("alpha", EVICT)
    assert change.eviction
    beta_goes(full, change.eviction)
    full.client.hset(f"{full.prefix}model:alpha", "reserved", "")  # as if nobody knew what it takes
    full.fleet.load("beta")
    assert full.recovery.resume_pending() == [], "it is on its way, and that is waited for"
    for replica in full.client.smembers(f"{full.prefix}replicas:beta"):
        full.starting(replica.decode())
        full.up(replica.decode())
    assert [again.kind for again in full.recovery.resume_pending()] == ["unload"]


def test_an_unload_that_never_ends_ends_the_load_at_its_deadline(full: SimulatedPlatform) -> None:
    waiting = lost_with_a_line(full)
    change = full.fleet.load("alpha", EVICT)
    patience = 2 * (full.settings.limits.unload_timeout_s + MEMORY_RELEASE_S)
    full.client.zadd(f"{full.prefix}deadlines", {waiting: 1e18})
    full.run_for(patience - 1, "w1", every=1.9)
    assert full.model("alpha") == "loading"
    full.run_for(3, "w1")
    row = full.fleet.row("alpha")
    assert (row.state, row.code) == ("failed", "load_timeout")
    ended = operation(full, change)
    assert (ended.status, ended.code) == ("failed", "load_timeout")
    assert full.end(waiting).code == "model_failed"
    assert full.model("beta") == "unloading"


def test_two_that_go_on_at_once_assign_once(full: SimulatedPlatform) -> None:
    change = full.fleet.load("alpha", EVICT)
    assert change.eviction
    beta_goes(full, change.eviction)

    def resume_pending() -> LoadOutcome:
        changes = SimulatedPlatform(full.client, full.settings).recovery.resume_pending()
        return changes[0] if changes else LoadOutcome("load", None)

    changes, problems = at_once(resume_pending, resume_pending, resume_pending)
    assert problems == []
    assert sorted(len(one.assignments) for one in changes) == [0, 0, 1]
    assert len(full.fleet.row("alpha").workers) == 1


def test_who_looked_before_the_others_went_on_changes_nothing(
    full: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = full.fleet.load("alpha", EVICT)
    assert change.eviction
    full.finish_unload(change.eviction)
    full.advance_time(MEMORY_RELEASE_S + 1)
    other = SimulatedPlatform(full.client, full.settings)
    other.advance_time(MEMORY_RELEASE_S + 1)
    look = full.fleet.workers

    def meanwhile(_asker: str) -> list[WorkerRow]:
        seen = look()
        full.report_memory("w1", 100)
        assert len(other.recovery.resume_pending()) == 1
        return seen

    monkeypatch.setattr(full.fleet, "workers", meanwhile)
    assert full.recovery.resume_pending() == []
    assert (full.model("alpha"), len(full.fleet.row("alpha").workers)) == ("loading", 1)


def test_a_load_that_waits_survives_every_worker_but_not_a_new_start_of_the_platform(
    full: SimulatedPlatform,
) -> None:
    change = full.fleet.load("alpha", EVICT)
    full.register("w1")
    assert full.model("alpha") == "loading"
    full.fleet.reset_to_configuration()
    assert (full.model("alpha"), operation(full, change).code) == ("unloaded", "load_interrupted")
    assert full.client.exists(f"{full.prefix}evicting") == 0


def test_a_worker_that_knows_neither_model_leaves_the_load_to_others(full: SimulatedPlatform) -> None:
    begin_and_die(full)
    for known in ({}, {"alpha": full.settings.models["alpha"]}):
        assert (
            SimulatedPlatform(full.client, replace(full.settings, models=known)).recovery.resume_pending()
            == []
        )
    assert full.model("alpha") == "loading"


def test_who_goes_on_with_a_load_that_ended_changes_nothing_in_the_next(full: SimulatedPlatform) -> None:
    change = full.fleet.load("alpha", EVICT)
    run = full.fleet.scripts.run
    for _ in range(2):
        assert run("resume_pending", "alpha", "load_before", 5_000_000, "", "alpha#before.0", "w1") == [
            b"over"
        ]
        assert run("abort_load", "alpha", "load_before", "insufficient_memory", "no room") == b"over"
    waiting = operation(full, change)
    assert (full.model("alpha"), waiting.status, waiting.stage) == ("loading", "pending", "unloading beta")
    assert run("abort_load", "alpha", waiting.id, "insufficient_memory", "no room") == b"ok"
    assert full.model("alpha") == "failed"
    assert run("abort_load", "alpha", waiting.id, "insufficient_memory", "no room") == b"over"
