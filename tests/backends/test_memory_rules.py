"""The memory of a replica by the arithmetic of its runtime, against measured and published sizes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from backends.catalogue import BACKENDS
from backends.memory_rules import MIB, MemoryNeed
from backends.model_shape import AttentionLayers, Device, ModelShape
from config.load import load_settings
from config.settings import ROOT, ModelDefinition
from engines.environments import interpreter
from fleet.artifacts.checkpoint_shape import read_checkpoint_shape
from fleet.artifacts.gguf_header import GgufHeader, ListLength, TensorSize
from fleet.artifacts.gguf_shape import gguf_shape, read_gguf_shape
from fleet.artifacts.projector_size import projector_bytes
from tests.backends.conftest import DEMO_MODEL, Start
from tests.backends.llama_cpp import tiny_gguf
from tests.backends.llama_server import tiny_mmproj
from tests.support.process_costs import peak_bytes
from tests.support.waiting import scaled

CPU, GPU = Device(is_gpu=False), Device(is_gpu=True, total_mib=81_559)
CONTEXTS = [
    {"slots": slots, "context": context, "batch": batch, "flash": flash, "type": kind}
    for slots, context, batch, flash, kind in (
        *((1, 512, 512, 1, 1), (4, 4096, 512, 1, 1), (4, 4096, 512, 0, 1), (16, 2048, 512, 1, 1)),
        *((64, 1024, 512, 1, 1), (4, 4096, 2048, 1, 1), (2, 256, 64, 1, 1), (4, 2048, 512, 1, 0)),
    )
]


PRINT_PROJECTOR_MEMORY = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.verbosity, params.n_ctx, params.n_parallel, params.n_gpu_layers = 4, 256, 1, 0
params.model.path, params.mmproj.path = sys.argv[1:]
xllamacpp.Server(params)
"""


def need(backend: str, shape: ModelShape, slots: int, device: Device = CPU, **options: Any) -> MemoryNeed:
    rule = BACKENDS[backend].memory
    assert rule is not None
    return rule.need(shape, BACKENDS[backend].with_defaults(options), slots, device)


@pytest.mark.engines
@pytest.mark.parametrize("kind", ["demo", "qwen3", "gemma3", "qwen35"])
def test_the_need_is_that_of_the_buffers_in_the_log_of_the_engine(tmp_path: Path, kind: str) -> None:
    """Attention to all tokens, to a window in some layers, and recurrent layers."""
    path = DEMO_MODEL if kind == "demo" else tiny_gguf.write(tmp_path / "model.gguf", kind)
    python = interpreter(load_settings().runtimes_dir, "llama_cpp")
    program = Path(__file__).parent / "llama_cpp" / "buffers_in_process.py"
    command = [python, program, path, json.dumps(CONTEXTS)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=scaled(60))
    shape = read_gguf_shape(path)
    for asked, measured_mib in zip(CONTEXTS, json.loads(done.stdout), strict=True):
        types = dict.fromkeys(("gguf_type_k", "gguf_type_v"), ("f32", "f16")[asked["type"]])
        flash = ("off", "on")[asked["flash"]]
        options = {"gguf_n_ctx": asked["context"], "gguf_batch": asked["batch"], "gguf_flash_attn": flash}
        found = need("llama_cpp", shape, asked["slots"], **options, **types)
        computed = (found.weights + found.cache + found.buffers) / MIB
        assert computed == pytest.approx(measured_mib, rel=0.12), asked


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"LARGEST": 1024},
        {"PATCH": 32, "LARGEST": 1024},
        {"HIDDEN": 256},
        {"HIDDEN": 1024},
        {"WIDTH": 256, "HIDDEN": 256, "HEADS": 4},
        {"WIDTH": 256, "HIDDEN": 1024, "HEADS": 4},
    ],
    ids=str,
)
def test_the_memory_of_a_projector_is_that_which_the_engine_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int]
) -> None:
    for name, size in sizes.items():
        monkeypatch.setattr(tiny_mmproj, name, size)
    path = tmp_path / "mmproj.gguf"
    tiny_mmproj.write(path, 128)
    python = interpreter(load_settings().runtimes_dir, "llama_server")
    command = [python, "-c", PRINT_PROJECTOR_MEMORY, DEMO_MODEL, path]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        assert server.stderr is not None
        matches = (re.search(rb"memory usage of mmproj is ([0-9.]+) MiB", line) for line in server.stderr)
        found = next(filter(None, matches))
        server.kill()
    assert projector_bytes(path) / MIB == pytest.approx(float(found[1]), rel=0.03)


def header(architecture: str, weights: dict[str, int] | None = None, **settings: Any) -> GgufHeader:
    named = {f"{architecture}.{name.replace('__', '.')}": value for name, value in settings.items()}
    vocabulary = {"tokenizer.ggml.tokens": ListLength(named.pop(f"{architecture}.vocabulary", 32_000))}
    tensors = tuple(TensorSize(name, "q4_0", size) for name, size in (weights or {}).items())
    return GgufHeader({"general.architecture": architecture, **named, **vocabulary}, tensors)


