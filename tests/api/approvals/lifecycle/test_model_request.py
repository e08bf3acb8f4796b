"""Which model a load names, and what its parameters become: the policy, the files, the rules of backends."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.approvals.lifecycle.model_request import may_ask_hub, resolve_load, served_name
from api.http.errors import Forbidden
from backends.catalogue import BACKENDS
from config.hub_artifact import HubArtifact
from config.model_schema import option_field
from config.settings import ROOT, GovernanceSettings, HubSettings, ModelDefinition, Settings
from fleet.catalogue import ModelCatalogue
from fleet.errors import HubBusy, HubRefused, InsufficientMemory, InvalidLoadRequest, NotDownloaded
from fleet.fleet import Fleet
from fleet.hub_preview import Wanted, preview
from fleet.hub_process import MAX_AT_ONCE
from fleet.memory import DeviceMemory, Gpu
from fleet.plan import plan_load
from store.errors import Rejected, UnknownModel
from store.redis_connections import command_client
from tests.checkpoints import gguf_file
from tests.support.hub_server import HubServer, Repository, downloaded, serving_hub

pytestmark = pytest.mark.slow

DEMO = ROOT / "models" / "stoker-demo.gguf"
COMMIT = "a" * 40

Resolve = Callable[..., Any]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder of models: a GGUF file, folders with safetensors, EXL3, and two of CTranslate2."""
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "demo.gguf").write_bytes(DEMO.read_bytes())
    (folder / "ct2").symlink_to("translator")
    (folder / "translator").mkdir()
    for name in ("model.bin", "config.json"):
        (folder / "translator" / name).write_bytes((ROOT / "models/stoker-translator" / name).read_bytes())
    shutil.copytree(ROOT / "models/stoker-whisper", folder / "whisper")
    checkpoint(folder / "plain", torch_dtype="bfloat16")
    checkpoint(folder / "exl3", quantization_config={"quant_method": "exl3", "bits": 4.0})
    checkpoint(folder / "awq", quantization_config={"quant_method": "awq", "bits": 4})
    return folder


