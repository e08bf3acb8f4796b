"""The workers that are alive, as the ledger knows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fleet.memory import DeviceMemory


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker: its name, the device it is pinned to (cuda, cpu), how many replicas it hosts.

    One that is `draining` finishes what it runs and takes nothing new. `memory` is its device's as it said
    last, None before it did; `promised_mib` of what is free there waits for loads under way.
    """

    name: str
    device: str
    replicas: int
    since: float
    draining: bool = False
    memory: DeviceMemory | None = None
    promised_mib: int = 0

    @property
    def memory_id(self) -> str:
        """What names its memory, "" while nothing is known of it; workers on one device share it."""
        return self.memory.id if self.memory and self.memory.total_mib else ""

    def fits(self, device: str) -> bool:
        """Whether a model with this `device` may run here."""
        kind, _, index = device.partition(":")
        if kind not in ("auto", self.device):
            return False
        return not index or (
            self.memory is not None and int(index) in {gpu.index for gpu in self.memory.gpus}
        )


def from_ledger(answer: Sequence[Any]) -> list[WorkerRow]:
    """Read the answer of `look_workers.lua`; by name."""
    parts = [answer[at : at + 7] for at in range(0, len(answer), 7)]
    rows = [
        WorkerRow(
            name.decode(),
            device.decode(),
            hosted,
            int(since) / 1e6,
            bool(draining),
            DeviceMemory.from_json(memory) if memory else None,
            int(promised),
        )
        for name, device, since, draining, hosted, memory, promised in parts
    ]
    return sorted(rows, key=lambda row: row.name)
