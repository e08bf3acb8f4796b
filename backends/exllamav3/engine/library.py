"""Imports ExLlamaV3, and explains why the import fails.

ExLlamaV3 is published as source: it compiles its kernels with nvcc when it is first imported, and checks at
each later import that they are current. The check needs the compiler and takes a lock file, which stays
behind if the process is killed meanwhile; so the extension that the installation of an environment
compiled is used unchecked.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

MISSING = "run `stoker runtimes install exllamav3`, or name a Python that has it in exllama_python"
NO_GPU = "ExLlamaV3 sees no GPU: start the worker with CUDA_VISIBLE_DEVICES naming one, on an NVIDIA driver"
NO_CUDA = "the PyTorch beside ExLlamaV3 is built without CUDA: " + MISSING
NO_NVCC = "ExLlamaV3 has to be compiled, and there is no nvcc: install the CUDA toolkit, or set CUDA_HOME"


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
        return f"this Python has no {error.name}: {MISSING}"
    torch: Any = import_module("torch")
    if torch.version.cuda is None:
        return NO_CUDA
    if not torch.cuda.device_count():
        return NO_GPU
    if import_module("torch.utils.cpp_extension").CUDA_HOME is None:
        return NO_NVCC
    return "ExLlamaV3 cannot be compiled or imported; its own message is in the engine's log"
