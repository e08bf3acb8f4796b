"""GET /v1/capabilities: the fields of the Model Runner API with true values, cached for five seconds."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.http.read_cache import SharedRead
from api.http.shutdown_flag import ShutdownFlag
from api.operations.health import HealthReader
from api.operations.model_runner import RunnerState, runner_document
from api.operations.model_runner_routes import matches
from api.operations.model_runner_schema import FLAGS, RunnerCapabilities
from api.services import AppServices
from config.settings import ModelDefinition, Settings, TenancySettings
from config.version import version
from fleet.engine_report import EngineReport, EngineRow
from fleet.memory import DeviceMemory, Gpu
from fleet.model_row import ModelRow
from fleet.operation import Operation
from fleet.serving_state import ServingState
from fleet.states import ModelState, OperationStatus
from fleet.worker_row import WorkerRow
from scheduler.waits import WaitTimes
from tests.api.conftest import ADMIN_KEY
from tests.seeds import MODEL_RUNNER_API
from tests.support.api_fakes import Fakes
from tests.support.waiting import scaled

EXAMPLE: dict[str, Any] = MODEL_RUNNER_API["capabilities"]
LLAMA, MISTRAL = EXAMPLE["models"]["loaded"][0], EXAMPLE["models"]["loading"][0]


def gpu(index: int, used_mib: int, utilization: float | None = None, uuid: str | None = None) -> Gpu:
    return Gpu(index, uuid or f"GPU-{index}", "NVIDIA H200", used_mib, 81920, utilization)


def worker(name: str, *gpus: Gpu) -> WorkerRow:
    return WorkerRow(name, "cuda", 1, 0.0, memory=DeviceMemory("id", 1, 1, gpus))


def row(name: str, state: ModelState = ModelState.LOADED, backend: str = "vllm", **more: Any) -> ModelRow:
    options = more.pop("options", {})
    return ModelRow(
        name, ModelDefinition(name, backend, options=options), state, 1, 1, 0, more.pop("waiting", 0), **more
    )


def engine(model: str, memory_mib: int | None = 24000, device: str = "cuda", **report: Any) -> EngineRow:
    return EngineRow(f"{model}#0", model, device, memory_mib, EngineReport(**report), stalled=False)


def the_example() -> RunnerState:
    """The state that the specification's example describes."""
    load = Operation(
        "load_1", "load", MISTRAL["id"], OperationStatus.RUNNING, "", 0.45, None, 0, None, eta_s=179.6
    )
    return RunnerState(
        EXAMPLE["runnerId"],
        [
            row(LLAMA["id"], loaded_at=LLAMA["loadedAt"] + 0.7, waiting=3),
            row(MISTRAL["id"], ModelState.LOADING),
            *(row(name, ModelState.UNLOADED) for name in EXAMPLE["models"]["available"]),
        ],
        [
            engine(
                LLAMA["id"],
                version="0.6.0",
                quantization="awq-4bit",
                context=32768,
                kv_cache_mib=12000.0,
                kv_cache_use=0.45,
            )
        ],
        [worker("gpu0", gpu(0, 58000, 0.67))],
        {MISTRAL["id"]: load},
        {LLAMA["id"]: WaitTimes(150, 450)},
    )


def document(state: RunnerState, settings: Settings | None = None) -> dict[str, Any]:
    return runner_document(state, settings or Settings(), lambda _: True, healthy=True)


@pytest.mark.rule(
    "runner/capabilities", "runner/models-loaded", "runner/models-loading", "runner/models-available"
)
@pytest.mark.rule(
    "runner/resources", "runner/queue", "runner/flags", "runner/runner-type", "runner/runner-id"
)
def test_the_example_of_the_specification_is_described_as_there() -> None:
    settings = Settings()
    settings = replace(settings, queue=replace(settings.queue, max_depth=16))
    found = document(the_example(), settings)
    (row,) = found["models"]["loaded"]
    assert row.pop("queue") == EXAMPLE["queue"], "the only loaded model"
    assert found == EXAMPLE


