"""Access to the NVIDIA driver through NVML, and the meaning of CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Device:
    """What CUDA can use as one device: a whole GPU, or a part of a GPU in MIG mode.

    `gpu` is the GPU's index in PCI bus order, `part` the index of the MIG device in it; None: the whole GPU.
    """

    uuid: str
    gpu: int
    part: int | None = None

    @property
    def name(self) -> str:
        """A short name: `gpu0`, and of a part `gpu0-mig1`."""
        return f"gpu{self.gpu}" if self.part is None else f"gpu{self.gpu}-mig{self.part}"


def devices(nvml: Any) -> list[Device]:
    """All devices, in PCI bus order. A function for `Driver.query`.

    CUDA cannot use a GPU in MIG mode as a whole: its parts stand for it (NVIDIA, MIG User Guide).
    """
    found: list[Device] = []
    for gpu in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(gpu)
        if _is_divided(nvml, handle):
            found += [Device(uuid, gpu, part) for part, uuid in _parts(nvml, handle)]
        else:
            found.append(Device(str(nvml.nvmlDeviceGetUUID(handle)), gpu))
    return found


def _is_divided(nvml: Any, handle: Any) -> bool:
    try:
        mode, _ = nvml.nvmlDeviceGetMigMode(handle)
    except (nvml.NVMLError_NotSupported, nvml.NVMLError_FunctionNotFound):
        return False
    return bool(mode == nvml.NVML_DEVICE_MIG_ENABLE)


def _parts(nvml: Any, handle: Any) -> Iterator[tuple[int, str]]:
    for part in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        with suppress(nvml.NVMLError_NotFound):  # the indices of the parts may have gaps
            yield part, str(nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, part)))


def visible_devices(visible: str, all_devices: Sequence[Device]) -> list[Device]:
    """The devices that a value of CUDA_VISIBLE_DEVICES selects.

    An entry is the index of a GPU in bus order, a UUID or the unambiguous beginning of a UUID. As in CUDA,
    the list ends at the first entry that does not exist, and the index of a divided GPU is its first part.
    """
    selected: list[Device] = []
    for entry in filter(None, (part.strip() for part in visible.split(","))):
        if entry.isdecimal() and any(device.gpu == int(entry) for device in all_devices):
            matching = [device for device in all_devices if device.gpu == int(entry)][:1]
        else:
            matching = [device for device in all_devices if entry != "-" and device.uuid.startswith(entry)]
        if len(matching) != 1:
            break
        if matching[0] not in selected:
            selected.append(matching[0])
    return selected


def device_type() -> str:
    """`cuda` when CUDA_VISIBLE_DEVICES gives this process a GPU, else `cpu`."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").strip()
    return "cuda" if visible and visible != "-1" else "cpu"


def runs_on_cpu(device: str) -> bool:
    """Whether an engine with this `device` of a model (`auto`, `cpu` or `cuda`) runs on the CPU here."""
    return device == "cpu" or (device == "auto" and device_type() == "cpu")
