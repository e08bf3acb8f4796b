"""The choice of models that get one replica more or less: a snapshot in, steps with reasons out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.settings import ModelDefinition, ScalingSettings
from fleet.memory import DeviceMemory
from fleet.model_row import ModelRow, ReplicaRow
from fleet.obstacle import Obstacle
from fleet.placement import freed_by_release
from fleet.scaling.choice import GROWTH_PAUSE_S, SUSTAINED_S, ModelLoad, Snapshot, Step, choose_steps
from fleet.states import ModelState
from fleet.worker_row import WorkerRow

SETTINGS = ScalingSettings(target_wait_s=5.0, quiet_s=120.0)
NEED_MIB = 40
SLOTS = 2
RUN_MS = 10_000.0
LOOK_S = 2.0


def worker(name: str, free_mib: int = 100, device: str = "cpu") -> WorkerRow:
    return WorkerRow(name, device, 0, 0.0, memory=DeviceMemory(name, 200, free_mib))


WORKERS = (worker("w1"), worker("w2"), worker("w3"))


def load(
    taken: list[int],
    waiting: int = 0,
    name: str = "alpha",
    *,
    most: int = 4,
    least: int = 1,
    wanted: int = 0,
) -> ModelLoad:
    """A loaded model with a ready replica for each of `taken`, the number of its two slots that is taken."""
    row = ModelRow(
        name=name,
        definition=ModelDefinition(name, "llama_cpp", scale_max=most),
        state=ModelState.LOADED,
        replicas=wanted or len(taken),
        loaded_replicas=len(taken),
        inflight=sum(taken),
        queue_depth=waiting,
        artifact_mib=NEED_MIB,
        least=least,
        hosted=tuple(
            ReplicaRow(f"{name}#{at}", "up", f"w{at + 1}", SLOTS, count, True)
            for at, count in enumerate(taken)
        ),
    )
    return ModelLoad(row, RUN_MS)


def with_one_that_stops(current: ModelLoad) -> ModelLoad:
    *staying, last = current.row.hosted
    hosted = (*staying, replace(last, state="stopping", is_ready=False))
    return replace(current, row=replace(current.row, hosted=hosted, replicas=len(staying)))


def need(
    mib: int | None = NEED_MIB, device: str = "auto", state: ModelState = ModelState.UNLOADED
) -> ModelRow:
    definition = ModelDefinition("beta", "llama_cpp", device=device)
    return ModelRow("beta", definition, state, 1, 0, 0, 0, artifact_mib=mib)


def steps(
    *loads: ModelLoad,
    after_s: float = 0.0,
    workers: tuple[WorkerRow, ...] = WORKERS,
    needs: tuple[ModelRow, ...] = (),
) -> tuple[Step, ...]:
    """The steps of a look at loads that have been the same for `after_s`."""
    same = [replace(one, beyond_since=1000.0, quiet_since=1000.0) for one in loads]
    return choose_steps(Snapshot(1000.0 + after_s, same, workers, needs), SETTINGS).steps


BUSY = load([2], waiting=3)
"""One replica; the queue of three takes 15 s."""


def test_a_model_gets_one_more_replica_when_its_wait_stays_beyond_the_target() -> None:
    (step,) = steps(BUSY, after_s=SUSTAINED_S)
    assert (step.worker, step.replica, step.reason) == ("w1", None, "3 requests wait, about 15 s")


def test_three_looks_in_a_row_are_needed() -> None:
    now, current, found = 1000.0, BUSY, []
    for _ in range(3):
        choice = choose_steps(Snapshot(now, [current], WORKERS), SETTINGS)
        found.append(len(choice.steps))
        current = replace(BUSY, beyond_since=choice.notes["alpha"][0])
        now += LOOK_S
    assert found == [0, 0, 1]


def test_a_moment_within_the_target_begins_the_count_anew() -> None:
    within = replace(load([2], waiting=0), beyond_since=990.0)
    assert choose_steps(Snapshot(1000.0, [within], WORKERS), SETTINGS).notes["alpha"] == (None, None)


@pytest.mark.parametrize(
    "busy",
    [
        load([1], waiting=3),
        load([2], waiting=3, most=1),
        load([2], waiting=3, wanted=2),
        load([2], waiting=1, most=1),
        load([], waiting=3, wanted=1),
        replace(BUSY, is_changing=True),
        replace(BUSY, run_ms=None),
        replace(BUSY, growth_failed_at=1000.0 + SUSTAINED_S - GROWTH_PAUSE_S + 1),
    ],
    ids=[
        "jobs wait for a limit while a slot is free",
        "it has the most replicas",
        "a replica is missing",
        "within the target",
        "no replica accepts jobs",
        "an operation is under way",
        "the time of a job is not known",
        "a further replica has just failed to start",
    ],
)
def test_a_model_gets_no_further_replica(busy: ModelLoad) -> None:
    assert steps(busy, after_s=SUSTAINED_S) == ()


def test_a_further_replica_is_tried_again_after_a_pause() -> None:
    assert steps(replace(BUSY, growth_failed_at=1000.0 - GROWTH_PAUSE_S), after_s=SUSTAINED_S)


@pytest.mark.parametrize("free_mib", [0, NEED_MIB - 1])
def test_a_further_replica_takes_only_memory_that_is_free(free_mib: int) -> None:
    assert steps(BUSY, after_s=SUSTAINED_S, workers=(worker("w1", free_mib),)) == ()


def test_memory_that_is_promised_to_a_load_is_not_taken() -> None:
    promised = replace(worker("w1"), promised_mib=100 - NEED_MIB + 1)
    assert steps(BUSY, after_s=SUSTAINED_S, workers=(promised,)) == ()


def test_a_need_that_is_not_known_is_no_reason_to_try() -> None:
    unknown = replace(BUSY, row=replace(BUSY.row, artifact_mib=None))
    assert steps(unknown, after_s=SUSTAINED_S) == ()
    assert steps(unknown, after_s=SUSTAINED_S, workers=(replace(worker("w1"), memory=None),))


@pytest.mark.parametrize("change", [{"draining": True}, {"obstacles": {"alpha": Obstacle("no such file")}}])
def test_a_worker_that_drains_or_has_an_obstacle_gets_no_further_replica(change: dict[str, object]) -> None:
    assert steps(BUSY, after_s=SUSTAINED_S, workers=(replace(worker("w1"), **change),)) == ()  # type: ignore[arg-type]


def test_the_model_with_the_longest_wait_grows_first_and_alone() -> None:
    longer = load([2], waiting=9, name="omega")
    assert [step.load.row.name for step in steps(BUSY, longer, after_s=SUSTAINED_S)] == ["omega"]


def test_the_next_model_grows_when_the_first_has_no_place() -> None:
    large = load([2], waiting=9, name="omega")
    large = replace(large, row=replace(large.row, artifact_mib=1000))
    assert [step.load.row.name for step in steps(BUSY, large, after_s=SUSTAINED_S)] == ["alpha"]


# ---- one less


def test_the_replica_with_the_fewest_jobs_goes_after_quiet() -> None:
    (step,) = steps(load([1, 0, 1]), after_s=SETTINGS.quiet_s)
    assert (step.replica, step.reason) == ("alpha#1", "one replica less was enough for 120 s")
    assert steps(load([1, 0, 1]), after_s=SETTINGS.quiet_s - 1) == ()


@pytest.mark.parametrize(
    "quiet",
    [
        load([0]),
        load([0, 0], least=2),
        load([2, 1]),
        load([1, 1], waiting=1),
        replace(load([0, 0]), is_changing=True),
        with_one_that_stops(load([0, 0, 0])),
        load([0], wanted=2, least=2),
    ],
    ids=[
        "the only one",
        "its load began with two",
        "the others are not enough",
        "what waits does not fit",
        "an operation is under way",
        "one leaves already",
        "the missing one belongs to the load",
    ],
)
def test_no_replica_goes(quiet: ModelLoad) -> None:
    assert steps(quiet, after_s=SETTINGS.quiet_s) == ()


def test_a_missing_replica_is_given_up_before_one_that_serves() -> None:
    (step,) = steps(load([1], wanted=2), after_s=SETTINGS.quiet_s)
    assert (step.worker, step.replica) == (None, None)


def test_a_replica_of_a_worker_that_drains_does_not_count() -> None:
    first, second = load([0, 0]).row.hosted
    drained = replace(load([0, 0]).row, hosted=(first, replace(second, is_ready=False)))
    assert steps(ModelLoad(drained, RUN_MS), after_s=SETTINGS.quiet_s) == ()


def test_each_step_needs_a_quiet_time_of_its_own() -> None:
    choice = choose_steps(Snapshot(1120.0, [replace(load([0, 0, 0]), quiet_since=1000.0)], WORKERS), SETTINGS)
    assert (len(choice.steps), choice.notes["alpha"]) == (1, (None, None))


# ---- another model waits for memory

FULL = tuple(worker(name, 10) for name in ("w1", "w2", "w3"))


def test_the_surplus_replica_of_the_model_with_the_least_work_goes_for_a_model_that_waits_for_memory() -> (
    None
):
    idle = load([1, 0], name="omega")
    (step,) = steps(load([2, 2], waiting=5), idle, workers=FULL, needs=(need(),))
    assert (step.load.row.name, step.replica, step.reason) == ("omega", "omega#1", "beta waits for memory")


def test_a_busy_surplus_replica_goes_too() -> None:
    (step,) = steps(load([2, 2], waiting=5), workers=FULL, needs=(need(),))
    assert step.replica == "alpha#0"


@pytest.mark.parametrize(
    ("workers", "needed"),
    [
        (WORKERS, need()),
        (FULL, need(1000)),
        (FULL, need(device="cuda")),
        (FULL, need(state=ModelState.LOADING)),
    ],
    ids=["it fits", "it would never fit", "another device", "its memory is reserved"],
)
def test_no_replica_goes_for_a_model_that_it_does_not_help(
    workers: tuple[WorkerRow, ...], needed: ModelRow
) -> None:
    assert steps(load([0, 0]), workers=workers, needs=(needed,)) == ()


def test_the_replicas_of_the_load_itself_stay() -> None:
    assert steps(load([0, 0], least=2), workers=FULL, needs=(need(),)) == ()


def test_a_second_replica_goes_only_when_the_first_has_ended() -> None:
    leaving = with_one_that_stops(load([0, 0, 0]))
    assert steps(leaving, load([0, 0], name="omega"), workers=FULL, needs=(need(),)) == ()


@pytest.mark.parametrize("state", [ModelState.UNLOADED, ModelState.LOADING])
def test_no_model_grows_while_another_one_waits_for_memory(state: ModelState) -> None:
    assert steps(BUSY, after_s=SUSTAINED_S, needs=(need(state=state),)) == ()


def test_a_model_that_can_never_be_loaded_holds_up_no_growth() -> None:
    assert steps(BUSY, after_s=SUSTAINED_S, needs=(need(1000),))


def test_the_memory_of_surplus_replicas_and_of_those_that_stop_counts_as_free_soon() -> None:
    assert freed_by_release(load([1, 0, 2]).row) == {"w1": NEED_MIB, "w2": NEED_MIB}
    assert freed_by_release(load([1, 0, 2], least=3).row) == {}
    assert freed_by_release(with_one_that_stops(load([1, 0], least=1)).row) == {"w2": NEED_MIB}
    assert freed_by_release(replace(load([1, 0]).row, state=ModelState.UNLOADING)) == {}


# ---- no flapping


@pytest.mark.parametrize("period_s", [6, 20, 60, 200])
def test_an_alternating_load_grows_once_and_does_not_flap(period_s: int) -> None:
    """Bursts that need two replicas take turns with silence for two hours; the model has what they need."""
    taken, since, found = 1, (None, None), []
    for second in range(0, 7200, int(LOOK_S)):
        bursts = second % period_s < period_s / 2
        current = load(
            [2] * taken if bursts else [0] * taken, waiting=(3 if taken == 1 else 0) if bursts else 0
        )
        current = replace(current, beyond_since=since[0], quiet_since=since[1])
        choice = choose_steps(Snapshot(1000.0 + second, [current], WORKERS), SETTINGS)
        since = choice.notes["alpha"]
        for step in choice.steps:
            found.append(step.worker is not None)
            taken += 1 if step.worker else -1
    assert found == ([] if period_s == 6 else [True])
