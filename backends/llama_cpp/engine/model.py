"""Loads a GGUF file with llama.cpp's library, and says in a sentence why that fails."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

STEP = 256  # the library rounds the context of a sequence up to it
MAX_SEQUENCES = 256
MAX_CELLS = (1 << 31) - 1
FLASH = {"auto": -1, "off": 0, "on": 1}
DEBUG, WARNING, ERROR, CONTINUED = 1, 3, 4, 5  # levels of the library's log

UNKNOWN = re.compile(r"unknown (?:model architecture|pre-tokenizer type): '?([\w.-]+)")
NO_MEMORY = ("failed to allocate", "unable to allocate", "out of memory", "cudaMalloc failed")
CORRUPT = ("corrupted", "file bounds", "failed to read", "unexpectedly reached end", "invalid magic")


class LoadFailedError(Exception):
    """Raised when a model cannot be loaded; the text is one sentence for an operator."""


class Log:
    """Passes what the library says on to the engine's log, and remembers its errors."""

    def __init__(self, library: Any) -> None:
        self.errors: list[str] = []
        self._least = 0
        self._level = 0
        self._callback = library.llama_log_callback(self._take)  # the library keeps only its address
        library.llama_log_set(self._callback, None)

    def only_warnings(self) -> None:
        """Leave out from now on what is no warning."""
        self._least = WARNING

    def _take(self, level: int, text: bytes, _data: Any) -> None:
        self._level = self._level if level == CONTINUED else level
        said = text.decode("utf-8", "replace")
        if self._level == ERROR:
            self.errors.append(said)
            del self.errors[:-50]
        if self._level >= self._least and self._level != DEBUG:
            sys.stderr.write(said)
            sys.stderr.flush()


@dataclass(frozen=True)
class Loaded:
    """A model and its context: `slots` sequences of `size` tokens each; `on_gpu` when some of it is there.

    It has to be held on to, or the library calls a log that is gone.
    """

    model: Any
    context: Any
    slots: int
    size: int
    on_gpu: bool
    log: Log


