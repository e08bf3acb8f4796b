"""The memory of a first load, computed from the shape of the files that a worker has reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from backends.model_shape import AttentionLayers, Device, ModelShape
from config.settings import GovernanceSettings, Settings
from fleet.dynamic_model import Origin, dynamic_model
from fleet.errors import InsufficientMemory, InvalidLoadRequest
from fleet.estimates import decode_shape, encode_shape
from fleet.load_request import LoadRequest
from fleet.memory import estimate_memory, required_mib
from fleet.obstacle import Obstacle
from fleet.plan import plan_load
from tests.support.simulated_platform import SimulatedPlatform

MIB = 1024 * 1024
TOKEN_MIB = 1 / 8
SHAPE = ModelShape(5000 * MIB, attention=(AttentionLayers(32, 1024, 1024),), context=131_072)
"""A model of 5,000 MiB whose cache takes an eighth of a MiB for each token."""
GPU = Device(is_gpu=True, total_mib=80_000)
DRIVER_MIB = 400


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One worker, and two models of llama.cpp with 16 slots."""
    models = {
        name: replace(settings.models[name], backend="llama_cpp", target_inflight=16, options={})
        for name in ("alpha", "beta")
    }
    platform = SimulatedPlatform(client, replace(settings, models=models))
    platform.register("w1")
    names = ("alpha", "beta")
    platform.fleet.report_artifacts(
        dict.fromkeys(names, 5000), dict.fromkeys(names, encode_shape(SHAPE, GPU))
    )
    return platform


def test_the_need_counts_context_slots_and_cache_types(platform: SimulatedPlatform) -> None:
    row = platform.fleet.row("alpha")
    need = required_mib(row, {})
    assert need == pytest.approx(5000 + 16 * 4096 * TOKEN_MIB + DRIVER_MIB, rel=0.01)
    longer = required_mib(row, {"gguf_n_ctx": 8192})
    assert longer == pytest.approx(5000 + 16 * 8192 * TOKEN_MIB + DRIVER_MIB, rel=0.01)
    quantized = required_mib(row, {"gguf_type_k": "q8_0", "gguf_type_v": "q8_0"})
    assert quantized == pytest.approx(5000 + 16 * 4096 * TOKEN_MIB * 8.5 / 16 + DRIVER_MIB, rel=0.01)
    estimate = estimate_memory(row)
    assert (estimate.mib, estimate.source) == (need, "model_artifact_size")


def test_a_measurement_takes_precedence_over_what_is_computed(platform: SimulatedPlatform) -> None:
    platform.finish_load(platform.fleet.load("alpha"), memory_mib=901)
    assert required_mib(platform.fleet.row("alpha"), {}) == 901


def test_two_first_loads_at_once_do_not_overcommit_a_gpu(platform: SimulatedPlatform) -> None:
    platform.report_memory("w1", free_mib=20_000)
    assert platform.fleet.load("alpha").begun
    with pytest.raises(InsufficientMemory) as refused:
        platform.fleet.load("beta")
    assert "beta needs about 13" in str(refused.value)
    assert "5000 MiB for its weights and 8192 MiB for the cache of 16 requests at once" in str(refused.value)


def test_an_impossible_context_is_refused_before_the_start(platform: SimulatedPlatform) -> None:
    platform.report_memory("w1", free_mib=80_000)
    request = LoadRequest(override={"gguf_n_ctx": 131_072})
    with pytest.raises(InsufficientMemory, match="no worker has so much: lower the context") as refused:
        platform.fleet.load("alpha", request)
    fleet = platform.fleet
    plan = plan_load(fleet, fleet.definition("alpha"), request).shown
    assert plan["problem"] == {"code": "insufficient_memory", "message": str(refused.value), "param": None}
    assert plan["memory"]["neededMB"] > 260_000


def test_a_load_that_would_fail_has_a_problem_in_its_plan(platform: SimulatedPlatform) -> None:
    fleet = platform.fleet
    platform.report_memory("w1", free_mib=80_000)
    fleet.report_obstacles("w1", platform.incarnations["w1"], {"alpha": Obstacle("/x.gguf does not exist")})
    plan = plan_load(fleet, fleet.definition("alpha"), LoadRequest()).shown
    assert not plan["begins"]
    message = "w1: /x.gguf does not exist"
    assert plan["problem"] == {"code": "load_would_fail", "message": message, "param": None}
    assert plan_load(fleet, fleet.definition("beta"), LoadRequest()).shown["begins"]
    platform.register("w2")
    platform.report_memory("w2", free_mib=60_000)
    other = plan_load(fleet, fleet.definition("alpha"), LoadRequest()).shown
    assert (other["workers"], other["problem"]) == (["w2"], None), "a worker without the obstacle is chosen"


def test_an_override_of_what_an_obstacle_concerns_makes_the_plan_begin(platform: SimulatedPlatform) -> None:
    fleet = platform.fleet
    platform.report_memory("w1", free_mib=80_000)
    obstacle = Obstacle("q4_0 needs flash attention", ("gguf_type_k",))
    fleet.report_obstacles("w1", platform.incarnations["w1"], {"alpha": obstacle})

    def problem(**override: object) -> object:
        return plan_load(fleet, fleet.definition("alpha"), LoadRequest(override=override)).shown["problem"]

    assert problem(gguf_n_ctx=8192)["code"] == "load_would_fail"  # type: ignore[index]
    assert problem(gguf_type_k="q8_0") is None


