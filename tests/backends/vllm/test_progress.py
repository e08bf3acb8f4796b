"""Progress and diagnoses from vLLM's log while it loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.base import LoadError
from backends.vllm.diagnosis import diagnose, diagnosing
from backends.vllm.progress import STAGES, LogProgress
from engines.engine_process.process import LOG_NAME


def test_the_progress_of_a_load_follows_its_log(tmp_path: Path) -> None:
    log = tmp_path / LOG_NAME
    progress = LogProgress(log)
    seen = [progress.read()]
    lines = [
        "INFO [model.py:733] Resolved architecture: Qwen3ForCausalLM\n",
        "INFO [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='m'\nINFO an",
        "other line\nINFO [gpu_model_runner.py:68] Starting to load model m...\n",
        "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:00<?, ?it/s]\r",
        "INFO [default_loader.py:501] Loading weights took 0.01 seconds\n",
        "INFO [kv_cache_utils.py:2327] GPU KV cache size: 43,680 tokens\n",
        "INFO [core.py:402] init engine (profile, create kv cache, warmup model) took 0.23 s\n",
    ]
    for line in lines:
        with log.open("a") as file:
            file.write(line)
        seen.append(progress.read())
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[4][1] == "loading the weights"
    assert seen[4][0] >= (STAGES[3].begin + STAGES[4].begin) / 2
    assert seen[-1][0] < 1.0
    assert len({stage for _, stage in seen}) == len(STAGES)


def test_progress_increases_while_the_log_has_no_new_lines(tmp_path: Path) -> None:
    progress = LogProgress(tmp_path / LOG_NAME)
    before = progress.read()[0]
    while (now := progress.read()[0]) == before:
        pass
    assert 0.0 <= before < now < STAGES[1].begin


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            "ValueError: To serve at least one request with the model's max seq len (4096), (9.5 GiB KV cache"
            " is needed, which is larger than the available KV cache memory (0.25 GiB). Based on",
            "a request of 4096 tokens needs 9.5 GiB of cache, but there are only 0.25:",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to", "there is not enough memory for this model"),
        (
            "RuntimeError: Failed to infer device type, please set",
            "vLLM finds no device that it was built for",
        ),
        (
            "Value error, Model architectures ['XForCausalLM'] are not supported for now.",
            "vLLM does not support the architecture of this model (XForCausalLM)",
        ),
        (
            "User-specified max_model_len (100000) is greater than the derived max_model_len"
            " (max_position_embeddings=4096.0 or model_max_length=None in model's config.json).",
            "vllm_max_model_len is 100000, but the model was made for 4096 tokens",
        ),
        (
            "AssertionError: Not enough allowed NUMA nodes to bind threads of 2 local CPUWorkers. Allowed",
            "shared by 2 processes, but there are fewer NUMA nodes: correct vllm_tensor_parallel_size",
        ),
        ("KeyError: \"Reasoning parser 'x' not found. Available", "vLLM has no reasoning parser x: correct"),
        ("ValueError: Free memory on device cuda:0 (1.5/79.2 GiB) on startup is", "(1.5/79.2 GiB are free)"),
        (
            "_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not covered",
            "the model's weights cannot be read (Error while deserializing header: incomplete metadata,",
        ),
        (
            "RuntimeError: The size of tensor a (256) must match the size of tensor b (128) at dimension 1",
            "the model's weights do not fit its config.json",
        ),
        (
            "OSError: It looks like the config file at '/m/config.json' is not a valid JSON file.",
            "the config.json of the model is not valid JSON",
        ),
        (
            "Value error, Couldn't instantiate the backend tokenizer from one of: \n(1) a `tokenizers`"
            " library serialization file, [type=value_error, input_value=ArgsKwargs((), {'m",
            "the model's tokenizer cannot be read",
        ),
        ("OSError: [Errno 98] Address already in use", "the engine's port is used by another"),
        (
            "vllm: error: unrecognized arguments: --no-flag",
            "this vLLM does not support the argument --no-flag:",
        ),
        (
            "vllm serve: error: argument --dtype: invalid choice: 'foo' (of 'auto')",
            "does not accept the value of its argument --dtype (invalid choice: 'foo' (of 'auto'))",
        ),
        (
            "1 validation error for VllmConfig\n  Value error, Total number of attention heads (4) must be"
            " divisible by tensor parallel size (3). [type=value_error, input_value=ArgsKwargs((), {'m",
            "vLLM rejects these options: Total number of attention heads (4) must be divisible by tensor "
            "parallel size (3)",
        ),
        (
            "11-22 18:51:13 [core.py:1510] torch.AcceleratorError: no kernel image is available",
            "vLLM cannot load the model: torch.AcceleratorError: no kernel image is available",
        ),
    ],
)
def test_a_vllm_start_error_is_summarized_in_one_sentence(tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / LOG_NAME).write_text(f"INFO a line\n(EngineCore pid=1) ERROR {line}\nRuntimeError: failed\n")
    with pytest.raises(LoadError) as caught, diagnosing(tmp_path):
        raise LoadError("load_failed", "vLLM cannot load the model")
    assert sentence in str(caught.value)


def test_an_unknown_start_error_keeps_its_message(tmp_path: Path) -> None:
    assert diagnose("INFO all is well") is None
    (tmp_path / LOG_NAME).write_text("CUDA out of memory")
    for code in ("load_cancelled", "load_timeout"):
        with pytest.raises(LoadError, match="as it was"), diagnosing(tmp_path):
            raise LoadError(code, "as it was")
