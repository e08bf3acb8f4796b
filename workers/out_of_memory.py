"""Whether an engine ended because a device or its machine had too little memory, by what it wrote."""

from __future__ import annotations

import re
from pathlib import Path

from engines.engine_process.process import LOG_NAME

CODE = "out_of_memory"
READ_BYTES = 16 * 1024  # of the log's end

PATTERN = re.compile(
    r"out of memory|OutOfMemory|cudaMalloc failed|(?:unable|failed) to allocate"
    r"|can'?t allocate memory|cannot allocate memory|bad_alloc|\bMemoryError\b"
    r"|No available memory for the cache|KV cache is needed, which is larger|Free memory on device",
    re.IGNORECASE,
)
"""The messages of PyTorch, vLLM, llama.cpp, CTranslate2, Python and the system."""


def lacked_memory(message: str, directory: Path) -> bool:
    """Whether the message of a failure, or the end of the log in the engine's folder, says so."""
    return PATTERN.search(message) is not None or PATTERN.search(_end_of(directory / LOG_NAME)) is not None


def _end_of(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - READ_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
