"""The options that a load may override, and refusals (Runtime Admin API, "Validation behavior")."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import redis

from backends.catalogue import BACKENDS
from config.settings import ModelDefinition, Settings
from fleet.errors import InvalidLoadRequest
from fleet.load_request import LoadRequest, check_override, check_replicas
from fleet.model_row import effective_options
from tests.support.simulated_platform import SimulatedPlatform

GGUF = {"gguf_n_ctx": 4096, "gguf_type_k": "q8_0"}
SEER = "llama_server with images"


@pytest.fixture
def backends(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One model of each backend, with the backend's name, one more that takes images, and a worker."""
    models = {name: ModelDefinition(name, name, replica_max=4) for name in BACKENDS}
    models["llama_cpp"] = replace(models["llama_cpp"], options=GGUF)
    models[SEER] = ModelDefinition(SEER, "llama_server", options={"llama_server_mmproj": "/models/mmproj"})
    platform = SimulatedPlatform(client, replace(settings, models=models))
    platform.register()
    return platform


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("llama_cpp", {"gguf_type_k": "q8-0"}, "gguf_type_k"),
    ("llama_cpp", {"gguf_type_k": "foo"}, "gguf_type_k"),
    ("llama_cpp", {"gguf_flash_attn": "yes"}, "gguf_flash_attn"),
    ("llama_cpp", {"gguf_type_v": "q8_0", "gguf_flash_attn": "off"}, "gguf_type_v"),
    ("exllamav3", {"exllama_cache_k_bits": 8}, "exllama_cache_k_bits"),
    ("exllamav3", {"exllama_cache_v_bits": 8}, "exllama_cache_v_bits"),
    (
        "exllamav3",
        {"exllama_cache_quant": "8,8", "exllama_cache_k_bits": 8, "exllama_cache_v_bits": 8},
        "exllama_cache_k_bits",
    ),
    (
        "exllamav3",
        {"exllama_cache_quant": None, "exllama_cache_k_bits": None, "exllama_cache_v_bits": None},
        "exllama_cache_k_bits",
    ),
    ("exllamav3", {"exllama_cache_k_bits": 8, "exllama_cache_v_bits": None}, "exllama_cache_k_bits"),
    ("exllamav3", {"exllama_cache_k_bits": 9, "exllama_cache_v_bits": 8}, "exllama_cache_k_bits"),
    ("exllamav3", {"exllama_cache_size": 8000}, "exllama_cache_size"),
    ("exllamav3", {"exllama_cache_quant": "fp16"}, "exllama_cache_quant"),
    ("exllamav3", {"exllama_cache_quant": "9"}, "exllama_cache_quant"),
    ("exllamav3", {"exllama_cache_quant": "8,4,2"}, "exllama_cache_quant"),
    ("llama_server", {"llama_server_spec_type": "medusa"}, "llama_server_spec_type"),
    ("llama_server", {"llama_server_spec_draft_n_max": 7}, "llama_server_spec_draft_n_max"),
    ("llama_server", {"llama_server_spec_draft_p_min": 1.5}, "llama_server_spec_draft_p_min"),
    ("llama_server", {"llama_server_spec_draft_n_max": 4}, "llama_server_spec_draft_n_max"),
    ("llama_server", {"llama_server_spec_draft_p_min": 0.25}, "llama_server_spec_draft_p_min"),
    (
        "llama_server",
        {"llama_server_spec_type": None, "llama_server_spec_draft_n_max": 4},
        "llama_server_spec_draft_n_max",
    ),
    ("llama_server", {"llama_server_image_max_tokens": 512}, "llama_server_image_max_tokens"),
    ("vllm", {"vllm_speculative_model": "org/assistant"}, "vllm_speculative_model"),
    (
        "vllm_serve",
        {"vllm_speculative_method": None, "vllm_speculative_model": "org/assistant"},
        "vllm_speculative_model",
    ),
    ("vllm_serve", {"vllm_num_speculative_tokens": 2}, "vllm_num_speculative_tokens"),
    ("llama_cpp", {"exllama_cache_size": 8192}, "exllama_cache_size"),
    ("vllm", {"llama_server_n_ctx": 4096}, "llama_server_n_ctx"),
    ("vllm_serve", {"llama_server_image_max_tokens": 512}, "llama_server_image_max_tokens"),
    ("llama_cpp", {"gguf_n_gpu_layers": 0}, "gguf_n_gpu_layers"),
    ("vllm_serve", {"vllm_serve_binary": "/bin/sh"}, "vllm_serve_binary"),
    ("stub", {"stub_tokens": 4}, "stub_tokens"),
    ("ct2", {"ct2_compute_type": "int8"}, "ct2_compute_type"),
    ("openai_remote", {"gguf_n_ctx": 4096}, "gguf_n_ctx"),
]
ALLOWED: list[tuple[str, dict[str, Any]]] = [
    ("llama_cpp", {"gguf_n_ctx": 8192}),
    ("llama_cpp", {"gguf_n_ctx": 4097}),
    (
        "llama_cpp",
        {"gguf_n_ctx": 32768, "gguf_flash_attn": "auto", "gguf_type_k": "q8_0", "gguf_type_v": "q4_0"},
    ),
    ("llama_cpp", {"gguf_type_k": None}),
    ("llama_cpp", {"gguf_type_v": "bf16", "gguf_flash_attn": "off"}),
    (
        "exllamav3",
        {"exllama_cache_size": 32768, "exllama_cache_quant": None, "exllama_max_rq_tokens": 32768},
    ),
    ("exllamav3", {"exllama_cache_quant": "8"}),
    ("exllamav3", {"exllama_cache_quant": "8,4"}),
    ("exllamav3", {"exllama_cache_k_bits": 8, "exllama_cache_v_bits": 4}),
    ("exllamav3", {"exllama_cache_k_bits": None, "exllama_cache_v_bits": None}),
    (
        "vllm",
        {
            "vllm_max_model_len": 16384,
            "vllm_kv_cache_dtype": "fp8",
            "vllm_kv_cache_memory_bytes": 2147483648,
            "vllm_max_pixels": 4014080,
            "vllm_speculative_method": "mtp",
            "vllm_speculative_model": "google/gemma-4-26B-A4B-it-assistant",
            "vllm_num_speculative_tokens": 1,
        },
    ),
    ("vllm", {"vllm_kv_cache_dtype": "fp8_ds_mla"}),
    ("vllm_serve", {"vllm_kv_cache_dtype": "auto", "vllm_max_model_len": 5000}),
    ("vllm_serve", {"vllm_speculative_method": None}),
    ("vllm_serve", {"vllm_num_speculative_tokens": 1}),  # the configured value
    ("vllm_serve", {"vllm_max_pixels": 200704}),  # only the configuration enables images
    (
        SEER,
        {
            "llama_server_n_ctx": 4096,
            "llama_server_image_max_tokens": 512,
            "llama_server_spec_type": "draft-mtp",
            "llama_server_spec_draft_n_max": 4,
            "llama_server_spec_draft_p_min": 0.25,
        },
    ),
    ("llama_server", {"llama_server_spec_type": None}),
]


