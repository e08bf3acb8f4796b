"""What the ledger knows of a request, as dataclasses."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Status(enum.StrEnum):
    """A job's states; the transitions are drawn in scheduler/README.md."""

    QUEUED = "queued"
    DISPATCHED = "dispatched"
    RUNNING = "running"
    COMPLETED = "completed"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """True when nothing can change it any more."""
        return self in (Status.COMPLETED, Status.INCOMPLETE, Status.FAILED, Status.CANCELLED)


@dataclass(frozen=True, slots=True)
class Job:
    """A request as it asks to be let in.

    `generation` is the wire form for the worker, `echo` (JSON) what the dialect needs to render the answer
    again later. `cost` is the estimate in tokens that fairness charges until the true number is known.
    """

    id: str
    tenant: str
    model: str
    dialect: str
    generation: bytes
    echo: bytes
    weight: float = 1.0
    priority: str = "normal"
    subscriber: str | None = None
    store: bool = True
    cost: int = 256
    idempotency_key: str | None = None
    body_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """Let in. `replayed`: it was let in before, under this `id`. `depth`: how many wait now."""

    id: str
    replayed: bool = False
    depth: int = 0


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as the ledger has it now. `created_at` in unix seconds by Redis' clock."""

    id: str
    tenant: str
    model: str
    dialect: str
    status: Status
    echo: bytes
    store: bool
    created_at: float
    attempts: int = 0
    replica: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A job in a worker's hands. Whatever it writes about it carries the fence."""

    id: str
    fence: str
    replica: str
    generation: bytes


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """What a worker learns from a heartbeat.

    `running`: jobs that are its own; `cancelled`: those of them to stop; `unheard`: jobs whose bell it
    must have missed; `replicas`: state by replica.
    """

    running: frozenset[str]
    cancelled: tuple[str, ...]
    unclaimed: tuple[str, ...]
    replicas: dict[str, str]


@dataclass(frozen=True, slots=True)
class AppendRequest:
    """Events of one job to append: encoded, the first with number `number`."""

    id: str
    fence: str
    number: int
    events: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """How a running job ends. `retry`: it may go back into line once if nothing was said yet."""

    id: str
    fence: str
    status: Status
    finish_reason: str = ""
    code: str = ""
    message: str = ""
    usage: bytes = b""
    tokens: int | None = None
    retry: bool = False
