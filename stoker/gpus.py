"""Which GPUs there are, for one worker each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from workers.nvml import Driver, DriverError, gpu_uuids, visible_gpus


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
    there = _uuids()
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    indices = list(range(len(there))) if visible is None else visible_gpus(visible, there)
    if not indices:
        return [Seat("cpu0", {"CUDA_VISIBLE_DEVICES": ""})]
    # the driver counts in bus order; CUDA does so only when told to
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return [Seat(f"gpu{index}", {"CUDA_VISIBLE_DEVICES": str(index), **order}) for index in indices]


def _uuids() -> list[str]:
    """The UUIDs of all GPUs in bus order; none without a driver."""
    driver = Driver()
    try:
        return driver.query(gpu_uuids)
    except DriverError:
        return []
    finally:
        driver.close()
