"""How much memory this worker's device has, what is free of it, and what an engine holds."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from fleet.memory import DeviceMemory, Gpu
from workers.device import device
from workers.nvml import Driver, DriverError, chosen, uuids

MIB = 1024 * 1024
PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")


class DeviceMemoryReader:
    """Reads the memory of the device that CUDA_VISIBLE_DEVICES gave to this process when the gauge was made.

    On GPUs it asks their driver, else it reads the machine's memory. No trouble of the driver is raised:
    what could not be read is an `error` or None. Any thread may use it.
    """

    def __init__(self) -> None:
        self._visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        self._on_gpu = device() == "cuda"
        self._driver = Driver()
        self._uuids: list[str] = []  # of the worker's GPUs, once they are known

    def read(self) -> DeviceMemory:
        """What the device has now, all processes of all users counted."""
        if not self._on_gpu:
            total, free = machine()
            return DeviceMemory(f"host:{platform.node()}", total // MIB, free // MIB, error=self._why_no_gpu)
        try:
            return self._driver.ask(self._gpus)
        except DriverError as error:
            unknown = f"gpu:{platform.node()}:{self._visible}"
            return DeviceMemory(self._id or unknown, 0, 0, error=f"no GPU can be read: {error}")

    def held_by(self, group: int) -> int | None:
        """MiB that the processes of a group, and those they started, hold on the device; rounded up.

        Shared pages of the machine's memory are divided among who shares them. None when nobody can say: the
        group has ended, the driver has no figure for single processes, or it shows a container none.
        """
        members = _members(group)
        held: int | None
        if not self._on_gpu:
            held = sum(map(_resident, members)) if members else None
        else:
            try:
                held = self._driver.ask(lambda nvml: self._held(nvml, members))
            except DriverError:
                held = None
        return None if held is None else -(-held // MIB)

    @property
    def _id(self) -> str:
        return "+".join(sorted(self._uuids))  # in whatever order a worker names them, they are the same

    def _handles(self, nvml: Any) -> list[Any]:
        """The worker's GPUs. Raises `DriverError` when there are none such."""
        if not self._uuids:
            there = uuids(nvml)
            self._uuids = [there[index] for index in chosen(self._visible or "", there)]
            if not self._uuids:
                raise DriverError(
                    f"CUDA_VISIBLE_DEVICES is {self._visible!r}, and the driver has {len(there)} GPUs; "
                    "name one of them by index or UUID"
                )
        return [nvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in self._uuids]

    def _gpus(self, nvml: Any) -> DeviceMemory:
        gpus, free_mib = [], 0
        for handle, uuid in zip(self._handles(nvml), self._uuids, strict=True):
            memory = _memory(nvml, handle)
            index, name = nvml.nvmlDeviceGetIndex(handle), str(nvml.nvmlDeviceGetName(handle))
            gpus.append(Gpu(index, uuid, name, memory.used // MIB, memory.total // MIB))
            free_mib += memory.free // MIB
        return DeviceMemory(self._id, sum(gpu.total_mib for gpu in gpus), free_mib, tuple(gpus))

    def _held(self, nvml: Any, members: set[int]) -> int | None:
        figures = [
            process.usedGpuMemory
            for handle in self._handles(nvml)
            for process in nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle)
            if process.pid in members
        ]
        return sum(figures) if figures and None not in figures else None

    @cached_property
    def _why_no_gpu(self) -> str | None:
        """Why a worker on the CPU has no GPU; None when it shall have none. A new GPU needs a new worker."""
        try:
            count = len(self._driver.ask(uuids))
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


def machine() -> tuple[int, int]:
    """The bytes of memory that this process may use in all, and those free or soon made free.

    Of the machine as in /proc/meminfo, or of the tightest control group (v2) around the process.
    """
    try:
        lines = (PROC / "meminfo").read_text().splitlines()
        sizes = {
            name: int(size.split()[0]) * 1024 for name, _, size in (line.partition(":") for line in lines)
        }
        total, free = sizes["MemTotal"], sizes["MemAvailable"]
    except OSError:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        free = total  # macOS does not say more
        with suppress(ValueError):
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit, left in _limits():
        total, free = min(total, limit), min(free, left)
    return total, free


def _limits() -> Iterator[tuple[int, int]]:
    """The limits on this process, and what each leaves, in bytes: its control group's and those above it."""
    try:
        lines = (PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    own = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), "")
    inside = Path(own)
    for folder in (inside, *inside.parents):
        try:
            limit, used = (int((CGROUPS / folder / f"memory.{of}").read_text()) for of in ("max", "current"))
            stat = (CGROUPS / folder / "memory.stat").read_text()
        except (OSError, ValueError):  # it has none: "max", or no such file at the root
            continue
        caches = dict(line.split() for line in stat.splitlines())
        used -= int(caches.get("inactive_file", 0))  # dropped as soon as somebody needs the room
        yield limit, min(limit, max(0, limit - used))


def _memory(nvml: Any, handle: Any) -> Any:
    """Bytes as nvidia-smi counts them: what the driver keeps for itself is neither used nor free."""
    try:
        return nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    except nvml.NVMLError_FunctionNotFound:  # a driver before 510 counts that as used
        return nvml.nvmlDeviceGetMemoryInfo(handle)


def _members(group: int) -> set[int]:
    """The processes of a group, and their children that left it."""
    members: set[int] = set()
    children: dict[int, list[int]] = {}
    for stat in PROC.glob("[0-9]*/stat"):
        with suppress(OSError):
            _state, parent, its_group = stat.read_text(errors="replace").rpartition(")")[2].split()[:3]
            pid = int(stat.parent.name)
            children.setdefault(int(parent), []).append(pid)
            if int(its_group) == group:
                members.add(pid)
    left = list(members)
    while left:
        found = set(children.get(left.pop(), ())) - members
        members |= found
        left += found
    return members


def _resident(pid: int) -> int:
    """Bytes of the machine's memory that a process holds; pages that others share count in part.

    Where only its user may see that, all of its pages count in full. 0 when it has ended.
    """
    folder = PROC / str(pid)
    with suppress(OSError):
        for line in (folder / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError):
        return int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
