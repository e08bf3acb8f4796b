"""The GPU driver, asked through NVML: which GPUs there are, and which of them CUDA_VISIBLE_DEVICES means."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T")

UNINITIALIZED, NO_PERMISSION, NOT_LOADED, NO_LIBRARY = 1, 4, 9, 12
GPU_IS_LOST, RESET_REQUIRED, VERSION_MISMATCH = 15, 16, 18
LOST = {UNINITIALIZED, NOT_LOADED, GPU_IS_LOST, RESET_REQUIRED, VERSION_MISMATCH}  # a new init may help
REMEDIES = {
    NO_PERMISSION: "let this user open the GPU's device files",
    NOT_LOADED: "load the NVIDIA driver, or give this container the GPU",
    NO_LIBRARY: "install the NVIDIA driver, or give this container the GPU",
    GPU_IS_LOST: "reset the GPU, or restart the machine",
    RESET_REQUIRED: "reset the GPU, or restart the machine",
    VERSION_MISMATCH: "restart the machine: its driver was updated",
}


class DriverError(Exception):
    """Raised when the driver gives no answer; the text says why, and after a semicolon what to do."""


class Driver:
    """NVML, initialised with the first question and then kept: that takes far longer than an answer."""

    def __init__(self) -> None:
        self._open = False
        self._lock = threading.Lock()

    def ask(self, question: Callable[[Any], T]) -> T:
        """The answer of `question`, which is given nvidia-ml-py. Raises `DriverError`.

        When the driver was lost since the last time it is asked again, after a new init.
        """
        nvml: Any = import_module("pynvml")  # it has no types, and whoever never asks need not wait for it
        fresh = False
        with self._lock:
            while True:
                try:
                    if not self._open:
                        fresh = True
                        nvml.nvmlInit()
                        self._open = True
                    return question(nvml)
                except nvml.NVMLError as error:
                    if error.value in LOST:
                        self._shut_down(nvml)
                    if fresh or self._open:
                        remedy = REMEDIES.get(error.value, "see what nvidia-smi says here")
                        raise DriverError(f"{error}; {remedy}") from error

    def close(self) -> None:
        """Let go of the driver, until the next question."""
        with self._lock:
            self._shut_down(import_module("pynvml"))

    def _shut_down(self, nvml: Any) -> None:
        if self._open:
            self._open = False
            with suppress(nvml.NVMLError):
                nvml.nvmlShutdown()


def uuids(nvml: Any) -> list[str]:
    """A question: the UUIDs of all GPUs, in bus order."""
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    return [str(nvml.nvmlDeviceGetUUID(handle)) for handle in handles]


def chosen(visible: str, uuids: list[str]) -> list[int]:
    """The indices that a CUDA_VISIBLE_DEVICES names: indices in bus order, UUIDs or how one UUID begins.

    As in CUDA the list ends at the first entry that does not exist.
    """
    chosen: list[int] = []
    for entry in filter(None, (part.strip() for part in visible.split(","))):
        if entry.isdecimal() and int(entry) < len(uuids):
            index = int(entry)
        else:
            matching = [at for at, uuid in enumerate(uuids) if entry != "-" and uuid.startswith(entry)]
            if len(matching) != 1:
                break
            index = matching[0]
        if index not in chosen:
            chosen.append(index)
    return chosen
