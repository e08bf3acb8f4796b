"""The options of `exllamav3` (ExLlamaV3): EXL3 models on a GPU."""

from __future__ import annotations

from backends.declaration import CACHE_BITS, TOKEN_SAMPLING, Backend, LoadField, Option
from backends.environment import Environment, Variant
from backends.load_parameters import LoadParameters
from backends.memory_rules import ExllamaMemory
from backends.parameter_rules import CacheTokens, ContextOption, FixedQuantization
from backends.prompt_formats import GEMMA4, QWEN3

CACHE_STEP = 256
"""The cache is made of pages of so many tokens; its size is a multiple of that."""

BITS = [2, 3, 4, 5, 6, 7, 8]
PAIRS = ((None, None), (8, 8), (8, 4))

_BITS = LoadField(
    {
        "kind": "integer_or_null",
        "minimum": 2,
        "maximum": 8,
        "null_means": "fp16",
        "allowed_values": BITS,
    },
    shows_default=True,
)


def _bits(name: str, what: str) -> Option:
    about = f"bits of the cached {what}; null is fp16"
    return Option(name, "integer", None, about, nullable=True, minimum=2, maximum=8, load_field=_BITS)


ENVIRONMENT = Environment(
    "exllamav3",
    ("exllamav3",),
    module="exllamav3",
    dists=("exllamav3",),
    check="exllamav3",
    compiles_itself=True,
    linux_only=True,
    before_python=(3, 15),
    variants=(
        # ExLlamaV3 supports CUDA 12.4; the locked torch needs a compiler of its own CUDA version, 13
        Variant(
            "cuda",
            "exllamav3/locks/cuda.txt",
            "exllamav3",
            space_mib=10_000,
            minutes="5 to 20",
            driver=(13, 0),
            nvcc=(13, 0),
        ),
    ),
)

BACKEND = Backend(
    "exllamav3",
    "exllama_",
    parameters=LoadParameters(
        quantization=FixedQuantization(
            "`exl3`, or with its bits (`exl3-4.0bpw`); of weights that are not quantised their own type"
        ),
        context=ContextOption("exllama_cache_size", CACHE_STEP, shared=True),
        memory=CacheTokens(
            "exllama_cache_size", CACHE_STEP, ("exllama_cache_k_bits", "exllama_cache_v_bits")
        ),
        forms=("exl3",),
    ),
    environment=ENVIRONMENT,
    memory=ExllamaMemory(
        *("exllama_cache_size", "exllama_cache_k_bits", "exllama_cache_v_bits", "exllama_cache_quant")
    ),
    image_option="exllama_image_input",
    thinking_formats=(GEMMA4, QWEN3),
    groups=(("exllama_cache_quant",), ("exllama_cache_k_bits", "exllama_cache_v_bits")),
    constrains_output=True,
    sampling=TOKEN_SAMPLING | {"thinking_budget"},
    max_logprobs=20,
    counts_tokens=True,
    caches_prefixes=True,
    options=(
        Option(
            "exllama_cache_size",
            "integer",
            8192,
            "size of the cache in tokens, for all requests together",
            minimum=CACHE_STEP,
            maximum=100_000_000 // CACHE_STEP * CACHE_STEP,
            multiple=CACHE_STEP,
            load_field=LoadField(
                {"kind": "integer", "minimum": CACHE_STEP, "step": CACHE_STEP}, whole_steps=True
            ),
        ),
        Option(
            "exllama_max_rq_tokens",
            "integer",
            None,
            "cache tokens that one request reserves at a time; null is a number that lets all slots run",
            nullable=True,
            minimum=1,
            maximum=100_000_000,
            load_field=LoadField(
                {"kind": "integer", "minimum": 1, "step": 1},
                about="cache tokens that one request reserves at a time",
                null_means="as many as let all slots run",
            ),
        ),
        _bits("exllama_cache_k_bits", "keys"),
        _bits("exllama_cache_v_bits", "values"),
        Option(
            "exllama_cache_quant",
            "string",
            None,
            "bits of the cached keys and values; null is fp16",
            nullable=True,
            format=CACHE_BITS,
            load_field=LoadField({"kind": "string_or_null", "format": CACHE_BITS}, null_means="fp16"),
        ),
        Option("exllama_image_input", "boolean", False, "the model takes images"),
        Option("exllama_warm_up", "boolean", True, "compile and tune the kernels during the load"),
        Option(
            "exllama_python",
            "string",
            None,
            "a Python with ExLlamaV3; null is that of `stoker runtimes install exllamav3`",
            nullable=True,
            format="program",
        ),
    ),
    recommendations={
        "exllama_cache_bit_pairs": {
            "kind": "pair_presets",
            "fields": ["exllama_cache_k_bits", "exllama_cache_v_bits"],
            "recommended_pairs": [
                {
                    "label": "fp16" if k is None else f"{k}/{v}",
                    "exllama_cache_k_bits": k,
                    "exllama_cache_v_bits": v,
                }
                for k, v in PAIRS
            ],
        }
    },
)