def attention(layers: int, heads: int, heads_kv: int, size: int, context: int = 131_072) -> dict[str, Any]:
    return {
        "block_count": layers,
        "context_length": context,
        "attention__head_count": heads,
        "attention__head_count_kv": heads_kv,
        "attention__key_length": size,
        "attention__value_length": size,
        "embedding_length": heads * size,
    }


LLAMA_8B = header("llama", **attention(32, 32, 8, 128))
GEMMA3_12B = header("gemma3", attention__sliding_window=1024, **attention(48, 16, 8, 256))
QWEN3_30B = header("qwen3moe", **attention(48, 32, 4, 128))
DEEPSEEK_V3 = header(
    "deepseek2",
    **{**attention(61, 128, 1, 192), "attention__key_length": 576, "attention__value_length": 512},
    attention__key_length_mla=192,
)
GPT_OSS_20B = header("gpt-oss", attention__sliding_window=128, **attention(24, 64, 8, 64))
GEMMA3N_E4B = header("gemma3n", attention__sliding_window=512, **attention(35, 8, 2, 256))
MAMBA2 = header(
    "mamba2",
    **{"block_count": 64, "embedding_length": 2560, "ssm__conv_kernel": 4, "ssm__inner_size": 5120},
    **{"ssm__state_size": 128, "ssm__group_count": 1, "context_length": 1 << 20},
)
JAMBA = header(
    "jamba",
    **{**attention(4, 8, 8, 64), "attention__head_count_kv": (0, 8, 0, 0)},
    **{"ssm__conv_kernel": 4, "ssm__inner_size": 1024, "ssm__state_size": 16},
)


@pytest.mark.parametrize(
    ("model", "context", "mib"),
    [
        pytest.param(LLAMA_8B, 8192, 1024, id="Llama 3.1 8B: 128 KiB a token"),
        pytest.param(GEMMA3_12B, 32_768, 2048 + 480, id="Gemma 3 12B: 8 layers whole, 40 of 1,536 tokens"),
        pytest.param(QWEN3_30B, 32_768, 3072, id="Qwen3 30B-A3B: 96 KiB a token"),
        pytest.param(DEEPSEEK_V3, 4096, 274.5, id="DeepSeek V3: 576 numbers a token and layer"),
        pytest.param(GPT_OSS_20B, 8192, 12 * 16 + 12 * 1.5, id="gpt-oss 20B: every other layer whole"),
        pytest.param(GEMMA3N_E4B, 4096, 4 * 8 + 16 * 2, id="Gemma 3n: 20 of 35 layers have a cache"),
        pytest.param(MAMBA2, 4096, 4 * 64 * (3 * 5376 + 128 * 5120) / MIB, id="Mamba 2: a state"),
        pytest.param(JAMBA, 4096, 8 + 4 * 3 * (3 * 1024 + 16 * 1024) / MIB, id="Jamba: one layer of four"),
    ],
)
def test_the_cache_of_one_request_has_the_published_size(model: GgufHeader, context: int, mib: float) -> None:
    found = need("llama_server", gguf_shape([model]), 1, llama_server_n_ctx=context)
    assert found.cache / MIB == pytest.approx(mib, rel=0.001)


def test_the_cache_grows_with_slots_and_shrinks_with_its_types() -> None:
    shape = gguf_shape([LLAMA_8B])
    one = need("llama_cpp", shape, 1, gguf_n_ctx=8192).cache
    assert need("llama_cpp", shape, 16, gguf_n_ctx=8192).cache == 16 * one
    quantized = {"gguf_type_k": "q8_0", "gguf_type_v": "q4_0"}
    assert need("llama_cpp", shape, 1, gguf_n_ctx=8192, **quantized).cache == one * (8.5 + 4.5) / 32
    assert need("llama_cpp", shape, 1, gguf_n_ctx=1_000_000).cache == 16 * one, "at most the model's own"


@pytest.mark.parametrize(
    ("layers", "width", "hidden", "weights", "measured_mib"),
    [
        # one H100, 64 slots of 1,024 tokens, random weights of Qwen3's shapes, a vocabulary of 151,936
        pytest.param(36, 4096, 12_288, {"token_embd.weight": 350, "output.weight": 350}, 14_258, id="8B"),
        pytest.param(28, 1024, 3072, {"token_embd.weight": 165}, 8398, id="0.6B"),
    ],
)
def test_the_need_on_a_gpu_is_that_which_was_measured(
    layers: int, width: int, hidden: int, weights: dict[str, int], measured_mib: int
) -> None:
    sizes = {name: size * 1_000_000 for name, size in weights.items()}
    sizes["blk.0"] = (5230 if layers == 36 else 800) * 1_000_000 - sum(sizes.values())
    settings = {**attention(layers, 32, 8, 128), "embedding_length": width}
    shape = gguf_shape([header("qwen3", sizes, feed_forward_length=hidden, vocabulary=151_936, **settings)])
    found = need("llama_server", shape, 64, GPU, llama_server_n_ctx=1024)
    assert found.mib == pytest.approx(measured_mib, rel=0.05)


