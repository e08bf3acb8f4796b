"""Translates the options of a `vllm` or `vllm_serve` model into arguments and environment variables of vLLM.

The names of the arguments are those of vLLM's `AsyncEngineArgs`; the flags of `vllm serve` are the same names
with dashes. Options that are null or equal to vLLM's default are not passed.

On the CPU five things differ: float32 (bfloat16 may use instructions that some virtual machines announce but
do not support), no compilation, blocks of 32 tokens (the kernels require multiples of 32), a cache of 1 GiB
unless the model sets another size (vLLM's default is most of the machine's memory), and a core process that
runs the model itself (docs/decisions/0012): a core with a worker process occupies a whole processor while it
waits for the worker.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.base import LoadError
from backends.catalogue import BACKENDS
from backends.prompt_formats import GEMMA4, MISTRAL, QWEN3
from backends.shared.option_check import check_options
from backends.vllm.loras import find_loras, lora_arguments
from config.settings import ROOT, ModelDefinition
from engines.nvml import runs_on_cpu
from generation.generation import MAX_AUDIO_S

PREFIX = "vllm_"
CPU_BLOCK = 32
CPU_CACHE_BYTES = 1 << 30
CPU_DTYPE = "float32"
BINDING_VARIABLE = "VLLM_CPU_OMP_THREADS_BIND"  # processors for the threads of a vLLM worker

REASONING_PARSERS = {QWEN3: "qwen3", GEMMA4: "gemma4", MISTRAL: "mistral"}
TOOL_PARSERS = {QWEN3: "hermes", GEMMA4: "gemma4", MISTRAL: "mistral"}
NO_PARSER = "none"
SUFFIX = "suffix"
"""The method of speculative decoding that would keep the answers of all requests in one tree: the speed of an
answer would tell a tenant what others got. The tree is off (vLLM, `SpeculativeConfig`)."""

UNCHANGED_OPTIONS = (
    "max_model_len",
    "enable_prefix_caching",
    "kv_cache_memory_bytes",
    "gpu_memory_utilization",
    "dtype",
    "quantization",
    "enforce_eager",
    "block_size",
    "tensor_parallel_size",
)
"""Options that are passed to vLLM unchanged."""

PASSED_PREFIXES = (
    *("VLLM_", "HF_", "NCCL_", "TORCH", "TRITON_", "FLASHINFER_"),
    *("XDG_CACHE_HOME", "CUDA_HOME", "NO_COLOR"),
)
"""Prefixes of the worker's variables that vLLM inherits, besides those that every engine inherits."""

SETTINGS = ("VLLM_ENABLE_PREFIX_CACHING", "VLLM_MAX_MODEL_LEN", "VLLM_GPU_MEMORY_UTILIZATION")
"""Variables that set Stoker's defaults for these options: vLLM does not know them."""

TOKENIZER_FILES = (
    *("tokenizer.*", "tokenization_*.py", "*.model", "*.tiktoken", "*.spm"),
    *("vocab*", "*vocab.*", "merges.txt", "*.codes", "tekken*.json"),
)
"""The files of a model that contain its tokenizer. `tokenizer_config.json` only describes it."""

HUB_VARIABLES = (
    *("HF_TOKEN", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
)
"""Variables that only models from a hub inherit: local models make no network requests."""

FORCED_VARIABLES = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "VLLM_SERVER_DEV_MODE": "0",  # its endpoints do not check the API key
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "0",  # its endpoints load any path
}
DEFAULT_VARIABLES = {
    "VLLM_HOST_IP": "127.0.0.1",  # its processes communicate on this machine only
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork inherits the pipes, and breaks threads
    "NO_COLOR": "1",
    "VLLM_MAX_AUDIO_DECODE_DURATION_S": str(MAX_AUDIO_S),  # of each recording; vLLM's own limit is 600
}


