"""Loads and engines that failed for lack of memory have a code of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.engine_process.process import LOG_NAME
from workers.out_of_memory import lacked_memory

MESSAGES = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 512.00 MiB on device 0: cudaMalloc failed",
    "ValueError: No available memory for the cache blocks.",
    "ValueError: Free memory on device (3.1/79.1 GiB) on startup is less than desired",
    "std::bad_alloc",
    "OSError: [Errno 12] Cannot allocate memory",
    "RuntimeError: CUDA failed with error out of memory",
)


@pytest.mark.parametrize("message", MESSAGES)
def test_a_lack_of_memory_is_recognized_in_the_words_of_each_runtime(message: str, tmp_path: Path) -> None:
    assert lacked_memory(message, tmp_path)
    assert not lacked_memory("the engine cannot load the model", tmp_path)
    (tmp_path / LOG_NAME).write_text(f"{message}\nTraceback\n")
    assert lacked_memory("the engine cannot load the model", tmp_path)


def test_an_old_message_in_a_long_log_is_not_the_cause(tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).write_text(MESSAGES[0] + "\n" + "a later line\n" * 4000)
    assert not lacked_memory("", tmp_path)
