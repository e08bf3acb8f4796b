"""What a `vllm` or `vllm_serve` model may set, and how vLLM is told: its engine's arguments, and variables.

The names of the arguments are those of vLLM's `AsyncEngineArgs`; the flags of `vllm serve` are the same names
with dashes. Nothing that is null or vLLM's own choice is sent.

On the CPU five things differ: float32 (bfloat16 may use instructions that some virtual machines only pretend
to have), no compilation, blocks of 32 tokens (its kernels take multiples of that only), a cache of 1 GiB
unless the model says more, for vLLM's own choice is most of the machine's memory, and a core that computes
itself (docs/decisions/0012): one that has a worker takes a whole processor to wait for it.
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
from config.settings import ROOT, ModelDefinition
from workers.nvml import device_type

PREFIX = "vllm_"
CPU_BLOCK = 32
CPU_CACHE_BYTES = 1 << 30
CPU_DTYPE = "float32"
BINDING = "VLLM_CPU_OMP_THREADS_BIND"  # on which processors a worker's threads shall run

REASONING_PARSERS = {QWEN3: "qwen3", GEMMA4: "gemma4", MISTRAL: "mistral"}
TOOL_PARSERS = {QWEN3: "hermes", GEMMA4: "gemma4", MISTRAL: "mistral"}
NO_PARSER = "none"

PLAIN = (
    "max_model_len",
    "kv_cache_memory_bytes",
    "gpu_memory_utilization",
    "dtype",
    "enforce_eager",
    "block_size",
    "tensor_parallel_size",
)
"""Options that go to vLLM as they are."""

PASSED = (
    *("VLLM_", "HF_", "NCCL_", "TORCH", "TRITON_", "FLASHINFER_"),
    *("XDG_CACHE_HOME", "CUDA_HOME", "NO_COLOR"),
)
"""Beginnings of the worker's variables that vLLM gets as well, beyond what each engine inherits."""

PASSED_TO_THE_HUB = (
    *("HF_TOKEN", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
)
"""Those that only a model of a hub is given: without one, nothing is asked of the network."""

QUIET = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "VLLM_SERVER_DEV_MODE": "0",  # its paths ask for no key
}
DEFAULTS = {
    "VLLM_HOST_IP": "127.0.0.1",  # what its processes tell each other stays on this machine
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork would hold our pipes open, and breaks threads
    "NO_COLOR": "1",
}


@dataclass(frozen=True)
class VllmOptions:
    """A model's options, read: `engine` are vLLM's arguments (JSON values), `environment` its variables.

    `on_cpu` says that the engine is to run without a GPU, `chat_template_kwargs` what a request's template
    gets unless the request says otherwise.
    """

    engine: Mapping[str, Any]
    environment: Mapping[str, str]
    on_cpu: bool
    python: str | None
    tool_parser: str | None
    chat_template_kwargs: Mapping[str, Any]

    @classmethod
    def of(cls, model: ModelDefinition, slots: int, *, alone: bool = True) -> VllmOptions:
        """Read a model's options and look for its files. Raises `LoadError` (load_failed).

        `alone` says that a core on a CPU may compute itself, as far as the options know.
        """
        values = BACKENDS[model.backend].with_defaults(model.options)
        given = {name: value for name, value in values.items() if value is not None}
        on_cpu = model.device == "cpu" or (model.device == "auto" and device_type() == "cpu")
        path, draft = _model(model.model_path), _speculative(given)
        engine: dict[str, Any] = {
            "model": path,
            "served_model_name": model.name,
            "max_num_seqs": slots,
            "trust_remote_code": given["vllm_trust_remote_code"],
            "reasoning_parser": _parser(given, "reasoning", REASONING_PARSERS.get(model.prompt_format)),
            "speculative_config": draft,
            **{name: given[PREFIX + name] for name in PLAIN if PREFIX + name in given},
            **_images(given),
        }
        if given["vllm_kv_cache_dtype"] != "auto":
            engine["kv_cache_dtype"] = given["vllm_kv_cache_dtype"]
        engine = {**(_cpu_defaults(engine, alone=alone) if on_cpu else _gpu_defaults()), **engine}
        local = is_local(path) and (draft is None or is_local(draft.get("model", "/")))
        return cls(
            engine={name: value for name, value in engine.items() if value not in (None, False)},
            environment=_environment(engine, on_cpu=on_cpu, local=local),
            on_cpu=on_cpu,
            python=given.get("vllm_python"),
            tool_parser=_parser(given, "tool", TOOL_PARSERS.get(model.prompt_format)),
            chat_template_kwargs=given.get("vllm_chat_template_kwargs", {}),
        )

    def for_host(self) -> dict[str, Any]:
        """The same for `backends/vllm/engine/main.py`, as JSON values."""
        return {
            "engine": dict(self.engine),
            "tool_parser": self.tool_parser,
            "chat_template_kwargs": dict(self.chat_template_kwargs),
        }

    def flags(self) -> list[str]:
        """The same for `vllm serve`, without the model."""
        named = {name: value for name, value in self.engine.items() if name != "model"}
        if self.tool_parser is not None:
            named |= {"enable_auto_tool_choice": True, "tool_call_parser": self.tool_parser}
        if self.chat_template_kwargs:
            named["default_chat_template_kwargs"] = dict(self.chat_template_kwargs)
        return [argument for name, value in named.items() for argument in _flag(name, value)]


