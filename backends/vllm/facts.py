"""The memory of vLLM's cache, by its log; its size and use, by its metrics; the type of a model's weights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from backends.shared.engine.facts import quantization_of
from engines.engine_process.process import LOG_NAME

READ_BYTES = 4 << 20  # of the log: the line comes before the first request
CACHE_SIZE = re.compile(rb"Available KV cache memory: ([\d.]+) GiB")
CACHE_CONFIG = re.compile(rb"^vllm:cache_config_info\{([^\n]*)\}", re.MULTILINE)
NUMBER = re.compile(rb'(kv_cache_size_tokens|num_gpu_blocks|block_size)="(\d+)"')
CACHE_USE_PATTERN = re.compile(rb"^vllm:kv_cache_usage_perc(?:\{[^\n]*\})? ([\d.eE+-]+)", re.MULTILINE)


def kv_cache_mib(engine: Mapping[str, Any], directory: Path) -> float | None:
    """The memory of the cache: the configured one, else that of all its processes by the log of the load."""
    configured = engine.get("kv_cache_memory_bytes")
    if configured is not None:
        return float(configured) / (1 << 20) * int(engine.get("tensor_parallel_size") or 1)
    with suppress(OSError), (directory / LOG_NAME).open("rb") as file:
        found = CACHE_SIZE.search(file.read(READ_BYTES))
        if found:  # one line, of the first process; each has as much
            return float(found[1]) * 1024 * int(engine.get("tensor_parallel_size") or 1)
    return None


def cache_tokens(metrics: bytes) -> int | None:
    """How many tokens the cache of a core has room for, from the server's metrics; None if they do not say.

    Servers that do not report the tokens report blocks and their size.
    """
    if (found := CACHE_CONFIG.search(metrics)) is None:
        return None
    numbers = {name: int(value) for name, value in NUMBER.findall(found[1])}
    blocks = numbers.get(b"num_gpu_blocks", 0) * numbers.get(b"block_size", 0)
    return numbers.get(b"kv_cache_size_tokens") or blocks or None


def quantization(engine: Mapping[str, Any]) -> str | None:
    """The type of the weights by the model's config.json; None for a model from a hub."""
    with suppress(OSError, ValueError):
        config = orjson.loads((Path(engine["model"]) / "config.json").read_bytes())
        return quantization_of(config, engine.get("dtype"))
    return None


def cache_use(metrics: bytes) -> float | None:
    """The share of the cache in use, from the server's metrics: the mean of its cores."""
    values = [float(value) for value in CACHE_USE_PATTERN.findall(metrics)]
    return sum(values) / len(values) if values else None