def checkpoint(folder: Path, **config: Any) -> None:
    """A folder as Hugging Face has it, with one small tensor."""
    folder.mkdir(parents=True)
    sizes = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128}
    (folder / "config.json").write_text(json.dumps({**sizes, "max_position_embeddings": 32768, **config}))
    header = json.dumps({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    data = len(header).to_bytes(8, "little") + header + b"\0" * 4
    (folder / "model.safetensors").write_bytes(data)


@pytest.fixture
def settings(
    shared_settings: Settings, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    allow = {name: ("*",) for name, backend in BACKENDS.items() if backend.parameters.forms}
    return replace(
        shared_settings,
        models={name: ModelDefinition(name, "stub") for name in ("alpha", "beta")},
        model_base_path=base,
        governance=GovernanceSettings(models="allow", allow=allow),
        runtimes_dir=tmp_path / "runtimes",
    )


@pytest.fixture
def fleet(settings: Settings) -> Fleet:
    return Fleet(command_client(settings), settings)


def cached(tmp_path: Path, repository: str, make: Callable[[Path], None]) -> None:
    """Put a snapshot into the cache, with links to blobs as `huggingface_hub` makes them."""
    folder = tmp_path / "hub" / f"models--{repository.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    make(folder / "made")
    (folder / "blobs").mkdir()
    snapshot = folder / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    for file in (folder / "made").iterdir():
        file.rename(folder / "blobs" / file.name)
        (snapshot / file.name).symlink_to(Path("../../blobs") / file.name)
    (folder / "made").rmdir()


# ---- the policy


def test_a_configured_model_is_loaded_as_it_is_configured(fleet: Fleet) -> None:
    found = resolve_load(fleet, {"modelId": "alpha", "evictModel": "beta"})
    assert found.definition is fleet.settings.models["alpha"]
    assert (found.load.mapped, found.load.dynamic, found.load.evict) == ({}, None, "beta")


def test_only_configured_models_are_loaded_under_catalog_only(fleet: Fleet) -> None:
    allowed = fleet.settings.governance.allow
    fleet.settings = replace(fleet.settings, governance=GovernanceSettings(allow=allowed))
    with pytest.raises(UnknownModel) as refused:
        resolve_load(fleet, {"modelId": "demo.gguf"})
    assert refused.value.param == "modelId"


@pytest.mark.rule("runner/load-by-path-or-id")
@pytest.mark.parametrize("name", ["demo.gguf", "absent.gguf", "org/absent"])
def test_a_name_without_a_pattern_is_refused_before_any_file_is_looked_for(fleet: Fleet, name: str) -> None:
    governance = GovernanceSettings(models="allow", allow={"llama_cpp": ("Demo*", "other/*")})
    fleet.settings = replace(fleet.settings, governance=governance)
    with pytest.raises(Forbidden) as refused:
        resolve_load(fleet, {"modelId": name})
    assert (refused.value.code, refused.value.param) == ("model_not_allowed", "modelId")


def test_a_pattern_of_another_backend_does_not_allow_the_weights(fleet: Fleet) -> None:
    governance = GovernanceSettings(models="allow", allow={"vllm": ("*",)})
    fleet.settings = replace(fleet.settings, governance=governance)
    with pytest.raises(Forbidden, match=r"gguf weights: no pattern .* llama_server or llama_cpp"):
        resolve_load(fleet, {"modelId": "demo.gguf"})


# ---- the backend that runs an artifact


@pytest.mark.rule("runner/load-by-path-or-id")
@pytest.mark.parametrize(
    ("name", "backend", "size_mib"),
    [
        ("demo.gguf", "llama_server", 1),
        ("plain", "vllm", 1),
        ("awq", "vllm", 1),
        ("translator", "ct2", 1),
        ("ct2", "ct2", 1),
        ("whisper", "whisper", 1),
        ("exl3", "exllamav3", 1),
    ],
)
def test_the_form_of_the_weights_chooses_the_backend(
    fleet: Fleet, base: Path, name: str, backend: str, size_mib: int
) -> None:
    found = resolve_load(fleet, {"modelId": name})
    assert found.load.dynamic is not None
    assert found.definition is found.load.dynamic.definition
    assert (found.definition.name, found.definition.backend) == (name, backend)
    assert found.definition.model_path == str(base / name)
    assert not found.definition.enabled
    assert found.load.dynamic.size_mib == size_mib
    assert found.definition.origin is not None
    assert len(found.definition.origin["files"]) == 32
    assert found.definition.target_inflight == BACKENDS[backend].parameters.slots


def test_a_translator_is_loaded_to_translate(fleet: Fleet) -> None:
    assert resolve_load(fleet, {"modelId": "translator"}).definition.options["ct2_task"] == "translate"


def test_the_prompt_format_follows_from_the_chat_template(fleet: Fleet, base: Path) -> None:
    (base / "plain" / "chat_template.jinja").write_text("[TOOL_CALLS]")
    assert resolve_load(fleet, {"modelId": "plain"}).definition.prompt_format == "mistral_template"
    assert resolve_load(fleet, {"modelId": "demo.gguf"}).definition.prompt_format == "qwen3_template"
    assert resolve_load(fleet, {"modelId": "awq"}).definition.prompt_format == "generic"


def test_an_installed_backend_comes_before_a_preferred_one(fleet: Fleet) -> None:
    (fleet.settings.runtimes_dir / "llama_cpp" / "bin").mkdir(parents=True)
    assert resolve_load(fleet, {"modelId": "demo.gguf"}).definition.backend == "llama_cpp"


def test_a_changed_file_makes_another_definition(fleet: Fleet, base: Path) -> None:
    before = resolve_load(fleet, {"modelId": "demo.gguf"}).definition
    with (base / "demo.gguf").open("ab") as file:
        file.write(b"\0")
    assert resolve_load(fleet, {"modelId": "demo.gguf"}).definition != before


def test_no_code_of_a_folder_is_trusted(fleet: Fleet, base: Path) -> None:
    checkpoint(base / "remote", auto_map={"AutoModel": "modeling.Evil"})
    definition = resolve_load(fleet, {"modelId": "remote"}).definition
    assert definition.options["vllm_trust_remote_code"] is False


# ---- paths


@pytest.mark.parametrize(
    "name",
    [
        "../outside.gguf",
        "a/../demo.gguf",
        "./demo.gguf",
        "/etc/passwd",
        "~/demo.gguf",
        "demo.gguf/",
        "demo.gguf\0",
        "demo.gguf\n",
        "..",
        ".",
        "-x",
        "a\\b",
        "x" * 300,
        "\u202edemo.gguf",
        "demo.gguf/load",
    ],
)
def test_a_name_that_is_no_plain_path_is_refused(fleet: Fleet, name: str) -> None:
    with pytest.raises((InvalidLoadRequest, UnknownModel)) as refused:
        resolve_load(fleet, {"modelId": name})
    assert refused.value.param == "modelId"


def test_no_file_outside_the_folder_is_reached_through_links(fleet: Fleet, base: Path) -> None:
    outside = base.parent / "outside"
    outside.mkdir()
    (outside / "x.gguf").write_bytes(DEMO.read_bytes())
    (base / "link.gguf").symlink_to(outside / "x.gguf")
    (base / "linked").symlink_to(outside)
    checkpoint(base / "inner")
    (base / "inner" / "model.safetensors").rename(outside / "model.safetensors")
    (base / "inner" / "model.safetensors").symlink_to(outside / "model.safetensors")
    for name in ("link.gguf", "linked", "linked/x.gguf", "inner"):
        with pytest.raises(InvalidLoadRequest, match="leads out of the models' folder"):
            resolve_load(fleet, {"modelId": name})


def test_an_absolute_path_below_the_folder_is_served_by_its_relative_name(fleet: Fleet, base: Path) -> None:
    found = resolve_load(fleet, {"modelId": str(base / "demo.gguf")})
    assert found.definition.name == "demo.gguf" == served_name(str(base / "demo.gguf"), fleet.settings)


def test_a_pipe_is_no_model_and_is_not_opened(fleet: Fleet, base: Path) -> None:
    os.mkfifo(base / "pipe.gguf")
    with pytest.raises(InvalidLoadRequest, match="not a GGUF file"):
        resolve_load(fleet, {"modelId": "pipe.gguf"})


def test_pickle_files_are_refused(fleet: Fleet, base: Path) -> None:
    checkpoint(base / "torch")
    (base / "torch" / "model.safetensors").rename(base / "torch" / "pytorch_model.bin")
    (base / "weights.pt").write_bytes(b"\x80\x04")
    for name in ("torch", "weights.pt"):
        with pytest.raises(InvalidLoadRequest, match="is a pickle file, which could run code"):
            resolve_load(fleet, {"modelId": name})


def test_a_name_without_files_is_unknown(fleet: Fleet) -> None:
    with pytest.raises(UnknownModel):
        resolve_load(fleet, {"modelId": "absent.gguf"})


# ---- the cache of the hub


@pytest.mark.rule("runner/load-by-path-or-id")
def test_a_repository_in_the_local_cache_is_pinned_to_its_commit(fleet: Fleet, tmp_path: Path) -> None:
    cached(tmp_path, "org/plain", lambda folder: checkpoint(folder, torch_dtype="float16"))
    found = resolve_load(fleet, {"modelId": "org/plain"})
    assert found.definition.backend == "vllm"
    assert found.definition.model_path == f"hf://org/plain@{COMMIT}"
    origin = found.definition.origin or {}
    assert (origin["kind"], origin["repository"], origin["revision"]) == ("hub", "org/plain", COMMIT)


def test_a_repository_with_several_gguf_files_is_chosen_from_by_its_quantization(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "demo-q8_0.gguf").write_bytes(DEMO.read_bytes())
        (folder / "demo-f32.gguf").write_bytes(gguf_file.encode(gguf_file.read(DEMO)))
        (folder / "mmproj-demo.gguf").write_bytes(DEMO.read_bytes())

    cached(tmp_path, "org/demo-GGUF", make)
    found = resolve_load(fleet, {"modelId": "org/demo-GGUF", "quantization": "F32"})
    assert found.definition.model_path == f"hf://org/demo-GGUF@{COMMIT}/demo-f32.gguf"
    with pytest.raises(InvalidLoadRequest, match=r"2 models: name one of demo-f32\.gguf, demo-q8_0\.gguf"):
        resolve_load(fleet, {"modelId": "org/demo-GGUF"})
    with pytest.raises(InvalidLoadRequest, match="0 models of the type q4_k_m"):
        resolve_load(fleet, {"modelId": "org/demo-GGUF", "quantization": "q4_k_m"})


def test_a_repository_that_is_not_in_the_cache_is_refused_without_downloads(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NotDownloaded, match="HF_HUB_OFFLINE is set"):
        resolve_load(fleet, {"modelId": "org/absent"})
    fleet.settings = replace(fleet.settings, hub=HubSettings(offline=True))
    with pytest.raises(NotDownloaded, match=r"hub\.offline is set"):
        resolve_load(fleet, {"modelId": "org/absent"})


@pytest.fixture
def hub(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub with the models of `base`, and an empty cache."""
    repositories = {
        f"org/{folder}": Repository({file.name: file.read_bytes() for file in (base / folder).iterdir()})
        for folder in ("plain", "exl3", "awq", "translator")
    }
    demo, f32 = DEMO.read_bytes(), gguf_file.encode(gguf_file.read(DEMO))
    repositories["org/demo-GGUF"] = Repository({"demo-Q8_0.gguf": demo, "demo-F32.gguf": f32})
    repositories["org/pickles"] = Repository({"config.json": b"{}", "pytorch_model.bin": b"x" * 9999})
    with serving_hub(repositories, tmp_path / "empty", monkeypatch) as server:
        yield server


@pytest.mark.parametrize(
    ("model_id", "more", "backend", "path"),
    [
        ("org/plain", {}, "vllm", "hf://org/plain@" + "c" * 40),
        ("org/awq", {"quantization": "awq-4bit"}, "vllm", "hf://org/awq@" + "c" * 40),
        ("org/demo-GGUF", {"quantization": "F32"}, None, f"hf://org/demo-GGUF@{'c' * 40}/demo-F32.gguf"),
        ("org/plain@main", {}, "vllm", "hf://org/plain@" + "c" * 40),
    ],
)
@pytest.mark.usefixtures("hub")
def test_a_repository_on_the_hub_is_defined_at_its_commit_before_it_is_downloaded(
    fleet: Fleet, model_id: str, more: dict[str, Any], backend: str | None, path: str
) -> None:
    found = resolve_load(fleet, {"modelId": model_id, **more})
    assert found.definition.name == model_id.partition("@")[0]
    assert found.definition.model_path == path
    assert backend in (None, found.definition.backend)
    assert found.load.dynamic is not None
    assert found.load.dynamic.origin.revision == "c" * 40
    assert resolve_load(fleet, {"modelId": model_id, **more}).definition == found.definition


@pytest.mark.usefixtures("hub")
def test_a_repository_on_the_hub_is_the_same_model_after_its_download(fleet: Fleet) -> None:
    before = resolve_load(fleet, {"modelId": "org/awq"})
    folder = downloaded(HubArtifact("org/awq"))
    after = resolve_load(fleet, {"modelId": "org/awq"})
    assert folder.is_dir()
    assert after.definition == before.definition
    assert after.load.dynamic is not None
    assert before.load.dynamic is not None
    assert after.load.dynamic.size_mib == before.load.dynamic.size_mib


def test_a_type_that_was_not_downloaded_is_looked_for_on_the_hub(
    fleet: Fleet, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloaded(HubArtifact("org/demo-GGUF", file="demo-Q8_0.gguf"))
    commit = hub.repositories["org/demo-GGUF"].commit
    here = resolve_load(fleet, {"modelId": "org/demo-GGUF", "quantization": "Q8_0"})
    assert here.definition.model_path == f"hf://org/demo-GGUF@{commit}/demo-Q8_0.gguf"
    there = resolve_load(fleet, {"modelId": "org/demo-GGUF", "quantization": "F32"})
    assert there.definition.model_path == f"hf://org/demo-GGUF@{commit}/demo-F32.gguf"
    with pytest.raises(InvalidLoadRequest) as refused:
        resolve_load(fleet, {"modelId": "org/demo-GGUF", "quantization": "q4_k_m"})
    assert refused.value.param == "quantization"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InvalidLoadRequest, match="q8_0") as refused:
        resolve_load(fleet, {"modelId": "org/demo-GGUF", "quantization": "F32"})
    assert refused.value.param == "quantization"


@pytest.mark.usefixtures("hub")
def test_the_type_of_a_configured_model_on_the_hub_is_checked_before_its_download(fleet: Fleet) -> None:
    models = {
        "awq": ModelDefinition("awq", "vllm", "org/awq"),
        "gguf": ModelDefinition("gguf", "llama_server", "hf://org/demo-GGUF/demo-F32.gguf"),
    }
    fleet.settings = replace(fleet.settings, models=models)
    assert resolve_load(fleet, {"modelId": "awq", "quantization": "awq-4bit"}).load.mapped == {}
    assert resolve_load(fleet, {"modelId": "gguf", "quantization": "f32"}).load.mapped == {}
    for name, wrong in (("awq", "fp16"), ("gguf", "q8_0")):
        with pytest.raises(InvalidLoadRequest, match="not as") as refused:
            resolve_load(fleet, {"modelId": name, "quantization": wrong})
        assert refused.value.param == "quantization"
        assert may_ask_hub(name, fleet.settings)
    fleet.settings = replace(fleet.settings, hub=HubSettings(offline=True))
    with pytest.raises(InvalidLoadRequest, match="the model's files are not on this host"):
        resolve_load(fleet, {"modelId": "awq", "quantization": "awq-4bit"})


def test_weights_on_the_hub_are_not_downloaded_to_look_at_them(fleet: Fleet, hub: HubServer) -> None:
    header = b'{"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    weights = len(header).to_bytes(8, "little") + header + bytes(40_000_000)
    files = {"config.json": b'{"torch_dtype": "bfloat16"}', "model.safetensors": weights}
    hub.repositories["org/large"] = Repository(files)
    found = resolve_load(fleet, {"modelId": "org/large"})
    assert found.load.dynamic is not None
    assert found.load.dynamic.size_mib == 39
    assert hub.sent_bytes < 8_000_000


@pytest.mark.parametrize(
    ("model_id", "error", "code", "words"),
    [
        ("org/nosuch", HubRefused, "hub_not_found", "no such model"),
        ("org/plain@v9", HubRefused, "hub_not_found", "no such revision"),
        ("org/plain@../x", InvalidLoadRequest, "invalid_load_request", "not a branch, tag or commit"),
        ("org/pickles", InvalidLoadRequest, "invalid_load_request", "pickle"),
    ],
)
@pytest.mark.usefixtures("hub")
def test_a_repository_that_cannot_be_used_is_refused_with_the_reason(
    fleet: Fleet, model_id: str, error: type[Rejected], code: str, words: str
) -> None:
    with pytest.raises(error, match=words) as refused:
        resolve_load(fleet, {"modelId": model_id})
    assert refused.value.code == code
    assert refused.value.param == "modelId"


@pytest.mark.usefixtures("hub")
def test_a_repository_is_refused_at_once_while_others_are_looked_at(fleet: Fleet) -> None:
    with ExitStack() as others:
        for _ in range(MAX_AT_ONCE):
            others.enter_context(preview(Wanted(HubArtifact("org/plain"))))
        with pytest.raises(HubBusy) as refused:
            resolve_load(fleet, {"modelId": "org/plain"})
        assert (refused.value.code, refused.value.param) == ("hub_busy", "modelId")
    assert resolve_load(fleet, {"modelId": "org/plain"})


# ---- parameters: every backend and every parameter


def definition_of(backend: str, base: Path, **changed: Any) -> ModelDefinition:
    """A configured model of a backend, with files where it needs them."""
    path = {
        "llama_cpp": "demo.gguf",
        "llama_server": "demo.gguf",
        "vllm": "plain",
        "vllm_serve": "plain",
        "tgi": "plain",
        "ct2": "translator",
        "exllamav3": "exl3",
    }.get(backend)
    given = BACKENDS[backend].with_defaults({})
    return ModelDefinition(
        "it", backend, model_path=path and str(base / path), target_inflight=2, options={**given, **changed}
    )


def mapped(fleet: Fleet, definition: ModelDefinition, **body: Any) -> dict[str, Any]:
    fleet.settings = replace(fleet.settings, models={"it": definition})
    found = resolve_load(fleet, {"modelId": "it", **body})
    options = dict(found.load.mapped)
    for name, value in options.items():
        option = BACKENDS[definition.backend].option(name)
        assert option is not None, name
        assert option_field(option).deserialize(value) == value
    return options


ACCEPTED = [
    ("llama_cpp", {"quantization": "Q8_0"}, {}),
    ("llama_cpp", {"maxContextLength": 1000}, {"gguf_n_ctx": 1000}),
    ("llama_cpp", {"gpuMemoryBudgetMB": 4000}, {"gguf_n_gpu_layers": 4}),
    ("llama_server", {"quantization": "q8_0"}, {}),
    ("llama_server", {"maxContextLength": 1000}, {"llama_server_n_ctx": 1024}),
    ("llama_server", {"gpuMemoryBudgetMB": 4000}, {"llama_server_n_gpu_layers": 4}),
    ("vllm", {"quantization": "bf16"}, {"vllm_dtype": "bfloat16"}),
    ("vllm", {"quantization": "fp16"}, {"vllm_dtype": "float16"}),
    ("vllm", {"quantization": "FP32"}, {"vllm_dtype": "float32"}),
    ("vllm", {"quantization": "fp8"}, {"vllm_quantization": "fp8"}),
    ("vllm", {"maxContextLength": 32768}, {"vllm_max_model_len": 32768}),
    ("vllm", {"gpuMemoryBudgetMB": 40000}, {"vllm_gpu_memory_utilization": 0.5}),
    ("vllm_serve", {"quantization": "fp16"}, {"vllm_dtype": "float16"}),
    ("vllm_serve", {"maxContextLength": 512}, {"vllm_max_model_len": 512}),
    ("vllm_serve", {"gpuMemoryBudgetMB": 90000}, {"vllm_gpu_memory_utilization": 0.95}),
    ("tgi", {"quantization": "fp16"}, {"tgi_dtype": "float16"}),
    ("tgi", {"quantization": "fp8"}, {"tgi_quantize": "fp8"}),
    ("tgi", {"maxContextLength": 512}, {"tgi_max_total_tokens": 512}),
    ("tgi", {"gpuMemoryBudgetMB": 40000}, {"tgi_cuda_memory_fraction": 0.5}),
    ("ct2", {"quantization": "fp16"}, {"ct2_compute_type": "float16"}),
    ("ct2", {"quantization": "bf16"}, {"ct2_compute_type": "bfloat16"}),
    ("ct2", {"quantization": "int8_float16"}, {"ct2_compute_type": "int8_float16"}),
    ("ct2", {"maxContextLength": 100}, {"ct2_n_ctx": 100}),
    ("exllamav3", {"quantization": "exl3"}, {}),
    ("exllamav3", {"quantization": "exl3-4.0bpw"}, {}),
    ("exllamav3", {"maxContextLength": 1000}, {"exllama_cache_size": 1024}),
    ("exllamav3", {"gpuMemoryBudgetMB": 40000}, {"exllama_cache_size": 8192}),
    ("exllamav3", {"gpuMemoryBudgetMB": 1200}, {"exllama_cache_size": 1280}),
    ("stub", {"maxContextLength": 10}, {"stub_context": 10}),
    ("stub", {"gpuMemoryBudgetMB": 1}, {}),
]


@pytest.mark.rule("runner/load-parameters")
@pytest.mark.parametrize(
    ("backend", "body", "options"), ACCEPTED, ids=[f"{backend}-{body}" for backend, body, _ in ACCEPTED]
)
def test_a_parameter_becomes_options_of_the_backend(
    fleet: Fleet, base: Path, backend: str, body: dict[str, Any], options: dict[str, Any]
) -> None:
    with_gpu(fleet, 80_000)
    assert mapped(fleet, definition_of(backend, base), **body) == options


REFUSED = [
    ("llama_cpp", "quantization", "awq-4bit", "contain q8_0 weights"),
    ("llama_cpp", "quantization", "fp16", "contain q8_0 weights"),
    ("llama_cpp", "maxContextLength", 4097, "must be at most 4096"),
    ("llama_cpp", "gpuMemoryBudgetMB", 300, "must be at least 40"),
    ("llama_server", "quantization", "q4_k_m", "contain q8_0 weights"),
    ("llama_server", "maxContextLength", 5000, "must be at most 4096"),
    ("llama_server", "gpuMemoryBudgetMB", 1, "must be at least 40"),
    ("vllm", "quantization", "awq-4bit", "bf16 weights, which can be loaded as fp16, bf16, fp32, fp8"),
    ("vllm", "quantization", "gptq-4bit", "bf16 weights"),
    ("vllm", "maxContextLength", 32769, "must be at most 32768"),
    ("vllm", "gpuMemoryBudgetMB", 700, "must be at least 800"),
    ("vllm_serve", "quantization", "q8_0", "bf16 weights"),
    ("vllm_serve", "maxContextLength", 10**9, "must be at most 32768"),
    ("vllm_serve", "gpuMemoryBudgetMB", 1, "must be at least 800"),
    ("tgi", "quantization", "fp32", "bf16 weights, which can be loaded as fp16, bf16, fp8"),
    ("tgi", "maxContextLength", 10**9, "must be at most 32768"),
    ("tgi", "gpuMemoryBudgetMB", 1, "must be at least 800"),
    ("ct2", "quantization", "awq-4bit", "must be one of fp32, fp16, bf16"),
    ("ct2", "maxContextLength", 10**9, "must be at most 100000000"),
    ("ct2", "gpuMemoryBudgetMB", 4000, "CTranslate2 takes memory as the requests need it"),
    ("exllamav3", "quantization", "gptq-4bit", "contain exl3-4.0bpw weights"),
    ("exllamav3", "quantization", "exl3-5.0bpw", "contain exl3-4.0bpw weights"),
    ("exllamav3", "maxContextLength", 40000, "must be at most 32768"),
    ("exllamav3", "gpuMemoryBudgetMB", 1000, "must be at least 1057: for the weights and 256 tokens"),
    ("comfyui", "quantization", "fp16", "the workflow names the weights"),
    ("comfyui", "maxContextLength", 10, "a model of images has no context"),
    ("comfyui", "gpuMemoryBudgetMB", 10, "comfyui_memory_mib of the configuration bounds it"),
    ("sherpa", "quantization", "fp16", "a voice has the type of its file"),
    ("sherpa", "maxContextLength", 10, "sherpa_max_characters is the limit"),
    ("sherpa", "gpuMemoryBudgetMB", 10, "voices run on the CPU"),
    ("whisper", "quantization", "awq-4bit", "must be one of fp32, fp16, bf16"),
    ("whisper", "maxContextLength", 10, "is processed in windows of 30 seconds"),
    ("whisper", "gpuMemoryBudgetMB", 10, "takes memory as the requests need it"),
    ("openai_remote", "quantization", "fp16", "runs on another server"),
    ("openai_remote", "maxContextLength", 10, "runs on another server"),
    ("openai_remote", "gpuMemoryBudgetMB", 10, "runs on another server"),
    ("stub", "quantization", "fp16", "the stub has no weights"),
    ("stub", "maxContextLength", 10**8, "must be at most 10000000"),
    ("stub", "gpuMemoryBudgetMB", 10, "must be at least 20"),
]


@pytest.mark.rule("runner/load-parameters")
@pytest.mark.parametrize("row", REFUSED, ids=lambda row: "-".join(map(str, row[:3])))
def test_a_parameter_that_a_backend_cannot_honour_is_refused_with_its_field(
    fleet: Fleet, base: Path, row: tuple[str, str, Any, str]
) -> None:
    backend, parameter, value, message = row
    with_gpu(fleet, 80_000)
    changed = {"stub_memory_mib": 20} if backend == "stub" else {}
    with pytest.raises(InvalidLoadRequest, match=message) as refused:
        mapped(fleet, definition_of(backend, base, **changed), **{parameter: value})
    assert refused.value.param == parameter
    assert str(refused.value).startswith(f"{parameter}: ")


def test_every_backend_and_parameter_is_in_the_tables() -> None:
    accepted = {(backend, name) for backend, body, _ in ACCEPTED for name in body}
    refused = {(backend, name) for backend, name, *_ in REFUSED}
    pairs = {
        (name, parameter)
        for name in BACKENDS
        for parameter in ("quantization", "maxContextLength", "gpuMemoryBudgetMB")
    }
    assert accepted | refused == pairs
    assert refused == pairs


def with_gpu(fleet: Fleet, mib: int) -> None:
    incarnation = fleet.registry.register("gpu", "cuda")
    gpu = Gpu(0, "GPU-1", "NVIDIA", 0, mib)
    fleet.report_memory("gpu", incarnation, DeviceMemory("GPU-1", mib, mib, (gpu,)))


@pytest.mark.rule("runner/load-parameters")
def test_quantized_weights_keep_their_type_in_vllm(fleet: Fleet, base: Path) -> None:
    model = replace(definition_of("vllm", base), model_path=str(base / "awq"))
    assert mapped(fleet, model, quantization="AWQ-4bit") == {}
    with pytest.raises(InvalidLoadRequest, match="contain awq-4bit weights"):
        mapped(fleet, model, quantization="fp16")


def test_parameters_are_taken_together(fleet: Fleet, base: Path) -> None:
    model = definition_of("exllamav3", base)
    assert mapped(fleet, model, maxContextLength=2048, gpuMemoryBudgetMB=40000) == {
        "exllama_cache_size": 2048
    }
    with pytest.raises(InvalidLoadRequest, match="2048 tokens of cache"):
        mapped(fleet, model, maxContextLength=2048, gpuMemoryBudgetMB=1100)
    model = definition_of("llama_cpp", base)
    more = mapped(fleet, model, maxContextLength=4096, gpuMemoryBudgetMB=405)
    less = mapped(fleet, model, maxContextLength=64, gpuMemoryBudgetMB=405)
    assert (more["gguf_n_gpu_layers"], less["gguf_n_gpu_layers"]) == (1, 4)


def test_without_a_gpu_a_budget_changes_no_option_of_vllm(fleet: Fleet, base: Path) -> None:
    assert mapped(fleet, definition_of("vllm", base), gpuMemoryBudgetMB=1000) == {}


def test_a_share_is_that_of_the_largest_gpu(fleet: Fleet, base: Path) -> None:
    with_gpu(fleet, 80_000)
    model = replace(definition_of("vllm", base), device="cpu")
    assert mapped(fleet, model, gpuMemoryBudgetMB=40000) == {}


def test_files_on_another_host_cannot_be_checked(fleet: Fleet, base: Path) -> None:
    model = replace(definition_of("llama_cpp", base), model_path=str(base / "elsewhere.gguf"))
    for body in ({"quantization": "q8_0"}, {"gpuMemoryBudgetMB": 4000}):
        with pytest.raises(InvalidLoadRequest, match="not on this host"):
            mapped(fleet, model, **body)
    assert mapped(fleet, model, maxContextLength=100) == {"gguf_n_ctx": 100}


def test_a_dynamic_model_gets_its_options_with_the_load(fleet: Fleet) -> None:
    found = resolve_load(fleet, {"modelId": "demo.gguf", "maxContextLength": 512, "quantization": "q8_0"})
    assert found.load.mapped == {"llama_server_n_ctx": 512}
    assert found.definition.options["llama_server_n_ctx"] == 4096


def test_a_budget_is_the_need_of_a_load_on_a_gpu(fleet: Fleet, base: Path) -> None:
    def need(backend: str, **body: Any) -> int | None:
        fleet.settings = replace(fleet.settings, models={"it": definition_of(backend, base)})
        return resolve_load(fleet, {"modelId": "it", **body}).load.need_mib

    assert need("llama_cpp", gpuMemoryBudgetMB=4000) is None, "the CPU holds all layers"
    with_gpu(fleet, 80_000)
    assert need("llama_cpp", gpuMemoryBudgetMB=4000) == 1, "the whole file"
    assert need("vllm", gpuMemoryBudgetMB=40_000) == 40_000, "vLLM takes all of its share"
    assert need("vllm", gpuMemoryBudgetMB=90_000) == 76_000
    assert need("exllamav3", gpuMemoryBudgetMB=4000) is None
    assert need("vllm", maxContextLength=512) is None


def test_a_part_of_a_model_fits_where_the_whole_does_not(fleet: Fleet, base: Path) -> None:
    with_gpu(fleet, 1000)
    fleet.settings = replace(fleet.settings, models={"it": definition_of("llama_cpp", base)})
    fleet.catalogue = ModelCatalogue(fleet.client, fleet.settings)
    fleet.report_artifacts({"it": 3000})
    whole = resolve_load(fleet, {"modelId": "it"})
    with pytest.raises(InsufficientMemory):
        fleet.load("it", whole.load)
    part = resolve_load(fleet, {"modelId": "it", "gpuMemoryBudgetMB": 500})
    assert plan_load(fleet, part.definition, part.load).shown["memory"]["neededMB"] <= 500
    assert fleet.load("it", part.load).begun
