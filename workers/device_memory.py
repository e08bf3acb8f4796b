"""The memory of this worker's device: total, free, and held by an engine."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil

from engines.nvml import Device, Driver, DriverError, device_type, devices, visible_devices
from fleet.memory import DeviceMemory, Gpu

MIB = 1024 * 1024
CGROUP_OF_SELF = Path("/proc/self/cgroup")
CGROUPS = Path("/sys/fs/cgroup")


class DeviceMemoryReader:
    """Reads the memory of the device that CUDA_VISIBLE_DEVICES gave to this process when it was constructed.

    GPUs are read through their driver; a worker on the CPU has the machine's memory. A driver's failure is
    not raised: it is the `error` of a reading, or None for the memory of an engine. Any thread may use it.
    """

    def __init__(self) -> None:
        self._visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        self._on_gpu = device_type() == "cuda"
        self._driver = Driver()
        self._devices: list[Device] = []  # the worker's, once they are known

    def read(self) -> DeviceMemory:
        """The device's memory at this moment, used by all processes of all users."""
        if not self._on_gpu:
            total, free = machine_memory()
            return DeviceMemory(
                f"host:{platform.node()}", total // MIB, free // MIB, error=self._no_gpu_reason
            )
        try:
            return self._driver.query(self._read_gpus)
        except DriverError as error:
            unknown = f"gpu:{platform.node()}:{self._visible}"
            return DeviceMemory(self._id or unknown, 0, 0, error=f"no GPU can be read: {error}")

    def held_by(self, group: int) -> int | None:
        """MiB of the device that the processes of a process group and their descendants hold, rounded up.

        Pages of the machine's memory that several processes share are divided among them. None when it is
        unknown: the group has ended, the driver has no figures for single processes, or a container hides
        them.
        """
        pids = _group_members(group)
        held: int | None
        if not self._on_gpu:
            held = sum(map(_resident_bytes, pids)) if pids else None
        else:
            try:
                held = self._driver.query(lambda nvml: self._held_on_gpus(nvml, pids))
            except DriverError:
                held = None
        return None if held is None else -(-held // MIB)

    @property
    def _id(self) -> str:
        # independent of the order in which a worker names its GPUs
        return "+".join(sorted(device.uuid for device in self._devices))

    def _handles(self, nvml: Any) -> list[Any]:
        """The worker's GPUs. Raises `DriverError` when CUDA_VISIBLE_DEVICES selects none."""
        if not self._devices:
            found = devices(nvml)
            self._devices = visible_devices(self._visible or "", found)
            if not self._devices:
                raise DriverError(
                    f"CUDA_VISIBLE_DEVICES is {self._visible!r}, and the driver has {len(found)} GPUs; "
                    "name one of them by index or UUID"
                )
        return [nvml.nvmlDeviceGetHandleByUUID(device.uuid) for device in self._devices]

    def _read_gpus(self, nvml: Any) -> DeviceMemory:
        gpus, free_mib = [], 0
        for handle, device in zip(self._handles(nvml), self._devices, strict=True):
            memory = _gpu_memory(nvml, handle)
            name, used, total = str(nvml.nvmlDeviceGetName(handle)), memory.used // MIB, memory.total // MIB
            utilization, heat = _utilization(nvml, handle), _heat(nvml, handle)
            gpus.append(Gpu(device.gpu, device.uuid, name, used, total, utilization, **heat))
            free_mib += memory.free // MIB
        return DeviceMemory(self._id, sum(gpu.total_mib for gpu in gpus), free_mib, tuple(gpus))

    def _held_on_gpus(self, nvml: Any, pids: set[int]) -> int | None:
        figures = [
            process.usedGpuMemory
            for handle in self._handles(nvml)
            for process in nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle)
            if process.pid in pids
        ]
        return sum(figures) if figures and None not in figures else None

    @cached_property
    def _no_gpu_reason(self) -> str | None:
        """The reason why a worker on the CPU has no GPU; None when it was configured so. Read only once."""
        try:
            count = len(self._driver.query(devices))
        except DriverError as error:
            return f"no GPU can be read: {error}"
        finally:
            self._driver.close()
        if count == 0:
            return "no GPU can be read: the driver has 0 GPUs; give this container the GPU"
        if self._visible is None:
            return (
                f"no GPU is read: CUDA_VISIBLE_DEVICES is not set, and the driver has {count} GPUs; "
                "name the worker's GPU in it, or leave it empty"
            )
        return None


