"""Which worker takes a replica, and when none has room for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis

from config.settings import ModelDefinition, Settings
from fleet.errors import InsufficientMemory, NoWorker
from fleet.load_request import LoadRequest
from fleet.memory import DeviceMemory, Gpu
from fleet.placement import place_replicas
from fleet.worker_row import WorkerRow
from tests.fleet.races import at_once
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("beyond/memory")

ANY = ModelDefinition("alpha", "stub")


def row(name: str, replicas: int = 0, device: str = "cpu", draining: bool = False) -> WorkerRow:
    return WorkerRow(name, device, replicas, 0.0, draining)


def roomy(name: str, free: int, promised: int = 0, id: str = "", **more: Any) -> WorkerRow:
    memory = DeviceMemory(id or f"host:{name}", 100, free)
    return replace(row(name), memory=memory, promised_mib=promised, **more)


def gpu(name: str, *indices: int) -> WorkerRow:
    gpus = tuple(Gpu(index, f"GPU-{index}", "NVIDIA H200", 0, 100) for index in indices)
    return WorkerRow(name, "cuda", 0, 0.0, memory=DeviceMemory(f"GPU-{name}", 100, 100, gpus))


# ---- with room for all


def test_replicas_are_spread_and_the_emptiest_workers_take_the_first() -> None:
    workers = [row("w1", 2), row("w2", 0), row("w3", 1)]
    assert place_replicas(ANY, 1, workers) == ["w2"]
    assert place_replicas(ANY, 5, workers) == ["w2", "w3", "w1", "w2", "w3"]


def test_the_most_free_memory_goes_before_the_fewest_replicas() -> None:
    workers = [roomy("w1", 50), roomy("w2", 90, replicas=3), roomy("w3", 70)]
    assert place_replicas(ANY, 3, workers, 10) == ["w2", "w3", "w1"]


def test_what_is_promised_is_not_free() -> None:
    workers = [roomy("w1", 50), roomy("w2", 90, promised=60)]
    assert place_replicas(ANY, 1, workers, 10) == ["w1"]


def test_a_second_replica_on_a_worker_comes_after_the_first_on_all_others() -> None:
    workers = [roomy("w1", 90), roomy("w2", 20)]
    assert place_replicas(ANY, 3, workers, 10) == ["w1", "w2", "w1"]


def test_a_worker_without_room_is_passed_over() -> None:
    workers = [roomy("w1", 35), roomy("w2", 9)]
    assert place_replicas(ANY, 3, workers, 10) == ["w1", "w1", "w1"]


def test_equals_are_taken_by_name() -> None:
    assert place_replicas(ANY, 3, [row("b"), row("a"), row("c")]) == ["a", "b", "c"]


def test_a_model_goes_to_the_device_it_asks_for() -> None:
    workers = [row("c1", device="cpu"), row("g1", 3, device="cuda")]
    assert place_replicas(replace(ANY, device="cuda"), 1, workers) == ["g1"]
    assert place_replicas(replace(ANY, device="cpu"), 1, workers) == ["c1"]
    assert place_replicas(replace(ANY, device="auto"), 1, workers) == ["c1"]


def test_a_model_goes_to_the_one_gpu_that_it_names() -> None:
    workers = [row("c1"), gpu("g1", 0), gpu("g2", 1, 2), row("g3", device="cuda")]
    assert place_replicas(replace(ANY, device="cuda:0"), 2, workers) == ["g1", "g1"]
    assert place_replicas(replace(ANY, device="cuda:2"), 1, workers) == ["g2"]
    with pytest.raises(NoWorker, match="no worker with a cuda:3 device is running"):
        place_replicas(replace(ANY, device="cuda:3"), 1, workers)


def test_a_worker_that_drains_takes_nothing() -> None:
    assert place_replicas(ANY, 2, [row("w1", draining=True), row("w2", 7)]) == ["w2", "w2"]


@pytest.mark.parametrize(
    ("model", "workers"),
    [(ANY, []), (replace(ANY, device="cuda"), [row("w1")]), (ANY, [row("w1", draining=True)])],
    ids=["nobody", "no such device", "all drain"],
)
def test_without_a_fitting_worker_the_load_is_refused(
    model: ModelDefinition, workers: list[WorkerRow]
) -> None:
    with pytest.raises(NoWorker) as refusal:
        place_replicas(model, 1, workers)
    assert refusal.value.retry_after_s


def test_a_house_without_workers_loads_nothing_and_remembers_nothing(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, settings)
    with pytest.raises(NoWorker):
        platform.fleet.load("alpha")
    assert platform.model() == "unloaded"
    assert client.keys(f"{platform.prefix}*") == []


def test_a_worker_that_went_after_it_was_chosen_leaves_no_model_loading(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = platform.fleet.workers()
    monkeypatch.setattr(platform.fleet, "workers", lambda _asker: seen)
    platform.ledger.deregister("w1", platform.incarnations["w1"], "shut down")
    with pytest.raises(NoWorker):
        platform.fleet.load("alpha")
    assert platform.model() == "unloaded"
    assert platform.client.keys(f"{platform.prefix}worker_replicas:*") == []


def test_what_a_worker_hosts_counts_whatever_its_state(platform: SimulatedPlatform) -> None:
    platform.fleet.load("alpha")
    assert platform.fleet.load("beta").assignments[0].worker == "w2"
    assert [(worker.name, worker.replicas, worker.device) for worker in platform.fleet.workers()] == [
        ("w1", 1, "cpu"),
        ("w2", 1, "cpu"),
    ]
    assert not any(worker.draining for worker in platform.fleet.workers())
    platform.ledger.drain("w1", platform.incarnations["w1"])
    assert [worker.draining for worker in platform.fleet.workers()] == [True, False]


# ---- without


def test_a_load_that_fits_nowhere_is_refused_with_the_numbers() -> None:
    workers = [roomy("w1", 30, promised=5), roomy("w2", 20), row("w3", device="cuda")]
    with pytest.raises(InsufficientMemory) as refusal:
        place_replicas(replace(ANY, device="cpu"), 1, workers, 40)
    assert refusal.value.code == "insufficient_memory"
    assert refusal.value.message == (
        "alpha needs about 40 MiB, and w1 has 30 of 100 MiB free, 5 of them promised to loads under way;"
        " w2 has 20 of 100 MiB free: unload a model, name one as evictModel, or ask for less"
    )
    with pytest.raises(InsufficientMemory, match="needs about 20 MiB for each of 3 replicas"):
        place_replicas(ANY, 3, workers[:2], 20)


def test_two_workers_on_one_device_share_its_memory() -> None:
    shared = [roomy("w1", 50, id="GPU-0"), roomy("w2", 50, id="GPU-0")]
    assert place_replicas(ANY, 2, shared, 25) == ["w1", "w2"]
    with pytest.raises(InsufficientMemory):
        place_replicas(ANY, 2, shared, 26)


def test_what_comes_back_counts_as_free() -> None:
    workers = [roomy("w1", 10), roomy("w2", 15)]
    with pytest.raises(InsufficientMemory):
        place_replicas(ANY, 1, workers, 30)
    assert place_replicas(ANY, 1, workers, 30, {"w1": 20}) == ["w1"]


@pytest.mark.parametrize(
    "worker",
    [row("w1"), replace(row("w1"), memory=DeviceMemory("gpu:0", 0, 0, error="no GPU can be read: why"))],
    ids=["nothing was told", "it cannot be read"],
)
def test_where_the_memory_is_not_known_nothing_is_refused(worker: WorkerRow) -> None:
    assert place_replicas(ANY, 2, [worker], 1_000_000) == ["w1", "w1"]


def test_what_nobody_knows_the_size_of_is_not_refused() -> None:
    assert place_replicas(ANY, 2, [roomy("w1", 0)], None) == ["w1", "w1"]


# ---- who was promised it first


@pytest.fixture
def tight(platform: SimulatedPlatform) -> SimulatedPlatform:
    """Room for one of two models on w1, and for none on w2."""
    platform.fleet.report_artifacts({"alpha": 60, "beta": 60})
    platform.report_memory("w1", 100)
    platform.report_memory("w2", 10)
    return platform


def test_a_load_is_promised_its_memory_until_it_is_up(tight: SimulatedPlatform) -> None:
    change = tight.fleet.load("alpha")
    assert [worker.promised_mib for worker in tight.fleet.workers()] == [60, 0]
    with pytest.raises(InsufficientMemory, match="60 of them promised to loads under way"):
        tight.fleet.load("beta")
    tight.finish_load(change)  # and its worker would tell that it is taken
    assert [worker.promised_mib for worker in tight.fleet.workers()] == [0, 0]


def test_workers_that_share_a_device_share_what_is_promised(platform: SimulatedPlatform) -> None:
    platform.fleet.report_artifacts({"alpha": 60, "beta": 60})
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 100, id="GPU-0")
    platform.fleet.load("alpha")
    assert [worker.promised_mib for worker in platform.fleet.workers()] == [60, 60]
    with pytest.raises(InsufficientMemory):
        platform.fleet.load("beta")


def test_a_load_that_fails_gives_back_what_it_was_promised(tight: SimulatedPlatform) -> None:
    item = tight.fleet.load("alpha").assignments[0]
    tight.starting(item.replica, item.worker)
    tight.crash(item.replica, item.worker, code="load_failed")
    assert [worker.promised_mib for worker in tight.fleet.workers()] == [0, 0]
    assert tight.fleet.load("beta").assignments[0].worker == "w1"


def test_a_device_that_cannot_be_read_is_promised_to_everybody(platform: SimulatedPlatform) -> None:
    platform.fleet.report_artifacts({"alpha": 60, "beta": 60})
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 0, 0, id="gpu:0")
    platform.fleet.load("alpha", LoadRequest(4))
    platform.fleet.load("beta", LoadRequest(4))
    assert [worker.promised_mib for worker in platform.fleet.workers()] == [0, 0]


def stale(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]
) -> list[str]:
    """The first look at the workers is older than what happens then. Returns who looked."""
    looks: list[str] = []
    look = platform.fleet.workers

    def workers(_asker: str) -> list[WorkerRow]:
        seen = look()
        looks.append("read_models")
        if len(looks) == 1:
            meanwhile()
        return seen

    monkeypatch.setattr(platform.fleet, "workers", workers)
    return looks


def test_a_load_looks_again_when_somebody_else_was_promised_the_memory(
    tight: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    tight.report_memory("w2", 80)
    other = SimulatedPlatform(tight.client, tight.settings)
    looks = stale(tight, monkeypatch, lambda: other.fleet.load("beta"))
    assert tight.fleet.load("alpha").assignments[0].worker == "w2"
    assert len(looks) == 2


def test_a_load_is_refused_when_the_last_room_was_promised_to_somebody_else(
    tight: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SimulatedPlatform(tight.client, tight.settings)
    stale(tight, monkeypatch, lambda: other.fleet.load("beta"))
    with pytest.raises(InsufficientMemory):
        tight.fleet.load("alpha")
    row = tight.fleet.row("alpha")
    assert (row.state, row.operation_id, row.workers) == ("unloaded", None, ())


def test_a_load_that_always_comes_too_late_is_to_be_tried_again(
    tight: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tight.fleet.workers()
    tight.fleet.load("beta")
    monkeypatch.setattr(tight.fleet, "workers", lambda _asker: seen)
    with pytest.raises(NoWorker) as refusal:
        tight.fleet.load("alpha")
    assert refusal.value.retry_after_s
    assert tight.model("alpha") == "unloaded"


@pytest.mark.parametrize("replicas", [1, 2])
def test_of_two_loads_at_once_one_gets_the_last_room(tight: SimulatedPlatform, replicas: int) -> None:
    tight.report_memory("w2", 100 * (replicas - 1))
    begun, refused = at_once(
        lambda: SimulatedPlatform(tight.client, tight.settings).fleet.load("alpha", LoadRequest(replicas)),
        lambda: SimulatedPlatform(tight.client, tight.settings).fleet.load("beta", LoadRequest(replicas)),
    )
    assert (len(begun), [type(problem) for problem in refused]) == (1, [InsufficientMemory])
    assert sorted([tight.model("alpha"), tight.model("beta")]) == ["loading", "unloaded"]


# ---- the ledger looks once more


def begin(platform: SimulatedPlatform, model: str, *workers: str, need: int = 30) -> str:
    """Begin a load on workers that were chosen before; 'ok', or what is in its way and where."""
    pairs = [item for index, worker in enumerate(workers) for item in (f"{model}#{index}", worker)]
    arguments = (model, f"load_{model}", len(workers), 5_000_000, "{}", need, "", "", 0, "", 0)
    answer = platform.fleet.scripts.run("begin_load", *arguments, *pairs)
    return " ".join(item.decode() for item in answer)


def test_the_last_mebibyte_may_be_taken_and_no_more(platform: SimulatedPlatform) -> None:
    platform.report_memory("w1", 30)
    assert begin(platform, "alpha", "w1", need=31) == "short w1"
    assert begin(platform, "alpha", "w1", need=30) == "ok"
    assert begin(platform, "beta", "w1", need=1) == "short w1"


def test_the_replicas_of_one_load_need_their_memory_together(platform: SimulatedPlatform) -> None:
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 59, id="GPU-0")
    assert begin(platform, "alpha", "w1", "w1") == "short w1"
    assert begin(platform, "alpha", "w1", "w2") == "short w2"
    assert platform.model() == "unloaded"


@pytest.mark.parametrize("starts", [False, True], ids=["assigned", "starting"])
def test_all_that_is_promised_on_a_device_counts(platform: SimulatedPlatform, starts: bool) -> None:
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


def test_a_worker_that_drains_or_is_gone_takes_nothing_though_it_was_chosen(
    platform: SimulatedPlatform,
) -> None:
    platform.ledger.drain("w1", platform.incarnations["w1"])
    platform.ledger.deregister("w2", platform.incarnations["w2"], "shut down")
    assert [begin(platform, "alpha", worker) for worker in ("w1", "w2", "w3")] == [
        "gone w1",
        "gone w2",
        "gone w3",
    ]