@pytest.mark.rule("runner/queue-of-a-model")
def test_a_full_queue_is_seen_by_all_who_may_use_its_model_when_others_are_empty() -> None:
    settings = replace(Settings(), queue=replace(Settings().queue, max_depth=16))
    rows = [row("busy", waiting=16), row("idle"), row("gone", ModelState.FAILED, waiting=40)]
    state = RunnerState("one", rows, [], [], {}, {"busy": WaitTimes(900, 4000), "gone": WaitTimes(1, 1)})
    full = {"depth": 16, "maxDepth": 16, "avgWaitMs": 900, "p95WaitMs": 4000}
    empty = {"depth": 0, "maxDepth": 16, "avgWaitMs": None, "p95WaitMs": None}
    found = runner_document(state, settings, lambda _: True, healthy=True)
    assert found["queue"] == full
    assert {one["id"]: one["queue"] for one in found["models"]["loaded"]} == {"busy": full, "idle": empty}
    assert RunnerCapabilities().validate(found) == {}
    other = runner_document(state, settings, lambda name: name == "idle", healthy=True)
    assert other["queue"] == empty, "this key may use the idle model only"
    nothing = runner_document(state, settings, lambda _: False, healthy=True)
    assert nothing["queue"] == empty
    assert RunnerCapabilities().validate(found) == {}


@pytest.mark.rule("runner/runner-type")
def test_several_backends_are_named_in_order() -> None:
    rows = [
        row("a", backend="llama_cpp"),
        row("b"),
        row("c", backend="openai_remote"),
        row("d", ModelState.FAILED),
    ]
    engines = [
        engine("b", version="0.6.0"),
        engine("a", version="0.3"),
        engine("c"),
        engine("d", version="9"),
    ]
    state = replace(the_example(), rows=rows, engines=[*engines, engines[0]])
    assert document(state)["runnerType"] == "llama_cpp-0.3,openai_remote,vllm-0.6.0"
    assert document(replace(state, rows=[]))["runnerType"] == f"stoker-{version()}"


@pytest.mark.rule("runner/resources")
def test_the_memory_of_several_gpus_is_summed_and_each_counts_once() -> None:
    workers = [
        worker("a", gpu(0, 100, 0.5), gpu(1, 200)),
        worker("b", gpu(1, 200)),
        worker("c", gpu(0, 8, 1.0, "other")),
    ]
    found = document(replace(the_example(), workers=workers))["resources"]
    assert found["gpuIds"] == [0, 1, 0]
    assert (found["gpuMemoryTotalMB"], found["gpuMemoryUsedMB"]) == (3 * 81920, 308)
    assert found["gpuMemoryFreeMB"] == 3 * 81920 - 308
    assert found["gpuUtilization"] == 0.75, "of those that report it"


@pytest.mark.rule("runner/resources", "runner/models-loaded")
def test_a_platform_without_a_gpu_has_zeros_and_nulls() -> None:
    host = WorkerRow("cpu0", "cpu", 1, 0.0, memory=DeviceMemory("host:a", 64000, 32000))
    state = replace(
        the_example(),
        workers=[host, WorkerRow("new", "cpu", 0, 0.0)],
        engines=[engine(LLAMA["id"], 500, "cpu")],
    )
    found = document(state)
    assert found["resources"] == {
        "gpuIds": [],
        "gpuMemoryTotalMB": 0,
        "gpuMemoryUsedMB": 0,
        "gpuMemoryFreeMB": 0,
        "gpuUtilization": None,
        "kvCacheSizeMB": None,
        "kvCacheUtilization": None,
    }
    (loaded,) = found["models"]["loaded"]
    assert (loaded["gpuMemoryMB"], loaded["quantization"], loaded["contextLength"]) == (0, None, None)
    assert RunnerCapabilities().validate(found) == {}


