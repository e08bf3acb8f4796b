"""The GPU benchmark as far as it goes without a GPU: its models, its tables, and its bars."""

from __future__ import annotations

import json
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

from benchmarks.engines.load_generator import check
from benchmarks.engines.load_messages import TOKENS, EngineLoadResult, EngineLoadSpec
from benchmarks.engines.pairs import DIRECT, LLAMA_CPP, LLAMA_SERVER, PLATFORM
from benchmarks.generator_process import BenchmarkError
from benchmarks.gpu.__main__ import first_gpu
from benchmarks.gpu.measure import Case, GpuSample, cases, title
from benchmarks.gpu.random_model import SHAPES, tensors, write_checkpoint, write_gguf
from benchmarks.gpu.report import missed, ratios, tables
from benchmarks.load_generator import LoadGeneratorError
from engines.nvml import Driver, DriverError, devices
from fleet.artifacts.gguf_header import read_gguf_header

TINY = SHAPES["tiny"]
CASE = Case("8b", 64, 0.0)


def sample(engine: str, side: str, tokens_per_s: float, case: Case = CASE) -> GpuSample:
    result = EngineLoadResult(1.0, int(tokens_per_s), 20.0, 0.1)
    return GpuSample(case, engine, side, 1, result, {"api": 0.01, "worker": 0.02, "engine": 0.5})


def test_the_gguf_has_the_tensors_and_the_size_of_its_header(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    write_gguf(path, TINY)
    header = read_gguf_header(path)
    assert [tensor.name for tensor in header.tensors] == [plan.name for plan in tensors(TINY)]
    last = header.tensors[-1]
    assert path.stat().st_size == last.begin + last.bytes


def test_the_checkpoint_has_two_bytes_for_each_number(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "tiny", TINY)
    data = (tmp_path / "tiny" / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + size])
    numbers = sum(prod(entry["shape"]) for name, entry in head.items() if name != "__metadata__")
    assert len(data) == 8 + size + 2 * numbers == 8 + size + 2 * sum(prod(p.shape) for p in tensors(TINY))
    config = json.loads((tmp_path / "tiny" / "config.json").read_text())
    assert (config["torch_dtype"], config["tie_word_embeddings"]) == ("bfloat16", False)


def test_the_shapes_have_the_sizes_of_the_published_models() -> None:
    sizes = {name: sum(plan.bytes for plan in tensors(shape)) for name, shape in SHAPES.items()}
    assert sizes["8b"] == pytest.approx(4.6e9, rel=0.03)
    assert sizes["0.6b"] == pytest.approx(0.8e9, rel=0.03)


def test_the_highest_number_of_streams_is_measured_with_sampling_too() -> None:
    assert list(map(title, cases("8b", [1, 64]))) == [
        "8b, 1 stream",
        "8b, 64 streams",
        "8b, 64 streams, temperature 0.8",
    ]


def test_the_bars_compare_with_llama_server_called_directly() -> None:
    samples = [
        sample(LLAMA_SERVER, DIRECT, 1000),
        sample(LLAMA_SERVER, PLATFORM, 900),
        sample(LLAMA_CPP, PLATFORM, 1500),
    ]
    assert ratios(samples, CASE) == {LLAMA_SERVER: 0.9, "llama_cpp / llama_server direct": 1.5}
    assert missed(samples) == ["8b, 64 streams: llama_server: 0.90 of at least 0.95"]
    assert "| 8b, 64 streams" in tables(samples)


def test_an_engine_that_was_measured_alone_has_no_bar() -> None:
    samples = [sample(LLAMA_CPP, PLATFORM, 1500)]
    assert missed(samples) == []
    assert "ratio" not in tables(samples)


def test_a_machine_without_a_gpu_is_named_in_one_sentence() -> None:
    try:
        found = Driver().query(devices)
    except DriverError:
        found = []
    if found:
        pytest.skip("this machine has a GPU")
    with pytest.raises(BenchmarkError, match=r"no NVIDIA GPU can be read here .*make bench-gpu ARGS=--tiny"):
        first_gpu()


def test_an_answer_of_random_words_is_checked_for_its_length() -> None:
    def answer(tokens: int) -> bytes:
        delta = json.dumps({"choices": [{"delta": {"content": " w7"}}]})
        usage = json.dumps({"choices": [], "usage": {"completion_tokens": tokens}})
        return f"HTTP/1.1 200 OK\r\n\r\ndata: {delta}\n\ndata: {usage}\n\ndata: [DONE]\n\n".encode()

    spec = EngineLoadSpec(0, "", "8b", 1, 1, expected_start="")
    assert check(answer(TOKENS), spec) == TOKENS
    with pytest.raises(LoadGeneratorError):
        check(answer(TOKENS - 1), spec)
    assert check(answer(TOKENS - 1), replace(spec, temperature=0.8)) == TOKENS - 1
