"""The workers that are alive, as the ledger knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker: its name, the device it is pinned to (cuda, cpu), how many replicas it hosts.

    One that is `draining` finishes what it runs and takes nothing new.
    """

    name: str
    device: str
    replicas: int
    since: float
    draining: bool = False


def workers(client: Any, prefix: str) -> list[WorkerRow]:
    """All registered workers, by name. `prefix` is the keys' one, braces and colon included."""
    names = sorted(name.decode() for name in client.zrange(f"{prefix}workers", 0, -1))
    pipeline = client.pipeline(transaction=False)
    for name in names:
        pipeline.hmget(f"{prefix}worker:{name}", "device", "since_us", "draining")
        pipeline.scard(f"{prefix}hosts:{name}")
    answers = pipeline.execute()
    return [
        WorkerRow(name, (row[0] or b"").decode(), hosted, int(row[1] or 0) / 1e6, row[2] is not None)
        for name, row, hosted in zip(names, answers[::2], answers[1::2], strict=True)
    ]
