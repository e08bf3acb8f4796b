"""The options of an ExLlamaV3 model, and what is refused before an engine starts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from backends.base import LoadError
from backends.catalogue import BACKENDS
from backends.exllamav3.adapter import _environment, engine_options
from backends.exllamav3.engine.model import ExllamaLoadError, _load_error_message, _warm_up
from config.settings import ModelDefinition
from tests.backends.conftest import Start


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


def exl(path: Path | str | None, device: str = "auto", **options: Any) -> ModelDefinition:
    defaults = {option.name: option.default for option in BACKENDS["exllamav3"].options}
    named = {f"exllama_{name}": value for name, value in options.items()}
    path = None if path is None else str(path)
    return ModelDefinition(
        "model", "exllamav3", model_path=path, device=device, options={**defaults, **named}
    )


def refusal(model: ModelDefinition) -> str:
    with pytest.raises(LoadError) as caught:
        engine_options(model, 1)
    assert caught.value.code == "load_failed"
    return str(caught.value)


def test_the_engine_gets_all_options_of_the_model(folder: Path) -> None:
    model = exl(folder, cache_size=512, max_rq_tokens=256, image_input=True, warm_up=False)
    assert engine_options(model, 3) == {
        "model": str(folder),
        "prompt_format": "generic",
        "slots": 3,
        "cache_size": 512,
        "max_rq_tokens": 256,
        "k_bits": None,
        "v_bits": None,
        "image_input": True,
        "warm_up": False,
    }


@pytest.mark.parametrize(
    ("options", "bits"),
    [
        ({}, (None, None)),
        ({"cache_quant": "8"}, (8, 8)),
        ({"cache_quant": "8,4"}, (8, 4)),
        ({"cache_k_bits": 6, "cache_v_bits": 5}, (6, 5)),
    ],
)
def test_the_bits_of_the_cache_are_accepted_in_both_forms(
    folder: Path, options: dict[str, Any], bits: tuple[int | None, int | None]
) -> None:
    passed = engine_options(exl(folder, **options), 1)
    assert (passed["k_bits"], passed["v_bits"]) == bits


def test_a_model_that_cannot_be_loaded_is_refused_before_an_engine_starts(
    folder: Path, tmp_path: Path
) -> None:
    assert "set model_path to the folder of an EXL3 model" in refusal(exl(None))
    assert "/none does not exist: put the folder there, or correct model_path" in refusal(exl("/none"))
    assert "set device to cuda" in refusal(exl(folder, device="cpu"))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "is not the folder of a model with its config.json" in refusal(exl(empty))
    assert "is not the folder of a model with its config.json" in refusal(exl(folder / "config.json"))
    (folder / "config.json").write_text(json.dumps({"quantization_config": {"quant_method": "gptq"}}))
    assert "quantised as gptq, which ExLlamaV3 does not support: use its EXL3 form" in refusal(exl(folder))
    (folder / "config.json").write_text(json.dumps({"quantization_config": {"quant_method": "exl3"}}))
    assert engine_options(exl(folder), 1)["model"] == str(folder)


def test_a_configured_python_that_does_not_exist_is_refused(start: Start, folder: Path) -> None:
    with pytest.raises(LoadError, match="there is no Python /none: correct the option"):
        start(exl(folder, python="/none"))


def test_the_compiler_gets_the_operators_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TORCH_CUDA_ARCH_LIST", "EXL3_INT8_GEMV", "MAX_JOBS", "CUDAHOSTCXX"):
        monkeypatch.setenv(name, "7")
    monkeypatch.setenv("STOKER_API_KEY", "secret")
    environment = _environment(Path("/opt/exl/bin/python"))
    assert environment.keys() >= {"TORCH_CUDA_ARCH_LIST", "EXL3_INT8_GEMV", "MAX_JOBS", "CUDAHOSTCXX"}
    assert environment["PATH"].startswith(f"/opt/exl/bin{os.pathsep}")  # for ninja
    assert "STOKER_API_KEY" not in environment


def test_the_cuda_toolkit_in_cuda_home_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert _environment(Path(sys.executable))["CUDA_HOME"] == str(tmp_path)


class FailingModel:
    """A model whose test run fails as ExLlamaV3 reports it: an exception is printed, a label returned."""

    def __init__(self, exception: Exception) -> None:
        self._exception = exception

    def warmup(self, _cache: object, **_: object) -> list[str]:
        print(f" !! Warmup pass failed (batch 1 decode, 1 token(s) at 32): {self._exception!r}")
        return ["batch 1 decode, 1 token(s) at 32"]


@pytest.mark.parametrize(
    ("exception", "advice"),
    [
        (RuntimeError("CUDA error: an illegal memory access was encountered"), "leave exllama_cache_quant"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "make exllama_cache_size smaller"),
    ],
)
def test_a_failed_test_run_is_quoted_with_the_advice_for_its_cause(
    exception: Exception, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ExllamaLoadError) as caught:
        _warm_up(FailingModel(exception), None, 4, lambda _done, _stage: None)
    message = str(caught.value)
    assert repr(exception) in message
    assert advice in message
    assert ("exllama_cache_size" in message) == ("out of memory" in message)
    assert "exllama_warm_up" not in message, "requests would run into the same error"
    assert repr(exception) in capsys.readouterr().out, "it stays in the engine's log"


def test_an_unknown_error_of_a_load_is_quoted() -> None:
    assert "(KeyError: 'odd')" in _load_error_message(KeyError("odd"))
    assert "not have enough memory" in _load_error_message(RuntimeError("CUDA out of memory."))
