"""The arguments of a `llama_cpp` engine, and its step budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backends.base import LoadError
from backends.llama_cpp.adapter import LlamaCppAdapter
from backends.llama_cpp.arguments import LlamaCppOptions
from backends.llama_cpp.engine.step_runner import MIN_TOKENS, STEP_S, StepBudget
from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL
from tests.support.odd_gguf import further_file


def options(path: str | None = str(DEMO_MODEL), device: str = "auto", **given: Any) -> dict[str, Any]:
    named = {f"gguf_{name}": value for name, value in given.items()}
    model = ModelDefinition("model", "llama_cpp", model_path=path, device=device, options=named)
    return LlamaCppOptions.of(model, 3).for_engine()


def refusal(*arguments: Any, **given: Any) -> str:
    with pytest.raises(LoadError) as caught:
        options(*arguments, **given)
    assert caught.value.code == "load_failed"
    return str(caught.value)


def test_each_option_reaches_the_engine() -> None:
    given = {
        **{"n_ctx": 1000, "n_gpu_layers": 7, "flash_attn": "on", "type_k": "q8_0", "type_v": "q4_0"},
        **{"threads": 2, "batch": 256, "cache_prompt": False, "pooling": "mean"},
        "ctx_checkpoints": 3,
        "chat_template_kwargs": {"mode": "fast"},
    }
    arguments = options(**given, python="/somewhere/python")
    assert arguments == {
        **given,
        "lora": {},
        "model": str(DEMO_MODEL),
        "slots": 3,
        "prompt_format": "generic",
    }


def test_a_null_option_leaves_the_choice_to_the_engine() -> None:
    arguments = options(type_k=None, type_v=None, threads=None)
    assert (arguments["type_k"], arguments["type_v"], arguments["threads"]) == ("f16", "f16", None)


def test_a_model_on_the_cpu_offloads_no_layers() -> None:
    assert options(n_gpu_layers=7, device="cpu")["n_gpu_layers"] == 0


def test_an_impossible_option_is_refused_with_advice() -> None:
    assert "set model_path to a GGUF file" in refusal(None)
    assert "/none.gguf does not exist: put the file there, or correct model_path" in refusal("/none.gguf")
    assert "there is no option gguf_wrong" in refusal(wrong=1)
    assert "there is no option gguf_slots" in refusal(slots=1)
    message = refusal(type_v="q8_0", flash_attn="off")
    assert "set gguf_flash_attn to on or auto, or gguf_type_v to f16" in message
    assert options(type_k="q8_0", flash_attn="off")["type_k"] == "q8_0"


def test_the_adapter_has_the_name_of_its_backend() -> None:
    assert LlamaCppAdapter.name == "llama_cpp"


def test_the_step_budget_limits_the_duration_of_a_step() -> None:
    quick, slow = StepBudget(512, 0.0001), StepBudget(512, 1.0)
    assert (quick.tokens, slow.tokens) == (512, MIN_TOKENS)
    quick.record(512, 2 * STEP_S)
    assert quick.tokens == 256
    quick.record(256, STEP_S)
    assert quick.tokens == 256
    slow.record(MIN_TOKENS, STEP_S / 100)
    assert slow.tokens == 2 * MIN_TOKENS
    slow.record(1, 60.0)  # the duration of a step with few tokens is ignored
    assert slow.tokens == 2 * MIN_TOKENS
    quick.record(256, 100 * STEP_S)
    assert quick.tokens == MIN_TOKENS


def test_loras_are_files_by_name(tmp_path: Path) -> None:
    loras = {"pirate": str(tmp_path / "pirate.gguf")}
    assert "or correct gguf_lora.pirate" in refusal(lora=loras)
    further_file(tmp_path / "pirate.gguf", "adapter")
    assert options(lora=loras)["lora"] == loras
