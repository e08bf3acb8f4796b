"""A load that has another model unloaded first (`evictModel`), and its continuation by any worker."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.errors import InsufficientMemory, InvalidLoadRequest, StateConflict
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.loading import MEMORY_RELEASE_S
from fleet.operation import Operation
from fleet.worker_row import WorkerRow
from store.errors import UnknownModel
from tests.fleet.races import run_concurrently
from tests.support.begin_load import begin_load
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("beyond/evictmodel")

EVICT_BETA = LoadRequest(evict="beta")
NEED_MIB = 60


@pytest.fixture
def full(platform: SimulatedPlatform) -> SimulatedPlatform:
    """Beta is loaded on the only worker; the free memory is too small for alpha."""
    platform.fleet.registry.deregister("w2", platform.incarnations["w2"], "shut down")
    platform.fleet.report_artifacts({"alpha": NEED_MIB, "beta": NEED_MIB})
    platform.report_memory("w1", 100)
    platform.load("beta")
    platform.report_memory("w1", 100 - NEED_MIB)
    return platform


def operation(platform: SimulatedPlatform, outcome: LoadOutcome) -> Operation:
    assert outcome.operation
    found = platform.fleet.operation(outcome.operation.id)
    assert found
    return found


def begin_without_unload(platform: SimulatedPlatform, replicas: int = 1) -> str:
    """Begin the load without the unload, as a process that ended between them. Returns the operation's id."""
    begin_load(
        platform.fleet,
        "alpha",
        "load_left",
        replicas=replicas,
        need_mib=NEED_MIB,
        evicts="beta",
        evict_us=1_220_000_000,
    )
    return "load_left"


def finish_evicting_beta(platform: SimulatedPlatform, outcome: LoadOutcome) -> None:
    platform.finish_unload(outcome)
    platform.report_memory("w1", 100)


# ---- without faults


def test_a_load_that_evicts_continues_after_the_unload(full: SimulatedPlatform) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    first = outcome.eviction
    assert first
    assert (outcome.begun, outcome.assignments, first.kind, first.begun) == (True, (), "unload", True)
    assert [item.worker for item in first.assignments] == ["w1"]
    assert (full.model("alpha"), full.model("beta")) == ("loading", "unloading")
    waiting = operation(full, outcome)
    assert (waiting.status, waiting.stage, waiting.evicts) == ("pending", "unloading beta", "beta")
    assert full.recovery.resume_pending() == [], "beta is still loaded"

    finish_evicting_beta(full, first)
    (resumed,) = full.recovery.resume_pending()
    assert resumed.operation
    assert resumed.operation.id == waiting.id
    assert operation(full, outcome).stage == "waiting for a worker"
    full.finish_load(resumed)
    assert (full.model("alpha"), full.model("beta")) == ("loaded", "unloaded")
    assert (operation(full, outcome).status, full.recovery.resume_pending()) == ("completed", [])


def test_jobs_running_on_the_evicted_model_finish_and_waiting_ones_fail(full: SimulatedPlatform) -> None:
    running, _, waiting = (full.admit(model="beta") for _ in range(3))
    claim = full.run(running)
    full.fleet.load("alpha", EVICT_BETA)
    assert full.end(waiting).code == "model_unloading"
    full.release(claim)
    assert full.end(running).status == "completed"


def test_a_load_that_waits_keeps_its_replicas_and_override(full: SimulatedPlatform) -> None:
    full.fleet.report_artifacts({"alpha": 30})
    outcome = full.fleet.loads.begin("alpha", LoadRequest(2, {"gguf_n_ctx": 2048}, "beta"))
    assert outcome.eviction
    finish_evicting_beta(full, outcome.eviction)
    (resumed,) = full.recovery.resume_pending()
    for item in resumed.assignments:
        start = full.fleet.replica_starting(item.replica, "w1", full.incarnations["w1"])
        assert start
        assert start.override == {"gguf_n_ctx": 2048}
    assert len(resumed.assignments) == 2