@dataclass(frozen=True)
class VllmOptions:
    """The parsed options of a model.

    `engine` are vLLM's arguments (JSON values), `environment` its environment variables, `loras` the folders
    of its LoRA adapters by name. `on_cpu` says that
    the engine runs without a GPU. `chat_template_kwargs` are defaults for the chat template, which a request
    may override.
    """

    engine: Mapping[str, Any]
    environment: Mapping[str, str]
    on_cpu: bool
    python: str | None
    tool_parser: str | None
    chat_template_kwargs: Mapping[str, Any]
    loras: Mapping[str, str]

    @classmethod
    def of(
        cls, model: ModelDefinition, slots: int, *, single_process: bool = True, own_tokenizer: bool = True
    ) -> VllmOptions:
        """Parse a model's options and check that its files exist. Raises `LoadError` (load_failed).

        `single_process` allows the core to run the model itself on a CPU, if the options do not prevent it.
        Without `own_tokenizer` the tokenizer is not in the model's folder.
        """
        check_options(model)
        values = BACKENDS[model.backend].with_defaults(model.options)
        given = {name: value for name, value in values.items() if value is not None}
        on_cpu = runs_on_cpu(model.device)
        path, draft = _model(model.model_path), _speculative(given)
        loras = find_loras(given.get("vllm_lora"))
        if own_tokenizer:
            _check_tokenizer(Path(path))
        engine: dict[str, Any] = {
            "model": path,
            "served_model_name": model.name,
            "max_num_seqs": slots,
            "trust_remote_code": given["vllm_trust_remote_code"],
            "reasoning_parser": _parser(given, "reasoning", REASONING_PARSERS.get(model.prompt_format)),
            "speculative_config": draft,
            **{name: given[PREFIX + name] for name in UNCHANGED_OPTIONS if PREFIX + name in given},
            **_media(given),
            **lora_arguments(loras, on_cpu=on_cpu),
            **_pooling(given),
        }
        if given["vllm_kv_cache_dtype"] != "auto":
            engine["kv_cache_dtype"] = given["vllm_kv_cache_dtype"]
        engine = {
            **(_cpu_defaults(engine, single_process=single_process) if on_cpu else _gpu_defaults()),
            **engine,
        }
        local = is_local(path) and (draft is None or is_local(draft.get("model", "/")))
        return cls(
            engine={name: value for name, value in engine.items() if _is_passed(name, value)},
            environment=_environment(engine, on_cpu=on_cpu, local=local),
            on_cpu=on_cpu,
            python=given.get("vllm_python"),
            tool_parser=_parser(given, "tool", TOOL_PARSERS.get(model.prompt_format)),
            chat_template_kwargs=given.get("vllm_chat_template_kwargs", {}),
            loras=loras,
        )

    @property
    def takes_audio(self) -> bool:
        """Whether requests may have recordings."""
        return "audio" not in self.engine["limit_mm_per_prompt"]

    def for_engine(self) -> dict[str, Any]:
        """Return the arguments of `backends/vllm/engine/main.py`, as JSON values."""
        return {
            "engine": dict(self.engine),
            "loras": dict(self.loras),
            "tool_parser": self.tool_parser,
            "chat_template_kwargs": dict(self.chat_template_kwargs),
        }

    def flags(self) -> list[str]:
        """Return the flags of `vllm serve`, without the model."""
        named = {name: value for name, value in self.engine.items() if name != "model"}
        if self.tool_parser is not None:
            named |= {"enable_auto_tool_choice": True, "tool_call_parser": self.tool_parser}
        if self.chat_template_kwargs:
            named["default_chat_template_kwargs"] = dict(self.chat_template_kwargs)
        return [argument for name, value in named.items() for argument in _flag(name, value)]


def is_local(model: str) -> bool:
    """Whether a model is given as a path rather than as the id of a hub."""
    return Path(model).is_absolute()


def refused(sentence: str) -> LoadError:
    """Return the error for options that cannot be used."""
    return LoadError("load_failed", sentence)


def _model(value: str | None) -> str:
    if value is None:
        raise refused("set model_path to a model's folder or a hub's id")
    if not is_local(value):
        return value
    path = Path(value)
    if not path.exists():
        raise refused(f"{path} does not exist: put the model there, or correct model_path")
    if path.is_dir() and not any((path / name).exists() for name in ("config.json", "params.json")):
        raise refused(
            f"{path} has no config.json: set model_path to a model's folder in Hugging Face's format"
        )
    return value


def _check_tokenizer(path: Path) -> None:
    """Refuse a folder without a tokenizer: vLLM would load it, and answer with nonsense or fail later."""
    if path.is_absolute() and path.is_dir() and not any(_matches(path, name) for name in TOKENIZER_FILES):
        raise refused(
            f"{path} has no tokenizer (tokenizer.json, tokenizer.model, vocab.json or the like): copy the"
            " tokenizer's files of this model to it"
        )


def _matches(folder: Path, pattern: str) -> bool:
    return next(folder.glob(pattern), None) is not None


