"""The options of `llama_cpp` (llama-cpp-python): GGUF models in an engine process."""

from __future__ import annotations

from backends.contradictions import Contradiction, is_one_of
from backends.declaration import (
    LLAMA_FIELDS,
    TOKEN_SAMPLING,
    Backend,
    LoadField,
    Option,
    lora_option,
    pooling_option,
)
from backends.environment import Environment, Variant
from backends.load_parameters import LoadParameters
from backends.memory_rules import LlamaMemory
from backends.parameter_rules import ContextOption, FixedQuantization, LayersOnGpu
from backends.prompt_formats import GEMMA4

QUANTIZED_TYPES = ("q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
CACHE_TYPES = ("f32", "f16", "bf16", *QUANTIZED_TYPES)
DEFAULT_CACHE_TYPE = "f16"
SWITCH = ("on", "off", "auto")
RECOMMENDED = ("f16", "q8_0", "q4_0")

_CACHE_TYPE = LoadField(
    {
        "kind": "string_or_null",
        "format": "ggml_type_name",
        "default": DEFAULT_CACHE_TYPE,
        "allowed_values": list(CACHE_TYPES),
        "examples": list(RECOMMENDED),
    },
    null_means=DEFAULT_CACHE_TYPE,
)


def _cache_type(name: str, what: str) -> Option:
    return Option(
        name,
        "enum",
        None,
        f"data type of the cached {what}; null is {DEFAULT_CACHE_TYPE}",
        nullable=True,
        choices=CACHE_TYPES,
        load_field=_CACHE_TYPE,
    )


MAX_SEQUENCES = 256
"""Requests at once in one context of llama.cpp (LLAMA_MAX_SEQ)."""

ENVIRONMENT = Environment(
    "llama_cpp",
    ("llama_cpp",),
    module="llama_cpp",
    dists=("llama-cpp-python",),
    check="llama_cpp",
    compiled="llama-cpp-python",
    variants=(
        Variant(
            "cuda",
            "llama_cpp/locks/source.txt",
            "llama-cpp",
            space_mib=2500,
            cmake_args="-DGGML_NATIVE=OFF -DGGML_CUDA=ON",
            minutes="10 to 40",
            driver=(12, 0),
            nvcc=(12, 0),
        ),
        # GGML_NATIVE=ON would compile for this processor's extensions: some compilers miscompile AMX
        Variant(
            "cpu",
            "llama_cpp/locks/source.txt",
            "llama-cpp",
            space_mib=1000,
            cmake_args="-DGGML_NATIVE=OFF",
            minutes="5 to 10",
        ),
    ),
)

BACKEND = Backend(
    "llama_cpp",
    "gguf_",
    parameters=LoadParameters(
        quantization=FixedQuantization(
            "the type in the file's header (`q4_k_m`, `q8_0`, `fp16`, `bf16`, ...); of "
            "several files in a folder the one of that type"
        ),
        context=ContextOption("gguf_n_ctx", capped=True),
        memory=LayersOnGpu("gguf_n_gpu_layers", "gguf_n_ctx", "gguf_batch"),
        forms=("gguf",),
        rank=1,
    ),
    environment=ENVIRONMENT,
    max_slots=MAX_SEQUENCES,
    memory=LlamaMemory(
        *("gguf_n_ctx", "gguf_n_gpu_layers", "gguf_flash_attn", "gguf_pooling"),
        *("gguf_type_k", "gguf_type_v", "gguf_batch"),
        process_mib=38,
    ),
    takes_prompts=True,
    counts_tokens=True,
    text_tasks=True,
    constrains_output=True,
    sampling=TOKEN_SAMPLING | LLAMA_FIELDS | {"suffix", "thinking_budget"},
    ends_reasoning=True,
    max_logprobs=20,
    lora_option="gguf_lora",
    thinking_formats=(GEMMA4,),
    embedding_option="gguf_pooling",
    shortens_vectors=True,
    caches_prefixes=True,
    keeps_states=True,
    prefix_cache_option="gguf_cache_prompt",
    contradictions=(
        Contradiction(
            {"gguf_type_v": is_one_of(*QUANTIZED_TYPES), "gguf_flash_attn": is_one_of("off")},
            "{value} is quantized, and that needs flash attention: set gguf_flash_attn to on or auto, or"
            " gguf_type_v to f16",
        ),
    ),
    options=(
        Option("gguf_n_gpu_layers", "integer", -1, "layers on the GPU; -1 is all", minimum=-1),
        Option(
            "gguf_n_ctx",
            "integer",
            4096,
            "tokens of context of one request",
            minimum=1,
            maximum=100_000_000,
            load_field=LoadField({"kind": "integer", "minimum": 1, "step": 1}),
        ),
        Option(
            "gguf_flash_attn",
            "enum",
            "auto",
            "flash attention",
            choices=SWITCH,
            load_field=LoadField(
                {
                    "kind": "enum",
                    "allowed_values": list(SWITCH),
                    "examples": ["auto", "on", "off"],
                },
                shows_default=True,
            ),
        ),
        _cache_type("gguf_type_k", "keys"),
        _cache_type("gguf_type_v", "values"),
        Option(
            "gguf_threads",
            "integer",
            None,
            "CPU threads; null is one per core",
            nullable=True,
            minimum=1,
            maximum=1024,
        ),
        Option(
            "gguf_batch",
            "integer",
            512,
            "maximum tokens per step, of all requests together",
            minimum=64,
            maximum=8192,
        ),
        lora_option("gguf_", "GGUF files"),
        pooling_option("gguf_"),
        Option("gguf_cache_prompt", "boolean", True, "reuse the computed prefix of a prompt"),
        Option(
            "gguf_ctx_checkpoints",
            "integer",
            8,
            "checkpoints of each cached conversation of a model with a recurrent state or a sliding window,"
            " in the host's memory; 0 makes none",
            minimum=0,
            maximum=1024,
        ),
        Option(
            "gguf_chat_template_kwargs",
            "object",
            None,
            "default arguments of the model's chat template, by name; those of a request replace them",
            nullable=True,
        ),
        Option(
            "gguf_python",
            "string",
            None,
            "a Python with llama-cpp-python; null is that of `stoker runtimes install llama_cpp`",
            nullable=True,
            format="program",
        ),
    ),
    recommendations={
        "gguf_cache_type_pairs": {
            "kind": "pair_presets",
            "fields": ["gguf_type_k", "gguf_type_v"],
            "recommended_pairs": [
                {"label": f"{kind}/{kind}", "gguf_type_k": kind, "gguf_type_v": kind} for kind in RECOMMENDED
            ],
            "notes": [
                "Service-curated presets for GGUF cache types.",
                "Prefer symmetric GGUF K/V pairs by default; asymmetric pairs may reduce or disable GPU"
                " offload in upstream llama.cpp.",
            ],
        }
    },
)