def test_the_same_load_again_changes_nothing_while_it_waits(full: SimulatedPlatform) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    again = full.fleet.load("alpha", EVICT_BETA)
    assert (again.begun, again.eviction, again.operation) == (False, None, operation(full, outcome))


def test_a_load_with_an_eviction_is_refused_while_the_model_is_loaded(platform: SimulatedPlatform) -> None:
    platform.load("alpha")
    platform.load("beta")
    with pytest.raises(InvalidLoadRequest) as refusal:
        platform.fleet.load("alpha", EVICT_BETA)
    assert (refusal.value.param, platform.model("beta")) == ("evictModel", "loaded")
    assert refusal.value.message == (
        "model alpha is loaded: evictModel is accepted only while it is unloaded;"
        " unload beta with a separate request"
    )


def test_a_load_with_an_eviction_is_refused_while_the_model_loads_without_it(
    platform: SimulatedPlatform,
) -> None:
    platform.load("beta")
    platform.fleet.load("alpha")
    with pytest.raises(InvalidLoadRequest) as refusal:
        platform.fleet.load("alpha", EVICT_BETA)
    assert (refusal.value.param, platform.model("beta")) == ("evictModel", "loaded")


def test_the_same_load_again_changes_nothing_when_nothing_had_to_be_evicted(
    platform: SimulatedPlatform,
) -> None:
    outcome = platform.fleet.load("alpha", EVICT_BETA)
    again = platform.fleet.load("alpha", EVICT_BETA)
    assert (again.begun, again.operation) == (False, operation(platform, outcome))


# ---- the state of the evicted model


def test_an_evicted_model_that_is_unloaded_already_is_not_waited_for(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha", EVICT_BETA)
    assert (outcome.eviction, len(outcome.assignments)) == (None, 1)
    platform.finish_load(outcome)
    assert platform.model("alpha") == "loaded"


def test_an_evicted_model_that_was_lost_is_not_loaded_again(full: SimulatedPlatform) -> None:
    full.register("w1")
    full.report_memory("w1", 100)
    assert full.recovery.missing() == ["beta"]
    assert full.fleet.load("alpha", EVICT_BETA).assignments
    assert (full.recovery.missing(), full.model("beta")) == ([], "unloaded")


def test_a_load_waits_for_an_unload_of_the_evicted_model_that_has_begun(full: SimulatedPlatform) -> None:
    unload = full.fleet.unload("beta")
    outcome = full.fleet.load("alpha", EVICT_BETA)
    assert outcome.eviction
    assert (outcome.eviction.begun, outcome.eviction.operation, outcome.assignments) == (
        False,
        unload.operation,
        (),
    )
    finish_evicting_beta(full, unload)
    assert len(full.recovery.resume_pending()) == 1


def test_a_load_waits_for_the_remaining_replicas_of_a_failed_model(platform: SimulatedPlatform) -> None:
    first, second = platform.fleet.load("beta", LoadRequest(2)).assignments
    for item in (first, second):
        platform.starting(item.replica, item.worker)
    platform.crash(first.replica, first.worker, code="load_failed")
    outcome = platform.fleet.load("alpha", EVICT_BETA)
    assert (outcome.assignments, platform.model("beta")) == ((), "unloading")
    platform.stopped(second.replica, second.worker)
    assert len(platform.recovery.resume_pending()) == 1


def test_an_evicted_model_that_is_being_loaded_is_a_conflict(platform: SimulatedPlatform) -> None:
    platform.fleet.load("beta")
    with pytest.raises(StateConflict) as refusal:
        platform.fleet.load("alpha", EVICT_BETA)
    assert (refusal.value.code, refusal.value.param) == ("model_loading", "evictModel")
    assert (platform.model("alpha"), platform.model("beta")) == ("unloaded", "loading")


def test_an_evicted_model_that_is_not_configured_is_unknown(platform: SimulatedPlatform) -> None:
    with pytest.raises(UnknownModel) as refusal:
        platform.fleet.load("alpha", LoadRequest(evict="gamma"))
    assert refusal.value.param == "evictModel"
    assert platform.model() == "unloaded"


def test_a_model_does_not_evict_itself(full: SimulatedPlatform) -> None:
    with pytest.raises(InvalidLoadRequest) as refusal:
        full.fleet.load("beta", EVICT_BETA)
    assert refusal.value.param == "evictModel"
    assert full.model("beta") == "loaded"


def test_two_models_do_not_evict_each_other(full: SimulatedPlatform) -> None:
    full.fleet.load("alpha", EVICT_BETA)
    with pytest.raises(StateConflict) as refusal:
        full.fleet.load("beta", LoadRequest(evict="alpha"))
    assert refusal.value.code == "model_unloading"


# ---- memory


def test_the_memory_of_the_evicted_model_counts_as_free(full: SimulatedPlatform) -> None:
    with pytest.raises(InsufficientMemory):
        full.fleet.load("alpha")
    assert full.fleet.load("alpha", EVICT_BETA).begun


def test_a_load_that_does_not_fit_without_the_other_model_evicts_nothing(full: SimulatedPlatform) -> None:
    full.fleet.report_artifacts({"alpha": 101})
    with pytest.raises(InsufficientMemory) as refusal:
        full.fleet.load("alpha", EVICT_BETA)
    numbers = "needs about 101 MiB, and w1 has 40 of 100 MiB free, and 60 more without the evicted model"
    assert numbers in refusal.value.message
    assert (full.model("alpha"), full.model("beta")) == ("unloaded", "loaded")


def test_a_load_is_tried_when_the_memory_that_an_eviction_frees_is_unknown(
    platform: SimulatedPlatform,
) -> None:
    platform.fleet.report_artifacts({"alpha": NEED_MIB})
    platform.load("beta")
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 10)
    assert platform.fleet.load("alpha", EVICT_BETA).eviction