def _speculative(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return vLLM's speculative_config. Without a method it is None: that is how a load disables it."""
    method = given.get("vllm_speculative_method")
    if method is None:
        return None
    config = {"method": method, "num_speculative_tokens": given["vllm_num_speculative_tokens"]}
    if method == SUFFIX:
        config["suffix_decoding_max_cached_requests"] = 0
    if (model := given.get("vllm_speculative_model")) is not None:
        path = ROOT / Path(model).expanduser()
        is_path = model.startswith(("/", "./", "../", "~"))
        if is_path and not path.exists():
            raise refused(f"{path} does not exist: put the model there, or correct vllm_speculative_model")
        config["model"] = str(path) if path.exists() else model
    return config


def _pooling(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a model that makes vectors. No text of one request is reused for another."""
    if (kind := given.get("vllm_pooling")) is None:
        return {}
    pooler = None if kind == "auto" else {"pooling_type": kind.upper()}
    return {
        "runner": "pooling",
        "convert": "embed",
        "pooler_config": pooler,
        "enable_prefix_caching": False,
        "reasoning_parser": None,
        "speculative_config": None,
    }


def _media(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for images and recordings.

    Limits of 0 keep vLLM from reserving memory for unused modalities.
    """
    taken = {"image": given["vllm_image_input"], "audio": given["vllm_audio_input"]}
    limits = {kind: 0 for kind in ("image", "video", "audio") if not taken.get(kind)}
    if not given["vllm_image_input"]:
        return {"limit_mm_per_prompt": limits}
    processor = dict(given.get("vllm_mm_processor_kwargs", {}))
    if "vllm_max_pixels" in given:
        processor["max_pixels"] = given["vllm_max_pixels"]
    return {"limit_mm_per_prompt": limits, "mm_processor_kwargs": processor or None}


def _parser(given: Mapping[str, Any], kind: str, default: str | None) -> str | None:
    name: str | None = given.get(f"vllm_{kind}_parser", default)
    return None if name == NO_PARSER else name


def _cpu_defaults(engine: Mapping[str, Any], *, single_process: bool) -> dict[str, Any]:
    if engine.get("block_size", CPU_BLOCK) % CPU_BLOCK:
        raise refused(f"vllm_block_size must be a multiple of {CPU_BLOCK} on the CPU")
    return {
        "dtype": CPU_DTYPE,
        "enforce_eager": True,
        "block_size": CPU_BLOCK,
        "kv_cache_memory_bytes": CPU_CACHE_BYTES,
        "distributed_executor_backend": "uni" if single_process and _fits_one_process(engine) else None,
    }


def _fits_one_process(engine: Mapping[str, Any]) -> bool:
    """Whether the core can run the model itself.

    It cannot with 16-bit types, whose kernels may crash in the core, and it does not bind its threads.
    """
    return (
        engine.get("dtype", CPU_DTYPE) == CPU_DTYPE
        and engine.get("tensor_parallel_size", 1) == 1
        and BINDING_VARIABLE not in os.environ
    )


def _gpu_defaults() -> dict[str, Any]:
    visible = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu.strip()]
    return {"tensor_parallel_size": len(visible)} if len(visible) > 1 else {}


def _environment(engine: Mapping[str, Any], *, on_cpu: bool, local: bool) -> dict[str, str]:
    passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED_PREFIXES)}
    for name in ("HF_TOKEN", *SETTINGS):
        passed.pop(name, None)
    if local:
        passed |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    else:
        passed |= {name: os.environ[name] for name in HUB_VARIABLES if name in os.environ}
    if on_cpu:
        passed["CUDA_VISIBLE_DEVICES"] = ""  # a worker without a GPU must not use one
        if engine.get("enforce_eager"):
            passed["TORCH_COMPILE_DISABLE"] = "1"
        if engine.get("distributed_executor_backend") == "uni":
            # otherwise vLLM starts a worker process in any case
            passed["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    return {**DEFAULT_VARIABLES, **passed, **FORCED_VARIABLES}


def _is_passed(name: str, value: Any) -> bool:
    """Whether an argument is passed to vLLM; false is its default, except of the prefix cache."""
    return value is not None and (value is not False or name == "enable_prefix_caching")


def _flag(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is False:
        return ["--no-" + name.replace("_", "-")]
    if value is True:
        return [flag]
    return [flag, json.dumps(value) if isinstance(value, dict) else str(value)]
