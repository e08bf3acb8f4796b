"""A worker with all that operators see of it: its replicas, its memory, its versions, its drain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from fleet.engine_report import EngineReport
from fleet.memory import DeviceMemory

MAX_REPLICAS = 100
"""The most replicas of one worker that are listed."""

REPLICA_FIELDS = 12
WORKER_FIELDS = 8
"""The values of each replica and of each worker in the answer of `list_workers.lua`."""


class WorkerState(StrEnum):
    """Whether a worker is there.

    `live`: it is registered and sends heartbeats. `lost`: it was removed within the last day, since it sent
    none. `away`: it is not registered, and an operator drains it.
    """

    LIVE = "live"
    LOST = "lost"
    AWAY = "away"


@dataclass(frozen=True, slots=True)
class Drain:
    """Why a worker drains: `shutdown` of its process, or an `operator`, with a name and a time (unix s)."""

    cause: str
    actor: str | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True)
class HostedReplica:
    """A replica of a worker.

    `memory_mib` was measured, `promised_mib` is reserved for it until it is up. `slots_used` jobs run on it.
    A `ready` one accepts jobs; a `stalled` one makes no progress at the moment. `up_at` is in unix seconds.
    """

    name: str
    model: str
    state: str
    memory_mib: int | None
    promised_mib: int | None
    slots: int
    slots_used: int
    ready: bool
    stalled: bool
    engine: EngineReport
    pid: int | None
    up_at: float | None


@dataclass(frozen=True, slots=True)
class WorkerDetail:
    """A worker.

    `heartbeat_age_s` is the time since its last heartbeat by Redis' clock, None unless it is live. `about`
    describes its machine, as it did when it registered. `replicas` are the first `MAX_REPLICAS` of
    `replica_count`. Times are unix seconds.
    """

    name: str
    state: WorkerState
    device: str
    registered_at: float | None
    lost_at: float | None
    heartbeat_age_s: float | None
    drain: Drain | None
    memory: DeviceMemory | None
    promised_mib: int
    replica_count: int
    replicas: tuple[HostedReplica, ...]
    about: Mapping[str, Any] = field(default_factory=dict)


def parse_worker_page(answer: Sequence[Any], lease_us: int) -> tuple[list[WorkerDetail], bool]:
    """Parse the answer of `list_workers.lua`: the workers of the page, and whether more follow."""
    now_us, more, flat = int(answer[0]), answer[1], answer[2]
    groups = [flat[at : at + WORKER_FIELDS] for at in range(0, len(flat), WORKER_FIELDS)]
    return [_worker(group, now_us, lease_us) for group in groups], bool(more)


def _worker(group: Sequence[Any], now_us: int, lease_us: int) -> WorkerDetail:
    name, lease_end, lost_us, drain, promised, count, pairs, replicas = group
    row = {key.decode(): value for key, value in zip(pairs[::2], pairs[1::2], strict=True)}
    live = bool(lease_end)
    state = WorkerState.LIVE if live else WorkerState.LOST if lost_us else WorkerState.AWAY
    age_us = now_us + lease_us - int(float(lease_end)) if live else 0
    hosted = [replicas[at : at + REPLICA_FIELDS] for at in range(0, len(replicas), REPLICA_FIELDS)]
    return WorkerDetail(
        name=name.decode(),
        state=state,
        device=row.get("device", b"").decode(),
        registered_at=int(row["since_us"]) / 1e6 if live else None,
        lost_at=float(lost_us) / 1e6 if state is WorkerState.LOST else None,
        heartbeat_age_s=max(0, age_us) / 1e6 if live else None,
        drain=_drain(row.get("draining"), drain),
        memory=DeviceMemory.from_json(row["memory"]) if live and "memory" in row else None,
        promised_mib=int(promised),
        replica_count=count,
        replicas=tuple(_replica(values) for values in hosted),
        about=orjson.loads(row.get("description", b"{}")),
    )


def _drain(cause: bytes | None, operator: bytes) -> Drain | None:
    if cause == b"shutdown" or not operator:
        return Drain(cause.decode()) if cause else None
    by = orjson.loads(operator)
    return Drain("operator", by["actor"], int(by["at_us"]) / 1e6)


def _replica(values: Sequence[Any]) -> HostedReplica:
    name, model, state, memory, promised, slots, taken, ready, stalled, engine, pid, up_us = values
    return HostedReplica(
        name=name.decode(),
        model=model.decode(),
        state=state.decode(),
        memory_mib=int(memory) if memory else None,
        promised_mib=int(promised) if promised and not up_us else None,
        slots=int(slots or 0),
        slots_used=taken,
        ready=bool(ready),
        stalled=bool(stalled),
        engine=EngineReport.from_json(engine) if engine else EngineReport(),
        pid=int(pid) if pid else None,
        up_at=int(up_us) / 1e6 if up_us else None,
    )