def test_a_load_waits_until_the_driver_reports_the_freed_memory(full: SimulatedPlatform) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    assert outcome.eviction
    full.finish_unload(outcome.eviction)  # the driver does not report the freed memory yet
    full.advance_time(MEMORY_RELEASE_S - 1)
    assert full.recovery.resume_pending() == []
    assert full.model("alpha") == "loading"
    full.report_memory("w1", 100)
    assert len(full.recovery.resume_pending()) == 1


def test_a_load_that_finds_too_little_memory_after_the_unload_fails_with_the_numbers(
    full: SimulatedPlatform,
) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    assert outcome.eviction
    full.advance_time(100)  # the unload took this long
    full.finish_unload(outcome.eviction)
    full.report_memory("w1", 59)
    assert full.recovery.resume_pending() == []
    assert full.model("alpha") == "loading", "the driver may report the freed memory later"
    full.advance_time(MEMORY_RELEASE_S + 1)
    full.recovery.resume_pending()
    row = full.fleet.row("alpha")
    numbers = "alpha needs about 60 MiB, and w1 has 59 of 100 MiB free"
    assert (row.state, row.code) == ("failed", "insufficient_memory")
    assert (row.last_error or "").startswith(numbers)
    ended = operation(full, outcome)
    assert (ended.status, ended.code, ended.error) == ("failed", "insufficient_memory", row.last_error)
    assert ended.finished_at
    full.recovery.resume_pending()
    assert full.recovery.missing() == [], "a load that failed is not repeated"


def test_a_load_that_waits_fails_when_no_worker_is_left(full: SimulatedPlatform) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    full.fleet.registry.deregister("w1", full.incarnations["w1"], "shut down")
    full.advance_time(MEMORY_RELEASE_S + 1)
    full.recovery.resume_pending()
    assert (full.fleet.row("alpha").code, operation(full, outcome).code) == ("no_worker", "no_worker")