def named(value: object) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={one}" for name, one in value.items())
    return str(value)


@pytest.mark.parametrize(("backend", "override", "param"), REFUSED, ids=named)
def test_values_that_are_wrong_for_the_backend_are_refused_with_the_field(
    backends: SimulatedPlatform, backend: str, override: dict[str, Any], param: str
) -> None:
    with pytest.raises(InvalidLoadRequest) as refusal:
        backends.fleet.load(backend, LoadRequest(override=override))
    assert (refusal.value.code, refusal.value.param) == ("invalid_load_request", param)
    assert refusal.value.message.startswith(f"{param} ")
    assert backends.model(backend) == "unloaded"


@pytest.mark.parametrize(("backend", "override"), ALLOWED, ids=named)
def test_a_load_accepts_the_fields_of_the_backend(
    backends: SimulatedPlatform, backend: str, override: dict[str, Any]
) -> None:
    assert backends.fleet.load(backend, LoadRequest(override=override)).begun
    assert backends.fleet.row(backend).active_override == override


def test_the_draft_model_may_be_overridden_where_a_method_is_configured() -> None:
    model = ModelDefinition("m", "vllm", options={"vllm_speculative_method": "mtp"})
    check_override(model, {"vllm_speculative_model": "org/assistant", "vllm_num_speculative_tokens": 2})


def test_draft_settings_may_be_overridden_where_a_spec_type_is_configured() -> None:
    model = ModelDefinition("m", "llama_server", options={"llama_server_spec_type": "draft-mtp"})
    check_override(model, {"llama_server_spec_draft_n_max": 4, "llama_server_spec_draft_p_min": 0.25})


@pytest.mark.parametrize(
    ("backend", "override", "message"),
    [
        (
            "llama_server",
            {"llama_server_spec_draft_n_max": 4},
            "llama_server_spec_draft_n_max does nothing without llama_server_spec_type:"
            " set that too, or leave this out",
        ),
        (
            "llama_server",
            {"llama_server_image_max_tokens": 512},
            "llama_server_image_max_tokens does nothing without llama_server_mmproj, which only the"
            " configuration of alpha can set",
        ),
    ],
)
def test_a_field_without_effect_is_named_with_the_field_that_it_needs(
    backend: str, override: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidLoadRequest) as refusal:
        check_override(ModelDefinition("alpha", backend), override)
    assert refusal.value.message == message


