"""The translation of a model's options into arguments and variables of vLLM, without vLLM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backends.base import LoadError
from backends.vllm.arguments import VllmOptions
from backends.vllm_serve.arguments import VllmServeOptions
from config.settings import ModelDefinition
from generation.generation import MAX_AUDIO_S


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker without a GPU, and without variables that an engine would inherit."""
    for name in ("CUDA_VISIBLE_DEVICES", "HF_TOKEN", "HTTPS_PROXY", "VLLM_CPU_OMP_THREADS_BIND"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like a model."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "model" / "tokenizer.json").write_text("{}")
    return tmp_path / "model"


def vllm(path: object, **options: Any) -> ModelDefinition:
    """A model on `vllm`, or on `vllm_serve` if one of the options is that backend's."""
    backend = "vllm_serve" if any(name.startswith("serve_") for name in options) else "vllm"
    fields = {name: options.pop(name) for name in ("device", "prompt_format") if name in options}
    named = {f"vllm_{name}": value for name, value in options.items()}
    return ModelDefinition(
        "model", backend, model_path=None if path is None else str(path), options=named, **fields
    )


def engine(path: object, **options: Any) -> dict[str, Any]:
    return dict(VllmOptions.of(vllm(path, **options), 3).engine)


def refusal(path: object, **options: Any) -> str:
    with pytest.raises(LoadError) as caught:
        VllmServeOptions.of(vllm(path, **options), 1, Path("/none"))
    assert caught.value.code == "load_failed"
    return str(caught.value)


# engine


def test_only_options_that_differ_from_vllms_defaults_are_passed(folder: Path) -> None:
    assert engine(folder, device="cuda") == {
        "model": str(folder),
        "served_model_name": "model",
        "max_num_seqs": 3,
        "limit_mm_per_prompt": {"image": 0, "video": 0, "audio": 0},
    }


@pytest.mark.rule("field/vllm-max-pixels-vllm-speculative")
def test_each_option_reaches_the_engine(folder: Path) -> None:
    arguments = engine(
        folder,
        device="cuda",
        max_model_len=16384,
        kv_cache_dtype="fp8",
        kv_cache_memory_bytes=1 << 31,
        gpu_memory_utilization=0.25,
        dtype="bfloat16",
        quantization="fp8",
        enforce_eager=True,
        block_size=16,
        tensor_parallel_size=2,
        trust_remote_code=True,
        reasoning_parser="deepseek_r1",
    )
    assert (
        arguments.items()
        >= {
            "max_model_len": 16384,
            "kv_cache_dtype": "fp8",
            "kv_cache_memory_bytes": 1 << 31,
            "gpu_memory_utilization": 0.25,
            "dtype": "bfloat16",
            "quantization": "fp8",
            "enforce_eager": True,
            "block_size": 16,
            "tensor_parallel_size": 2,
            "trust_remote_code": True,
            "reasoning_parser": "deepseek_r1",
        }.items()
    )


def test_a_model_that_makes_vectors_caches_and_drafts_nothing(folder: Path) -> None:
    given = {"speculative_method": "ngram", "num_speculative_tokens": 2, "enable_prefix_caching": True}
    made = engine(folder, device="cuda", pooling="cls", prompt_format="qwen3_template", **given)
    assert (made["runner"], made["convert"], made["pooler_config"]) == (
        *("pooling", "embed"),
        {"pooling_type": "CLS"},
    )
    assert made["enable_prefix_caching"] is False
    assert not {"speculative_config", "reasoning_parser"} & made.keys()
    assert "pooler_config" not in engine(folder, pooling="auto")
    with pytest.raises(LoadError, match="vllm_lora"):
        engine(folder, pooling="auto", lora={"pirate": str(folder)})


def test_without_a_method_there_is_no_speculative_decoding(folder: Path) -> None:
    options = {"speculative_model": "org/assistant", "num_speculative_tokens": 3}
    assert "speculative_config" not in engine(folder, **options)
    assert engine(folder, speculative_method="mtp", **options)["speculative_config"] == {
        "method": "mtp",
        "model": "org/assistant",
        "num_speculative_tokens": 3,
    }
    assert engine(folder, speculative_method="ngram")["speculative_config"] == {
        "method": "ngram",
        "num_speculative_tokens": 1,
    }
    assert engine(folder, speculative_method="suffix")["speculative_config"] == {
        "method": "suffix",
        "num_speculative_tokens": 1,
        "suffix_decoding_max_cached_requests": 0,  # else it drafts from the answers of all tenants
    }
    assert "correct vllm_speculative_model" in refusal(
        folder, speculative_method="mtp", speculative_model="/none"
    )


@pytest.mark.parametrize(
    ("images", "audio", "limits"),
    [
        (False, False, {"image": 0, "video": 0, "audio": 0}),
        (False, True, {"image": 0, "video": 0}),
        (True, True, {"video": 0}),
    ],
)
def test_only_a_declared_input_type_reserves_memory(
    folder: Path, limits: dict[str, int], *, images: bool, audio: bool
) -> None:
    arguments = engine(folder, image_input=images, audio_input=audio)
    assert arguments["limit_mm_per_prompt"] == limits


def test_only_a_model_with_image_input_reserves_memory_for_images(folder: Path) -> None:
    pixels = {"mm_processor_kwargs": {"min_pixels": 784}, "max_pixels": 200704}
    assert "mm_processor_kwargs" not in engine(folder, **pixels)
    arguments = engine(folder, image_input=True, **pixels)
    assert arguments["mm_processor_kwargs"] == {"min_pixels": 784, "max_pixels": 200704}
    assert arguments["limit_mm_per_prompt"] == {"video": 0, "audio": 0}
    assert "mm_processor_kwargs" not in engine(folder, image_input=True)


def test_the_prompt_format_chooses_the_parsers(folder: Path) -> None:
    def parsers(**options: Any) -> tuple[str | None, str | None]:
        read = VllmOptions.of(vllm(folder, **options), 1)
        return read.engine.get("reasoning_parser"), read.tool_parser

    assert parsers() == (None, None)
    assert parsers(prompt_format="qwen3_template") == ("qwen3", "hermes")
    assert parsers(prompt_format="gemma4_template") == ("gemma4", "gemma4")
    assert parsers(prompt_format="mistral_template") == ("mistral", "mistral")
    assert parsers(prompt_format="qwen3_template", tool_parser="qwen3_coder") == ("qwen3", "qwen3_coder")
    assert parsers(prompt_format="qwen3_template", reasoning_parser="none") == (None, "hermes")


def test_five_defaults_differ_on_the_cpu(folder: Path) -> None:
    for device in ("cpu", "auto"):
        assert (
            engine(folder, device=device).items()
            >= {
                "dtype": "float32",
                "enforce_eager": True,
                "block_size": 32,
                "kv_cache_memory_bytes": 1 << 30,
                "distributed_executor_backend": "uni",
            }.items()
        )
    chosen = engine(folder, dtype="bfloat16", enforce_eager=False, kv_cache_memory_bytes=1 << 20)
    assert (chosen["dtype"], chosen["kv_cache_memory_bytes"]) == ("bfloat16", 1 << 20)
    assert "enforce_eager" not in chosen
    assert "multiple of 32" in refusal(folder, block_size=16)


def test_on_the_cpu_the_core_runs_the_model_unless_the_options_prevent_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_worker(**options: Any) -> bool:
        read = VllmOptions.of(vllm(folder, **options), 1)
        alone = read.engine.get("distributed_executor_backend") == "uni"
        assert (read.environment.get("VLLM_ENABLE_V1_MULTIPROCESSING") == "0") is alone
        return not alone

    assert not has_worker()
    assert not has_worker(dtype="float32", tensor_parallel_size=1)
    assert has_worker(dtype="bfloat16")
    assert has_worker(tensor_parallel_size=2)
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "0-1")
    assert has_worker()