def test_jobs_waiting_for_a_load_that_is_aborted_fail(full: SimulatedPlatform) -> None:
    waiting = lose_with_waiting_job(full)
    outcome = full.fleet.load("alpha", EVICT_BETA)
    assert outcome.eviction
    full.finish_unload(outcome.eviction)
    full.report_memory("w1", 0)
    full.advance_time(MEMORY_RELEASE_S + 1)
    full.recovery.resume_pending()
    assert full.end(waiting).code == "model_failed"


def lose_with_waiting_job(full: SimulatedPlatform) -> str:
    """Lose alpha with its worker while a job waits for it. Returns the job's id."""
    full.register("w2")
    full.load("alpha", slots=1)
    full.admit()
    waiting = full.admit()
    full.fleet.registry.deregister("w2", full.incarnations["w2"], "shut down")
    assert waiting in full.waiting()
    return waiting


# ---- processes that end or are slow


def test_an_unload_is_begun_by_a_worker_when_the_process_of_the_load_ended_before_it(
    full: SimulatedPlatform,
) -> None:
    id = begin_without_unload(full)
    (outcome,) = full.recovery.resume_pending()
    assert (outcome.kind, outcome.begun, full.model("beta")) == ("unload", True, "unloading")
    assert full.recovery.resume_pending() == []
    finish_evicting_beta(full, outcome)
    (resumed,) = full.recovery.resume_pending()
    assert resumed.operation
    assert (resumed.kind, resumed.operation.id) == ("load", id)


def test_an_evicted_model_that_is_lost_before_its_unload_is_not_loaded_again(full: SimulatedPlatform) -> None:
    begin_without_unload(full)
    full.register("w1")
    full.report_memory("w1", 100)
    assert full.recovery.missing() == ["beta"]
    assert [outcome.kind for outcome in full.recovery.resume_pending()] == ["load"]
    assert full.recovery.missing() == []


def test_a_load_that_waits_can_be_cancelled_by_an_unload(full: SimulatedPlatform) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    assert outcome.eviction
    unload = full.fleet.unload("alpha")
    assert (unload.begun, unload.assignments) == (True, ())
    assert operation(full, unload).status == "completed"
    row = full.fleet.row("alpha")
    assert (row.state, row.wanted, row.last_error) == ("unloaded", False, None)
    ended = operation(full, outcome)
    assert (ended.status, ended.code) == ("cancelled", "load_cancelled")
    finish_evicting_beta(full, outcome.eviction)
    assert full.recovery.resume_pending() == []
    assert full.recovery.missing() == []
    assert full.model("beta") == "unloaded", "its unload had begun and goes on"
    assert full.fleet.load("beta").begun, "no memory is reserved now"


def test_the_freed_memory_is_reserved_for_the_load_that_waits(full: SimulatedPlatform) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    assert outcome.eviction
    finish_evicting_beta(full, outcome.eviction)
    with pytest.raises(InsufficientMemory, match="of them reserved"):
        full.fleet.load("beta")
    assert [again.kind for again in full.recovery.resume_pending()] == ["load"]


def test_an_evicted_model_that_is_loaded_again_is_unloaded_again(full: SimulatedPlatform) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    assert outcome.eviction
    finish_evicting_beta(full, outcome.eviction)
    full.client.hset(f"{full.prefix}model:alpha", "reserved", "")  # as for a model of unknown size
    full.fleet.load("beta")
    assert full.recovery.resume_pending() == [], "beta is loading: a later call unloads it"
    for replica in full.client.smembers(f"{full.prefix}replicas:beta"):
        full.starting(replica.decode())
        full.up(replica.decode())
    assert [again.kind for again in full.recovery.resume_pending()] == ["unload"]


