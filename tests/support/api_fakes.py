"""In-memory fakes of the services below the API. A test sets the ledger's events and the states of the fleet.

The event subscriber and the log cursors are the real ones; they read from `FakeStore`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import orjson

from config.settings import ModelDefinition, Settings
from fleet.catalogue import ModelCatalogue
from fleet.engine_properties import decode_properties
from fleet.engine_report import EngineReport, EngineRow
from fleet.errors import StateConflict
from fleet.flush import FlushScope
from fleet.load_request import Assignment, LoadOutcome, LoadRequest, check_override, check_replicas
from fleet.memory import DeviceMemory
from fleet.model_row import ModelRow
from fleet.model_summary import ModelSummary
from fleet.operation import Operation, begun_operation
from fleet.serving_state import ModelServing, ServingState
from fleet.state_changes import StateChange
from fleet.states import ModelState, OperationStatus
from fleet.worker_row import WorkerRow
from governance.audit import AuditEvent
from governance.audit.chain_store import ChainStore
from governance.authorization import PLATFORM, Authorization
from scheduler.job import Admission, Job, JobRow, Status
from scheduler.job_listing import JobPage
from scheduler.queue_choice import JobExplanation
from scheduler.queue_view import Cancelled, ModelQueue, QueueOrder
from scheduler.usage import TooManyRows, UsageRow
from scheduler.usage import Usage as DayUsage
from store.errors import IdempotencyConflict, StorageUnavailable, UnknownModel
from store.limit_state import LimitState
from store.redis_connections import command_client
from streams.events import End, Event, TextDelta, Usage, is_end
from streams.log import Command
from streams.subscriber import EventSubscriber

PREFIX = "fake"
HELLO: list[Event] = [
    TextDelta("Hel"),
    TextDelta("lo."),
    End("completed", "stop", usage=Usage(7, 2, cached_tokens=3), queue_ms=4, run_ms=50),
]


class FakeStore:
    """The commands of a connection to Redis that the log cursors use. Fulfils `CommandConnection`."""

    def __init__(self) -> None:
        self.logs: dict[str, list[bytes]] = {}
        self.unreachable = False

    async def exchange(self, commands: Sequence[Command]) -> list[Any]:
        replies = {"XRANGE": self._page, "XLEN": self._length, "HMGET": self._state, "GET": lambda _: None}
        return [replies[command[0]](*command[1:]) for command in commands]

    async def close(self) -> None:
        pass

    def _page(self, key: str, start: str, _end: str, _count: str, count: int) -> list[Any]:
        after = int(start[1:].split("-", maxsplit=1)[0]) if start.startswith("(") else 0
        log = self.logs.get(key.rsplit(":", 1)[1], [])
        entries = [[b"%d-0" % number, [b"e", data]] for number, data in enumerate(log, 1)]
        return entries[after : after + count]

    def _length(self, key: str) -> int:
        return len(self.logs.get(key.rsplit(":", 1)[1], []))

    def _state(self, key: str, *_fields: str) -> list[bytes | None]:
        log = self.logs.get(key.rsplit(":", 1)[1])
        ended = bool(log) and is_end(log[-1])
        return [None if log is None else b"running", b"1" if ended else None]


class FakeLedger:
    """Admits every job and appends the events of `script` at once; None leaves that to the test.

    `loop` is the event loop on which the subscriber receives copies of the events.
    """

    def __init__(self, store: FakeStore, subscriber: EventSubscriber) -> None:
        self.store, self.subscriber = store, subscriber
        self.loop: Callable[[], asyncio.AbstractEventLoop]
        self.jobs: dict[str, Job] = {}
        self.rows: dict[str, JobRow] = {}
        self.keys: dict[tuple[str, str], str] = {}
        self.cancelled: list[str] = []
        self.script: list[Event] | None = HELLO
        self.rejection: Exception | None = None
        self.refusals = 0
        self.checks_limits = False  # whether the rejection is one of the limits, which are looked at before
        self.limits: tuple[LimitState, ...] = ()
        self.ready: tuple[str, ...] = ("replica-0",)  # the replicas of every model
        self.on_cancel: Callable[[], None] = lambda: None
        self.admitted = threading.Event()
        self._lock = threading.RLock()

    def states(self, ids: Sequence[str]) -> list[tuple[Status, int] | None]:
        return [(self.rows[id].status, 1) if id in self.rows else None for id in ids]

    def admit(self, job: Job) -> Admission:
        if self.rejection is not None:
            self.refusals += 1
            raise self.rejection
        if job.idempotency_key:
            key = (job.tenant, f"{job.person} {job.idempotency_key}")
            earlier = self.keys.setdefault(key, job.id)
            if earlier != job.id:
                if self.jobs[earlier].body_hash != job.body_hash:
                    raise IdempotencyConflict("this Idempotency-Key was used with another body")
                if earlier != job.replaces and self.has_result(earlier):
                    return Admission(earlier, replayed=True)
                self.keys[key] = job.id
        self.jobs[job.id] = job
        self.store.logs[job.id] = []
        self.rows[job.id] = JobRow(
            job.id,
            job.tenant,
            job.model,
            job.dialect,
            Status.QUEUED,
            job.echo,
            job.store,
            created_at=1_700_000_000.0,
        )
        self.admitted.set()
        if self.script is not None:
            self.append(job.id, *self.script)
        return Admission(job.id, limits=self.limits)

    def has_result(self, id: str) -> bool:
        row = self.rows.get(id)
        return row is not None and row.status not in (Status.FAILED, Status.CANCELLED)

    def append(self, id: str, *events: Event) -> None:
        with self._lock:
            for event in events:
                self._append(id, event)

    def _append(self, id: str, event: Event) -> None:
        data = encode(event)
        self.store.logs[id].append(data)
        status = Status(event.status) if isinstance(event, End) else Status.RUNNING
        self.rows[id] = replace(self.rows[id], status=status)
        copy = b"%s %d %s" % (id.encode(), len(self.store.logs[id]), data)
        self.loop().call_soon_threadsafe(self.subscriber.deliver, copy)

    def cancel(self, id: str, tenant: str) -> Status | None:
        self.on_cancel()
        self.cancelled.append(id)
        row = self.lookup(id, tenant)
        if row is None:
            return None
        if not row.status.is_terminal:
            self.append(id, End("cancelled", code="cancelled", message="cancelled by its client"))
        return self.rows[id].status

    def lookup(self, id: str, tenant: str, person: str = "") -> JobRow | None:
        if self.store.unreachable:
            raise StorageUnavailable("the shared store (Redis) cannot be reached", retry_after_s=2)
        row = self.rows.get(id)
        is_own = row is not None and row.tenant == tenant and person in ("", self.jobs[id].person)
        return row if is_own else None

    def lookup_with_generation(
        self, id: str, tenant: str, person: str = ""
    ) -> tuple[JobRow, bytes | None] | None:
        row = self.lookup(id, tenant, person)
        if row is None:
            return None
        return row, None if row.status.is_terminal and not row.store else self.jobs[id].generation

    def delete(self, id: str, tenant: str) -> bool:
        row = self.lookup(id, tenant)
        return row is not None and row.store and self.rows.pop(id) is row

    def subscribe(self, id: str, _subscriber: str) -> Status | None:
        row = self.rows.get(id)
        return row.status if row else None

    def queue_order(self, _model: str) -> QueueOrder:
        return QueueOrder((), 0, 1, None, "waiting for a slot")

    def queue_listing(self, model: str) -> ModelQueue:
        return ModelQueue(model, 0, None, 1, 0, ())

    def owner(self, id: str) -> str | None:
        return self.rows[id].tenant if id in self.rows else None

    def cancel_tenant(self, _tenant: str, _model: str, *, running: bool) -> Cancelled:  # noqa: ARG002
        return Cancelled(0, 0, 0)

    def only(self) -> Job:
        (job,) = self.jobs.values()
        return job


class FakeAsyncLedger:
    """The same ledger, for the event loop."""

    def __init__(self, ledger: FakeLedger) -> None:
        self._ledger = ledger

    async def admit(self, job: Job) -> Admission:
        return self._ledger.admit(job)

    async def earlier(self, job: Job) -> Admission | None:
        id = self._ledger.keys.get((job.tenant, f"{job.person} {job.idempotency_key or ''}"))
        return self._ledger.admit(job) if id is not None and self._ledger.has_result(id) else None

    async def check_limits(self, _job: Job) -> None:
        if self._ledger.rejection is not None and self._ledger.checks_limits:
            raise self._ledger.rejection

    async def have_results(self, ids: Sequence[str]) -> bool:
        return all(map(self._ledger.has_result, ids))

    async def cancel(self, id: str, tenant: str, *, disconnected: bool = False) -> Status | None:  # noqa: ARG002
        return self._ledger.cancel(id, tenant)

    async def ready_replicas(self, _model: str) -> tuple[str, ...]:
        return self._ledger.ready

    async def find_stream_by_hash(self, _hash: str, _tenant: str, _person: str) -> JobRow | None:
        return None

    async def delete(self, id: str, tenant: str) -> bool:
        return self._ledger.delete(id, tenant)

    async def lookup(self, id: str, tenant: str, person: str = "") -> JobRow | None:
        return self._ledger.lookup(id, tenant, person)

    async def lookup_with_generation(
        self, id: str, tenant: str, person: str = ""
    ) -> tuple[JobRow, bytes | None] | None:
        return self._ledger.lookup_with_generation(id, tenant, person)

    async def subscribe(self, id: str, subscriber: str) -> Status | None:
        return self._ledger.subscribe(id, subscriber)

    async def queue_order(self, model: str) -> QueueOrder:
        return self._ledger.queue_order(model)

    async def queue_ranks(self, _model: str, ids: Sequence[str]) -> list[int | None]:
        return [None for _ in ids]

    async def list_jobs(self, *_query: object) -> JobPage:
        return JobPage(0.0, (), None)

    async def explain_job(self, _id: str) -> JobExplanation | None:
        return None


def encode(event: Event) -> bytes:
    """An entry of the event log; the ledger's scripts write the `End` themselves."""
    if not isinstance(event, End):
        return event.encode()
    return orjson.dumps({"t": "end", **{name: getattr(event, name) for name in End.__slots__}})


