"""Weighs what is loaded: tells the fleet how much memory the device has left, and what a load took of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from fleet.fleet import Fleet
from fleet.memory import DeviceMemory
from scheduler.errors import StokerError
from workers.device_memory import DeviceMemoryReader


@dataclass
class MemoryMeasurement:
    """An engine that comes or goes. `alone` turns false when another one came or went meanwhile.

    `group` is the process group of one that comes, once there is one.
    """

    before: DeviceMemory
    alone: bool = True
    group: int | None = None

    def belongs_to(self, group: int) -> None:
        """The engine that comes is this process group."""
        self.group = group


class MemoryReporter:
    """One worker's. `incarnation` is set when its life begins; any thread may use it."""

    def __init__(self, worker: str, fleet: Fleet) -> None:
        self.incarnation = ""
        self._worker = worker
        self._fleet = fleet
        self._gauge = DeviceMemoryReader()
        self._told: DeviceMemory | None = None
        self._under_way: list[MemoryMeasurement] = []
        self._lock = threading.Lock()
        self._telling = threading.Lock()

    def tell(self) -> None:
        """Read the device and tell the fleet, if it is not as it was. While Redis is away nobody is told.

        What engines hold that are still loading counts as free: the whole of it is promised to them.
        """
        with self._telling:  # what was read first is told first
            memory = self._gauge.read()
            if loading := self._loading_mib():
                memory = replace(memory, free_mib=min(memory.total_mib, memory.free_mib + loading))
            if memory == self._told:
                return
            try:
                self._fleet.report_memory(self._worker, self.incarnation, memory)
                self._told = memory
            except StokerError:
                self._told = None

    def _loading_mib(self) -> int:
        with self._lock:
            groups = [measurement.group for measurement in self._under_way if measurement.group is not None]
        return sum(self._gauge.held_by(group) or 0 for group in groups)

    @contextmanager
    def moving(self, *, here: bool = True) -> Iterator[MemoryMeasurement]:
        """While an engine comes or goes; when it has, the fleet is told what is left.

        One that is not `here` takes nothing, and disturbs nobody's weighing.
        """
        if not here:
            yield MemoryMeasurement(self._gauge.read(), alone=False)
            return
        with self._lock:  # whoever is not under way any more has ended before this reading
            for other in self._under_way:
                other.alone = False
            measurement = MemoryMeasurement(self._gauge.read(), alone=not self._under_way)
            self._under_way.append(measurement)
        try:
            yield measurement
        finally:
            with self._lock:
                self._under_way.remove(measurement)
            self.tell()

    def taken(self, measurement: MemoryMeasurement, group: int | None) -> int | None:
        """What the engine of that process group was seen to take, in MiB; None when it cannot be told.

        What the driver says of its processes, else what is free less than before, if it was alone. An engine
        without one takes nothing here.
        """
        if group is None:
            return 0
        held = self._gauge.held_by(group)
        if held is not None:
            return held
        after = self._gauge.read()
        if not measurement.alone or not after.total_mib or after.id != measurement.before.id:
            return None
        taken = measurement.before.free_mib - after.free_mib
        return taken if taken > 0 else None  # somebody else gave more back meanwhile
