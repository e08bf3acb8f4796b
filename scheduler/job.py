"""The arguments and results of the ledger's methods, as dataclasses."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from config.limits import Limits
from config.settings import Locality
from generation.prefix_keys import PrefixKey
from store.limit_state import LimitState

QUEUE_PRIORITIES = ("high", "high_background", "normal", "normal_background", "low")
"""The priorities of a queue, the most urgent first: background jobs follow the others of their priority."""


class Status(enum.StrEnum):
    """The states of a job; scheduler/README.md has the transitions."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """True when the job has ended: its status is final."""
        return self in (Status.COMPLETED, Status.INCOMPLETE, Status.FAILED, Status.CANCELLED)


@dataclass(frozen=True, slots=True)
class Job:
    """A request to admit.

    `generation` is the encoded request for the worker. `echo` (JSON) holds the request parameters that the
    dialect needs to render the response again later. `cost` is the estimate in tokens that fair share charges
    until the true number is known. `time_limit_ms` bounds its wait and its run together, from its admission.
    `limits` are those of the tenant; None: those of a tenant without limits of its own. A caller that is no
    tenant has an `unknown_name`, which has these limits to itself. `receipt` is the
    SHA-256 of the request's body (hex) if the tenant gets receipts. A line of a batch has the fence of the
    batches' runner, and times of its own for its wait and after its end; None: those of the settings. It may
    take the Idempotency-Key of the job `replaces`. `prompt_bytes` is the least size of a large prompt, 0 for
    others. `resume_id`: the conversation id by which its stream can be read again. It goes on when its client
    is gone if it is `detached`. No client waits for the answer of a `background` job. A job about the state
    in one replica has this as its `wanted_replica`; another one runs it if that one is gone, or has such a
    job beside those of all its slots. With `load_on_demand` it waits while its model, which is not loaded, is
    loaded for it; None: the caller has not decided, and it is refused. `locality` of its model: how far a
    cached prompt decides which job runs next, and where, by the `prefix_keys` of its prompt;
    `is_measured`: the last one is for all of it (`generation.prefix_keys`). `may_grow`: its model's replicas
    follow the load, so that it matters what the only one has computed. `client` is what the history of
    requests keeps of its headers (`api.http.client_facts`), on one line. `key` is the id of the tenant's API
    key, in whose usage it counts; "" without one. `prompt_text` is what the history keeps of its prompt
    (`scheduler.request_texts`); b"" if it keeps neither this nor the answer. `person` is the id of the person
    who made it; "" for a key.
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
    replaces: str | None = None
    time_limit_ms: int | None = None
    limits: Limits | None = None
    unknown_name: str | None = None
    receipt: str | None = None
    batch_fence: str = ""
    max_wait_ms: int | None = None
    retention_s: int | None = None
    prompt_bytes: int = 0
    resume_id: str | None = None
    detached: bool = False
    background: bool = False
    wanted_replica: str | None = None
    load_on_demand: bool | None = None
    locality: Locality = "off"
    prefix_keys: Sequence[PrefixKey] = ()
    is_measured: bool = False
    may_grow: bool = False
    client: bytes = b""
    key: str = ""
    prompt_text: bytes = b""
    person: str = ""

    @property
    def queue_priority(self) -> str:
        """Its priority in the queue; all jobs of the priority low are background jobs."""
        return f"{self.priority}_background" if self.background and self.priority != "low" else self.priority


@dataclass(frozen=True, slots=True)
class Admission:
    """An admitted job. `replayed`: it was admitted earlier, under this `id`. `depth`: jobs in the queue.

    `limits`: what the tenant has left of its limits, after this request. `wants_load`: it waits for its
    model, which is not loaded (`fleet.on_demand`).
    """

    id: str
    replayed: bool = False
    depth: int = 0
    limits: tuple[LimitState, ...] = ()
    wants_load: bool = False


@dataclass(frozen=True, slots=True)
class JobRow:
    """The current state of a job. Times are Unix seconds by Redis' clock.

    `conversation` is the conversation id by which its stream can be read again.
    """

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
    ended_at: float | None = None
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that was given to a worker. Every write to the job carries the fencing token `fence`.

    `last` is the number of the last event in the job's log: the first event of this run is `last` + 1.
    `attempt` is 1 for the first run of the job.
    """

    id: str
    fence: str
    replica: str
    generation: bytes
    last: int
    attempt: int


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """The state that a worker should have.

    `running`: the jobs that run on it; `cancelled`: those of them to stop; `replicas`: state by replica;
    `flushes`: by replica, the operations of flushes that it has not reported; `file_work`: the operations of
    downloads and removals that it has to do.
    """

    running: frozenset[str]
    cancelled: tuple[str, ...]
    replicas: dict[str, str]
    flushes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    file_work: tuple[str, ...] = ()


class TokenCount(NamedTuple):
    """Tokens that engines have processed for a model and a tenant: computed of prompts, and of answers."""

    model: str
    tenant: str
    input: int
    output: int


@dataclass(frozen=True, slots=True)
class TokenReport:
    """What a worker's engines have processed since its report before; the `number` tells a repeat of it."""

    number: int
    counts: tuple[TokenCount, ...]


NO_TOKENS = TokenReport(0, ())


class AppendRequest(NamedTuple):
    """Encoded events to append to the log of a job that runs on `replica`; `number` is that of the first."""

    id: str
    replica: str
    fence: str
    number: int
    events: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """The end of a running job. `retry`: the job may be queued again, once, if its log is empty.

    `last` is the number of the run's last event: if the log does not have it, Redis lost it, and the job ends
    as failed (`log_lost`). `log_bytes` is the size of the run's events, `first_ms` the time from the claim to
    the first output. A `usage` without `tokens` is reported, and counts for nothing. Fair
    share counts `work`; None: all tokens.
    `stop_sequence` is the text that ended the generation, if one did.
    """

    id: str
    fence: str
    status: Status
    finish_reason: str = ""
    code: str = ""
    message: str = ""
    usage: bytes = b""
    tokens: int | None = None
    work: int | None = None
    retry: bool = False
    last: int | None = None
    log_bytes: int | None = None
    first_ms: int | None = None
    stop_sequence: str = ""


@dataclass(frozen=True, slots=True)
class StepReply:
    """The reply to a worker's step.

    `stopped`: the jobs whose run must stop, and why: `fenced` (the job is no longer this run's), `cancel` or
    `log_lost` (Redis lost events of its log; the job has ended).
    `claims`: the jobs that this worker runs next.
    """

    stopped: dict[str, str]
    claims: tuple[Claim, ...]
