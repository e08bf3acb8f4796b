"""The admin API's objects have every field of the Runtime Admin API's examples, with its meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from api.operations.admin_schema import AdminModel, GpuMemory, OperationObject
from api.operations.serializers import serialize_memory, serialize_model, serialize_operation
from backends.catalogue import BACKENDS, REDACTED
from backends.memory_rules import MIB
from backends.model_shape import AttentionLayers, Device, ModelShape
from config.commands import program
from config.settings import ModelDefinition
from fleet.estimates import encode_shape
from fleet.flush import FlushScope
from fleet.memory import DeviceMemory, Gpu, required_mib
from fleet.model_row import ModelRow
from fleet.operation import Operation
from fleet.states import ModelState, OperationStatus
from fleet.worker_row import WorkerRow
from tests.seeds import RUNTIME_ADMIN_API

(EXAMPLE,) = RUNTIME_ADMIN_API["models"]["models"]
GPU = Gpu(0, "GPU-a", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 75603, 97887)


def as_in_the_example(**changed: Any) -> ModelRow:
    """The fleet's row of the example's model."""
    configured = EXAMPLE["definition"]
    options = {option.name: option.default for option in BACKENDS["llama_cpp"].options}
    model = ModelDefinition(
        EXAMPLE["name"],
        "llama_cpp",
        model_path=configured["model_path"],
        prompt_format=configured["prompt_format"],
        enabled=True,
        replicas=3,
        replica_max=4,
        options={**options, **{key: configured[key] for key in configured if key.startswith("gguf_")}},
    )
    row = ModelRow(
        model.name, model, ModelState.LOADED, 3, 3, 0, 0, slots=1, artifact_mib=57200 // 3 + 1, wanted=True
    )
    return replace(row, **changed)


@pytest.mark.rule(
    "models/models", "models/name-resolved-backend", "models/configured-enabled", "docs/documentation"
)
def test_a_model_equals_the_example_field_by_field() -> None:
    shown = serialize_model(as_in_the_example(artifact_mib=57201 // 3))
    assert AdminModel().validate(shown) == {}
    assert set(EXAMPLE) <= set(shown)
    added = {
        "last_error_code",
        "operation_id",
        "loaded_at",
        "size_mib",
        "context_tokens",
        "context_reason",
        "memory_parts",
        "crashes",
        "dynamic",
        "scaling",
        "origin",
        "registered",
        "restart_at",
        "load_field_descriptions",
        "last_load_override",
        "last_load",
        "nullable_load_fields",
        "load_null_meanings",
    }
    assert {key for key in shown if key not in EXAMPLE} == added
    for field in set(EXAMPLE) - {"definition", "capabilities", "vram_estimate_mib"}:
        assert shown[field] == EXAMPLE[field], field
    assert EXAMPLE["definition"].items() <= shown["definition"].items()
    assert shown["vram_estimate_mib"] == 57201, "three times the size of the file"
    # the document's notes overrule its example: thinking can be switched for llama_cpp's Gemma 4
    modes = ["default", "enabled", "disabled"]
    assert shown["capabilities"] == {**EXAMPLE["capabilities"], "thinking_modes": modes}


@pytest.mark.rule("load/response", "unload/response")
def test_the_answers_of_load_and_unload_have_the_fields_of_their_examples() -> None:
    shown = serialize_model(as_in_the_example())
    for example in (RUNTIME_ADMIN_API["load_answer"], RUNTIME_ADMIN_API["unload_answer"]):
        assert set(example) <= set(shown)
        assert set(example["definition"]) <= set(shown["definition"])


@pytest.mark.rule("models/load-constraints")
@pytest.mark.parametrize("name", BACKENDS)
def test_a_row_describes_its_load_fields_beside_the_constraints_of_the_specification(name: str) -> None:
    shown = serialize_model(ModelRow("m", ModelDefinition("m", name), ModelState.UNLOADED, 1, 0, 0, 0))
    assert shown["load_constraints"] == RUNTIME_ADMIN_API["load_constraints"].get(
        name, BACKENDS[name].load_constraints
    )
    assert shown["load_field_descriptions"].keys() == shown["load_constraints"].keys()
    assert all(shown["load_field_descriptions"].values())
    nullable = {field for field, one in shown["load_constraints"].items() if one["kind"].endswith("_or_null")}
    assert nullable <= set(shown["nullable_load_fields"]) <= shown["load_constraints"].keys()
    meanings = shown["load_null_meanings"]
    assert set(shown["nullable_load_fields"]) <= meanings.keys() <= shown["load_constraints"].keys()
    may_be_null = {option.name for option in BACKENDS[name].options if option.nullable}
    assert may_be_null & shown["load_constraints"].keys() <= meanings.keys()
    for field, meaning in meanings.items():
        assert meaning == shown["load_constraints"][field].get("null_means", meaning)
        assert meaning not in ("", "None"), field


@pytest.mark.parametrize(("made_for", "is_capped"), [(1024, True), (4096, False)])
def test_a_row_has_the_reason_when_the_context_in_force_is_less_than_what_is_set(
    made_for: int, is_capped: bool
) -> None:
    shape = encode_shape(ModelShape(MIB, context=made_for), Device(is_gpu=False)).decode()
    model = ModelDefinition("m", "llama_server", options={"llama_server_n_ctx": 2048})
    reason = serialize_model(ModelRow("m", model, ModelState.UNLOADED, 1, 0, 0, 0, shape=shape))[
        "context_reason"
    ]
    assert (reason is not None) == is_capped
    assert all(number in (reason or "") for number in ("1024", "2048")) == is_capped


@pytest.mark.rule("models/definition")
@pytest.mark.parametrize("name", BACKENDS)
def test_a_definition_has_the_common_fields_and_those_of_its_backend_only(name: str) -> None:
    backend = BACKENDS[name]
    options = {option.name: option.default for option in backend.options}
    model = ModelDefinition("m", name, options=options)
    shown = serialize_model(ModelRow("m", model, ModelState.UNLOADED, 1, 0, 0, 0))["definition"]
    common = {"model_path", "backend", "device", "prompt_format", "enabled", "replicas", "replica_max"}
    common |= {"target_inflight", "load_timeout_s", "on_demand", "idle_unload_s", "pin"}
    assert set(shown) == common | set(options)


def test_a_model_whose_replicas_follow_the_load_shows_the_bounds_of_this_load() -> None:
    model = ModelDefinition("m", "stub", replica_max=8, scale_max=4)
    row = ModelRow("m", model, ModelState.LOADED, 3, 3, 0, 0, least=2)
    shown = serialize_model(row)
    assert (shown["replicas"], shown["scaling"], shown["definition"]["replicas"]) == (
        3,
        {"min": 2, "max": 4},
        1,
    )
    assert serialize_model(replace(row, definition=replace(model, scale_max=None)))["scaling"] is None


def test_a_model_shows_its_size_its_context_and_the_parts_of_its_memory() -> None:
    row = as_in_the_example(artifact_mib=900, context=8192)
    shown = serialize_model(row)
    assert (shown["size_mib"], shown["context_tokens"]) == (900, 8192)
    assert shown["memory_parts"] is None, "no worker has read the headers of its file"
    configured = serialize_model(replace(row, context=None))["context_tokens"]
    assert configured == row.definition.options["gguf_n_ctx"]
    shape = ModelShape(weights=900 * MIB, attention=(AttentionLayers(16, 512, 512),), layers=16)
    read = replace(row, shape=encode_shape(shape, Device(is_gpu=False)).decode())
    parts = serialize_model(read)["memory_parts"]
    assert AdminModel().validate(serialize_model(read)) == {}
    assert (parts["weights_mib"], parts["cache_mib"] > 0) == (900, True)
    assert sum(parts.values()) >= (required_mib(read, {}) or 0) > 900


def test_secret_options_are_hidden() -> None:
    for backend in BACKENDS.values():
        for option in backend.options:
            if option.secret:
                model = ModelDefinition("m", backend.name, options={option.name: {"TOKEN": "hunter2"}})
                row = ModelRow("m", model, ModelState.UNLOADED, 1, 0, 0, 0)
                assert serialize_model(row)["definition"][option.name] == REDACTED


@pytest.mark.rule("models/runtime-state-is-loaded", "models/load-constraints", "models/load-override")
@pytest.mark.parametrize("state", ModelState)
def test_an_override_is_shown_while_it_is_in_force(state: ModelState) -> None:
    override = {"gguf_n_ctx": 32768, "gguf_type_k": None}
    shown = serialize_model(as_in_the_example(state=state, override=override))
    in_force = state in (ModelState.LOADING, ModelState.LOADED, ModelState.UNLOADING)
    assert shown["load_override"] == (override if in_force else {})
    assert shown["last_load_override"] == override
    assert shown["definition"]["gguf_n_ctx"] == 4096
    assert shown["is_loaded"] == (state == "loaded")
    assert shown["load_constraints"] == BACKENDS["llama_cpp"].load_constraints, "in every state"


@pytest.mark.rule("models/configured-target-inflight-effective-target")
def test_the_effective_target_is_the_engines_slots_or_the_configured_number() -> None:
    definition = replace(as_in_the_example().definition, target_inflight=16)
    loaded = as_in_the_example(definition=definition, slots=2)
    assert serialize_model(loaded)["effective_target_inflight"] == 2
    assert serialize_model(loaded)["configured_target_inflight"] == 16
    unloaded = replace(loaded, state=ModelState.UNLOADED, slots=0)
    assert serialize_model(unloaded)["effective_target_inflight"] == 16


@pytest.mark.rule("memory/gpus", "memory/models")
def test_gpu_memory_is_the_example_field_by_field() -> None:
    example = RUNTIME_ADMIN_API["gpu_memory"]
    worker = WorkerRow("gpu0", "cuda", 1, 0.0, memory=DeviceMemory("GPU-a", 97887, 22284, (GPU,)))
    shown = serialize_memory([as_in_the_example()], [worker])
    assert GpuMemory().validate(shown) == {}
    assert example["gpus"][0].items() <= shown["gpus"][0].items()
    assert set(shown["models"][0]) == set(example["models"][0])
    assert set(example) <= set(shown)
    assert shown["error"] is None


def test_a_gpu_of_two_workers_is_shown_once() -> None:
    memory = DeviceMemory("GPU-a", 97887, 22284, (GPU,))
    workers = [WorkerRow(name, "cuda", 0, 0.0, memory=memory) for name in ("gpu0", "spare")]
    shown = serialize_memory([], workers)
    assert [gpu["workers"] for gpu in shown["gpus"]] == [["gpu0", "spare"]]


@pytest.mark.rule("memory/error")
def test_missing_gpus_have_a_reason() -> None:
    def why(*workers: WorkerRow) -> str:
        return str(serialize_memory([], workers)["error"])

    unreadable = DeviceMemory("host:a", 1000, 500, error="no GPU can be read: install the NVIDIA driver")
    assert f"start one with `{program()} worker`" in why()
    assert "read its device yet" in why(WorkerRow("cpu0", "cpu", 0, 0.0))
    assert why(WorkerRow("cpu0", "cpu", 0, 0.0, memory=unreadable)) == f"cpu0: {unreadable.error}"
    assert "all run on the CPU" in why(
        WorkerRow("cpu0", "cpu", 0, 0.0, memory=DeviceMemory("host:a", 1000, 500))
    )


def operation(status: OperationStatus, **more: Any) -> dict[str, Any]:
    made = Operation("load_1", "load", "m", status, "reading", 0.5, None, 100.0, None)
    shown = serialize_operation(replace(made, **more))
    assert OperationObject().validate(shown) == {}
    return shown


@pytest.mark.rule("beyond/operations")
def test_an_operation_has_a_result_or_an_error_at_its_end_only() -> None:
    running = operation(OperationStatus.RUNNING, eta_s=2.345)
    assert (running["result"], running["error"], running["eta_s"]) == (None, None, 2.3)
    ended = {"finished_at": 103.5, "duration_s": 3.5}
    done = operation(OperationStatus.COMPLETED, **ended, memory_mib=700, replicas=2, context_tokens=8192)
    assert done["result"] == {
        "replicas": 2,
        "memory_mib": 700,
        "context_tokens": 8192,
        "entries_removed": None,
        "deleted_bytes": None,
        "reason": None,
        "duration_ms": 3500,
    }
    failed = operation(OperationStatus.FAILED, **ended, error="no file", code="load_failed")
    assert (failed["result"], failed["error"], failed["error_code"]) == (None, "no file", "load_failed")


def test_a_flush_shows_its_scope_and_what_the_engines_counted() -> None:
    flush = {"kind": "flush", "model": "", "scope": FlushScope("tenant", tenant="acme")}
    ended = {"finished_at": 103.5, "duration_s": 3.5, "entries": 0, "reason": "it does not say"}
    shown = operation(OperationStatus.COMPLETED, **flush, **ended)
    assert shown["model"] is None
    assert shown["scope"] == {"kind": "tenant", "model": None, "tenant": "acme", "tag": None}
    assert (shown["result"]["entries_removed"], shown["result"]["memory_mib"]) == (0, None)
    assert shown["result"]["reason"] == "it does not say"