def test_layers_that_stay_in_the_machine_take_no_memory_of_the_gpu() -> None:
    shape = gguf_shape([header("llama", {"blk.0": 3200 * MIB}, **attention(32, 32, 8, 128))])
    whole = need("llama_cpp", shape, 1, GPU, gguf_n_ctx=8192)
    half = need("llama_cpp", shape, 1, GPU, gguf_n_ctx=8192, gguf_n_gpu_layers=16)
    assert (half.weights, half.cache) == (whole.weights // 2, whole.cache // 2)


def test_the_caches_of_exllamav3_have_the_bits_of_their_options() -> None:
    shape = ModelShape(1000 * MIB, attention=(AttentionLayers(32, 1024, 1024),))
    plain = need("exllamav3", shape, 4, GPU, exllama_cache_size=8192)
    assert (plain.cache, plain.weights) == (1024 * MIB, 1000 * MIB)
    both = need("exllamav3", shape, 4, GPU, exllama_cache_size=8192, exllama_cache_quant="8,6")
    each = need(
        *("exllamav3", shape, 4, GPU),
        **{"exllama_cache_size": 8192, "exllama_cache_k_bits": 8, "exllama_cache_v_bits": 6},
    )
    assert both.cache == each.cache == 1024 * MIB * (8.5 + 6.5) / 32


def test_vllm_takes_its_share_of_the_gpu_or_the_cache_that_is_set() -> None:
    shape = ModelShape(16_000 * MIB, attention=(AttentionLayers(32, 1024, 1024),), context=131_072)
    assert need("vllm", shape, 16, GPU).mib == pytest.approx(0.92 * GPU.total_mib, abs=2)
    half = need("vllm", shape, 16, GPU, vllm_gpu_memory_utilization=0.5)
    assert half.mib == pytest.approx(0.5 * GPU.total_mib, abs=2)
    fixed = need("vllm_serve", shape, 16, GPU, vllm_kv_cache_memory_bytes=2 << 30)
    assert (fixed.weights, fixed.cache) == (16_000 * MIB, 2 << 30)
    impossible = need("vllm", shape, 16, GPU, vllm_max_model_len=1_000_000)
    assert impossible.mib > GPU.total_mib
    small = need("vllm", shape, 16, GPU, vllm_max_model_len=1_000_000, vllm_kv_cache_dtype="fp8")
    assert small.cache == pytest.approx(impossible.cache / 2, rel=0.01)


def test_tgi_takes_its_share_of_the_gpu_or_more_for_one_request_of_the_whole_context() -> None:
    shape = ModelShape(16_000 * MIB, attention=(AttentionLayers(32, 1024, 1024),), context=131_072)
    assert need("tgi", shape, 16, GPU).mib == pytest.approx(0.9 * GPU.total_mib, abs=2)
    half = need("tgi", shape, 16, GPU, tgi_cuda_memory_fraction=0.5)
    assert half.mib == pytest.approx(0.5 * GPU.total_mib, abs=2)
    assert need("tgi", shape, 16, GPU, tgi_max_total_tokens=1_000_000).mib > GPU.total_mib


def test_a_voice_of_piper_takes_what_was_measured_and_each_slot_the_buffers_of_a_sentence() -> None:
    shape = ModelShape(60_000_000)  # en_US-joe-medium: 150 MiB when loaded, at most 430 while it spoke
    one = need("sherpa", shape, 1)
    assert 415 <= one.mib <= 445
    assert need("sherpa", shape, 3).mib - one.mib == pytest.approx(2 * 280, abs=1)


def test_the_shape_of_a_voice_is_the_size_of_its_model() -> None:
    folder = ROOT / "models" / "stoker-voice"
    assert read_checkpoint_shape(folder) == ModelShape((folder / "voice.onnx").stat().st_size)


@pytest.mark.engines
@pytest.mark.parametrize("slots", [1, 4])
def test_a_voice_takes_no_more_memory_than_its_rule_computes(
    start: Start, tmp_path: Path, slots: int
) -> None:
    folder = ROOT / "models" / "stoker-voice"
    model = ModelDefinition("voice", "sherpa", model_path=str(folder), device="cpu")
    engine = start(model, slots=slots, files=tmp_path).engine
    assert engine.pid is not None
    estimated = need("sherpa", read_checkpoint_shape(folder), slots)
    assert 0.5 * estimated.process < peak_bytes(engine.pid) < (estimated.mib << 20)


def test_a_shape_is_decoded_as_it_was_encoded() -> None:
    shape = gguf_shape([GEMMA3_12B])
    both = ModelShape(5, attention=(AttentionLayers(2, 3, 4, 5),), draft=shape)
    assert ModelShape.from_json(both.to_json()) == both
    with pytest.raises(ValueError, match="not a ModelShape"):
        ModelShape.from_json(b"[]")
