"""Reports a worker's device memory to the fleet, and measures how much memory each load took."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from backends.model_shape import Device
from engines.nvml import device_type
from fleet.fleet import Fleet
from fleet.memory import DeviceMemory
from store.errors import StokerError
from workers.device_memory import DeviceMemoryReader


@dataclass(eq=False)  # two that begin at the same time are not the same
class MemoryMeasurement:
    """The measurement of an engine's start or stop.

    `before` is the device's memory before the start or stop; `alone` becomes false when another engine starts
    or stops meanwhile; `group` is the process group of a starting engine once it is known.
    """

    before: DeviceMemory
    alone: bool = True
    group: int | None = None

    def set_group(self, group: int) -> None:
        """Record the process group of the starting engine."""
        self.group = group


class MemoryReporter:
    """Reports the device memory of one worker. Any thread may use it.

    `incarnation` is set when the worker registers.
    """

    def __init__(self, worker: str, fleet: Fleet) -> None:
        self.incarnation = ""
        self._worker = worker
        self._fleet = fleet
        self._reader = DeviceMemoryReader()
        self._reported: DeviceMemory | None = None
        self._under_way: list[MemoryMeasurement] = []
        self._lock = threading.Lock()
        self._report_lock = threading.Lock()

    @property
    def device(self) -> Device:
        """The worker's device, as it was last reported."""
        memory = self._reported
        return Device(device_type() == "cuda", 0 if memory is None else memory.total_mib)

    def report(self) -> None:
        """Read the device and report its memory if it changed. Reports nothing while Redis is unreachable.

        Memory of engines that still load counts as free: their loads have reserved all that they need.
        """
        with self._report_lock:  # reports arrive in the order of their readings
            memory = self._reader.read()
            if loading_mib := self._loading_mib():
                memory = replace(memory, free_mib=min(memory.total_mib, memory.free_mib + loading_mib))
            if memory == self._reported:
                return
            try:
                self._fleet.report_memory(self._worker, self.incarnation, memory)
                self._reported = memory
            except StokerError:
                self._reported = None  # unknown: the report may have arrived

    def _loading_mib(self) -> int:
        with self._lock:
            groups = [measurement.group for measurement in self._under_way if measurement.group is not None]
        return sum(self._reader.held_by(group) or 0 for group in groups)

    @contextmanager
    def measuring(self, *, remote: bool = False) -> Iterator[MemoryMeasurement]:
        """Surround the start or stop of an engine; afterwards the device's memory is reported.

        A `remote` engine takes no memory on this machine and does not disturb other measurements.
        """
        if remote:
            yield MemoryMeasurement(self._reader.read(), alone=False)
            return
        with self._lock:  # a measurement that is no longer under way has ended before this reading
            for measurement in self._under_way:
                measurement.alone = False
            measurement = MemoryMeasurement(self._reader.read(), alone=not self._under_way)
            self._under_way.append(measurement)
        try:
            yield measurement
        finally:
            with self._lock:
                self._under_way.remove(measurement)
            self.report()

    def taken_mib(self, measurement: MemoryMeasurement, group: int | None) -> int | None:
        """The MiB that the started engine with this process group took; None when that is unknown.

        It is what the driver (or the kernel) attributes to its processes, else the loss of free memory since
        `measurement.before`, if no other engine started or stopped meanwhile. An engine without a process
        group (`None`) takes 0.
        """
        if group is None:
            return 0
        held_mib = self._reader.held_by(group)
        if held_mib is not None:
            return held_mib
        after = self._reader.read()
        if not measurement.alone or not after.total_mib or after.id != measurement.before.id:
            return None
        taken_mib = measurement.before.free_mib - after.free_mib
        return taken_mib if taken_mib > 0 else None  # other processes freed more than the engine took

    def held_mib(self, group: int | None) -> int | None:
        """The MiB that the engine with this process group holds now; None when that is unknown.

        An engine without a process group (`None`) holds 0.
        """
        return 0 if group is None else self._reader.held_by(group)

    def freed_mib(self, measurement: MemoryMeasurement, held_mib: int | None) -> int | None:
        """The MiB that were freed by the engine that has just been stopped; None when that is unknown.

        `held_mib` is what it held right before. If that is unknown, it is the gain of free memory since
        `measurement.before`, if no other engine started or stopped meanwhile.
        """
        if held_mib is not None:
            return held_mib
        after = self._reader.read()
        if not measurement.alone or not after.total_mib or after.id != measurement.before.id:
            return None
        freed_mib = after.free_mib - measurement.before.free_mib
        return freed_mib if freed_mib > 0 else None  # other processes took more than the engine freed