def test_the_memory_of_all_replicas_is_summed_and_unknown_if_one_is() -> None:
    two = [engine(LLAMA["id"], 1000, context=4096), engine(LLAMA["id"], 500, context=2048)]
    (loaded,) = document(replace(the_example(), engines=two))["models"]["loaded"]
    assert (loaded["gpuMemoryMB"], loaded["contextLength"]) == (1500, 2048)
    (loaded,) = document(replace(the_example(), engines=[*two, engine(LLAMA["id"], None)]))["models"][
        "loaded"
    ]
    assert loaded["gpuMemoryMB"] is None


def test_the_use_of_the_caches_is_weighted_by_their_sizes() -> None:
    def resources(*reports: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
        engines = [engine(LLAMA["id"], kv_cache_mib=size, kv_cache_use=use) for size, use in reports]
        found = document(replace(the_example(), engines=engines))["resources"]
        return found["kvCacheSizeMB"], found["kvCacheUtilization"]

    assert resources((100.0, 0.5), (300.0, 0.1), (None, 0.9)) == (400.0, 0.2)
    assert resources((None, 0.5), (None, 0.1)) == (None, 0.3), "of equal weight where no size is known"
    assert resources((100.0, None)) == (100.0, None)
    assert resources() == (None, None)


@pytest.mark.rule("runner/flags", "runner/media-no-cache")
@pytest.mark.parametrize(
    ("backend", "options", "able"),
    [
        ("vllm", {}, {"prefixCaching", "functionCalling"}),
        (
            "vllm",
            {"vllm_enable_prefix_caching": False, "vllm_image_input": True},
            {"visionInput", "functionCalling"},
        ),
        ("llama_cpp", {"gguf_cache_prompt": False}, {"functionCalling"}),
        ("llama_server", {"llama_server_cache_prompt": True}, {"prefixCaching", "functionCalling"}),
        ("ct2", {"ct2_task": "translate"}, set()),
        ("stub", {"stub_media": "transcript"}, {"audioInput"}),
        ("stub", {"stub_audio_input": True}, {"prefixCaching", "audioInput", "functionCalling"}),
        ("stub", {"stub_media": "image"}, set()),
    ],
)
def test_the_flags_are_those_of_the_loaded_models(
    backend: str, options: dict[str, Any], able: set[str]
) -> None:
    state = replace(the_example(), rows=[row("a", backend=backend, options=options)])
    flags = document(state)["capabilities"]
    assert tuple(flags) == FLAGS
    assert {name for name, value in flags.items() if value} == able | {"streaming", "multiTenant"}
    unloaded = replace(state, rows=[row("a", ModelState.UNLOADED, backend, options=options)])
    one_tenant = replace(Settings(), tenancy=TenancySettings(enabled=False))
    assert not any(document(unloaded, one_tenant)["capabilities"].values())


def test_a_load_without_a_known_duration_has_no_eta() -> None:
    state = replace(the_example(), loads={})
    assert document(state)["models"]["loading"] == [{"id": MISTRAL["id"], "progress": 0.0, "eta": None}]


# ---- over HTTP


@pytest.mark.rule("runner/cache-5-s")
def test_the_answer_may_be_cached_and_an_unchanged_one_is_304(http: FlaskClient, fakes: Fakes) -> None:
    answer = http.get("/v1/capabilities")
    assert answer.status_code == 200
    assert RunnerCapabilities().validate(answer.json) == {}
    assert answer.headers["Cache-Control"] == "max-age=5"
    assert [one["id"] for one in answer.json["models"]["loaded"]] == ["demo", "org/plain"]
    known = {"If-None-Match": answer.headers["ETag"]}
    again = http.get("/v1/capabilities", headers=known)
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", answer.headers["ETag"])
    assert again.headers["Cache-Control"] == "max-age=5"
    fakes.fleet.states["demo"] = ModelState.FAILED
    assert http.get("/v1/capabilities", headers=known).status_code == 200


def test_the_comparison_of_tags_is_weak_and_takes_lists() -> None:
    assert matches('W/"a", "b"', '"a"')
    assert matches("*", '"a"')
    assert not matches('"b"', '"a"')
    assert not matches(None, '"a"')


@pytest.mark.rule("runner/access")
def test_the_capabilities_need_a_key_with_the_scope_inference(http: FlaskClient) -> None:
    http.environ_base.pop("HTTP_AUTHORIZATION")
    assert http.get("/v1/capabilities").status_code == 401
    assert http.get("/v1/capabilities", headers={"x-api-key": ADMIN_KEY}).status_code == 200


@pytest.mark.rule("runner/unavailable-while-starting")
@pytest.mark.parametrize(
    "case",
    [(1, 0, True, None), (2, 2, True, "draining"), (1, 0, False, "draining"), (0, 0, True, None)],
)
def test_a_platform_that_shuts_down_is_unavailable(
    http: FlaskClient,
    fakes: Fakes,
    services: AppServices,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[int, int, bool, str | None],
) -> None:
    workers, draining, running, reason = case
    state = fakes.fleet.serving_state()
    monkeypatch.setattr(
        fakes.fleet, "serving_state", lambda: replace(state, workers=workers, draining=draining)
    )
    _use(services, fakes)
    services[ShutdownFlag].is_running = lambda: running
    _check_reason(http, reason)


@pytest.mark.rule("runner/unavailable-while-starting", "runner/ready")
def test_a_platform_that_starts_is_unavailable(
    http: FlaskClient, fakes: Fakes, services: AppServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = [
        replace(
            model,
            definition=replace(model.definition, enabled=True),
            state=ModelState.LOADING,
            was_loaded=False,
        )
        for model in fakes.fleet.serving_state().models
    ]
    monkeypatch.setattr(fakes.fleet, "serving_state", lambda: ServingState(1, 0, tuple(loading)))
    _use(services, fakes)
    _check_reason(http, "starting")


def _use(services: AppServices, fakes: Fakes) -> None:
    from api.operations.health import health_reader
    from tests.support.api_fakes import FakeRedisProbe

    reader = health_reader(FakeRedisProbe(fakes.fleet), fakes.fleet.serving_state, services[Settings].queue)
    services[HealthReader] = SharedRead(reader, 0.0)


def _check_reason(http: FlaskClient, reason: str | None) -> None:
    ready, found = http.get("/ready"), http.get("/v1/capabilities")
    if reason is None:
        assert (ready.status_code, ready.json, found.status_code) == (200, {"status": "ready"}, 200)
        return
    assert (ready.status_code, ready.json) == (503, {"status": "not_ready", "reason": reason})
    assert (found.status_code, found.json["error"]["code"]) == (503, reason)
    assert int(found.headers["Retry-After"]) > 0
    assert "no-store" in found.headers["Cache-Control"]


# ---- how often it is read


def test_a_value_is_read_once_for_all_who_ask_and_again_when_it_is_old() -> None:
    reads: list[int] = []
    gate = threading.Event()

    def read() -> int:
        gate.wait(scaled(10))
        reads.append(len(reads))
        return reads[-1]

    now = 100.0

    async def ask() -> None:
        nonlocal now
        single = SharedRead(read, 5.0, lambda: now)
        asking = [asyncio.create_task(single.get()) for _ in range(1000)]
        await asyncio.sleep(0)
        asking[0].cancel()
        now = 200.0  # the read takes longer than its value may be old
        asking.append(asyncio.create_task(single.get()))
        await asyncio.sleep(0)
        now = 100.0
        gate.set()
        assert set(await asyncio.gather(*asking[1:])) == {0}
        now = 104.9
        assert await single.get() == 0
        now = 105.0
        assert await single.get() == 1
        single.stop()

    asyncio.run(ask())
    assert reads == [0, 1]


def test_a_failed_read_is_an_error_for_all_who_asked_and_is_repeated() -> None:
    answers = iter([ValueError("away"), 7])

    def read() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def ask() -> None:
        single = SharedRead(read, 0.0)
        with pytest.raises(ValueError, match="away"):
            await single.get()
        assert await single.get() == 7
        single.stop()

    asyncio.run(ask())