def test_a_worker_of_several_gpus_shares_the_model_between_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert engine(folder)["tensor_parallel_size"] == 2
    assert engine(folder, tensor_parallel_size=1)["tensor_parallel_size"] == 1
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    assert "tensor_parallel_size" not in engine(folder)


def test_a_missing_file_is_named_with_a_remedy(tmp_path: Path) -> None:
    assert "set model_path" in refusal(None)
    assert "/none does not exist: put the model there, or correct model_path" in refusal("/none")
    assert "has no config.json" in refusal(tmp_path)
    assert engine("org/name")["model"] == "org/name"


def test_a_folder_without_a_tokenizer_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text("{}")
    expected = (
        f"{folder} has no tokenizer (tokenizer.json, tokenizer.model, vocab.json or the like): copy the"
        " tokenizer's files of this model to it"
    )
    assert refusal(folder) == expected
    with pytest.raises(LoadError) as caught:
        engine(folder)
    assert str(caught.value) == expected
    for name in ("tokenizer.model.v3", "vocab.txt", "tekken.json", "qwen.tiktoken", "tokenization_own.py"):
        (folder / name).touch()
        assert engine(folder)["model"] == str(folder)
        (folder / name).unlink()


# environment


def test_a_local_model_makes_no_network_requests(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("HF_HOME", "/models/hub")
    own = VllmOptions.of(vllm(folder), 1).environment
    assert (
        own.items() >= {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HOME": "/models/hub"}.items()
    )
    assert not {"HF_TOKEN", "HTTPS_PROXY"} & own.keys()
    hub = VllmOptions.of(vllm("org/name"), 1).environment
    assert hub.items() >= {"HF_TOKEN": "secret", "HTTPS_PROXY": "http://proxy"}.items()
    assert "HF_HUB_OFFLINE" not in hub


def test_a_recording_may_be_as_long_as_those_of_a_request(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "VLLM_MAX_AUDIO_DECODE_DURATION_S"
    monkeypatch.delenv(name, raising=False)
    for path in (folder, "org/name"):
        assert VllmOptions.of(vllm(path), 1).environment[name] == str(MAX_AUDIO_S)
    monkeypatch.setenv(name, "60")
    assert VllmOptions.of(vllm(folder), 1).environment[name] == "60"


def test_a_worker_without_a_gpu_hides_all_gpus(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = VllmOptions.of(vllm(folder), 1).environment
    assert (environment["CUDA_VISIBLE_DEVICES"], environment["TORCH_COMPILE_DISABLE"]) == ("", "1")
    assert "TORCH_COMPILE_DISABLE" not in VllmOptions.of(vllm(folder, enforce_eager=False), 1).environment
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert "CUDA_VISIBLE_DEVICES" not in VllmOptions.of(vllm(folder), 1).environment
