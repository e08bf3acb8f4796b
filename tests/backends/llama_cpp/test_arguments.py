"""What a `llama_cpp` model may set."""

from __future__ import annotations

from typing import Any

import pytest

from backends.base import LoadError
from backends.llama_cpp.adapter import LlamaCppAdapter
from backends.llama_cpp.arguments import LlamaCppOptions
from backends.llama_cpp.engine.pace import LEAST, STEP_S, Pace
from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL


def options(path: str | None = str(DEMO_MODEL), device: str = "auto", **given: Any) -> dict[str, Any]:
    named = {f"gguf_{name}": value for name, value in given.items()}
    model = ModelDefinition("model", "llama_cpp", model_path=path, device=device, options=named)
    return LlamaCppOptions.of(model, 3).for_host()


def refusal(*arguments: Any, **given: Any) -> str:
    with pytest.raises(LoadError) as caught:
        options(*arguments, **given)
    assert caught.value.code == "load_failed"
    return str(caught.value)


def test_each_option_reaches_the_host() -> None:
    given = {
        **{"n_ctx": 1000, "n_gpu_layers": 7, "flash_attn": "on", "type_k": "q8_0", "type_v": "q4_0"},
        **{"threads": 2, "batch": 256, "cache_prompt": False},
    }
    told = options(**given, python="/somewhere/python")
    assert told == {**given, "model": str(DEMO_MODEL), "slots": 3, "prompt_format": "generic"}


def test_what_is_null_is_left_to_the_host() -> None:
    told = options(type_k=None, type_v=None, threads=None)
    assert (told["type_k"], told["type_v"], told["threads"]) == ("f16", "f16", None)


def test_a_model_for_the_processor_keeps_off_the_gpu() -> None:
    assert options(n_gpu_layers=7, device="cpu")["n_gpu_layers"] == 0


def test_what_cannot_be_is_named_with_what_to_do() -> None:
    assert "set model_path to a GGUF file" in refusal(None)
    assert "there is no file /none.gguf: put it there, or correct model_path" in refusal("/none.gguf")
    assert "there is no option gguf_wrong" in refusal(wrong=1)
    assert "there is no option gguf_slots" in refusal(slots=1)
    said = refusal(type_v="q8_0", flash_attn="off")
    assert "set gguf_flash_attn to on or auto, or gguf_type_v to f16" in said
    assert options(type_k="q8_0", flash_attn="off")["type_k"] == "q8_0"


def test_the_runtime_has_the_name_of_its_backend() -> None:
    assert LlamaCppAdapter.name == "llama_cpp"


def test_steps_grow_no_longer_than_they_may_take() -> None:
    quick, slow = Pace(512, 0.0001), Pace(512, 1.0)
    assert (quick.tokens, slow.tokens) == (512, LEAST)
    quick.took(512, 2 * STEP_S)
    assert quick.tokens == 256
    quick.took(256, STEP_S)
    assert quick.tokens == 256
    slow.took(LEAST, STEP_S / 100)
    assert slow.tokens == 2 * LEAST
    slow.took(1, 60.0)  # a step of a few tokens says nothing of one of many
    assert slow.tokens == 2 * LEAST
    quick.took(256, 100 * STEP_S)
    assert quick.tokens == LEAST