def load(library: Any, options: dict[str, Any], log: Log, tell: Callable[[float], None]) -> Loaded:
    """Load a model and make its context, telling how much of it is done. Raises `LoadFailedError`."""
    path = Path(options["model"])
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise LoadFailedError(f"{path.name} is not a GGUF file")
    library.llama_backend_init()
    model = _model(library, path, options, log, tell)
    on_gpu = bool(library.llama_supports_gpu_offload()) and options["n_gpu_layers"] != 0
    trained: int = library.llama_model_n_ctx_train(model)
    slots = min(options["slots"], MAX_SEQUENCES)
    size = -(-min(options["n_ctx"], trained or options["n_ctx"]) // STEP) * STEP
    if slots * size > MAX_CELLS:
        raise LoadFailedError(f"{slots} times {size} tokens of context are too many: lower gguf_n_ctx")
    context = library.llama_init_from_model(model, _context_params(library, options, slots, size))
    if not context:
        raise _why_no_context(options, log.errors)
    if not library.llama_get_memory(context):
        raise LoadFailedError(f"{path.name} is not a model that goes on with a text")
    return Loaded(model, context, slots, min(size, trained or size), on_gpu, log)


def _model(library: Any, path: Path, options: dict[str, Any], log: Log, tell: Callable[[float], None]) -> Any:
    told = -1

    def progress(done: float, _data: Any) -> bool:
        nonlocal told
        if int(100 * done) > told:
            told = int(100 * done)
            tell(done)
        return True

    params = library.llama_model_default_params()
    params.n_gpu_layers = options["n_gpu_layers"]
    params.progress_callback = library.llama_progress_callback(progress)
    if options["n_gpu_layers"] == 0:  # or the library would use a GPU for large batches
        nothing = (ctypes.c_void_p * 1)(None)
        params.devices = ctypes.cast(nothing, ctypes.c_void_p)
    model = library.llama_model_load_from_file(os.fsencode(path), params)
    if not model:
        raise _why_no_model(path, log.errors)
    if (
        library.llama_model_has_encoder(model)
        or not library.llama_model_has_decoder(model)
        or library.llama_model_is_diffusion(model)
    ):
        raise LoadFailedError(f"{path.name} is not a model that goes on with a text")
    return model


def _context_params(library: Any, options: dict[str, Any], slots: int, size: int) -> Any:
    params = library.llama_context_default_params()
    params.n_ctx = slots * size
    params.n_seq_max = slots
    params.kv_unified = False  # each sequence looks at its own tokens only: far less to compute
    params.n_batch = params.n_ubatch = max(options["batch"], slots)
    params.n_outputs_max = slots
    params.n_threads = params.n_threads_batch = options["threads"] or _cores()
    params.flash_attn_type = FLASH[options["flash_attn"]]
    params.type_k = getattr(library, f"GGML_TYPE_{options['type_k'].upper()}")
    params.type_v = getattr(library, f"GGML_TYPE_{options['type_v'].upper()}")
    params.swa_full = False  # layers with a sliding window remember that window, see `Prefixes`
    params.offload_kqv = params.op_offload = options["n_gpu_layers"] != 0
    params.no_perf = True
    return params


def warm_up(library: Any, loaded: Loaded, token: int, count: int) -> float:
    """Compute `count` tokens, so that all is in its place for the first request; the seconds that it took.

    Raises `LoadFailedError`.
    """
    began = perf_counter()
    tokens = (ctypes.c_int32 * count)(*[token] * count)
    library.llama_set_warmup(loaded.context, True)
    code = library.llama_decode(loaded.context, library.llama_batch_get_one(tokens, count))
    library.llama_synchronize(loaded.context)
    library.llama_set_warmup(loaded.context, False)
    library.llama_memory_clear(library.llama_get_memory(loaded.context), True)
    if code != 0:
        raise LoadFailedError("the engine cannot compute with this model")
    return perf_counter() - began


def metadata(library: Any, model: Any, key: str) -> str | None:
    """A text or number of the file's metadata, by its key."""
    buffer = ctypes.create_string_buffer(256)
    length = library.llama_model_meta_val_str(model, key.encode(), buffer, len(buffer))
    return None if length < 0 else buffer.value.decode("utf-8", "replace")


def _why_no_model(path: Path, errors: list[str]) -> LoadFailedError:
    said = "".join(errors)
    if unknown := UNKNOWN.search(said):
        return LoadFailedError(
            f"the installed llama.cpp does not know {unknown.group(1)}, which {path.name} is made for"
        )
    if any(words in said for words in NO_MEMORY):
        return LoadFailedError("there is not enough memory for the model: lower gguf_n_gpu_layers")
    if any(words in said for words in CORRUPT):
        return LoadFailedError(f"{path.name} is damaged or not whole: copy it again")
    return LoadFailedError("the engine cannot load the model")


def _why_no_context(options: dict[str, Any], errors: list[str]) -> LoadFailedError:
    said = "".join(errors)
    if any(words in said for words in NO_MEMORY):
        return LoadFailedError(
            f"there is not enough memory for the context of {options['slots']} requests at once: lower"
            " gguf_n_ctx, or choose smaller types of the cache"
        )
    if "flash_attn" in said or "Flash Attention" in said:
        return LoadFailedError("a quantized gguf_type_v needs flash attention, which this model cannot have")
    if "cache type" in said:
        return LoadFailedError("gguf_type_k or gguf_type_v does not fit this model: set it to f16")
    return LoadFailedError("the engine cannot make a context for the model")


def _cores() -> int:
    """Processor cores that may be used, each once however many threads it runs."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    siblings = set()
    for cpu in usable:
        path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            siblings.add(path.read_text())
        except OSError:
            siblings.add(str(cpu))
    return len(siblings)
