"""The memory of a device, encoded for Redis, and the estimate of a model's need."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import ModelDefinition, Settings
from fleet.load_request import LoadRequest
from fleet.memory import DeviceMemory, Gpu, MemoryEstimate, estimate_memory, required_mib
from fleet.model_row import ModelRow, fingerprint
from fleet.states import ModelState
from tests.support.simulated_platform import SimulatedPlatform

PAIR = DeviceMemory(
    id="GPU-a+GPU-b",
    total_mib=2000,
    free_mib=1500,
    gpus=(
        Gpu(0, "GPU-a", "NVIDIA H200", 100, 1000, 0.5, 61, 300, 700),
        Gpu(1, "GPU-b", "NVIDIA H200", 400, 1000),
    ),
)
ENCODED_PAIR = (
    b'{"id":"GPU-a+GPU-b","total_mib":2000,"free_mib":1500,"gpus":['
    b'{"index":0,"uuid":"GPU-a","name":"NVIDIA H200","used_mib":100,"total_mib":1000,"utilization":0.5,'
    b'"temperature_c":61,"power_w":300,"power_limit_w":700},'
    b'{"index":1,"uuid":"GPU-b","name":"NVIDIA H200","used_mib":400,"total_mib":1000,"utilization":null,'
    b'"temperature_c":null,"power_w":null,"power_limit_w":null}],'
    b'"error":null}'
)


def test_device_memory_is_encoded_as_this_json() -> None:
    assert PAIR.to_json() == ENCODED_PAIR


def test_the_report_of_a_worker_without_the_newer_figures_is_read() -> None:
    old = b'{"index":0,"uuid":"GPU-a","name":"NVIDIA H200","used_mib":100,"total_mib":1000}'
    report = b'{"id":"GPU-a","total_mib":1000,"free_mib":900,"gpus":[' + old + b'],"error":null}'
    assert DeviceMemory.from_json(report).gpus == (Gpu(0, "GPU-a", "NVIDIA H200", 100, 1000),)


@pytest.mark.parametrize("memory", [PAIR, DeviceMemory("host:node", 64, 32, error="no GPU can be read: why")])
def test_device_memory_is_decoded_as_it_was_encoded(memory: DeviceMemory) -> None:
    assert DeviceMemory.from_json(memory.to_json()) == memory
    assert DeviceMemory.from_json(memory.to_json().decode()) == memory


def test_a_field_that_a_newer_worker_adds_is_ignored() -> None:
    newer = ENCODED_PAIR.replace(b'{"', b'{"new":1,"')
    assert DeviceMemory.from_json(newer) == PAIR


@pytest.mark.parametrize(
    "data", [b"", b"no json", b"[]", b"null", b"{}", ENCODED_PAIR.replace(b'"uuid"', b'"u"')]
)
def test_invalid_device_memory_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - orjson has its own message
        DeviceMemory.from_json(data)


# ---- estimates


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Two workers; alpha has an option that a load may override."""
    options = {"gguf_n_ctx": 4096}
    models = {
        **settings.models,
        "alpha": replace(settings.models["alpha"], backend="llama_cpp", options=options),
    }
    platform = SimulatedPlatform(client, replace(settings, models=models))
    platform.register("w1")
    platform.register("w2")
    return platform


def alpha(platform: SimulatedPlatform) -> ModelRow:
    return platform.fleet.row("alpha")


def unload(platform: SimulatedPlatform) -> None:
    platform.finish_unload(platform.fleet.unload("alpha"))


@pytest.mark.rule("models/vram-estimate-mib-vram-estimate")
def test_the_memory_of_a_model_without_measurement_or_files_is_unknown(platform: SimulatedPlatform) -> None:
    assert estimate_memory(alpha(platform)) == MemoryEstimate(None, 1, "unavailable")
    assert required_mib(alpha(platform), {}) is None


@pytest.mark.rule("models/vram-estimate-mib-vram-estimate")
def test_the_estimate_is_the_size_of_the_files_for_each_replica(platform: SimulatedPlatform) -> None:
    platform.fleet.report_artifacts({"alpha": 700, "beta": 300})
    assert estimate_memory(alpha(platform)) == MemoryEstimate(700, 1, "model_artifact_size")
    platform.fleet.load("alpha", LoadRequest(3))
    assert estimate_memory(alpha(platform)) == MemoryEstimate(2100, 3, "model_artifact_size")
    assert required_mib(alpha(platform), {}) == 700
    assert estimate_memory(platform.fleet.row("beta")) == MemoryEstimate(300, 1, "model_artifact_size")


@pytest.mark.rule("models/vram-estimate-mib-vram-estimate")
def test_a_measurement_takes_precedence_over_the_size_of_the_files(platform: SimulatedPlatform) -> None:
    platform.fleet.report_artifacts({"alpha": 700})
    platform.finish_load(platform.fleet.load("alpha", LoadRequest(2)), memory_mib=901)
    assert estimate_memory(alpha(platform)) == MemoryEstimate(1802, 2, "observed_load_delta")
    assert required_mib(alpha(platform), {}) == 901


