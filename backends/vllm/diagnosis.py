"""Diagnoses from its log why vLLM did not load a model, in one sentence that says what to do.

vLLM fails in its own processes, which report errors only in the log. The patterns match messages of vLLM 0.32
and 0.33, of Transformers and of PyTorch.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from backends.shared import diagnosis

DIAGNOSES: diagnosis.Diagnoses = (
    (
        r"cannot load the LoRA adapter ([\w.-]{1,64})",
        "vLLM cannot load the LoRA adapter {0}: it must be made for this model, in PEFT's format",
    ),
    (
        r"in init_static_loras\b",
        "vLLM cannot load the LoRA adapters: they must be made for this model, in PEFT's format",
    ),
    (
        r"max seq len\s*\((\d+)\), \(([\d.]+) GiB KV cache is needed, which is larger than the available KV"
        r" cache memory \(([\d.]+) GiB",
        "a request of {0} tokens needs {1} GiB of cache, but there are only {2}: set vllm_max_model_len "
        "lower, or vllm_kv_cache_memory_bytes higher",
    ),
    (
        r"Available memory on node \d+ \(([\d.]+)/[\d.]+ GiB\).{1,60}requested memory for kv \(([\d.]+) GiB",
        "{1} GiB of cache are configured, but only {0} GiB are free: set vllm_kv_cache_memory_bytes lower",
    ),
    (
        r"No available memory for the cache blocks",
        "no memory is left for the cache: set vllm_kv_cache_memory_bytes, or vllm_gpu_memory_utilization"
        " higher",
    ),
    (
        r"Free memory on device .{0,80}\(([\d.]+/[\d.]+) GiB\)",
        "too much of the GPU's memory is in use ({0} GiB are free): unload other models, or set "
        "vllm_gpu_memory_utilization lower and vllm_kv_cache_memory_bytes",
    ),
    (
        r"OutOfMemoryError|CUDA out of memory|can't allocate memory|Cannot allocate memory|\bMemoryError\b",
        "there is not enough memory for this model: use a smaller one, or a smaller cache",
    ),
    (
        r"Failed to infer device type|No CUDA GPUs are available|Found no NVIDIA driver"
        r"|driver version is insufficient",
        "vLLM finds no device that it was built for: give the worker a GPU (CUDA_VISIBLE_DEVICES), or run"
        " `stoker runtimes install vllm --variant cpu`",
    ),
    (
        r"World size \((\d+)\) is larger than the number of available GPUs",
        "the model is to be shared by {0} GPUs, but there are fewer: correct vllm_tensor_parallel_size",
    ),
    (
        r"Not enough allowed NUMA nodes to bind threads of (\d+) local CPUWorkers",
        "the model is to be shared by {0} processes, but there are fewer NUMA nodes: correct "
        "vllm_tensor_parallel_size, or name each one's processors in VLLM_CPU_OMP_THREADS_BIND",
    ),
    (
        r"Model architectures \['?([^\]']{1,80})'?\] (?:are not supported|failed to be inspected)"
        r"|has model type `([^`]{1,60})` but Transformers does not recognize",
        "vLLM does not support the architecture of this model ({0})",
    ),
    (
        r"User-specified max_model_len \((\d+)\) is greater than the derived max_model_len \(.{1,60}?=(\d+)",
        "vllm_max_model_len is {0}, but the model was made for {1} tokens",
    ),
    (
        r"trust_remote_code=True",
        "the model contains code of its own: set vllm_trust_remote_code if you trust it",
    ),
    (
        r"tool_parser:'([^']{1,60})' which has not been registered|invalid tool call parser: (\S{1,60})",
        "vLLM has no tool parser {0}: correct vllm_tool_parser",
    ),
    (
        r"reasoning_parser_name='([^']{1,60})' has not been registered|invalid reasoning parser: (\S{1,60})"
        r"|Reasoning parser '([^']{1,60})' not found",
        "vLLM has no reasoning parser {0}: correct vllm_reasoning_parser",
    ),
    (
        r"validation errors? for SpeculativeConfig\s+method\b",
        "vLLM has no such method: correct vllm_speculative_method",
    ),
    (
        r"validation errors? for CacheConfig\s+(?:kv_)?cache_dtype\b",
        "vLLM has no such type of cache: correct vllm_kv_cache_dtype",
    ),
    (
        r"\[Errno 98\]|[Aa]ddress already in use",
        "the engine's port is used by another process",
    ),
    (
        r"Cannot find any model weights with",
        "there are no weights in the model's folder",
    ),
    (
        r"gated repo|Access to model .{1,80} is restricted|401 Client Error",
        "the hub refuses access to this model: accept its licence, and set HF_TOKEN for the worker",
    ),
    (
        r"Repository Not Found|RepositoryNotFoundError|Invalid repository ID or local directory"
        r"|is not a local folder and is not a valid model identifier",
        "there is no such model: correct model_path, which is a folder or a hub's id",
    ),
    (
        r"offline mode is enabled|outgoing traffic has been disabled|We couldn't connect to",
        "the hub cannot be reached: download the model, and set model_path to its folder",
    ),
    (
        r"in _generation_prompt\b(?s:.{1,4000})jinja2\.exceptions\.TemplateError",
        "vllm serve cannot start with this model's chat template: use the backend vllm",
    ),
    (
        r"SafetensorError: ([^\n]{1,120})",
        "the model's weights cannot be read ({0}): download them again",
    ),
    (
        r"The size of tensor a \(\d+\) must match|Tried to load weights of size|size mismatch for",
        "the model's weights do not fit its config.json: use another copy of the model",
    ),
    (
        r"config file at '[^']{1,300}' is not a valid JSON",
        "the config.json of the model is not valid JSON: use another copy of the model",
    ),
    (
        r"Couldn't instantiate the backend tokenizer",
        "the model's tokenizer cannot be read: use another copy of the model, with tokenizer.json",
    ),
    (
        r"error: unrecognized arguments: (\S{1,100})",
        "this vLLM does not support the argument {0}: correct vllm_serve_extra_args, or use a newer vLLM",
    ),
    (
        r"error: argument (--[\w-]{1,60}): ([^\n]{1,100})",
        "vllm serve does not accept the value of its argument {0} ({1}): correct the option that sets it",
    ),
    (r"ModuleNotFoundError: No module named '([\w.]{1,60})'", "vLLM's Python does not have the module {0}"),
    (
        r"Value error, ([^\n]{1,300}?)\.? \[type=value_error",
        "vLLM rejects these options: {0}",
    ),
    (
        r"\(EngineCore[^)\n]{0,40}\) ERROR [^\n]{0,80}\] ((?:\w+\.)*\w*(?:Error|Exception): [^\n]{1,200})",
        "vLLM cannot load the model: {0}",
    ),
)


def diagnose(log: str) -> str | None:
    """Return the first diagnosis whose pattern occurs in the log; None if there is none."""
    return diagnosis.diagnose(log, DIAGNOSES)


def diagnosing(directory: Path) -> AbstractContextManager[None]:
    """Replace the message of a load that fails inside the block with the diagnosis from its log, if any."""
    return diagnosis.diagnosing(directory, DIAGNOSES)
