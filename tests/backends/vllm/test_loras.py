"""The arguments of vLLM for LoRA adapters, and the names that requests have for them, without vLLM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from backends.base import GenerationError
from backends.vllm.arguments import VllmOptions
from backends.vllm.diagnosis import diagnose
from backends.vllm_serve.adapter import _body
from backends.vllm_serve.arguments import VllmServeOptions
from tests.backends.conftest import ask
from tests.backends.vllm.test_arguments import engine, folder, machine, refusal, vllm

__all__ = ["folder", "machine"]  # fixtures


def adapter(path: Path, **config: Any) -> str:
    path.mkdir()
    (path / "adapter_config.json").write_text(json.dumps(config))
    return str(path)


def test_rank_is_the_least_of_vllms_that_has_all_adapters(folder: Path, tmp_path: Path) -> None:
    loras = {
        "b": adapter(tmp_path / "b", r=4, rank_pattern={"q_proj": 20}),
        "a": adapter(tmp_path / "a", r=8),
    }
    found = engine(folder, device="cuda", lora=loras)
    assert {name: value for name, value in found.items() if "lora" in name} == {
        "enable_lora": True,
        "max_loras": 2,
        "max_cpu_loras": 2,
        "max_lora_rank": 32,
    }
    assert list(VllmOptions.of(vllm(folder, lora=loras), 1).for_engine()["loras"]) == ["a", "b"]


def test_places_are_bounded_on_a_gpu_and_one_is_empty_on_the_cpu(folder: Path, tmp_path: Path) -> None:
    loras = {f"a{number}": adapter(tmp_path / f"a{number}", r=1) for number in range(10)}
    on_gpu, on_cpu = (engine(folder, device=device, lora=loras) for device in ("cuda", "cpu"))
    assert (on_gpu["max_loras"], on_gpu["max_cpu_loras"], on_gpu["max_lora_rank"]) == (8, 10, 1)
    assert (on_cpu["max_loras"], on_cpu["max_cpu_loras"]) == (11, 11)


def test_without_adapters_nothing_is_passed(folder: Path) -> None:
    assert not [name for name in engine(folder, device="cpu") if "lora" in name]


@pytest.mark.parametrize(
    "config", [{}, {"r": "x"}, {"r": 0}, {"r": 513}, {"r": 8, "rank_pattern": {"q": 999}}, []]
)
def test_unusable_configuration_is_refused(folder: Path, tmp_path: Path, config: Any) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "adapter_config.json").write_text(json.dumps(config))
    assert "odd" in refusal(folder, lora={"odd": str(tmp_path / "odd")})


def test_folder_without_a_configuration_is_refused(folder: Path, tmp_path: Path) -> None:
    assert "or correct vllm_lora.odd" in refusal(folder, lora={"odd": str(tmp_path)})


def test_server_knows_an_adapter_by_a_name_that_no_model_has(folder: Path, tmp_path: Path) -> None:
    path = adapter(tmp_path / "a", r=8)
    model = vllm(folder, lora={"model": path}, serve_binary="/bin/true", device="cuda")
    argv = VllmServeOptions.of(model, 1, Path("/none")).argv(8000)
    assert json.loads(argv[argv.index("--lora-modules") + 1]) == {"name": "lora:model", "path": path}
    assert "--enable-lora" in argv
    for lora, served in ((None, "model"), ("model", "lora:model")):
        request = ask("hi", lora=lora)
        body = _body(request, "generic", served="model", context=512, loras={"model": "lora:model"})
        assert orjson.loads(body)["model"] == served
    with pytest.raises(GenerationError) as caught:
        _body(ask("hi", lora="gone"), "generic", served="model", context=512)
    assert caught.value.code == "unsupported_parameter"
    managed = vllm(folder, serve_binary="/bin/true", serve_extra_args=["--lora-modules", "a=b"])
    with pytest.raises(Exception, match="may not contain --lora-modules"):
        VllmServeOptions.of(managed, 1, Path("/none"))


def test_endpoints_that_load_adapters_of_any_path_are_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "1")
    assert VllmOptions.of(vllm(folder), 1).environment["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "0"


def test_log_of_a_damaged_adapter_names_it() -> None:
    log = "SafetensorError: header too small\nvLLM cannot load the LoRA adapter odd-1\n"
    assert "the LoRA adapter odd-1: " in str(diagnose(log))
