"""The options of `vllm`: vLLM as a library. `vllm_serve` has the same, and a few more."""

from __future__ import annotations

from backends.declaration import Backend, LoadField, Option
from backends.prompt_formats import GEMMA4, QWEN3

MIB_256 = 256 * 1024 * 1024
PIXELS = 448 * 448
CACHE_TYPES = ["auto", "fp8", "fp8_e4m3", "fp8_e5m2"]

THINKING_FORMATS = (GEMMA4, QWEN3)

NEEDS = {
    "vllm_speculative_model": "vllm_speculative_method",
    "vllm_num_speculative_tokens": "vllm_speculative_method",
    "vllm_max_pixels": "vllm_image_input",
    "vllm_mm_processor_kwargs": "vllm_image_input",
}

OPTIONS = (
    Option(
        "vllm_max_model_len",
        "integer",
        None,
        "tokens of context of one request; null is what the model was made for",
        nullable=True,
        minimum=1,
        maximum=100_000_000,
        load_field=LoadField({"kind": "integer", "minimum": 256, "step": 256}),
    ),
    Option(
        "vllm_kv_cache_dtype",
        "string",
        "auto",
        "type of the cache; any that vLLM knows",
        load_field=LoadField(
            {
                "kind": "enum",
                "default": "auto",
                "allowed_values": CACHE_TYPES,
                "examples": ["auto", "fp8"],
            },
            other_values=True,
        ),
    ),
    Option(
        "vllm_kv_cache_memory_bytes",
        "integer",
        None,
        "size of the cache in bytes; goes before vllm_gpu_memory_utilization",
        nullable=True,
        minimum=1,
        maximum=1 << 50,
        load_field=LoadField(
            {
                "kind": "integer",
                "minimum": MIB_256,
                "step": MIB_256,
                "unit": "bytes",
                "display_unit": "mib",
            }
        ),
    ),
    Option(
        "vllm_gpu_memory_utilization",
        "float",
        None,
        "share of the GPU's memory that vLLM takes; keep it low and set vllm_kv_cache_memory_bytes",
        nullable=True,
        minimum=0.01,
        maximum=1.0,
    ),
    Option(
        "vllm_max_pixels",
        "integer",
        None,
        "most pixels of one image (its budget of tokens)",
        nullable=True,
        minimum=1,
        maximum=1 << 31,
        load_field=LoadField({"kind": "integer", "minimum": PIXELS, "step": PIXELS, "unit": "pixels"}),
    ),
    Option("vllm_mm_processor_kwargs", "object", None, "options of the image processor", nullable=True),
    Option(
        "vllm_speculative_method",
        "string",
        None,
        "speculative decoding; null is none",
        nullable=True,
        format="vllm_speculative_method",
        load_field=LoadField(
            {
                "kind": "string_or_null",
                "format": "vllm_speculative_method",
                "default": None,
                "examples": ["mtp", "draft_model", "mlp_speculator"],
            }
        ),
    ),
    Option(
        "vllm_speculative_model",
        "string",
        None,
        "the assistant, draft or speculator: a hub id or a path",
        nullable=True,
        format="hf_id_or_local_path",
        load_field=LoadField(
            {
                "kind": "string_or_null",
                "format": "hf_id_or_local_path",
                "default": None,
                "examples": ["google/gemma-4-26B-A4B-it-assistant"],
            }
        ),
    ),
    Option(
        "vllm_num_speculative_tokens",
        "integer",
        1,
        "tokens drafted at once",
        minimum=1,
        maximum=64,
        load_field=LoadField({"kind": "integer", "minimum": 1, "step": 1, "default": 1}),
    ),
    Option("vllm_image_input", "boolean", False, "the model takes images"),
    Option(
        "vllm_python",
        "string",
        None,
        "a Python that has vLLM; null is that of `stoker runtimes install vllm`",
        nullable=True,
        format="program",
    ),
    Option(
        "vllm_dtype",
        "string",
        None,
        "type of the computation; null is the model's own, on the CPU float32",
        nullable=True,
    ),
    Option(
        "vllm_enforce_eager",
        "boolean",
        None,
        "compile nothing, capture no CUDA graphs; null is true on the CPU only",
        nullable=True,
    ),
    Option(
        "vllm_block_size",
        "integer",
        None,
        "tokens of one block of the cache; null leaves the choice to vLLM, on the CPU 32",
        nullable=True,
        minimum=1,
        maximum=1024,
    ),
    Option(
        "vllm_tensor_parallel_size",
        "integer",
        None,
        "GPUs that share the model; null is all of the worker's",
        nullable=True,
        minimum=1,
        maximum=64,
    ),
    Option(
        "vllm_trust_remote_code", "boolean", False, "run the Python code that comes with the model's files"
    ),
    Option(
        "vllm_reasoning_parser",
        "string",
        None,
        'vLLM\'s parser of what the model thinks; null is that of the prompt format, "none" is none',
        nullable=True,
    ),
    Option(
        "vllm_tool_parser",
        "string",
        None,
        'vLLM\'s parser of tool calls; null is that of the prompt format, "none" is none',
        nullable=True,
    ),
    Option(
        "vllm_chat_template_kwargs",
        "object",
        None,
        "arguments of the chat template for requests that do not say them",
        nullable=True,
    ),
)

BACKEND = Backend(
    "vllm",
    "vllm_",
    takes_hub_ids=True,
    needs=NEEDS,
    image_option="vllm_image_input",
    thinking_formats=THINKING_FORMATS,
    options=OPTIONS,
)
