"""The GPUs of this machine, read through their driver independently of Stoker's reader."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from engines.nvml import Device, Driver, devices
from tests.support.waiting import scaled

MIB = 1024 * 1024
SETTLE_TIMEOUT_S = 20.0
POLL_S = 0.1


@dataclass(frozen=True)
class Card:
    """One GPU."""

    uuid: str
    name: str
    total_mib: int


class Cards:
    """All GPUs. The methods raise `DriverError`."""

    def __init__(self) -> None:
        self._driver = Driver()

    def devices(self) -> list[Device]:
        """All GPUs, in bus order; in place of a GPU in MIG mode its parts."""
        return self._driver.query(devices)

    def all(self) -> list[Card]:
        """The same, with name and memory."""

        def query(nvml: Any) -> list[Card]:
            handles = [nvml.nvmlDeviceGetHandleByUUID(device.uuid) for device in devices(nvml)]
            return [
                Card(
                    str(nvml.nvmlDeviceGetUUID(handle)),
                    str(nvml.nvmlDeviceGetName(handle)),
                    nvml.nvmlDeviceGetMemoryInfo(handle).total // MIB,
                )
                for handle in handles
            ]

        return self._driver.query(query)

    def driver(self) -> str:
        """The driver's version, and the newest CUDA version that it supports."""

        def query(nvml: Any) -> str:
            cuda = nvml.nvmlSystemGetCudaDriverVersion_v2()
            return f"{nvml.nvmlSystemGetDriverVersion()} (CUDA {cuda // 1000}.{cuda % 1000 // 10})"

        return self._driver.query(query)

    def used_mib(self) -> dict[str, int]:
        """MiB that all processes of all users hold, by UUID, as nvidia-smi counts them.

        Version 1 of NVML's figure counts what the driver reserves for itself, too.
        """

        def query(nvml: Any) -> dict[str, int]:
            used: dict[str, int] = {}
            for device in devices(nvml):
                handle = nvml.nvmlDeviceGetHandleByUUID(device.uuid)
                memory = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
                used[device.uuid] = memory.used // MIB
            return used

        return self._driver.query(query)

    def held_mib(self, group: int) -> dict[str, int]:
        """MiB that a process group holds, by the UUID of each GPU that lists one of its processes.

        Empty in a container that has a pid namespace of its own.
        """

        def query(nvml: Any) -> dict[str, int]:
            held: dict[str, int] = {}
            for uuid in (device.uuid for device in devices(nvml)):
                handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
                for process in nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle):
                    if _group_of(process.pid) == group:
                        held[uuid] = held.get(uuid, 0) + (process.usedGpuMemory or 0) // MIB
            return held

        return self._driver.query(query)

    def wait_used_mib(self, expected: dict[str, int], near_mib: int) -> dict[str, int]:
        """Wait until about the `expected` memory is used, up to `SETTLE_TIMEOUT_S`; returns the used memory.

        A driver needs a while to free the memory of an ended process.
        """
        deadline = time.monotonic() + scaled(SETTLE_TIMEOUT_S)
        while True:
            used = self.used_mib()
            near = all(abs(used[uuid] - mib) <= near_mib for uuid, mib in expected.items())
            if near or time.monotonic() > deadline:
                return used
            time.sleep(POLL_S)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None