def test_a_value_that_contradicts_a_configured_option_is_refused_with_the_field_of_the_load() -> None:
    quantized = ModelDefinition("alpha", "llama_cpp", options={"gguf_type_v": "q4_0"})
    with pytest.raises(InvalidLoadRequest) as refusal:
        check_override(quantized, {"gguf_flash_attn": "off"})
    assert refusal.value.param == "gguf_flash_attn"
    assert refusal.value.message == (
        "gguf_type_v q4_0 is quantized, and that needs flash attention: set gguf_flash_attn to on or auto,"
        " or gguf_type_v to f16"
    )
    check_override(quantized, {"gguf_flash_attn": "off", "gguf_type_v": None})
    contradicting = replace(quantized, options={**quantized.options, "gguf_flash_attn": "off"})
    check_override(contradicting, {"gguf_flash_attn": "auto"})
    check_override(contradicting, {"gguf_n_ctx": 512})  # the load does not cause it: the plan shows it


def test_a_field_of_another_backend_is_named_with_its_owner_and_the_fields_of_the_model() -> None:
    with pytest.raises(InvalidLoadRequest) as refusal:
        check_override(ModelDefinition("alpha", "llama_cpp"), {"vllm_max_model_len": 4096})
    assert refusal.value.message == (
        "vllm_max_model_len belongs to vllm and vllm_serve; alpha runs on llama_cpp, for which a load "
        "may set gguf_n_ctx, gguf_flash_attn, gguf_type_k, gguf_type_v"
    )
    with pytest.raises(InvalidLoadRequest, match="alpha runs on stub, for which a load may set no field"):
        check_override(ModelDefinition("alpha", "stub"), {"vllm_max_model_len": 4096})


@pytest.mark.parametrize("bits", ["fp16", "9", "8,4,2"])
def test_wrong_bits_of_the_cache_are_refused_with_their_range(bits: str) -> None:
    with pytest.raises(InvalidLoadRequest) as refusal:
        check_override(ModelDefinition("alpha", "exllamav3"), {"exllama_cache_quant": bits})
    assert refusal.value.message == (
        "exllama_cache_quant must be a string with one number of bits from 2 to 8 (`8`), or two: for "
        "keys and for values (`8,4`)"
    )


@pytest.mark.parametrize(("most", "allowed"), [(1, "1"), (4, "from 1 to 4")])
def test_a_wrong_number_of_replicas_is_refused_with_the_range(most: int, allowed: str) -> None:
    with pytest.raises(InvalidLoadRequest, match=f"replicas must be {allowed} for alpha") as refusal:
        check_replicas(ModelDefinition("alpha", "stub", replica_max=most), 5)
    assert refusal.value.param == "replicas"


# ---- the override of a load


def test_an_override_counts_by_key_and_null_is_a_value(backends: SimulatedPlatform) -> None:
    override = {"gguf_type_k": None, "gguf_n_ctx": 8192}
    item = backends.fleet.load("llama_cpp", LoadRequest(override=override)).assignments[0]
    incarnation = backends.incarnations[item.worker]
    start = backends.fleet.replica_starting(item.replica, item.worker, incarnation)
    assert start
    assert start.override == override
    model = backends.settings.models["llama_cpp"]
    options = effective_options(model, start.override)
    assert (options["gguf_type_k"], options["gguf_n_ctx"]) == (None, 8192)
    assert model.options == GGUF, "the configuration is unchanged"


def test_one_form_of_the_cache_bits_replaces_the_other() -> None:
    model = ModelDefinition("alpha", "exllamav3", options={"exllama_cache_quant": "8,8"})
    options = effective_options(model, {"exllama_cache_k_bits": 4, "exllama_cache_v_bits": 4})
    assert options["exllama_cache_quant"] is None


@pytest.mark.rule("load/validation-400")
@pytest.mark.parametrize(
    "load_request",
    [
        LoadRequest(override={"gguf_n_ctx": 8192}),
        LoadRequest(override={"gguf_type_k": None}),
        LoadRequest(override={"gguf_n_ctx": 2048}),
        LoadRequest(2),
        LoadRequest(1),
    ],
    ids=["another value", "null", "the same", "replicas", "the same replicas"],
)
def test_a_load_of_a_loaded_model_with_other_values_is_refused(
    backends: SimulatedPlatform, load_request: LoadRequest
) -> None:
    backends.finish_load(backends.fleet.load("llama_cpp", LoadRequest(override={"gguf_n_ctx": 2048})))
    with pytest.raises(InvalidLoadRequest) as refusal:
        backends.fleet.load("llama_cpp", load_request)
    assert refusal.value.param == next(iter(load_request.override), "replicas")
    row = backends.fleet.row("llama_cpp")
    assert (row.state, row.active_override, row.replicas) == ("loaded", {"gguf_n_ctx": 2048}, 1)


