"""Access to the NVIDIA driver through NVML, and the meaning of CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T")

UNINITIALIZED, NO_PERMISSION, NOT_LOADED, NO_LIBRARY = 1, 4, 9, 12
GPU_IS_LOST, RESET_REQUIRED, VERSION_MISMATCH = 15, 16, 18
NEEDS_INIT = {UNINITIALIZED, NOT_LOADED, GPU_IS_LOST, RESET_REQUIRED, VERSION_MISMATCH}
"""Errors after which a new `nvmlInit` may help."""

REMEDIES = {
    NO_PERMISSION: "let this user open the GPU's device files",
    NOT_LOADED: "load the NVIDIA driver, or give this container the GPU",
    NO_LIBRARY: "install the NVIDIA driver, or give this container the GPU",
    GPU_IS_LOST: "reset the GPU, or restart the machine",
    RESET_REQUIRED: "reset the GPU, or restart the machine",
    VERSION_MISMATCH: "restart the machine: its driver was updated",
}


class DriverError(Exception):
    """Raised when an NVML call fails. The text gives the reason and, after a semicolon, the remedy."""


class Driver:
    """An NVML session, initialized at the first query and left open: a query is much faster than that."""

    def __init__(self) -> None:
        self._open = False
        self._lock = threading.Lock()

    def query(self, function: Callable[[Any], T]) -> T:
        """Call `function` with the pynvml module and return its result. Raises `DriverError`.

        When the driver was lost since the last query, NVML is initialized again and the query repeated.
        """
        nvml: Any = import_module("pynvml")  # it has no types, and a CPU-only process need not import it
        fresh = False
        with self._lock:
            while True:
                try:
                    if not self._open:
                        fresh = True
                        nvml.nvmlInit()
                        self._open = True
                    return function(nvml)
                except nvml.NVMLError as error:
                    if error.value in NEEDS_INIT:
                        self._shut_down(nvml)
                    if fresh or self._open:
                        remedy = REMEDIES.get(error.value, "see the output of nvidia-smi on this machine")
                        raise DriverError(f"{error}; {remedy}") from error

    def close(self) -> None:
        """Shut NVML down; the next query initializes it again."""
        with self._lock:
            self._shut_down(import_module("pynvml"))

    def _shut_down(self, nvml: Any) -> None:
        if self._open:
            self._open = False
            with suppress(nvml.NVMLError):
                nvml.nvmlShutdown()


def gpu_uuids(nvml: Any) -> list[str]:
    """The UUIDs of all GPUs, in bus order. A function for `Driver.query`."""
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    return [str(nvml.nvmlDeviceGetUUID(handle)) for handle in handles]


def visible_gpus(visible: str, uuids: list[str]) -> list[int]:
    """The GPUs that a value of CUDA_VISIBLE_DEVICES selects, as indices into `uuids` (all GPUs in bus order).

    An entry is an index in bus order, a UUID or the unambiguous beginning of a UUID. As in CUDA, the list
    ends at the first entry that does not exist.
    """
    selected: list[int] = []
    for entry in filter(None, (part.strip() for part in visible.split(","))):
        if entry.isdecimal() and int(entry) < len(uuids):
            index = int(entry)
        else:
            matching = [at for at, uuid in enumerate(uuids) if entry != "-" and uuid.startswith(entry)]
            if len(matching) != 1:
                break
            index = matching[0]
        if index not in selected:
            selected.append(index)
    return selected


def device_type() -> str:
    """`cuda` when CUDA_VISIBLE_DEVICES gives this process a GPU, else `cpu`."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").strip()
    return "cuda" if visible and visible != "-1" else "cpu"
