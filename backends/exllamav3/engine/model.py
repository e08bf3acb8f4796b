"""Imports ExLlamaV3, and loads a model: its weights, cache and tokenizer, and the generator that runs it.

ExLlamaV3 is published as source: it compiles its kernels with nvcc when it is first imported, and checks at
each later import that they are current. The check needs the compiler and takes a lock file, which stays
behind if the process is killed meanwhile; so the extension that the installation of an environment compiled
is used unchecked.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from ...shared.engine.chat_template import read_template
from ...shared.engine.syntax import syntax_of
from ...shared.engine.template_process import TemplateError, TemplateProcess
from .images import ImageEmbeddings
from .namespaces import PAGE, job_class, keeps_namespaces_apart

PREFILL_TOKENS = 2048  # tokens of a prompt that are processed in one pass
MAX_RESERVED_TOKENS = 2048
IMPORTED, LOADED = 0.1, 0.9  # the progress after the import and after the weights
OUT_OF_MEMORY = (
    "the GPU does not have enough memory for the model and its cache: free some of it, make "
    "exllama_cache_size smaller, or quantise the cache"
)
PYTHON_HINT = "name a Python that has it in exllama_python, or leave that out"
CACHES_NOT_SEPARATE = (
    "the caches of tenants cannot be kept apart in this version of ExLlamaV3: use the one that "
    "`stoker runtimes install exllamav3` installs"
)
NO_GPU = "ExLlamaV3 finds no GPU: start the worker with CUDA_VISIBLE_DEVICES naming one, on an NVIDIA driver"
NO_CUDA = "the PyTorch beside ExLlamaV3 is built without CUDA: " + PYTHON_HINT
NO_NVCC = "ExLlamaV3 must be compiled, but there is no nvcc: install the CUDA toolkit, or set CUDA_HOME"

OUT_OF_MEMORY_WORDS = re.compile(r"OutOfMemoryError|Insufficient VRAM|out of memory", re.IGNORECASE)
MAX_QUOTED, MAX_PRINTED = 300, 64 * 1024  # characters

Progress = Callable[[float, str], None]


class ExllamaLoadError(Exception):
    """Raised when the model cannot be loaded; the text is one sentence that says what to do."""


def import_library(compiled: str | None) -> Any:
    """The package `exllamav3`, on a machine with at least one GPU. Raises `ExllamaLoadError`.

    `compiled` is the folder of its compiled extension; with None the package compiles it.
    """
    if compiled is not None:
        sys.path.append(compiled)
    try:
        torch: Any = import_module("torch")
        found: Any = import_module("exllamav3")
    except (ImportError, OSError, RuntimeError) as error:
        raise ExllamaLoadError(_import_error_message(error)) from error
    if not torch.cuda.device_count():
        raise ExllamaLoadError(NO_GPU)
    return found


def _import_error_message(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"this Python has no {error.name}: {PYTHON_HINT}"
    torch: Any = import_module("torch")
    if torch.version.cuda is None:
        return NO_CUDA
    if not torch.cuda.device_count():
        return NO_GPU
    if import_module("torch.utils.cpp_extension").CUDA_HOME is None:
        return NO_NVCC
    quoted = f"{type(error).__name__}: {' '.join(str(error).split())}"[:MAX_QUOTED]
    return f"ExLlamaV3 cannot be compiled or imported ({quoted}): " + PYTHON_HINT


class ExllamaModel:
    """A loaded model. Raises `ExllamaLoadError`.

    `context` is the most tokens of one request, prompt and answer together. `reserved_tokens` is what a
    request reserves of the cache at a time: when it has used them, it is preempted for waiting requests and
    continues later.
    """

    def __init__(self, library: Any, options: dict[str, Any], progress: Progress) -> None:
        self.library = library
        folder = Path(options["model"])
        try:
            self._load(folder, options, progress)
        except ExllamaLoadError:
            raise
        except Exception as error:  # the worker reports every failure
            raise ExllamaLoadError(_load_error_message(error)) from error
        try:
            self.template = TemplateProcess(*read_template(folder))
        except TemplateError as error:
            raise ExllamaLoadError(f"the model's chat template {error}: use another model") from error
        self.syntax = syntax_of(options["prompt_format"], self.template.source)
        self.context: int = min(options["cache_size"], self.config.max_position_embeddings or sys.maxsize)
        self.slots: int = self.generator.max_batch_size
        share = options["cache_size"] // (2 * self.slots) // PAGE * PAGE
        self.reserved_tokens: int = options["max_rq_tokens"] or max(PAGE, min(share, MAX_RESERVED_TOKENS))

    def _load(self, folder: Path, options: dict[str, Any], progress: Progress) -> None:
        lib, slots = self.library, options["slots"]
        self.config = lib.Config.from_directory(str(folder))
        model = lib.Model.from_config(self.config)
        parts = [model]
        if options["image_input"]:
            if "vision" not in self.config.model_classes:
                raise ExllamaLoadError("this model cannot read images: set exllama_image_input to false")
            parts.insert(0, lib.Model.from_config(self.config, component="vision"))
        cache = lib.Cache(
            model, max_num_tokens=options["cache_size"], max_batch_size=slots, **_cache_layer(lib, options)
        )
        modules = sum(len(part.modules) for part in parts)
        callback = _LoadProgress(progress, modules, IMPORTED, LOADED, "loading weights")
        for part in parts:  # on all visible GPUs, if one is too small
            part.load(max_chunk_size=PREFILL_TOKENS, callback=callback)
            callback.next_part()
        self.tokenizer = lib.Tokenizer.from_config(self.config)
        if options["warm_up"]:
            _warm_up(model, cache, slots, progress)
        self.generator = lib.Generator(
            model, cache, self.tokenizer, max_batch_size=slots, max_chunk_size=PREFILL_TOKENS
        )
        self.images = ImageEmbeddings(parts[0], self.tokenizer) if options["image_input"] else None
        self.job_class = _job_class(self.generator)


def _job_class(generator: Any) -> Any:
    """The class of all jobs. Raises `ExllamaLoadError` if it does not keep cache namespaces apart."""
    try:
        found = job_class()
        apart = keeps_namespaces_apart(found, generator)
    except (AttributeError, ImportError, TypeError) as error:
        raise ExllamaLoadError(CACHES_NOT_SEPARATE) from error
    if not apart:
        raise ExllamaLoadError(CACHES_NOT_SEPARATE)
    return found


class _LoadProgress:
    """A callback for the library that converts completed steps to progress between `begin` and `end`."""

    def __init__(self, progress: Progress, total: int, begin: float, end: float, stage: str) -> None:
        self._progress = progress
        self._total = max(1, total)
        self._begin, self._end = begin, end
        self._stage = stage
        self._before = self._last = 0

    def __call__(self, done: int, of: int) -> None:
        share = (self._before + done) / max(self._total, self._before + of)
        self._progress(self._begin + (self._end - self._begin) * share, self._stage)
        self._last = done

    def next_part(self) -> None:
        """Count the steps of the next part on top of those so far."""
        self._before, self._last = self._before + self._last, 0


def _cache_layer(lib: Any, options: dict[str, Any]) -> dict[str, Any]:
    k_bits, v_bits = options["k_bits"], options["v_bits"]
    if k_bits is None:
        return {"layer_type": lib.CacheLayer_fp16}
    return {"layer_type": lib.CacheLayer_quant, "k_bits": k_bits, "v_bits": v_bits}


def _warm_up(model: Any, cache: Any, slots: int, progress: Progress) -> None:
    """Compile and tune the kernels now, not while clients wait. Raises `ExllamaLoadError`."""
    callback = _LoadProgress(progress, 1, LOADED, 1.0, "warming up")
    printed = _Printed(sys.stdout)
    with redirect_stdout(printed):  # the library prints the exception of a pass, and returns its label
        failed = model.warmup(
            cache, max_chunk_size=PREFILL_TOKENS, max_batch_size=min(slots, 8), callback=callback
        )
    if failed:
        raise ExllamaLoadError(_warm_up_message(failed[0], printed.text))


class _Printed(io.TextIOBase):
    """Forwards a text to a stream, and keeps it."""

    def __init__(self, stream: Any) -> None:
        self.text = ""
        self._stream = stream

    def write(self, text: str) -> int:
        """Keep and forward a part of the text."""
        self.text = (self.text + text)[-MAX_PRINTED:]
        return int(self._stream.write(text))

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


def _warm_up_message(label: str, printed: str) -> str:
    """The sentence for a test run that failed, with the exception that the library has printed."""
    found = re.search(re.escape(f"Warmup pass failed ({label}): ") + r"(.{1,300})", printed)
    reason = f"{label}: {found[1].strip()}" if found else label
    failed = f"the model was loaded, but a test run failed ({reason})"
    if found and OUT_OF_MEMORY_WORDS.search(found[1]):
        return f"{failed}: make exllama_cache_size smaller, quantise the cache, or use fewer slots"
    return (
        f"{failed}: the GPU cannot run the model with these options; if the cache is quantised, leave"
        " exllama_cache_quant and the bits out, or use another backend"
    )


def _load_error_message(error: Exception) -> str:
    message = str(error)
    quoted = f"{type(error).__name__}: {' '.join(message.split())}"[:MAX_QUOTED]
    if OUT_OF_MEMORY_WORDS.search(quoted) or OUT_OF_MEMORY_WORDS.search(message):
        return f"{OUT_OF_MEMORY} ({quoted})"
    if "Unknown architecture" in message:
        architecture = message.removeprefix("Unknown architecture ").partition(" ")[0]
        return (
            f"ExLlamaV3 does not support the architecture {architecture}: use another backend for this model"
        )
    if "No tensors found" in message:
        return "the weights are not in a form that ExLlamaV3 reads: use the model's EXL3 form"
    return f"ExLlamaV3 cannot load this model ({quoted}): correct its files, or use another backend"