class FakeFleet:
    """The models of the settings, all loaded unless a test changes `states`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalogue = ModelCatalogue(command_client(settings), settings)
        if settings.governance.models != "allow":  # else a test has a Redis, with dynamic models
            self.catalogue.may_exist = lambda _name: False  # type: ignore[method-assign]
        self.states = dict.fromkeys(settings.models, ModelState.LOADED)
        self.failures: dict[str, tuple[str, str]] = {}
        """The code and the message of failed loads, by model."""
        self.operations: dict[str, Operation] = {}
        self.properties: dict[str, bytes] = {}  # of the engines, by model
        self.unreachable = False
        self.request = LoadRequest()
        self.operation_ids: dict[str, str] = {}
        self.failing_reads = 0  # how many reads of the workers fail because Redis is unreachable
        self.reads_until_end: int | None = None  # reads of an operation until it has completed; None: never
        self._reads: Counter[str] = Counter()

    @property
    def operation_index(self) -> FakeFleet:
        return self

    def latest(self, count: int) -> tuple[Operation, ...]:
        """The part of `OperationIndex` that the feed of events uses."""
        latest = list(self.operations)[: -count - 1 : -1]
        return tuple(found for id in latest if (found := self.operation(id)) is not None)

    def page(self, limit: int, after: str = "", wanted: object = None) -> None:
        """The part that lists operations: there are none."""

    def rows(self) -> list[ModelRow]:
        if self.unreachable:
            raise StorageUnavailable("the shared store (Redis) cannot be reached", retry_after_s=2)
        return [self.row_of(model) for model in self.settings.models.values()]

    def engine_properties(self, name: str) -> Mapping[str, Any]:
        return decode_properties(self.properties.get(name))

    def summaries(self) -> list[ModelSummary]:
        return [
            ModelSummary(
                row.definition,
                row.state,
                row.code,
                row.wanted,
                0,
                0,
                None,
                row.loaded_at,
                row.queue_depth,
                row.context,
            )
            for row in self.rows()
        ]

    def serving_state(self) -> ServingState:
        return ServingState(
            1,
            0,
            tuple(
                ModelServing(
                    row.definition,
                    row.state,
                    row.code,
                    row.wanted,
                    was_loaded=True,
                    queue_depth=row.queue_depth,
                    ready=row.loaded_replicas,
                    stalled=0,
                )
                for row in self.rows()
            ),
        )

    def engines(self, model: str | None = None) -> list[EngineRow]:
        report = EngineReport("1.2", "Q8_0", 4096, 12.5, 0.25)
        return [
            EngineRow(f"{row.name}#0", row.name, "cpu", 100, report, stalled=False)
            for row in self.rows()
            if row.loaded_replicas and model in (None, row.name)
        ]

    def runner_id(self) -> str:
        return "stoker-fake"

    def definition(self, name: str, param: str = "model") -> ModelDefinition:
        if name not in self.settings.models:
            raise UnknownModel(f"model {name!r} is not configured", param=param)
        return self.settings.models[name]

    def row(self, name: str) -> ModelRow:
        return self.row_of(self.definition(name))

    def row_of(self, model: ModelDefinition) -> ModelRow:
        state = self.states[model.name]
        loaded = int(state is ModelState.LOADED)
        code, message = self.failures.get(model.name, (None, None))
        return ModelRow(
            model.name,
            model,
            state,
            model.replicas,
            loaded,
            0,
            2,
            last_error=message,
            code=code,
            loaded_at=1_700_000_000.5,
            operation_id=self.operation_ids.get(model.name),
            context=4096,
        )

    def checked(self, model: ModelDefinition, request: LoadRequest) -> LoadRequest:
        check_override(model, request.override)
        if request.replicas is not None:
            check_replicas(model, request.replicas)
        if request.evict is not None:
            self.definition(request.evict, param="evictModel")
        return request

    def check_state(self, row: ModelRow, request: LoadRequest) -> None:
        pass

    def row_to_load(self, name: str, _request: LoadRequest) -> ModelRow:
        return self.row(name)

    def file_digests(self, _name: str) -> dict[str, str]:
        return {}

    def workers(self, _for_model: str = "") -> list[WorkerRow]:
        if self.failing_reads:
            self.failing_reads -= 1
            raise StorageUnavailable("the shared store (Redis) cannot be reached", retry_after_s=2)
        return [WorkerRow("w", "cpu", 1, 0.0, memory=DeviceMemory("host:a", 1000, 400, (), "no driver"))]

    def load(self, name: str, request: LoadRequest, authorization: Authorization = PLATFORM) -> LoadOutcome:
        self.authorization = authorization
        self.request = request
        return self._begin("load", name, ModelState.LOADING, (ModelState.LOADED, ModelState.LOADING))

    def unload(self, name: str, authorization: Authorization = PLATFORM) -> LoadOutcome:
        self.authorization = authorization
        return self._begin("unload", name, ModelState.UNLOADING, (ModelState.UNLOADED, ModelState.UNLOADING))

    def check_cancellable(self, operation: Operation) -> None:
        assert operation.kind == "load"

    def cancel_load(self, load: Operation, authorization: Authorization = PLATFORM) -> LoadOutcome:
        self.authorization = authorization
        if load.status is OperationStatus.CANCELLED:
            return LoadOutcome("unload", None)
        if load.status.is_terminal:
            raise StateConflict(f"{load.id} is {load.status}", code="operation_not_cancellable", param="id")
        self.operations[load.id] = replace(
            load, status=OperationStatus.CANCELLED, finished_at=2.5, code="load_cancelled", error="cancelled"
        )
        return self.unload(load.model)

    def flush(self, scope: FlushScope, authorization: Authorization = PLATFORM) -> LoadOutcome:
        self.authorization = authorization
        scope.check()
        if scope.model is not None:
            self.definition(scope.model)
        operation = begun_operation(f"flush_{len(self.operations)}", scope.model or "", scope)
        self.operations[operation.id] = operation
        return LoadOutcome("flush", operation, (Assignment("a", "w"),), begun=True)

    def _begin(self, kind: str, name: str, state: ModelState, done: tuple[ModelState, ...]) -> LoadOutcome:
        self.row(name)
        if self.states[name] in done:
            return LoadOutcome(kind, None)
        self.states[name] = state
        id = f"{kind}_{len(self.operations)}"
        operation = Operation(id, kind, name, OperationStatus.PENDING, "waiting", 0.0, None, 1.5, None)
        self.operations[id] = operation
        return LoadOutcome(kind, operation, (Assignment("a", "w"),), begun=True)

    def operation(self, id: str) -> Operation | None:
        self._reads[id] += 1
        pending = id in self.operations and not self.operations[id].status.is_terminal
        if pending and self.reads_until_end is not None and self._reads[id] >= self.reads_until_end:
            done = replace(self.operations[id], status=OperationStatus.COMPLETED, finished_at=2.5)
            self.operations[id] = done
            self.states[done.model] = ModelState.LOADED if done.kind == "load" else ModelState.UNLOADED
        return self.operations.get(id)


class FakeStateChanges:
    """The state changes that a test puts into `entries`."""

    def __init__(self, fleet: FakeFleet) -> None:
        self.fleet = fleet
        self.entries: list[StateChange] = []

    def last(self) -> str:
        if self.fleet.unreachable:
            raise StorageUnavailable("the shared store (Redis) cannot be reached", retry_after_s=2)
        return self.entries[-1].id if self.entries else "0-0"

    def read(self, after: str, wait_s: float = 0.0) -> list[StateChange]:
        deadline = time.monotonic() + min(wait_s, 0.02)
        while not (new := [entry for entry in self.entries if entry.id > after][:100]):
            if time.monotonic() >= deadline:
                break
            time.sleep(0.002)
        return new


class FakeRedisProbe:
    def __init__(self, fleet: FakeFleet) -> None:
        self.fleet = fleet

    def write(self) -> None:
        self.fleet.rows()


class FakeUsage:
    """The usage of the model `demo`: 120 tokens in 3 seconds, of two tenants."""

    def read(self, first: date, last: date, limit: int) -> list[UsageRow]:
        assert (last - first).days == 1
        if limit < 2:
            raise TooManyRows
        return [
            UsageRow(first, "one", "demo", DayUsage(1, 1, 10, 100, 0, 0, 2_000_000)),
            UsageRow(last, "two", "demo", DayUsage(1, 1, 10, 20, 0, 0, 1_000_000)),
        ]


class FakeAudit:
    def __init__(self, store: ChainStore) -> None:
        self.store = store
        self.recorded: list[AuditEvent] = []

    def record(self, event: AuditEvent) -> None:
        self.recorded.append(event)

    def sync(self) -> bool:
        return True


@dataclass
class Fakes:
    """The fakes of one test."""

    store: FakeStore
    subscriber: EventSubscriber
    ledger: FakeLedger
    fleet: FakeFleet
    changes: FakeStateChanges


def make_fakes(settings: Settings) -> Fakes:
    store = FakeStore()
    subscriber = EventSubscriber(store, PREFIX)
    fleet = FakeFleet(settings)
    return Fakes(store, subscriber, FakeLedger(store, subscriber), fleet, FakeStateChanges(fleet))