def test_a_measurement_outlives_the_model(platform: SimulatedPlatform) -> None:
    platform.finish_load(platform.fleet.load("alpha", LoadRequest(2)), memory_mib=900)
    unload(platform)
    assert estimate_memory(alpha(platform)) == MemoryEstimate(1800, 2, "observed_load_delta")
    platform.fleet.reset_to_configuration()
    assert estimate_memory(alpha(platform)) == MemoryEstimate(1800, 2, "observed_load_delta")


def test_the_need_of_a_replica_is_rounded_up() -> None:
    model = ModelDefinition("alpha", "stub")
    row = ModelRow("alpha", model, ModelState.LOADED, 2, 2, 0, 0, observed_mib=25, observed_replicas=2)
    assert required_mib(replace(row, observed_variant=fingerprint(model, {})), {}) == 13


def test_a_load_without_a_measurement_leaves_the_earlier_one(platform: SimulatedPlatform) -> None:
    platform.finish_load(platform.fleet.load("alpha"), memory_mib=900)
    unload(platform)
    first, second = platform.fleet.load("alpha", LoadRequest(2)).assignments
    for item, memory in ((first, 800), (second, None)):
        platform.starting(item.replica, item.worker)
        incarnation = platform.incarnations[item.worker]
        platform.fleet.replica_up(item.replica, item.worker, incarnation, 2, 1, memory_mib=memory)
    assert estimate_memory(alpha(platform)) == MemoryEstimate(900, 1, "observed_load_delta")


@pytest.mark.rule("load/notes")
def test_a_measurement_counts_only_for_the_same_options(platform: SimulatedPlatform) -> None:
    platform.fleet.report_artifacts({"alpha": 700})
    platform.finish_load(
        platform.fleet.load("alpha", LoadRequest(override={"gguf_n_ctx": 32768})), memory_mib=2000
    )
    row = alpha(platform)
    assert estimate_memory(row) == MemoryEstimate(2000, 1, "observed_load_delta")
    assert required_mib(row, {"gguf_n_ctx": 32768}) == 2000
    assert required_mib(row, {}) == 700
    assert required_mib(row, {"gguf_n_ctx": 4096}) == 700
    unload(platform)
    platform.fleet.load("alpha")
    assert estimate_memory(alpha(platform)) == MemoryEstimate(700, 1, "model_artifact_size")


def test_an_override_to_the_configured_value_has_the_same_fingerprint(platform: SimulatedPlatform) -> None:
    model = platform.settings.models["alpha"]
    assert fingerprint(model, {"gguf_n_ctx": 4096}) == fingerprint(model, {})
    others = [
        fingerprint(model, {"gguf_n_ctx": 8192}),
        fingerprint(replace(model, target_inflight=7), {}),
        fingerprint(replace(model, model_path="/models/other.gguf"), {}),
        fingerprint(replace(model, device="cpu"), {}),
    ]
    assert len({fingerprint(model, {}), *others}) == 5


def test_a_remote_model_needs_no_memory(client: redis.Redis, settings: Settings) -> None:
    far = replace(settings.models["alpha"], backend="openai_remote")
    platform = SimulatedPlatform(client, replace(settings, models={**settings.models, "alpha": far}))
    platform.register("w1")
    platform.fleet.report_artifacts({"alpha": 700, "beta": 60})  # files of an earlier model of this name
    platform.report_memory("w1", 50)
    assert estimate_memory(alpha(platform)) == MemoryEstimate(None, 1, "unavailable")
    load = platform.fleet.load("alpha", LoadRequest(2))
    assert [worker.promised_mib for worker in platform.fleet.workers()] == [0]
    for item in load.assignments:
        platform.starting(item.replica, item.worker)
        incarnation = platform.incarnations[item.worker]
        assert platform.fleet.replica_up(item.replica, item.worker, incarnation, 2, None, memory_mib=0)
        assert client.hget(f"{platform.fleet.scripts.prefix}replica:{item.replica}", "pid") == b""
    assert alpha(platform).state is ModelState.LOADED
    assert estimate_memory(alpha(platform)) == MemoryEstimate(0, 2, "observed_load_delta")
    assert required_mib(alpha(platform), {}) is None


def test_a_load_reserves_the_measured_memory_and_not_the_size_of_the_files(
    platform: SimulatedPlatform,
) -> None:
    platform.fleet.report_artifacts({"alpha": 10})
    platform.finish_load(platform.fleet.load("alpha"), memory_mib=60)
    unload(platform)
    platform.report_memory("w1", 100)
    platform.report_memory("w2", 0)
    platform.fleet.load("alpha")
    assert [worker.promised_mib for worker in platform.fleet.workers()] == [60, 0]