def is_local(model: str) -> bool:
    """Whether it is a path, not a hub's id."""
    return Path(model).is_absolute()


def refused(sentence: str) -> LoadError:
    """The error for options that cannot be used."""
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
        raise refused(f"{path} has no config.json: set model_path to a model's folder as Hugging Face has it")
    return value


def _speculative(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Without a method there is none: that is how a load turns off what is configured."""
    method = given.get("vllm_speculative_method")
    if method is None:
        return None
    drafting = {"method": method, "num_speculative_tokens": given["vllm_num_speculative_tokens"]}
    if (model := given.get("vllm_speculative_model")) is not None:
        path = ROOT / Path(model).expanduser()
        written_as_path = model.startswith(("/", "./", "../", "~"))
        if written_as_path and not path.exists():
            raise refused(f"{path} does not exist: put the model there, or correct vllm_speculative_model")
        drafting["model"] = str(path) if path.exists() else model
    return drafting


def _images(given: Mapping[str, Any]) -> dict[str, Any]:
    """What there is no use for is left out of the memory that vLLM plans for."""
    if not given["vllm_image_input"]:
        return {"limit_mm_per_prompt": {"image": 0, "video": 0, "audio": 0}}
    processor = dict(given.get("vllm_mm_processor_kwargs", {}))
    if "vllm_max_pixels" in given:
        processor["max_pixels"] = given["vllm_max_pixels"]
    return {"limit_mm_per_prompt": {"video": 0, "audio": 0}, "mm_processor_kwargs": processor or None}


def _parser(given: Mapping[str, Any], kind: str, of_format: str | None) -> str | None:
    name: str | None = given.get(f"vllm_{kind}_parser", of_format)
    return None if name == NO_PARSER else name


def _cpu_defaults(engine: Mapping[str, Any], *, alone: bool) -> dict[str, Any]:
    if engine.get("block_size", CPU_BLOCK) % CPU_BLOCK:
        raise refused(f"vllm_block_size must be a multiple of {CPU_BLOCK} on the CPU")
    return {
        "dtype": CPU_DTYPE,
        "enforce_eager": True,
        "block_size": CPU_BLOCK,
        "kv_cache_memory_bytes": CPU_CACHE_BYTES,
        "distributed_executor_backend": "uni" if alone and _is_one_process(engine) else None,
    }


def _is_one_process(engine: Mapping[str, Any]) -> bool:
    """Whether the core may compute itself: there 16-bit kernels may die, and nobody binds its threads."""
    return (
        engine.get("dtype", CPU_DTYPE) == CPU_DTYPE
        and engine.get("tensor_parallel_size", 1) == 1
        and BINDING not in os.environ
    )


def _gpu_defaults() -> dict[str, Any]:
    visible = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu.strip()]
    return {"tensor_parallel_size": len(visible)} if len(visible) > 1 else {}


def _environment(engine: Mapping[str, Any], *, on_cpu: bool, local: bool) -> dict[str, str]:
    passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED)}
    passed.pop("HF_TOKEN", None)
    if local:
        passed |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    else:
        passed |= {name: os.environ[name] for name in PASSED_TO_THE_HUB if name in os.environ}
    if on_cpu:
        passed["CUDA_VISIBLE_DEVICES"] = ""  # a worker that was given no GPU takes none
        if engine.get("enforce_eager"):
            passed["TORCH_COMPILE_DISABLE"] = "1"
        if engine.get("distributed_executor_backend") == "uni":
            passed["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # else it takes a worker whatever it is told
    return {**DEFAULTS, **passed, **QUIET}


def _flag(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is True:
        return [flag]
    return [flag, json.dumps(value) if isinstance(value, dict) else str(value)]
