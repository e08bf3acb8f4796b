"""A registered worker, as Redis holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleet.memory import DeviceMemory
from fleet.obstacle import Obstacle, decode_obstacles


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker.

    `device` is the kind of its device (cuda, cpu), `replicas` the number that it hosts, `since` the time of
    its registration in unix seconds. A worker that is `draining` finishes its jobs and takes no new ones.
    `memory` is its last report, None before the first; `promised_mib` is the part of the free memory that is
    reserved for loads under way. `obstacles` says by model why it cannot be loaded there.
    """

    name: str
    device: str
    replicas: int
    since: float
    draining: bool = False
    memory: DeviceMemory | None = None
    promised_mib: int = 0
    obstacles: Mapping[str, Obstacle] = field(default_factory=dict)

    @property
    def memory_id(self) -> str:
        """The id of its memory, "" while it is unknown; workers on one device have the same."""
        return self.memory.id if self.memory and self.memory.total_mib else ""

    def fits(self, device: str) -> bool:
        """Whether a model with this `device` setting (auto, cuda, cuda:N, cpu) may run on this worker."""
        kind, _, index = device.partition(":")
        if kind not in ("auto", self.device):
            return False
        return not index or (
            self.memory is not None and int(index) in {gpu.index for gpu in self.memory.gpus}
        )


def parse_worker_rows(answer: Sequence[Any]) -> list[WorkerRow]:
    """Parse the answer of `read_workers.lua`. Returns the workers by name."""
    groups = [answer[at : at + 8] for at in range(0, len(answer), 8)]
    rows = [
        WorkerRow(
            name.decode(),
            device.decode(),
            hosted,
            int(since) / 1e6,
            bool(draining),
            DeviceMemory.from_json(memory) if memory else None,
            int(promised),
            decode_obstacles(obstacles) if obstacles else {},
        )
        for name, device, since, draining, hosted, memory, promised, obstacles in groups
    ]
    return sorted(rows, key=lambda row: row.name)
