"""Loads on two simulated GPUs: placement, measured memory, and refusal when memory is short."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.seeds import RUNTIME_ADMIN_API as SEED
from tests.support import nvml
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]
TOTAL_MIB, BASE_MIB = 1000, 100
NEAR_MIB = 40  # an engine holds a little more than its weights, and the amount varies
LONG_S = 4.0  # a load during which the test finds the engines and kills one
REPORTED_S = 5  # a worker reports its memory after an engine's end, and every two seconds


def stub(folder: Path, size_mib: int, **options: Any) -> dict[str, Any]:
    """A stub model of that size, with a sparse file of that size."""
    artifact = folder / f"{size_mib}.weights"
    with artifact.open("wb") as file:
        file.truncate(size_mib << 20)
    return {
        "backend": "stub",
        "target_inflight": 4,
        "stub_load_s": 0.4,
        "stub_memory_mib": size_mib,
        "stub_artifact": str(artifact),
        **options,
    }


@pytest.fixture(scope="module")
def gpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with two GPUs, and models that fill them."""
    folder = tmp_path_factory.mktemp("gpus")
    models = {
        "stoker-demo": {"enabled": False},
        "pair": stub(folder, 200, replicas=1, replica_max=2, stub_load_s=0.8),
        "twins": stub(folder, 200, replicas=2, replica_max=2, stub_load_s=LONG_S),
        "left": stub(folder, 500, device="cuda:0"),
        "right": stub(folder, 500, device="cuda:0"),
        "giant": stub(folder, 1200),
    }
    local = {"models": models, "limits": {"unload_timeout_s": 1}}
    driver = nvml.environment(nvml.compiled(folder / "nvml"), gpus=2, total_mib=TOTAL_MIB, base_mib=BASE_MIB)
    driver["FAKE_NVML_UTILIZATION"] = "50"
    with running_platform(folder / "up", local, "--port", "0", "--no-flower", environment=driver) as platform:
        platform.wait_for(lambda: all(mib is not None for mib in used_mib(platform, 2)), 20, "two GPUs")
        platform.wait_for(lambda: platform.model("giant")["vram_estimate_mib"], 20, "sizes of files")
        yield platform


@pytest.fixture
def empty(gpus: Platform) -> Iterator[Platform]:
    """The platform without loaded models; at the end all are unloaded."""
    yield gpus
    for name in ("pair", "twins", "left", "right", "giant"):
        gpus.wait_for(
            lambda name=name: gpus.model(name)["runtime_state"] not in ("loading", "unloading"),
            20,
            "end of the operation",
        )
        gpus.run_operation("unload", name)
    wait_until_used(gpus, BASE_MIB, BASE_MIB)


def used_mib(platform: Platform, count: int) -> list[int | None]:
    _, memory = platform.admin("GET", "/v1/admin/gpu-memory")
    used_mib = {gpu["index"]: gpu["used_mib"] for gpu in memory["gpus"]}
    return [used_mib.get(index) for index in range(count)]


def wait_until_used(platform: Platform, *expected_mib: int) -> None:
    """Wait until about this much memory of each GPU is reported as used."""

    def near() -> bool:
        now = used_mib(platform, len(expected_mib))
        pairs = zip(now, expected_mib, strict=True)
        return all(mib is not None and abs(mib - about) <= NEAR_MIB for mib, about in pairs)

    platform.wait_for(near, REPORTED_S, f"memory {expected_mib}")


def begin_load(platform: Platform, name: str, **body: object) -> tuple[int, Any]:
    return platform.admin("POST", f"/v1/admin/models/{name}/load", body)


@pytest.mark.rule("memory/gpus", "unload/resource-release")
def test_replicas_are_spread_over_the_gpus_and_their_memory_is_measured(empty: Platform) -> None:
    before = empty.model("pair")
    assert (before["vram_estimate_mib"], before["vram_estimate_source"]) == (200, "model_artifact_size")
    status, begun = begin_load(empty, "pair", replicas=2)
    assert status == 202
    assert (begun["vram_estimate_mib"], begun["vram_estimate_replica_count"]) == (400, 2)
    row = empty.run_operation("load", "pair")
    assert (row["runtime_state"], row["replicas"], row["loaded_replicas"]) == ("loaded", 2, 2)
    assert row["definition"]["replicas"] == 1
    assert empty.workers_of("pair") == ["gpu0", "gpu1"]
    assert (row["vram_estimate_source"], row["vram_estimate_replica_count"]) == ("observed_load_delta", 2)
    assert row["vram_estimate_mib"] == pytest.approx(400, abs=2 * NEAR_MIB)
    assert row["operation"]["result"]["memory_mib"] == row["vram_estimate_mib"]
    wait_until_used(empty, BASE_MIB + 200, BASE_MIB + 200)
    _, memory = empty.admin("GET", "/v1/admin/gpu-memory")
    assert memory["error"] is None
    for gpu in memory["gpus"]:
        assert set(SEED["gpu_memory"]["gpus"][0]) <= set(gpu)
        assert gpu["used_over_total"] == f"{gpu['used_mib']}MiB / {TOTAL_MIB}MiB"
        assert gpu["workers"] == [f"gpu{gpu['index']}"]
    unloaded = empty.run_operation("unload", "pair")
    assert unloaded["vram_estimate_mib"] == row["vram_estimate_mib"]
    wait_until_used(empty, BASE_MIB, BASE_MIB)