@pytest.mark.parametrize(
    ("backend", "faulty", "sound"),
    [
        ("llama_server", {"llama_server_spec_type": "draft-mtp"}, {"llama_server_spec_type": None}),
        ("vllm", {"vllm_max_model_len": 131_073}, {"vllm_max_model_len": 131_072}),
        ("vllm_serve", {"vllm_max_model_len": 131_073}, {"vllm_max_model_len": 131_072}),
    ],
)
def test_an_override_that_the_model_cannot_follow_is_a_problem_before_the_load(
    client: redis.Redis,
    settings: Settings,
    backend: str,
    faulty: dict[str, object],
    sound: dict[str, object],
) -> None:
    shape = replace(SHAPE, prediction_layers=0)

    def plans(shape: ModelShape, options: dict[str, object]) -> Callable[[dict[str, object]], dict[str, Any]]:
        model = replace(settings.models["alpha"], backend=backend, options=options)
        platform = SimulatedPlatform(client, replace(settings, models={"alpha": model}))
        platform.register("w1")
        platform.report_memory("w1", free_mib=10**6)
        platform.fleet.report_artifacts({"alpha": 5000}, {"alpha": encode_shape(shape, GPU)})
        fleet = platform.fleet
        return lambda override: plan_load(fleet, model, LoadRequest(override=override)).shown

    configured, (option,) = plans(shape, faulty), faulty
    for plan in (plans(shape, {})(faulty), configured({})):
        assert (plan["begins"], plan["problem"]["code"], plan["problem"]["param"]) == (
            False,
            "load_would_fail",
            option,
        )
        assert option in plan["problem"]["message"]
    assert configured(sound)["problem"] is None
    unknown = replace(shape, prediction_layers=-1, stretches=True)
    assert plans(unknown, {})(faulty)["problem"] is None, "the files do not show it"
    stretched = {"vllm_serve_extra_args": ["--hf-overrides", '{"rope_scaling": {}}']}
    if backend == "vllm_serve":
        assert plans(shape, stretched)(faulty)["problem"] is None, "an argument may scale the positions"


def test_options_that_contradict_each_other_are_a_problem_before_the_load(
    client: redis.Redis, settings: Settings
) -> None:
    def plan(backend: str, options: dict[str, object], **override: object) -> dict[str, Any]:
        model = replace(settings.models["alpha"], backend=backend, options=options)
        platform = SimulatedPlatform(client, replace(settings, models={"alpha": model}))
        platform.register("w1")
        return plan_load(platform.fleet, model, LoadRequest(override=override)).shown

    quantized = {"gguf_type_v": "q4_0", "gguf_flash_attn": "off"}
    for override in ({}, {"gguf_n_ctx": 512}):
        faulty = plan("llama_cpp", quantized, **override)
        assert (faulty["begins"], faulty["problem"]["code"]) == (False, "load_would_fail")
        assert faulty["problem"]["param"] == "gguf_type_v"
        assert "gguf_type_v q4_0 is quantized" in faulty["problem"]["message"]
    assert plan("llama_cpp", quantized, gguf_flash_attn="on")["problem"] is None
    assert plan("llama_cpp", {"gguf_type_k": "q4_0", "gguf_flash_attn": "off"})["begins"]
    arguments = plan("llama_server", {"llama_server_extra_args": ("--metrics",)})
    assert arguments["problem"]["param"] is None, "no load changes them"
    with pytest.raises(InvalidLoadRequest) as refused:  # as the load itself: no state would allow it
        plan("llama_cpp", {"gguf_type_v": "q4_0"}, gguf_flash_attn="off")
    assert refused.value.param == "gguf_flash_attn"


def test_an_obstacle_of_an_earlier_incarnation_is_ignored(platform: SimulatedPlatform) -> None:
    earlier = platform.incarnations["w1"]
    platform.register("w1")
    platform.fleet.report_obstacles("w1", earlier, {"alpha": Obstacle("old")})
    assert platform.fleet.workers("")[0].obstacles == {}


def test_a_shape_with_its_device_is_decoded_as_it_was_encoded() -> None:
    assert decode_shape(encode_shape(SHAPE, GPU).decode()) == (SHAPE, GPU)
    assert decode_shape("{}") is None
    assert decode_shape("no json") is None


def test_the_first_load_of_a_model_that_is_not_configured_counts_its_cache(
    client: redis.Redis, settings: Settings, tmp_path: Path
) -> None:
    allowed = GovernanceSettings(models="allow", allow={"llama_cpp": ("*",)})
    settings = replace(settings, model_base_path=tmp_path, governance=allowed)
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    platform.report_memory("w1", free_mib=20_000)
    fields = {"backend": "llama_cpp", "target_inflight": 16}
    plain = dynamic_model("new.gguf", fields, Origin("path", "new.gguf"), 5000, settings)
    request = LoadRequest(dynamic=replace(plain, shape=SHAPE))
    need = 5000 + 16 * 4096 * TOKEN_MIB
    planned = required_mib(platform.fleet.loads.row_to_load("new.gguf", request), {})
    assert planned == pytest.approx(need, rel=0.04)
    assert platform.fleet.load("new.gguf", request).begun
    assert required_mib(platform.fleet.row("new.gguf"), {}) == planned, "until a worker has read the files"
    other = replace(
        request, dynamic=replace(request.dynamic, definition=replace(plain.definition, name="two"))
    )
    with pytest.raises(InsufficientMemory, match="8192 MiB for the cache of 16 requests at once"):
        platform.fleet.load("two", other)
