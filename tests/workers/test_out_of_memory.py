"""Loads and engines that failed for lack of memory have a code of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from config.settings import ModelDefinition, Settings
from engines.engine_process.process import LOG_NAME
from fleet.load_request import LoadRequest
from tests.support.worker_harness import WorkerHarness
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


@pytest.mark.rule("runner/health-503-gpu-oom")
@pytest.mark.parametrize(
    ("message", "code", "problem"),
    [(MESSAGES[0], "out_of_memory", "out_of_memory"), ("no weights", "load_failed", "all_models_failed")],
)
def test_a_load_that_failed_for_lack_of_memory_has_its_code(
    settings: Settings, message: str, code: str, problem: str
) -> None:
    models = {"big": ModelDefinition("big", "stub", options={"stub_load_fail": message})}
    worker = WorkerHarness(replace(settings, models=models))
    worker.fleet.load("big", LoadRequest(1))
    worker.until(lambda: worker.fleet.row("big").state == "failed")
    row = worker.fleet.row("big")
    operation = worker.fleet.operation(row.operation_id or "")
    assert operation is not None
    assert (row.code, operation.code) == (code, code)
    assert worker.fleet.serving_state().problem(64) == problem
    worker.until(lambda: worker.errors)  # the thread of the load raises after it has reported
    worker.close()
