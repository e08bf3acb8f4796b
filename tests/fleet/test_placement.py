"""The choice of a worker for a replica, and refusals for lack of memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis
from hypothesis import given, strategies

from config.settings import ModelDefinition, Settings
from fleet.errors import InsufficientMemory, NoWorker
from fleet.load_request import LoadRequest
from fleet.memory import DeviceMemory, Gpu
from fleet.placement import place_replicas
from fleet.worker_row import WorkerRow
from tests.fleet.races import run_concurrently
from tests.support.begin_load import begin_load
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("beyond/memory")

MODEL = ModelDefinition("alpha", "stub")


def worker(name: str, replicas: int = 0, device: str = "cpu", draining: bool = False) -> WorkerRow:
    return WorkerRow(name, device, replicas, 0.0, draining)


def worker_with_memory(name: str, free: int, promised: int = 0, id: str = "", **more: Any) -> WorkerRow:
    memory = DeviceMemory(id or f"host:{name}", 100, free)
    return replace(worker(name), memory=memory, promised_mib=promised, **more)


def gpu_worker(name: str, *indices: int) -> WorkerRow:
    gpus = tuple(Gpu(index, f"GPU-{index}", "NVIDIA H200", 0, 100) for index in indices)
    return WorkerRow(name, "cuda", 0, 0.0, memory=DeviceMemory(f"GPU-{name}", 100, 100, gpus))


# ---- with enough memory


def test_replicas_are_spread_beginning_with_the_workers_with_the_fewest() -> None:
    workers = [worker("w1", 2), worker("w2", 0), worker("w3", 1)]
    assert place_replicas(MODEL, 1, workers) == ["w2"]
    assert place_replicas(MODEL, 5, workers) == ["w2", "w3", "w1", "w2", "w3"]


def test_free_memory_takes_precedence_over_the_number_of_replicas() -> None:
    workers = [
        worker_with_memory("w1", 50),
        worker_with_memory("w2", 90, replicas=3),
        worker_with_memory("w3", 70),
    ]
    assert place_replicas(MODEL, 3, workers, 10) == ["w2", "w3", "w1"]


def test_promised_memory_is_not_free() -> None:
    workers = [worker_with_memory("w1", 50), worker_with_memory("w2", 90, promised=60)]
    assert place_replicas(MODEL, 1, workers, 10) == ["w1"]


def test_a_second_replica_on_a_worker_comes_after_the_first_on_all_others() -> None:
    workers = [worker_with_memory("w1", 90), worker_with_memory("w2", 20)]
    assert place_replicas(MODEL, 3, workers, 10) == ["w1", "w2", "w1"]


def test_a_worker_without_enough_memory_is_not_chosen() -> None:
    workers = [worker_with_memory("w1", 35), worker_with_memory("w2", 9)]
    assert place_replicas(MODEL, 3, workers, 10) == ["w1", "w1", "w1"]


def test_equal_workers_are_chosen_by_name() -> None:
    assert place_replicas(MODEL, 3, [worker("b"), worker("a"), worker("c")]) == ["a", "b", "c"]


def test_a_model_is_placed_on_its_kind_of_device() -> None:
    workers = [worker("c1", device="cpu"), worker("g1", 3, device="cuda")]
    assert place_replicas(replace(MODEL, device="cuda"), 1, workers) == ["g1"]
    assert place_replicas(replace(MODEL, device="cpu"), 1, workers) == ["c1"]
    assert place_replicas(replace(MODEL, device="auto"), 1, workers) == ["c1"]


def test_a_model_is_placed_on_the_gpu_that_it_names() -> None:
    workers = [worker("c1"), gpu_worker("g1", 0), gpu_worker("g2", 1, 2), worker("g3", device="cuda")]
    assert place_replicas(replace(MODEL, device="cuda:0"), 2, workers) == ["g1", "g1"]
    assert place_replicas(replace(MODEL, device="cuda:2"), 1, workers) == ["g2"]
    with pytest.raises(NoWorker, match="no worker with a cuda:3 device is running"):
        place_replicas(replace(MODEL, device="cuda:3"), 1, workers)


def test_a_worker_that_drains_is_not_chosen() -> None:
    assert place_replicas(MODEL, 2, [worker("w1", draining=True), worker("w2", 7)]) == ["w2", "w2"]


@pytest.mark.parametrize(
    ("model", "workers"),
    [(MODEL, []), (replace(MODEL, device="cuda"), [worker("w1")]), (MODEL, [worker("w1", draining=True)])],
    ids=["no worker", "no such device", "all drain"],
)
def test_without_a_fitting_worker_the_load_is_refused(
    model: ModelDefinition, workers: list[WorkerRow]
) -> None:
    with pytest.raises(NoWorker) as refusal:
        place_replicas(model, 1, workers)
    assert refusal.value.retry_after_s


def test_a_load_without_workers_is_refused_and_writes_nothing(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, settings)
    with pytest.raises(NoWorker):
        platform.fleet.load("alpha")
    assert platform.model() == "unloaded"
    assert client.keys(f"{platform.prefix}*") == []


def test_a_load_is_refused_when_the_chosen_worker_has_left(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = platform.fleet.workers()
    monkeypatch.setattr(platform.fleet, "workers", lambda _for_model: seen)
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "shut down")
    with pytest.raises(NoWorker):
        platform.fleet.load("alpha")
    assert platform.model() == "unloaded"
    assert platform.client.keys(f"{platform.prefix}worker_replicas:*") == []


def test_a_worker_row_counts_replicas_in_any_state(platform: SimulatedPlatform) -> None:
    platform.fleet.load("alpha")
    assert platform.fleet.load("beta").assignments[0].worker == "w2"
    assert [(worker.name, worker.replicas, worker.device) for worker in platform.fleet.workers()] == [
        ("w1", 1, "cpu"),
        ("w2", 1, "cpu"),
    ]
    assert not any(worker.draining for worker in platform.fleet.workers())
    platform.fleet.registry.begin_shutdown("w1", platform.incarnations["w1"])
    assert [worker.draining for worker in platform.fleet.workers()] == [True, False]


# ---- with too little memory


def test_a_load_that_fits_on_no_worker_is_refused_with_the_numbers() -> None:
    workers = [
        worker_with_memory("w1", 30, promised=5),
        worker_with_memory("w2", 20),
        worker("w3", device="cuda"),
    ]
    with pytest.raises(InsufficientMemory) as refusal:
        place_replicas(replace(MODEL, device="cpu"), 1, workers, 40)
    assert refusal.value.code == "insufficient_memory"
    assert refusal.value.message == (
        "alpha needs about 40 MiB, and w1 has 30 of 100 MiB free, 5 of them reserved for loads under "
        "way; w2 has 20 of 100 MiB free: unload a model, name one as evictModel, or ask for less"
    )
    with pytest.raises(InsufficientMemory, match="needs about 20 MiB for each of 3 replicas"):
        place_replicas(MODEL, 3, workers[:2], 20)


def test_a_refusal_names_only_some_of_many_workers() -> None:
    workers = [worker_with_memory(f"w{number:03}", number % 50) for number in range(300)]
    with pytest.raises(InsufficientMemory) as error:
        place_replicas(MODEL, 1, workers, 60)
    assert "w049 has 49 of 100 MiB free" in error.value.message
    assert "; 292 other workers have no more free memory:" in error.value.message
    assert error.value.message.count("MiB free") == 8


@given(
    workers=strategies.lists(
        strategies.tuples(
            strategies.sampled_from(["a", "b", "c", "d"]),
            strategies.integers(0, 60),
            strategies.integers(0, 2),
        ),
        min_size=1,
        max_size=6,
    ),
    replicas=strategies.integers(1, 6),
    required=strategies.sampled_from([None, 10, 25]),
)
def test_each_replica_goes_to_the_worker_that_is_best_then(
    workers: list[tuple[str, int, int]], replicas: int, required: int | None
) -> None:
    free = {id: free for id, free, _ in workers}  # workers with one id share its memory
    rows = [
        replace(worker_with_memory(f"w{number}", free[id], id=id), replicas=hosted)
        for number, (id, _, hosted) in enumerate(workers)
    ]
    expected: list[str] = []
    for _ in range(replicas):
        fitting = [row for row in rows if required is None or free[row.memory_id] >= required]
        if not fitting:
            with pytest.raises(InsufficientMemory):
                place_replicas(MODEL, replicas, rows, required)
            return
        best = min(
            fitting,
            key=lambda row: (expected.count(row.name), -free[row.memory_id], row.replicas, row.name),
        )
        free[best.memory_id] -= required or 0
        expected.append(best.name)
    assert place_replicas(MODEL, replicas, rows, required) == expected


def test_two_workers_on_one_device_share_its_memory() -> None:
    shared = [worker_with_memory("w1", 50, id="GPU-0"), worker_with_memory("w2", 50, id="GPU-0")]
    assert place_replicas(MODEL, 2, shared, 25) == ["w1", "w2"]
    with pytest.raises(InsufficientMemory):
        place_replicas(MODEL, 2, shared, 26)


def test_memory_that_an_eviction_frees_counts_as_free() -> None:
    workers = [worker_with_memory("w1", 10), worker_with_memory("w2", 15)]
    with pytest.raises(InsufficientMemory):
        place_replicas(MODEL, 1, workers, 30)
    assert place_replicas(MODEL, 1, workers, 30, {"w1": 20}) == ["w1"]


@pytest.mark.parametrize(
    "worker",
    [
        worker("w1"),
        replace(worker("w1"), memory=DeviceMemory("gpu:0", 0, 0, error="no GPU can be read: why")),
    ],
    ids=["not reported", "not readable"],
)
def test_a_worker_with_unknown_memory_is_chosen(worker: WorkerRow) -> None:
    assert place_replicas(MODEL, 2, [worker], 1_000_000) == ["w1", "w1"]


def test_a_model_of_unknown_size_is_placed() -> None:
    assert place_replicas(MODEL, 2, [worker_with_memory("w1", 0)], None) == ["w1", "w1"]


# ---- reservation


@pytest.fixture
def tight(platform: SimulatedPlatform) -> SimulatedPlatform:
    """Memory for one of two models on w1, and for none on w2."""
    platform.fleet.report_artifacts({"alpha": 60, "beta": 60})
    platform.report_memory("w1", 100)
    platform.report_memory("w2", 10)
    return platform


def test_a_load_reserves_its_memory_until_it_is_up(tight: SimulatedPlatform) -> None:
    outcome = tight.fleet.load("alpha")
    assert [worker.promised_mib for worker in tight.fleet.workers()] == [60, 0]
    with pytest.raises(InsufficientMemory, match="60 of them reserved for loads under way"):
        tight.fleet.load("beta")
    tight.finish_load(outcome)  # its worker then reports less free memory
    assert [worker.promised_mib for worker in tight.fleet.workers()] == [0, 0]


def test_workers_on_one_device_share_its_promised_memory(platform: SimulatedPlatform) -> None:
    platform.fleet.report_artifacts({"alpha": 60, "beta": 60})
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 100, id="GPU-0")
    platform.fleet.load("alpha")
    assert [worker.promised_mib for worker in platform.fleet.workers()] == [60, 60]
    with pytest.raises(InsufficientMemory):
        platform.fleet.load("beta")


def test_a_load_that_fails_releases_its_promised_memory(tight: SimulatedPlatform) -> None:
    item = tight.fleet.load("alpha").assignments[0]
    tight.starting(item.replica, item.worker)
    tight.crash(item.replica, item.worker, code="load_failed")
    assert [worker.promised_mib for worker in tight.fleet.workers()] == [0, 0]
    assert tight.fleet.load("beta").assignments[0].worker == "w1"


def test_a_load_that_fails_releases_the_memory_promised_to_its_other_replicas(
    platform: SimulatedPlatform,
) -> None:
    platform.fleet.report_artifacts({"alpha": 60})
    platform.report_memory("w1", 100)
    platform.report_memory("w2", 100)
    first, second = platform.fleet.load("alpha", LoadRequest(2)).assignments
    for item in (first, second):
        platform.starting(item.replica, item.worker)
    platform.crash(first.replica, first.worker, code="load_failed")
    assert [worker.promised_mib for worker in platform.fleet.workers()] == [0, 0], "the other one stops"


def test_the_memory_of_an_unreadable_device_is_not_reserved(platform: SimulatedPlatform) -> None:
    platform.fleet.report_artifacts({"alpha": 60, "beta": 60})
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 0, 0, id="gpu:0")
    platform.fleet.load("alpha", LoadRequest(4))
    platform.fleet.load("beta", LoadRequest(4))
    assert [worker.promised_mib for worker in platform.fleet.workers()] == [0, 0]


def with_stale_workers(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]
) -> list[str]:
    """Run `meanwhile` after the first read of the workers. Returns a list with one item for each read."""
    reads: list[str] = []
    read = platform.fleet.workers

    def workers(_for_model: str) -> list[WorkerRow]:
        seen = read()
        reads.append("workers")
        if len(reads) == 1:
            meanwhile()
        return seen

    monkeypatch.setattr(platform.fleet, "workers", workers)
    return reads


def test_a_load_chooses_again_when_another_load_reserved_the_memory(
    tight: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    tight.report_memory("w2", 80)
    other = SimulatedPlatform(tight.client, tight.settings)
    reads = with_stale_workers(tight, monkeypatch, lambda: other.fleet.load("beta"))
    assert tight.fleet.load("alpha").assignments[0].worker == "w2"
    assert len(reads) == 2


def test_a_load_is_refused_when_another_load_reserved_the_last_memory(
    tight: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SimulatedPlatform(tight.client, tight.settings)
    with_stale_workers(tight, monkeypatch, lambda: other.fleet.load("beta"))
    with pytest.raises(InsufficientMemory):
        tight.fleet.load("alpha")
    row = tight.fleet.row("alpha")
    assert (row.state, row.operation_id, row.workers) == ("unloaded", None, ())


def test_a_load_whose_choice_is_always_outdated_is_to_be_retried(
    tight: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tight.fleet.workers()
    tight.fleet.load("beta")
    monkeypatch.setattr(tight.fleet, "workers", lambda _for_model: seen)
    with pytest.raises(NoWorker) as refusal:
        tight.fleet.load("alpha")
    assert refusal.value.retry_after_s
    assert tight.model("alpha") == "unloaded"


@pytest.mark.parametrize("replicas", [1, 2])
def test_of_two_concurrent_loads_one_gets_the_last_memory(tight: SimulatedPlatform, replicas: int) -> None:
    tight.report_memory("w2", 100 * (replicas - 1))
    begun, refused = run_concurrently(
        lambda: SimulatedPlatform(tight.client, tight.settings).fleet.load("alpha", LoadRequest(replicas)),
        lambda: SimulatedPlatform(tight.client, tight.settings).fleet.load("beta", LoadRequest(replicas)),
    )
    assert (len(begun), [type(problem) for problem in refused]) == (1, [InsufficientMemory])
    assert sorted([tight.model("alpha"), tight.model("beta")]) == ["loading", "unloaded"]


# ---- the check in the script


def begin(platform: SimulatedPlatform, model: str, *workers: str, need: int = 30) -> str:
    """Begin a load on workers that were chosen before. Returns 'ok', or the conflict and its worker."""
    pairs = [item for index, worker in enumerate(workers) for item in (f"{model}#{index}", worker)]
    answer = begin_load(platform.fleet, model, f"load_{model}", pairs, replicas=len(workers), need_mib=need)
    return " ".join(item.decode() for item in answer)


def test_a_load_may_take_the_last_mebibyte_and_no_more(platform: SimulatedPlatform) -> None:
    platform.report_memory("w1", 30)
    assert begin(platform, "alpha", "w1", need=31) == "short w1"
    assert begin(platform, "alpha", "w1", need=30) == "ok"
    assert begin(platform, "beta", "w1", need=1) == "short w1"


def test_the_memory_of_all_replicas_of_a_load_is_checked_together(platform: SimulatedPlatform) -> None:
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 59, id="GPU-0")
    assert begin(platform, "alpha", "w1", "w1") == "short w1"
    assert begin(platform, "alpha", "w1", "w2") == "short w2"
    assert platform.model() == "unloaded"


@pytest.mark.parametrize("starts", [False, True], ids=["assigned", "starting"])
def test_all_promised_memory_of_a_device_counts(platform: SimulatedPlatform, starts: bool) -> None:
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 89, id="GPU-0")
    assert begin(platform, "alpha", "w1", "w2") == "ok"
    if starts:
        platform.starting("alpha#0", "w1")
        platform.starting("alpha#1", "w2")
    assert begin(platform, "beta", "w2") == "short w2"
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 90, id="GPU-0")
    assert begin(platform, "beta", "w2") == "ok"


def test_a_chosen_worker_that_drains_or_has_left_gets_no_replica(
    platform: SimulatedPlatform,
) -> None:
    platform.fleet.registry.begin_shutdown("w1", platform.incarnations["w1"])
    platform.fleet.registry.deregister("w2", platform.incarnations["w2"], "shut down")
    assert [begin(platform, "alpha", worker) for worker in ("w1", "w2", "w3")] == [
        "gone w1",
        "gone w2",
        "gone w3",
    ]
