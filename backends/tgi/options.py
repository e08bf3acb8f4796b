"""The options of `tgi`: a managed server of text-generation-inference 3.3. A load request can change none."""

from __future__ import annotations

from backends.declaration import Backend, Option, lora_option, server_options
from backends.load_parameters import LoadParameters
from backends.memory_rules import VllmMemory
from backends.parameter_rules import ContextOption, MemoryShare, PlainOrFixed

CONTEXT, MEMORY_FRACTION, CACHE_TYPE = (
    "tgi_max_total_tokens",
    "tgi_cuda_memory_fraction",
    "tgi_kv_cache_dtype",
)
DEFAULT_FRACTION = 0.9

QUANTIZATIONS = (
    *("awq", "compressed-tensors", "eetq", "exl2", "gptq", "marlin"),
    *("bitsandbytes", "bitsandbytes-nf4", "bitsandbytes-fp4", "fp8"),
)
"""The values of the launcher's `--quantize`."""

PARAMETERS = LoadParameters(
    quantization=PlainOrFixed(
        "tgi_dtype", {"fp16": "float16", "bf16": "bfloat16"}, "tgi_quantize", {"fp8": "fp8"}
    ),
    context=ContextOption(CONTEXT),
    memory=MemoryShare(MEMORY_FRACTION),
)
"""No load chooses this backend by the form of the weights (`forms` is empty): its server is frozen."""

MEMORY = VllmMemory(
    CONTEXT, MEMORY_FRACTION, cache_bytes="", cache_type=CACHE_TYPE, default_share=DEFAULT_FRACTION
)
"""As vLLM, TGI takes a share of the GPU, and gives to its cache what weights and buffers leave of it."""

BACKEND = Backend(
    "tgi",
    "tgi_",
    parameters=PARAMETERS,
    memory=MEMORY,
    takes_prompts=True,
    counts_tokens=True,
    takes_hub_ids=True,
    one_replica_with=("tgi_port",),
    lora_option="tgi_lora",
    options=(
        Option(
            "tgi_binary",
            "string",
            None,
            "the program text-generation-launcher; null is the one on PATH",
            nullable=True,
            format="program",
        ),
        Option(
            CONTEXT,
            "integer",
            None,
            "tokens of context of one request; null is what the model and the memory allow",
            nullable=True,
            minimum=2,
            maximum=100_000_000,
        ),
        Option(
            "tgi_dtype",
            "enum",
            None,
            "data type of the computation; null is TGI's choice",
            nullable=True,
            choices=("float16", "bfloat16"),
        ),
        Option(
            "tgi_quantize",
            "enum",
            None,
            "quantisation; null is that of the files",
            nullable=True,
            choices=QUANTIZATIONS,
        ),
        Option(
            CACHE_TYPE,
            "enum",
            None,
            "data type of the KV cache; null is that of the computation",
            nullable=True,
            choices=("fp8_e4m3fn", "fp8_e5m2"),
        ),
        Option(
            MEMORY_FRACTION,
            "float",
            DEFAULT_FRACTION,
            "fraction of the GPU's memory that TGI takes, weights and cache together",
            minimum=0.01,
            maximum=1.0,
        ),
        Option(
            "tgi_num_shard",
            "integer",
            None,
            "GPUs that share the model; null is all GPUs of the worker",
            nullable=True,
            minimum=1,
            maximum=64,
        ),
        Option(
            "tgi_trust_remote_code",
            "boolean",
            False,
            "run the Python code that comes with the model's files",
            privileged=True,
        ),
        lora_option("tgi_", "folders of PEFT's form"),
        *server_options("tgi_"),
        Option(
            "tgi_extra_args", "list", (), "further arguments of text-generation-launcher", privileged=True
        ),
    ),
)