def test_a_load_fails_at_its_deadline_when_the_unload_does_not_end(full: SimulatedPlatform) -> None:
    waiting = lose_with_waiting_job(full)
    outcome = full.fleet.load("alpha", EVICT_BETA)
    deadline_s = 2 * (full.settings.limits.unload_timeout_s + MEMORY_RELEASE_S)
    full.client.zadd(f"{full.prefix}deadlines", {waiting: 1e18})
    full.run_for(deadline_s - 30, "w1", every=1.9)  # the time of the test itself passes as well
    assert full.model("alpha") == "loading"
    full.run_for(32, "w1", every=1.9)
    row = full.fleet.row("alpha")
    assert (row.state, row.code) == ("failed", "load_timeout")
    ended = operation(full, outcome)
    assert (ended.status, ended.code) == ("failed", "load_timeout")
    assert full.end(waiting).code == "model_failed"
    assert full.model("beta") == "unloading"


def test_concurrent_calls_of_resume_pending_assign_once(full: SimulatedPlatform) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    assert outcome.eviction
    finish_evicting_beta(full, outcome.eviction)

    def resume_pending() -> LoadOutcome:
        outcomes = SimulatedPlatform(full.client, full.settings).recovery.resume_pending()
        return outcomes[0] if outcomes else LoadOutcome("load", None)

    outcomes, problems = run_concurrently(resume_pending, resume_pending, resume_pending)
    assert problems == []
    assert sorted(len(one.assignments) for one in outcomes) == [0, 0, 1]
    assert len(full.fleet.row("alpha").workers) == 1


def test_resume_pending_with_outdated_workers_changes_nothing(
    full: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    assert outcome.eviction
    full.finish_unload(outcome.eviction)
    full.advance_time(MEMORY_RELEASE_S + 1)
    other = SimulatedPlatform(full.client, full.settings)
    other.advance_time(MEMORY_RELEASE_S + 1)
    read = full.fleet.workers

    def meanwhile(_for_model: str) -> list[WorkerRow]:
        seen = read()
        full.report_memory("w1", 100)
        assert len(other.recovery.resume_pending()) == 1
        return seen

    monkeypatch.setattr(full.fleet, "workers", meanwhile)
    assert full.recovery.resume_pending() == []
    assert (full.model("alpha"), len(full.fleet.row("alpha").workers)) == ("loading", 1)


def test_a_load_that_waits_survives_all_workers_but_not_a_restart_of_the_platform(
    full: SimulatedPlatform,
) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)
    full.register("w1")
    assert full.model("alpha") == "loading"
    full.fleet.reset_to_configuration()
    assert (full.model("alpha"), operation(full, outcome).code) == ("unloaded", "load_interrupted")
    assert full.client.exists(f"{full.prefix}evicting") == 0


def test_a_worker_that_knows_neither_model_leaves_the_load_to_others(full: SimulatedPlatform) -> None:
    begin_without_unload(full)
    for known in ({}, {"alpha": full.settings.models["alpha"]}):
        assert (
            SimulatedPlatform(full.client, replace(full.settings, models=known)).recovery.resume_pending()
            == []
        )
    assert full.model("alpha") == "loading"


def test_resuming_or_aborting_an_ended_load_changes_nothing_in_the_next(full: SimulatedPlatform) -> None:
    outcome = full.fleet.load("alpha", EVICT_BETA)

    def abort(operation: str) -> bytes:
        answer: bytes = full.fleet.scripts.run(
            "abort_load", model="alpha", operation=operation, code="insufficient_memory", message="no memory"
        )
        return answer

    for _ in range(2):
        resumed = full.fleet.scripts.run(
            "resume_pending",
            model="alpha",
            operation="load_before",
            lease_us=5_000_000,
            need_mib="",
            places=["alpha#before.0", "w1"],
        )
        assert resumed == [b"over"]
        assert abort("load_before") == b"over"
    waiting = operation(full, outcome)
    assert (full.model("alpha"), waiting.status, waiting.stage) == ("loading", "pending", "unloading beta")
    assert abort(waiting.id) == b"ok"
    assert full.model("alpha") == "failed"
    assert abort(waiting.id) == b"over"
