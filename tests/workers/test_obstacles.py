"""Why a worker cannot load a model: files, environments, a GPU, the hub's package."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from config.settings import ROOT, HubSettings, ModelDefinition, Settings
from workers.obstacles import ObstacleScan, load_obstacle

DEMO = str(ROOT / "models" / "stoker-demo.gguf")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings without installed environments, on a worker without a GPU."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return Settings(data_dir=tmp_path, runtimes_dir=tmp_path / "runtimes")


def obstacle(settings: Settings, backend: str, path: str | None, **options: object) -> str:
    return load_obstacle(ModelDefinition("m", backend, model_path=path, options=options), settings) or ""


def test_a_model_that_can_be_loaded_has_no_obstacle(settings: Settings) -> None:
    assert obstacle(settings, "stub", None) == ""
    assert obstacle(settings, "llama_server", DEMO) == ""


def test_a_missing_path_is_an_obstacle(settings: Settings, tmp_path: Path) -> None:
    for backend in ("llama_server", "llama_cpp"):
        assert "/none.gguf does not exist: put the file" in obstacle(settings, backend, "/none.gguf")
    assert "/none" in obstacle(settings, "ct2", "/none")
    assert "/none" in obstacle(settings, "vllm", "/none")
    damaged = tmp_path / "m.gguf"
    damaged.write_bytes(Path(DEMO).read_bytes()[:-100])
    assert "m.gguf is incomplete" in obstacle(settings, "llama_server", str(damaged))


def test_an_environment_that_is_not_installed_is_an_obstacle(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engines.environments.python.find_spec", lambda _name: None)
    assert "runtimes install llama_cpp" in obstacle(settings, "llama_cpp", DEMO)
    assert "runtimes install llama_server" in obstacle(settings, "llama_server", DEMO)


def test_an_absent_gpu_is_an_obstacle_for_a_backend_that_needs_one(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text('{"quantization_config": {"quant_method": "exl3"}}')
    python = os.path.realpath("/bin/sh")
    found = obstacle(settings, "exllamav3", str(tmp_path), exllama_python=python)
    assert "ExLlamaV3 runs on NVIDIA GPUs only, and this worker has none" in found


def test_an_absent_hub_package_is_an_obstacle(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.obstacles.find_spec", lambda _name: None)
    found = obstacle(settings, "vllm", "org/model")
    assert "org/model is on a hub and not on this host, and the package huggingface_hub" in found
    offline = replace(settings, hub=HubSettings(offline=True))
    assert "hub.offline is set" in obstacle(offline, "vllm", "org/model")


def test_an_obstacle_has_the_options_that_a_load_can_change_to_remove_it(settings: Settings) -> None:
    options = {"llama_server_spec_type": "draft-simple", "llama_server_n_ctx": 512}
    models = {"m": ModelDefinition("m", "llama_server", model_path=DEMO, options=options)}
    (found,) = ObstacleScan(settings).scan(models, {}).values()
    assert "needs a draft model" in found.message
    assert found.options == ("llama_server_spec_type",)
    gone = {"m": replace(models["m"], model_path="/none.gguf")}
    (found,) = ObstacleScan(settings).scan(gone, {}).values()
    assert found.options == (), "no option brings the file"


def test_a_scan_checks_again_what_had_an_obstacle_or_changed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "late.gguf"
    late = ModelDefinition("late", "llama_server", model_path=str(path))
    models = {"late": late, "demo": ModelDefinition("demo", "llama_server", model_path=DEMO)}
    scan = ObstacleScan(settings)
    assert list(scan.scan(models, {"demo": "1"})) == ["late"]
    path.write_bytes(Path(DEMO).read_bytes())
    checked: list[str] = []

    def record(model: ModelDefinition, found: Settings) -> str | None:
        checked.append(model.name)
        return load_obstacle(model, found)

    monkeypatch.setattr("workers.obstacles.load_obstacle", record)
    assert scan.scan(models, {"demo": "1"}) == {}
    assert checked == ["late"]
    scan.scan(models, {"demo": "2"})
    assert checked == ["late", "demo"]
