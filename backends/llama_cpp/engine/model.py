"""Loads a GGUF file with llama.cpp's library.

The library says why a load fails in its log only, which the worker reads (`backends.shared.llama_diagnosis`).
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

CONTEXT_MULTIPLE = 256  # the library rounds the context of a sequence up to a multiple of this
MAX_SEQUENCES = 256
MAX_CELLS = (1 << 31) - 1
VECTORS_PER_STEP = 16
POOLING = {"auto": -1, "mean": 1, "cls": 2, "last": 3}
FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}
DEBUG, WARNING, ERROR, CONTINUED = 1, 3, 4, 5  # levels of the library's log

FILE_TYPE = re.compile(r"file type +=(?: \(guessed\))? (\S.{0,60}?)\s*$")
KV_BUFFER = re.compile(r"KV buffer size = +([\d.]+) MiB")


class LlamaLoadError(Exception):
    """Raised when a model cannot be loaded; the text is one sentence for an operator."""


class LibraryLog:
    """Forwards the library's log to the engine's log, and collects what it says of the load.

    `error` is the first error that the library has logged, "" if there is none.
    `quantization` is the type of the weights, `kv_cache_mib` the memory of the caches made so far; None
    before the library has logged them.
    """

    def __init__(self, library: Any) -> None:
        self.error = ""
        self.quantization: str | None = None
        self.kv_cache_mib: float | None = None
        self._least = 0
        self._level = 0
        self._callback = library.llama_log_callback(self._on_line)  # the library stores only its address
        library.llama_log_set(self._callback, None)

    def only_warnings(self) -> None:
        """Suppress lines below warnings from now on."""
        self._least = WARNING

    def _on_line(self, level: int, data: bytes, _user_data: Any) -> None:
        self._level = self._level if level == CONTINUED else level
        text = data.decode("utf-8", "replace")
        if self._level == ERROR and not self.error:
            self.error = text.strip()
        if self._least < WARNING:
            self._learn(text)
        if self._level >= self._least and self._level != DEBUG:
            sys.stderr.write(text)
            sys.stderr.flush()

    def _learn(self, text: str) -> None:
        if found := FILE_TYPE.search(text):
            self.quantization = found[1]
        elif found := KV_BUFFER.search(text):
            self.kv_cache_mib = (self.kv_cache_mib or 0.0) + float(found[1])


@dataclass(frozen=True)
class LoadedModel:
    """A model and its context: `slots` sequences of `context_size` tokens each.

    `on_gpu` says whether some layers are on a GPU, `loras` are its LoRA adapters by name. Keep a reference to
    this object: the library calls `log` as long as the model exists.
    """

    model: Any
    context: Any
    slots: int
    context_size: int
    on_gpu: bool
    log: LibraryLog
    loras: Mapping[str, Any] = field(default_factory=dict)


def load(
    library: Any, options: dict[str, Any], log: LibraryLog, report: Callable[[float], None]
) -> LoadedModel:
    """Load a model and create its context; `report` gets the fraction done. Raises `LlamaLoadError`."""
    path = Path(options["model"])
    library.llama_backend_init()
    model = _model(library, path, options, log, report)
    loras = {  # before the context, as the library demands
        name: _lora(library, model, name, Path(file), log) for name, file in options["lora"].items()
    }
    on_gpu = bool(library.llama_supports_gpu_offload()) and options["n_gpu_layers"] != 0
    trained: int = library.llama_model_n_ctx_train(model)
    slots = min(options["slots"], MAX_SEQUENCES)
    wanted = min(options["n_ctx"], trained or options["n_ctx"])
    context_size = -(-wanted // CONTEXT_MULTIPLE) * CONTEXT_MULTIPLE  # rounded up
    if slots * context_size > MAX_CELLS:
        raise LlamaLoadError(f"{slots} times {context_size} tokens of context are too many: lower gguf_n_ctx")
    context = library.llama_init_from_model(model, _context_params(library, options, slots, context_size))
    if not context:
        raise LlamaLoadError(f"llama.cpp cannot make a context for the model: {log.error}")
    if options["pooling"] is None and not library.llama_get_memory(context):
        raise LlamaLoadError(f"{path.name} is not a model that continues a text")
    in_force = min(context_size, trained or context_size)
    return LoadedModel(model, context, slots, in_force, on_gpu, log, loras)


def _model(
    library: Any, path: Path, options: dict[str, Any], log: LibraryLog, report: Callable[[float], None]
) -> Any:
    reported = -1

    def progress(done: float, _data: Any) -> bool:
        nonlocal reported
        if int(100 * done) > reported:
            reported = int(100 * done)
            report(done)
        return True

    params = library.llama_model_default_params()
    params.n_gpu_layers = options["n_gpu_layers"]
    params.progress_callback = library.llama_progress_callback(progress)
    if options["n_gpu_layers"] == 0:  # otherwise the library uses a GPU for large batches
        no_devices = (ctypes.c_void_p * 1)(None)
        params.devices = ctypes.cast(no_devices, ctypes.c_void_p)
    model = library.llama_model_load_from_file(os.fsencode(path), params)
    if not model:
        raise LlamaLoadError(f"llama.cpp cannot load the model: {log.error}")
    if options["pooling"] is None and (
        library.llama_model_has_encoder(model)
        or not library.llama_model_has_decoder(model)
        or library.llama_model_is_diffusion(model)
    ):
        raise LlamaLoadError(f"{path.name} is not a model that continues a text")
    return model


def _lora(library: Any, model: Any, name: str, path: Path, log: LibraryLog) -> Any:
    adapter = library.llama_adapter_lora_init(model, os.fsencode(path))
    if not adapter:
        raise LlamaLoadError(
            f"{path.name}, the LoRA adapter {name}, is made for another model or damaged: {log.error}"
        )
    return adapter


def _context_params(library: Any, options: dict[str, Any], slots: int, context_size: int) -> Any:
    params = library.llama_context_default_params()
    params.n_ctx = slots * context_size
    params.n_seq_max = slots
    params.kv_unified = False  # a sequence attends to its own cells only: far less to compute
    params.n_batch = params.n_ubatch = max(options["batch"], slots)
    params.n_outputs_max = slots
    params.n_threads = params.n_threads_batch = options["threads"] or _cores()
    params.flash_attn_type = FLASH_ATTENTION[options["flash_attn"]]
    params.type_k = getattr(library, f"GGML_TYPE_{options['type_k'].upper()}")
    params.type_v = getattr(library, f"GGML_TYPE_{options['type_v'].upper()}")
    params.swa_full = False  # layers with a sliding window keep that window only, see `PrefixCache`
    params.offload_kqv = params.op_offload = options["n_gpu_layers"] != 0
    params.no_perf = True
    if (pooling := options["pooling"]) is not None:
        # the tokens of a text have to be in one batch; the texts of a batch share one sequence's memory
        params.n_ctx = params.n_batch = params.n_ubatch = params.n_outputs_max = context_size
        params.n_seq_max = VECTORS_PER_STEP
        params.kv_unified = params.embeddings = True
        params.pooling_type = POOLING[pooling]
    return params


def warm_up(library: Any, loaded: LoadedModel, token: int, count: int) -> float:
    """Compute `count` tokens, so that the first request finds all memory allocated. Returns its seconds.

    Raises `LlamaLoadError`.
    """
    began = perf_counter()
    tokens = (ctypes.c_int32 * count)(*[token] * count)
    library.llama_set_warmup(loaded.context, True)
    code = library.llama_decode(loaded.context, library.llama_batch_get_one(tokens, count))
    library.llama_synchronize(loaded.context)
    library.llama_set_warmup(loaded.context, False)
    library.llama_memory_clear(library.llama_get_memory(loaded.context), True)
    if code != 0:
        raise LlamaLoadError("the engine cannot run this model")
    return perf_counter() - began


def metadata(library: Any, model: Any, key: str) -> str | None:
    """The value of a key in the file's metadata; None when the file does not have the key."""
    buffer = ctypes.create_string_buffer(256)
    length = library.llama_model_meta_val_str(model, key.encode(), buffer, len(buffer))
    return None if length < 0 else buffer.value.decode("utf-8", "replace")


def _cores() -> int:
    """The number of usable physical cores."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    siblings = set()
    for cpu in usable:
        path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            siblings.add(path.read_text())
        except OSError:
            siblings.add(str(cpu))
    return len(siblings)
