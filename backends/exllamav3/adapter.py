"""ExLlamaV3: EXL3 models on NVIDIA GPUs, in the engine process of `backends/exllamav3/engine/`.

ExLlamaV3 is published as source and compiles its kernels when it is first imported. The installation of its
environment does that. With a Python of the operator's own the engine may compile them, so it gets the
variables that a compiler needs.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from backends.base import Launch, LoadError
from backends.catalogue import BACKENDS
from backends.shared.chat_request import sampled_body
from backends.shared.pipe_engine import (
    EngineCommand,
    PipeEngine,
    chat_encoder,
    messages_only,
    start_pipe_engine,
    with_namespace,
)
from backends.shared.start import engine_python, starting
from config.settings import ROOT, ModelDefinition
from engines.environments.machine import cuda_home
from engines.nvml import device_type

BACKEND = BACKENDS["exllamav3"]
EXTENSION = "exllamav3_ext"
INHERITED = ("CC", "CXX", "CUDAHOSTCXX", "MAX_JOBS", "XDG_CACHE_HOME")
INHERITED_PREFIXES = ("TORCH_", "TRITON_", "PYTORCH_", "EXL3_", "EXLLAMA_")
UNSUPPORTED_QUANTIZATIONS = ("awq", "gptq", "bitsandbytes", "hqq", "aqlm")
"""Quantisations (`quant_method` in config.json) that ExLlamaV3 does not read."""


NO_GPU = (
    "ExLlamaV3 runs on NVIDIA GPUs only, and this worker has none: start one with CUDA_VISIBLE_DEVICES naming"
    " a GPU, or use another backend"
)


class Exllamav3Adapter:
    """Fulfils `Adapter`."""

    name = "exllamav3"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Check the options, the folder, the environment and that there is a GPU. Raises `LoadError`."""
        self._prepared(model, slots, environments)
        if device_type() == "cpu":
            raise _load_error(NO_GPU)

    def _prepared(
        self, model: ModelDefinition, slots: int, environments: Path
    ) -> tuple[dict[str, Any], Path]:
        options = engine_options(model, slots)
        return options, engine_python(environments, self.name, BACKEND.values(model.options)["python"])

    def start(self, launch: Launch) -> PipeEngine:
        """Start an engine process with ExLlamaV3."""
        with starting(launch) as start:
            model = launch.model
            options, python = self._prepared(model, launch.slots, launch.environments)
            options["compiled"] = _compiled(python)
            encode = chat_encoder(with_namespace(messages_only(sampled_body)), model.prompt_format)
            return start_pipe_engine(
                start, EngineCommand([str(python)], self.name, options, _environment(python), encode)
            )


def engine_options(model: ModelDefinition, slots: int) -> dict[str, Any]:
    """The options of the engine process, as JSON values. Raises `LoadError` (load_failed)."""
    if model.device == "cpu":
        raise _load_error("ExLlamaV3 runs on NVIDIA GPUs only: set device to cuda, or use another backend")
    given = BACKEND.values(model.options)
    k_bits, v_bits = _bits(given)
    return {
        "model": str(_folder(model)),
        "prompt_format": model.prompt_format,
        "slots": slots,
        "cache_size": given["cache_size"],
        "max_rq_tokens": given["max_rq_tokens"],
        "k_bits": k_bits,
        "v_bits": v_bits,
        "image_input": given["image_input"],
        "warm_up": given["warm_up"],
    }


def _bits(given: dict[str, Any]) -> tuple[int | None, int | None]:
    """The bits of the cached keys and values, from either form of the option; None is fp16."""
    if given["cache_quant"] is None:
        return given["cache_k_bits"], given["cache_v_bits"]
    k_bits, _, v_bits = given["cache_quant"].partition(",")
    return int(k_bits), int(v_bits or k_bits)


def _folder(model: ModelDefinition) -> Path:
    """The model's folder, after a check of its config.json. Raises `LoadError`."""
    if model.model_path is None:
        raise _load_error("set model_path to the folder of an EXL3 model")
    folder = ROOT / Path(model.model_path).expanduser()
    if not folder.exists():
        raise _load_error(f"{folder} does not exist: put the folder there, or correct model_path")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        method = (config.get("quantization_config") or {}).get("quant_method")
    except (OSError, ValueError, AttributeError) as error:
        raise _load_error(
            f"{folder} is not the folder of a model with its config.json: correct model_path"
        ) from error
    if method in UNSUPPORTED_QUANTIZATIONS:
        raise _load_error(
            f"{folder} is quantised as {method}, which ExLlamaV3 does not support: use its EXL3 form"
        )
    return folder


def _compiled(python: Path) -> str | None:
    """The folder of the extension that the installation of the environment compiled; None if there is
    none."""
    folder = python.parent.parent / "extensions" / EXTENSION
    return str(folder) if (folder / f"{EXTENSION}.so").is_file() else None


def _environment(python: Path) -> dict[str, str]:
    """Variables for the compiler: its settings, the CUDA toolkit, and the path of ninja beside the
    interpreter."""
    names = (name for name in os.environ if name in INHERITED or name.startswith(INHERITED_PREFIXES))
    environment = {name: os.environ[name] for name in names}
    environment["PATH"] = os.pathsep.join([str(python.parent), *os.get_exec_path()])
    if (home := cuda_home()) is not None:
        environment["CUDA_HOME"] = str(home)
    return environment


def _load_error(sentence: str) -> LoadError:
    return LoadError("load_failed", sentence)


ADAPTER = Exllamav3Adapter()