def machine_memory() -> tuple[int, int]:
    """Bytes of memory that this process may use in total, and those of them that are free or reclaimable.

    They are the machine's, or those of the tightest control group (v2) around the process.
    """
    memory = psutil.virtual_memory()
    total, free = memory.total, memory.available
    for limit, left in _cgroup_limits():
        total, free = min(total, limit), min(free, left)
    return total, free


def _cgroup_limits() -> Iterator[tuple[int, int]]:
    """Yield (limit, free memory) in bytes, for this process's control group and each one above it."""
    try:
        lines = CGROUP_OF_SELF.read_text().splitlines()
    except OSError:
        return
    group = Path(next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), ""))
    for folder in (group, *group.parents):
        try:
            limit, used = (int((CGROUPS / folder / f"memory.{of}").read_text()) for of in ("max", "current"))
            stat = (CGROUPS / folder / "memory.stat").read_text()
        except (OSError, ValueError):  # no limit: "max", or no such file at the root
            continue
        caches = dict(line.split() for line in stat.splitlines())
        used -= int(caches.get("inactive_file", 0))  # the kernel drops these pages when memory is needed
        yield limit, min(limit, max(0, limit - used))


def _gpu_memory(nvml: Any, handle: Any) -> Any:
    """The memory in bytes as nvidia-smi counts it: what the driver reserves is neither used nor free."""
    try:
        return nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    except nvml.NVMLError_FunctionNotFound:  # drivers before 510 count the reserved memory as used
        return nvml.nvmlDeviceGetMemoryInfo(handle)


def _utilization(nvml: Any, handle: Any) -> float | None:
    try:
        return float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu) / 100
    except nvml.NVMLError:  # a part of a GPU (MIG) has no such figure
        return None


def _heat(nvml: Any, handle: Any) -> dict[str, Any]:
    """The temperature (°C) and the power (W) of a GPU, each None where the driver has no figure."""

    def read(function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(handle, *arguments)
        except nvml.NVMLError:
            return None

    power_mw = read(nvml.nvmlDeviceGetPowerUsage)
    limit_mw = read(nvml.nvmlDeviceGetEnforcedPowerLimit)
    return {
        "temperature_c": read(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
        "power_w": None if power_mw is None else round(power_mw / 1000),
        "power_limit_w": None if limit_mw is None else round(limit_mw / 1000),
    }


def _group_members(group: int) -> set[int]:
    """The pids of a process group, and of their descendants that left the group."""
    members = set()
    for pid in psutil.pids():
        with suppress(OSError):
            if os.getpgid(pid) == group:
                members.add(pid)
    # the leader first: usually all others are its descendants, so one search of the process table is enough
    descendants: set[int] = set()
    for pid in sorted(members, key=lambda pid: pid != group):
        if pid not in descendants:
            with suppress(psutil.Error):
                descendants.update(child.pid for child in psutil.Process(pid).children(recursive=True))
    return members | descendants


def _resident_bytes(pid: int) -> int:
    """Bytes of the machine's memory that a process holds; a page shared by n processes counts as 1/n.

    Where only the process's user may see that, shared pages count in full. 0 when the process has ended.
    """
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        try:
            memory = process.memory_full_info()
            return int(getattr(memory, "pss", memory.rss))  # only Linux has it
        except psutil.AccessDenied:
            return int(process.memory_info().rss)
    return 0
