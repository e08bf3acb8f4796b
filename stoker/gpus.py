"""The workers of this machine: one per GPU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from workers.nvml import Driver, DriverError, gpu_uuids, visible_gpus


@dataclass(frozen=True)
class WorkerDevice:
    """The device of one worker: its name, which is also the worker's, and the variables that select it."""

    name: str
    environment: Mapping[str, str]


def worker_devices(environ: Mapping[str, str] | None = None) -> list[WorkerDevice]:
    """Return all usable GPUs, or the CPU if there is none.

    Respects CUDA_VISIBLE_DEVICES, a list of indices or UUIDs. As in CUDA, the list ends at the first entry
    that does not exist, and an empty one means no GPU.
    """
    environ = os.environ if environ is None else environ
    uuids = _uuids()
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    indices = list(range(len(uuids))) if visible is None else visible_gpus(visible, uuids)
    if not indices:
        return [WorkerDevice("cpu0", {"CUDA_VISIBLE_DEVICES": ""})]
    # the driver numbers the GPUs in PCI bus order; CUDA only with this variable
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return [WorkerDevice(f"gpu{index}", {"CUDA_VISIBLE_DEVICES": str(index), **order}) for index in indices]


def _uuids() -> list[str]:
    """Return the UUIDs of all GPUs in PCI bus order; none without a driver."""
    driver = Driver()
    try:
        return driver.query(gpu_uuids)
    except DriverError:
        return []
    finally:
        driver.close()
