"""Facts of engines: versions, types of weights, and the cache of vLLM by its log and its metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backends.shared.engine.facts import capacity_facts, quantization_of, version_of
from backends.shared.engine.pipe import CacheUse, Step
from backends.vllm import facts
from engines.engine_process.process import LOG_NAME


@pytest.mark.parametrize(
    ("config", "dtype", "expected"),
    [
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "float16", "awq-4bit"),
        ({"quantization_config": {"quant_method": "exl3", "bits": 3.5}}, None, "exl3-3.5bit"),
        ({"quantization_config": {"quant_method": "fp8"}}, None, "fp8"),
        ({"torch_dtype": "bfloat16"}, None, "bf16"),
        ({"dtype": "bfloat16"}, "torch.float16", "fp16"),
        ({"dtype": "float8_e4m3fn"}, "auto", "float8_e4m3fn"),
        ({"quantization_config": None}, None, None),
        ({}, None, None),
    ],
)
def test_the_type_of_the_weights_is_read_from_the_configuration(
    config: dict[str, Any], dtype: str | None, expected: str | None
) -> None:
    assert quantization_of(config, dtype) == expected


def test_the_version_is_that_of_the_first_installed_distribution() -> None:
    assert version_of("no-such-distribution", "pytest") == pytest.__version__
    assert version_of("no-such-distribution") is None


def test_the_use_of_the_cache_is_reported_when_it_changed_and_at_most_once_a_second_while_busy() -> None:
    use, frames = CacheUse(), []
    for share, idle in ((0.25, False), (0.5, False), (0.5, True), (0.5, True), (1.5, True)):
        step = Step()
        use.add_to(step, lambda share=share: share, idle=idle)
        frames.append(step.frame)
    assert frames == [{"cache": 0.25}, {}, {"cache": 0.5}, {}, {"cache": 1.0}]


def test_the_size_of_the_cache_of_vllm_is_configured_or_in_its_log(tmp_path: Path) -> None:
    assert facts.kv_cache_mib({"kv_cache_memory_bytes": 1 << 30}, tmp_path) == 1024
    assert facts.kv_cache_mib({}, tmp_path) is None
    (tmp_path / LOG_NAME).write_text("INFO gpu_worker.py:759] Available KV cache memory: 12.5 GiB\n")
    assert facts.kv_cache_mib({}, tmp_path) == 12.5 * 1024
    assert facts.kv_cache_mib({"tensor_parallel_size": 2}, tmp_path) == 25 * 1024


def test_the_use_of_the_cache_of_vllm_serve_is_the_mean_of_its_cores() -> None:
    metrics = b'vllm:kv_cache_usage_perc{engine="%d",model_name="a"} %s\n'
    two = b"# TYPE vllm:kv_cache_usage_perc gauge\n" + metrics % (0, b"0.25") + metrics % (1, b"7.5e-1")
    assert facts.cache_use(two) == 0.5
    assert facts.cache_use(b"nothing") is None


def test_the_tokens_of_the_cache_of_vllm_serve_are_in_its_metrics() -> None:
    head = b"# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{"
    labels = (
        b'block_size="16",enable_prefix_caching="True",num_gpu_blocks="100",kv_cache_size_tokens="%s"} 1.0\n'
    )
    assert facts.cache_tokens(head + labels % b"1500") == 1500
    assert facts.cache_tokens(head + labels % b"None") == 1600
    assert facts.cache_tokens(head + b'engine="0"} 1.0\n') is None
    assert facts.cache_tokens(b"nothing") is None


def test_a_prefix_cache_without_room_has_no_capacity() -> None:
    assert capacity_facts(8, "sequences") == {"cache_capacity": 8, "cache_unit": "sequences"}
    assert capacity_facts(0, "tokens") == capacity_facts(None, "tokens") == {}


def test_the_weights_of_a_local_model_for_vllm_serve_are_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"dtype": "bfloat16"}')
    assert facts.quantization({"model": str(tmp_path)}) == "bf16"
    assert facts.quantization({"model": str(tmp_path), "dtype": "float32"}) == "fp32"
    assert facts.quantization({"model": "org/name"}) is None
