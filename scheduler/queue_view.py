"""What waits for a model: the next jobs in their order, the time that they wait, and what for.

Reads only. A call costs at most some hundred commands, whatever the length of the queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from scheduler.rejections import RECOVERABLE_CODES
from store.calls import Call, Read
from store.script_arguments import NamedArguments

MAX_IN_ORDER = 100
"""So many of the next jobs are put in order; the place of those behind them is estimated."""

MAX_TENANTS = 100
"""So many tenants of each priority are listed."""

MAX_RUNNING = 1000
"""So many running jobs are counted by tenant."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a waiting job stands: 1 is the next one. `wait_ms` is an estimate, None while none is known."""

    position: int
    is_estimate: bool
    wait_ms: int | None


@dataclass(frozen=True, slots=True)
class QueueOrder:
    """The next jobs of a model's queue, by fair share as it stands, and what they wait for.

    `depth` counts all waiting jobs, `slots` those of the replicas that accept jobs. `run_ms` is how long jobs
    hold their slots, on average; None while it is not known. `ready_ms` is the time until a model that is not
    loaded has its first slots, as far as it is known, `makers` are the models that it waits for: their names
    are for operators.
    """

    ids: tuple[str, ...]
    depth: int
    slots: int
    run_ms: int | None
    reason: str
    ready_ms: int | None = None
    makers: tuple[str, ...] = ()
    positions: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Number the jobs from 1."""
        object.__setattr__(self, "positions", {id: number for number, id in enumerate(self.ids, 1)})

    @property
    def operator_reason(self) -> str:
        """The reason, with the names of the other models."""
        return f"{self.reason} ({', '.join(self.makers)})" if self.makers else self.reason

    @property
    def is_whole(self) -> bool:
        """Whether all jobs that waited are in order."""
        return len(self.ids) >= self.depth

    def place(self, id: str, rank: int | None) -> Place:
        """Where a job stands. `rank` is its place (from 0) by its age among all waiting jobs: for a job
        behind those in order, an estimate.
        """
        position = self.positions.get(id)
        if position is not None:
            return Place(position, is_estimate=False, wait_ms=self._wait_ms(position))
        estimate = max(len(self.ids) + 1, (rank or 0) + 1)
        return Place(estimate, is_estimate=True, wait_ms=self._wait_ms(estimate))

    def _wait_ms(self, position: int) -> int | None:
        if not self.slots:
            return self.ready_ms
        if self.run_ms is None:
            return None
        return -(-position * self.run_ms // self.slots)


@dataclass(frozen=True, slots=True)
class TenantQueue:
    """What a tenant has waiting and running. `depths` is by priority; times are Unix seconds."""

    tenant: str
    depths: dict[str, int] = field(default_factory=dict)
    running: int = 0
    oldest_id: str | None = None
    oldest_at: float | None = None

    @property
    def depth(self) -> int:
        """How many of its jobs wait."""
        return sum(self.depths.values())


@dataclass(frozen=True, slots=True)
class ModelQueue:
    """What waits and runs of a model, by tenant. Times are Unix seconds."""

    model: str
    depth: int
    oldest_at: float | None
    slots: int
    running: int
    tenants: tuple[TenantQueue, ...]


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What a cancel of a tenant's jobs did: `left` waiting jobs follow within seconds."""

    waiting: int
    left: int
    running: int


def queue_order(model: str) -> Call[QueueOrder]:
    """Return the next jobs of a model's queue, and what they wait for."""
    return Call("queue_order", {"model": model, "most": MAX_IN_ORDER}, _parse_order)


def _parse_order(reply: Sequence[Any]) -> QueueOrder:
    depth, slots, run_ms, state, code, restarts, progress, ids, *load = reply
    wait = LoadWait.parse(state, *load)
    return QueueOrder(
        ids=tuple([id.decode() for id in ids]),
        depth=int(depth),
        slots=int(slots),
        run_ms=int(float(run_ms)) if run_ms else None,
        reason=wait_reason(
            state.decode(),
            code.decode(),
            int(slots),
            progress=float(progress or 0),
            restarts=bool(restarts),
            wait=wait,
        ),
        ready_ms=wait.ready_ms,
        makers=wait.makers,
    )


