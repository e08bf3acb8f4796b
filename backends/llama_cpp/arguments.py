"""The arguments of a `llama_cpp` engine, read from a model's options.

`gguf_n_ctx` is the context of *one* request: the engine allocates that much for each of its slots. The engine
caps it at the context that the model was trained on; `Engine.context` has the value in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backends.base import LoadError
from backends.catalogue import BACKENDS
from backends.llama_cpp.options import DEFAULT_CACHE_TYPE
from backends.shared.gguf_files import check_continues_text, checked_gguf
from backends.shared.option_check import check_options
from config.settings import ModelDefinition

BACKEND = BACKENDS["llama_cpp"]
PREFIX = BACKEND.prefix


@dataclass(frozen=True)
class LlamaCppOptions:
    """The backend's options, without their prefix. `threads` None lets the engine use every core."""

    model: Path
    slots: int
    prompt_format: str
    n_ctx: int
    n_gpu_layers: int
    flash_attn: str
    type_k: str
    type_v: str
    threads: int | None
    batch: int
    lora: Mapping[str, Path]
    pooling: str | None
    cache_prompt: bool
    ctx_checkpoints: int
    chat_template_kwargs: Mapping[str, Any]
    python: str | None

    @classmethod
    def of(cls, model: ModelDefinition, slots: int) -> LlamaCppOptions:
        """Read a model's options and check that its file exists. Raises `LoadError` (load_failed)."""
        given = BACKEND.values(model.options)
        given["chat_template_kwargs"] = given["chat_template_kwargs"] or {}
        given |= {name: given[name] or DEFAULT_CACHE_TYPE for name in ("type_k", "type_v")}
        if model.model_path is None:
            raise LoadError("load_failed", "set model_path to a GGUF file")
        path, header = checked_gguf("model_path", model.model_path)
        if given["pooling"] is None:
            check_continues_text(path, header, PREFIX)
        loras = sorted((given["lora"] or {}).items())
        given["lora"] = {
            name: checked_gguf(f"{PREFIX}lora.{name}", file, "adapter")[0] for name, file in loras
        }
        check_options(model)  # after the files, which no load changes
        if model.device == "cpu":
            given["n_gpu_layers"] = 0
        return cls(model=path, slots=slots, prompt_format=model.prompt_format, **given)

    def for_engine(self) -> dict[str, Any]:
        """The arguments of `backends/llama_cpp/engine/main.py`, as JSON values."""
        loras = {name: str(path) for name, path in self.lora.items()}
        options = {**asdict(self), "model": str(self.model), "lora": loras}
        del options["python"]
        return options
