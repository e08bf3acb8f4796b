"""The GPUs of this machine, as their driver tells of them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from workers.nvml import Driver, gpu_uuids

MIB = 1024 * 1024
SETTLED_S = 20.0
TICK_S = 0.1


@dataclass(frozen=True)
class Card:
    """One of them."""

    uuid: str
    name: str
    total_mib: int


class Cards:
    """All of them. Its methods raise `DriverError`."""

    def __init__(self) -> None:
        self._driver = Driver()

    def all(self) -> list[Card]:
        """In bus order."""

        def query(nvml: Any) -> list[Card]:
            handles = [nvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in gpu_uuids(nvml)]
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
        """The driver's version, and the newest CUDA that it knows."""

        def query(nvml: Any) -> str:
            cuda = nvml.nvmlSystemGetCudaDriverVersion_v2()
            return f"{nvml.nvmlSystemGetDriverVersion()} (CUDA {cuda // 1000}.{cuda % 1000 // 10})"

        return self._driver.query(query)

    def used_mib(self) -> dict[str, int]:
        """What all processes of all users hold, by UUID."""

        def query(nvml: Any) -> dict[str, int]:
            handles = {uuid: nvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in gpu_uuids(nvml)}
            return {uuid: nvml.nvmlDeviceGetMemoryInfo(handles[uuid]).used // MIB for uuid in handles}

        return self._driver.query(query)

    def held_mib(self, group: int) -> dict[str, int]:
        """What the processes of a group hold, by the UUID of each GPU that lists any of them.

        Empty in a container that does not share the machine's process numbers.
        """

        def query(nvml: Any) -> dict[str, int]:
            held: dict[str, int] = {}
            for uuid in gpu_uuids(nvml):
                handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
                for process in nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle):
                    if _group_of(process.pid) == group:
                        held[uuid] = held.get(uuid, 0) + (process.usedGpuMemory or 0) // MIB
            return held

        return self._driver.query(query)

    def settled(self, wanted: dict[str, int], near_mib: int) -> dict[str, int]:
        """What is used as soon as it is about `wanted`, or at last: a driver takes its time to take back."""
        deadline = time.monotonic() + SETTLED_S
        while True:
            used = self.used_mib()
            near = all(abs(used[uuid] - mib) <= near_mib for uuid, mib in wanted.items())
            if near or time.monotonic() > deadline:
                return used
            time.sleep(TICK_S)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None