@dataclass(frozen=True, slots=True)
class LoadWait:
    """What a model that is not loaded waits for.

    `step_ms` is the time until that is over, `ready_ms` until the model is loaded.
    """

    reason: str | None = None
    step_ms: int | None = None
    ready_ms: int | None = None
    makers: tuple[str, ...] = ()

    @classmethod
    def parse(  # noqa: PLR0913, PLR0917 - the values of the script's answer
        cls, state: bytes, now: bytes, load_ms: bytes, began_us: bytes, note: bytes, demanded: int
    ) -> LoadWait:
        """Parse the answer of `queue_order.lua`."""
        now_us, usual_ms = float(now), float(load_ms) if load_ms else None
        if state == b"loading":
            elapsed_ms = (now_us - float(began_us)) / 1e3 if began_us else 0.0
            left_ms = None if usual_ms is None else max(0, int(usual_ms - elapsed_ms))
            return cls(None, left_ms, left_ms)
        if not demanded:
            return cls()
        if not note:
            return cls("it is loaded next", None, None if usual_ms is None else int(usual_ms))
        known = orjson.loads(note)
        ready_us = known["ready_us"]
        step_ms = None if ready_us is None else max(0, int((ready_us - now_us) / 1e3))
        ready_ms = None if step_ms is None or usual_ms is None else step_ms + int(usual_ms)
        return cls(known["reason"], step_ms, ready_ms, tuple(known["models"]))


def wait_reason(  # noqa: PLR0913 - the reason has many causes
    state: str,
    code: str,
    slots: int,
    *,
    progress: float,
    restarts: bool,
    wait: LoadWait | None = None,
) -> str:
    """What the jobs of a model in that state wait for; `code` is that of its failure."""
    wait = wait or LoadWait()
    about = "" if wait.step_ms is None else f", about {-(-wait.step_ms // 1000)} s"
    if state == "loaded":
        return "waiting for a slot" if slots else "waiting for a replica that accepts requests"
    if state == "loading":
        return f"model is loading {int(progress * 100)} %{about}"
    if state == "failed" and restarts:
        return "the engine is restarting"
    if wait.reason is not None:
        return f"model is not loaded: {wait.reason}{about}"
    if state == "failed" and code in RECOVERABLE_CODES:
        return "the model's worker was lost; another one loads it when it can"
    return f"model is {state}"


def queue_ranks(model: str, ids: Sequence[str]) -> Read[list[int | None]]:
    """Return the places (from 0) of jobs among all that wait for a model, by age; None for others."""
    return Read([("ZRANK", f"waiting:{model}", id) for id in ids], list)


def cancel_tenant(tenant: str, model: str, *, running: bool = False) -> Call[Cancelled]:
    """Cancel the jobs of a tenant that wait for a model, and with `running` those that run, too.

    About 100 waiting jobs are cancelled at once; `expire` cancels those that are left.
    """
    arguments: NamedArguments = {"tenant": tenant, "model": model, "running": int(running)}
    return Call("cancel_tenant", arguments, lambda reply: Cancelled(*map(int, reply)))


def queue_listing(model: str) -> Call[ModelQueue]:
    """Return what waits and runs of a model, by tenant. The tenant that waits longest comes first."""
    arguments: NamedArguments = {"model": model, "max_tenants": MAX_TENANTS, "max_running": MAX_RUNNING}
    return Call("list_queue", arguments, partial(_parse_listing, model))


def _parse_listing(model: str, reply: Sequence[Any]) -> ModelQueue:
    depth, oldest_us, slots, running, waiting, runners = reply
    tenants: dict[str, TenantQueue] = {}
    for at in range(0, len(waiting), 5):
        name, priority, count, id, admitted_us = waiting[at : at + 5]
        tenant = tenants.get(name.decode(), TenantQueue(name.decode()))
        at_s, oldest = _seconds(admitted_us), (tenant.oldest_id, tenant.oldest_at)
        if oldest[1] is None or (at_s is not None and at_s < oldest[1]):
            oldest = (id.decode(), at_s)
        priority = priority.decode().removesuffix("_background")
        depths = {**tenant.depths, priority: tenant.depths.get(priority, 0) + int(count)}
        tenants[tenant.tenant] = TenantQueue(tenant.tenant, depths, 0, *oldest)
    for runner in runners:
        tenant = tenants.get(runner.decode(), TenantQueue(runner.decode()))
        tenants[tenant.tenant] = TenantQueue(
            tenant.tenant, tenant.depths, tenant.running + 1, tenant.oldest_id, tenant.oldest_at
        )
    by_wait = sorted(tenants.values(), key=lambda one: (one.oldest_at or float("inf"), one.tenant))
    return ModelQueue(model, int(depth), _seconds(oldest_us), int(slots), int(running), tuple(by_wait))


def _seconds(microseconds: bytes | float) -> float | None:
    """A time of Redis in Unix seconds; None for an empty text."""
    return float(microseconds) / 1e6 if microseconds else None