@pytest.mark.rule("beyond/memory")
def test_a_load_that_does_not_fit_is_refused_with_the_numbers(empty: Platform) -> None:
    before = empty.model("giant")
    status, body = begin_load(empty, "giant")
    assert (status, body["error"]["code"]) == (409, "insufficient_memory")
    message = body["error"]["message"]
    for part in ("1200 MiB", "gpu0 has ", "gpu1 has ", f"of {TOTAL_MIB} MiB free", "evictModel"):
        assert part in message
    assert empty.model("giant") == before
    assert before["runtime_state"] == "unloaded"
    assert empty.engine_pids("giant") == []


@pytest.mark.rule("beyond/memory")
def test_only_one_of_two_concurrent_loads_begins_when_memory_suffices_for_one(empty: Platform) -> None:
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda name: begin_load(empty, name), ("left", "right")))
    assert sorted(status for status, _ in answers) == [202, 409]
    (refused,) = (body for status, body in answers if status == 409)
    assert refused["error"]["code"] == "insufficient_memory"
    assert "of them reserved for loads under way" in refused["error"]["message"]
    (begun,) = (body["name"] for status, body in answers if status == 202)
    empty.wait_state(begun, "loaded")
    assert {empty.model(name)["runtime_state"] for name in ("left", "right")} == {"loaded", "unloaded"}


@pytest.mark.rule("beyond/evictmodel")
def test_a_load_may_name_a_model_that_is_unloaded_first(empty: Platform) -> None:
    empty.run_operation("load", "left")
    status, body = begin_load(empty, "right", evictModel="unknown")
    assert (status, body["error"]["code"], body["error"]["param"]) == (404, "unknown_model", "evictModel")
    status, body = begin_load(empty, "right")
    assert (status, body["error"]["code"]) == (409, "insufficient_memory")
    evicted_pids = empty.engine_pids("left")
    status, body = begin_load(empty, "right", evictModel="left")
    assert status == 202, body
    assert (body["runtime_state"], body["operation"]["evicts"]) == ("loading", "left")
    assert body["operation"]["stage"] == "unloading left"
    row = empty.run_operation("load", "right")  # the load is under way: this only waits for it
    assert (row["runtime_state"], row["operation"]["id"]) == ("loaded", body["operation"]["id"])
    assert row["operation"]["status"] == "completed"
    other = empty.model("left")
    assert other["runtime_state"] == "unloaded"
    assert empty.operation(other["operation_id"])["status"] == "completed"
    assert not set(evicted_pids) & set(empty.processes())
    wait_until_used(empty, BASE_MIB + 500, BASE_MIB)


@pytest.mark.rule("load/notes-2")
def test_a_load_fails_as_a_whole_when_one_replica_dies(empty: Platform) -> None:
    status, begun = begin_load(empty, "twins")
    assert status == 202
    one, other = empty.wait_for(
        lambda: len(found := empty.engine_pids("twins")) == 2 and found, 5, "engines that load"
    )
    os.kill(one, signal.SIGKILL)
    row = empty.wait_state("twins", "failed")
    assert row["last_error_code"] == "load_failed"
    assert "SIGKILL" in row["last_error"]
    assert (row["loaded_replicas"], row["is_loaded"]) == (0, False)
    operation = empty.operation(begun["operation"]["id"])
    assert (operation["status"], operation["error_code"]) == ("failed", "load_failed")
    empty.wait_for(lambda: other not in empty.processes(), 5, "end of the other engine")
    wait_until_used(empty, BASE_MIB, BASE_MIB)
    assert empty.respond("twins", "x")[1]["error"]["code"] == "model_failed"
    # until the worker has reported that the other replica is down, a load is refused
    empty.wait_for(lambda: begin_load(empty, "twins")[0] == 202, 5, "load that is accepted")
    empty.wait_state("twins", "loaded")


@pytest.mark.rule("beyond/an-unload-that-does-not")
def test_an_unload_ends_running_jobs_at_its_deadline(empty: Platform) -> None:
    empty.run_operation("load", "pair")
    status, endless = empty.respond("pair", "/stub tokens=100000 tokens_per_s=20", background=True)
    assert status == 200
    empty.wait_for(lambda: empty.model("pair")["runtime_inflight"] == 1, 5, "running request")
    began = time.monotonic()
    row = empty.run_operation("unload", "pair")
    assert 1 <= time.monotonic() - began < scaled(5)
    assert (row["runtime_state"], row["operation"]["status"]) == ("unloaded", "completed")
    assert row["operation"]["result"]["duration_ms"] >= 1000
    _, response = empty.call("GET", f"/v1/responses/{endless['id']}")
    assert response["status"] == "failed"
    assert "unload_deadline" in response["error"]["message"]
    assert empty.engine_pids("pair") == []


@pytest.mark.rule("runner/resources", "runner/models-loaded")
def test_the_capabilities_have_the_memory_of_all_gpus(empty: Platform) -> None:
    empty.run_operation("load", "pair", replicas=2)
    wait_until_used(empty, BASE_MIB + 200, BASE_MIB + 200)

    def loaded() -> dict[str, Any] | None:
        _, found = empty.call("GET", "/v1/capabilities")
        used = found["resources"]["gpuMemoryUsedMB"]
        return found if found["models"]["loaded"] and used > 2 * (BASE_MIB + 200) - NEAR_MIB else None

    found = empty.wait_for(loaded, 15, "capabilities of the loaded model")
    resources = found["resources"]
    assert (resources["gpuIds"], resources["gpuMemoryTotalMB"]) == ([0, 1], 2 * TOTAL_MIB)
    assert resources["gpuMemoryUsedMB"] + resources["gpuMemoryFreeMB"] == 2 * TOTAL_MIB
    assert resources["gpuUtilization"] == 0.5
    (model,) = found["models"]["loaded"]
    assert model["id"] == "pair"
    assert 400 <= model["gpuMemoryMB"] <= 400 + 2 * NEAR_MIB
