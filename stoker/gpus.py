"""Which GPUs there are, for one worker each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Seat:
    """A place for a worker: its name and what it adds to the environment."""

    name: str
    environment: Mapping[str, str]


def seats(environ: Mapping[str, str] | None = None) -> list[Seat]:
    """One seat for each GPU that may be used, else one on the CPU.

    CUDA_VISIBLE_DEVICES is honoured: a list of indices or UUIDs, which as in CUDA ends at the first entry
    that does not exist; an empty one means no GPU.
    """
    environ = os.environ if environ is None else environ
    uuids = _uuids()
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    indices = list(range(len(uuids))) if visible is None else _chosen(visible, uuids)
    if not indices:
        return [Seat("cpu0", {"CUDA_VISIBLE_DEVICES": ""})]
    # the driver counts in bus order; CUDA does so only when told to
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return [Seat(f"gpu{index}", {"CUDA_VISIBLE_DEVICES": str(index), **order}) for index in indices]


def _chosen(visible: str, uuids: list[str]) -> list[int]:
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


def _uuids() -> list[str]:
    """The UUIDs of all GPUs in bus order; none without a driver."""
    nvml: Any = import_module("pynvml")  # it has no types
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return []
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        return [str(nvml.nvmlDeviceGetUUID(handle)) for handle in handles]
    except nvml.NVMLError:
        return []
    finally:
        nvml.nvmlShutdown()