def test_a_load_of_a_loading_model_is_accepted_only_with_the_same_values(backends: SimulatedPlatform) -> None:
    load_request = LoadRequest(2, {"gguf_n_ctx": 2048})
    first = backends.fleet.load("llama_cpp", load_request)
    for same in (load_request, LoadRequest(), LoadRequest(override={"gguf_n_ctx": 2048})):
        again = backends.fleet.load("llama_cpp", same)
        assert (again.begun, again.assignments) == (False, ())
        assert again.operation
        assert first.operation
        assert again.operation.id == first.operation.id
    for other in (LoadRequest(2), LoadRequest(3, {"gguf_n_ctx": 2048}), LoadRequest(2, {"gguf_n_ctx": 4096})):
        with pytest.raises(InvalidLoadRequest):
            backends.fleet.load("llama_cpp", other)


@pytest.mark.rule("models/load-override")
def test_an_override_is_in_force_until_the_model_is_unloaded(backends: SimulatedPlatform) -> None:
    override = {"gguf_n_ctx": 2048}
    seen = []
    load = backends.fleet.load("llama_cpp", LoadRequest(override=override))
    seen.append(backends.fleet.row("llama_cpp"))
    backends.finish_load(load)
    seen.append(backends.fleet.row("llama_cpp"))
    unload = backends.fleet.unload("llama_cpp")
    seen.append(backends.fleet.row("llama_cpp"))
    backends.finish_unload(unload)
    seen.append(backends.fleet.row("llama_cpp"))
    assert [(str(row.state), dict(row.active_override)) for row in seen] == [
        ("loading", override),
        ("loaded", override),
        ("unloading", override),
        ("unloaded", {}),
    ]
    backends.fleet.load("llama_cpp")
    assert backends.fleet.row("llama_cpp").active_override == {}, "the next load has no override"


@pytest.mark.rule("models/load-override")
def test_a_load_that_failed_leaves_no_override_in_force(backends: SimulatedPlatform) -> None:
    item = backends.fleet.load("llama_cpp", LoadRequest(override={"gguf_n_ctx": 2048})).assignments[0]
    backends.starting(item.replica)
    backends.crash(item.replica, code="load_failed")
    row = backends.fleet.row("llama_cpp")
    assert (row.state, row.last_error, row.active_override) == ("failed", "killed by SIGSEGV", {})
    assert row.override == {"gguf_n_ctx": 2048}, "what failed can still be read"


@pytest.mark.rule("beyond/operations")
def test_an_operation_records_the_override_that_its_load_asked_for(backends: SimulatedPlatform) -> None:
    override = {"gguf_n_ctx": 2048, "gguf_type_k": None}
    failed = backends.fleet.load("llama_cpp", LoadRequest(override=override))
    backends.starting(failed.assignments[0].replica)
    backends.crash(failed.assignments[0].replica, code="load_failed")
    plain = backends.fleet.load("llama_cpp")
    backends.finish_load(plain)
    unload = backends.fleet.unload("llama_cpp")
    recorded = []
    for outcome in (failed, plain, unload):
        assert outcome.operation
        operation = backends.fleet.operation(outcome.operation.id)
        assert operation
        recorded.append(operation.override)
    assert recorded == [override, {}, None]


def test_replicas_of_one_load_do_not_change_the_configured_number(backends: SimulatedPlatform) -> None:
    outcome = backends.fleet.load("llama_cpp", LoadRequest(3))
    row = backends.fleet.row("llama_cpp")
    assert (row.replicas, row.definition.replicas, len(outcome.assignments)) == (3, 1, 3)


def test_a_lost_model_is_reloaded_with_its_replicas_and_override(backends: SimulatedPlatform) -> None:
    load_request = LoadRequest(2, {"gguf_n_ctx": 2048})
    backends.finish_load(backends.fleet.load("llama_cpp", load_request))
    backends.register()
    assert backends.recovery.missing() == ["llama_cpp"]
    assert len(backends.recovery.reload("llama_cpp").assignments) == 2
    assert backends.fleet.row("llama_cpp").active_override == {"gguf_n_ctx": 2048}


def test_an_override_does_not_survive_a_restart_of_the_platform(backends: SimulatedPlatform) -> None:
    backends.finish_load(backends.fleet.load("llama_cpp", LoadRequest(2, {"gguf_n_ctx": 2048})))
    backends.fleet.reset_to_configuration()
    row = backends.fleet.row("llama_cpp")
    assert (row.override, row.replicas, row.wanted) == ({}, 1, None)
