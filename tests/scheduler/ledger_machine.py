"""A Hypothesis state machine calls the ledger in random order; every invariant holds after every step.

It runs the real scripts on a real server. Time is an argument, so an hour passes in a microsecond. Zombies
are common: workers whose incarnation has ended and that still make calls. The next event is drawn by weight
from those that are possible now; with Hypothesis' own choice of rules there would be no jobs most of the
time.

`HYPOTHESIS_PROFILE=nightly` runs it for longer; a failure prints how to run the same example again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import redis
from hypothesis import Phase, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from config.settings import (
    LeaseSettings,
    LimitSettings,
    OnDemandSettings,
    QueueSettings,
    RestartSettings,
    Settings,
)
from fleet.errors import InsufficientMemory, InvalidLoadRequest, NoWorker, StateConflict
from fleet.on_demand.service import OnDemand
from scheduler.job import AppendRequest, Claim, Release, Status
from store.calls import Call, Read
from store.scripts import unchanged
from streams.events import TextDelta, decode
from tests.support.begin_load import begin_load
from tests.support.ledger_invariants import an_ended_job_never_changes, check, check_all_has_ended
from tests.support.redis_snapshot import History, Snapshot, take_snapshot
from tests.support.simulated_platform import SimulatedPlatform

MODELS = ("alpha", "alpha", "beta")
WORKERS = ("w1", "w2", "w3")
TENANTS = ("acme", "umbrella", "wayne")
ENDS = (Status.COMPLETED, Status.INCOMPLETE, Status.FAILED, Status.CANCELLED)
REPEATABLE = {  # calls that must change nothing when they are repeated, since a reply may be lost
    *("admit", "step", "take_claims", "cancel", "subscribe", "begin_load", "begin_unload"),
    *("replica_starting", "replica_up", "replica_down", "deregister", "begin_drain", "end_drain"),
    *(
        "resume_pending",
        "abort_load",
        "cancel_restore",
        "replace_lost",
        "restore_replicas",
        "release_replica",
        "report_memory",
        "report_obstacles",
        "report_artifacts",
        "note_demand",
        "fail_demand",
    ),
}
REFUSALS = (InsufficientMemory, InvalidLoadRequest, NoWorker, StateConflict)
OTHER = {"alpha": "beta", "beta": "alpha"}
SIZES_MIB = {"alpha": 10, "beta": 6}
CLOCKS = ("expired_at", "recovery_looked_at")
EXAMPLES = itertools.count()

# All durations and all steps of time are a thousand times their real size, so the result does not depend on
# the load of this machine: an example that failed fails again.
THOUSAND = 1000
SLOW: dict[str, Any] = {
    "lease": LeaseSettings(lease_ms=5000 * THOUSAND),
    "queue": QueueSettings(timeout_ms=120_000 * THOUSAND),
    "on_demand": OnDemandSettings(
        max_loaded=1, min_residency_s=2.0 * THOUSAND, timeout_ms=120_000 * THOUSAND
    ),
    "restart": RestartSettings(max_restarts=3),
    "limits": LimitSettings(request_timeout_s=600.0 * THOUSAND, unload_timeout_s=60.0 * THOUSAND),
}

SLOW_RESTARTS = {"RESTART_WINDOW_S": 60.0, "FIRST_RESTART_S": 1.0, "LONGEST_RESTART_S": 3.0}

BUDGETS = {
    "default": {"max_examples": 60, "stateful_step_count": 40},
    "nightly": {"max_examples": 2000, "stateful_step_count": 60},
    # with a planted bug the first failure is enough
    "mutant": {"max_examples": 200, "stateful_step_count": 40, "phases": (Phase.generate,)},
}

Draw = Callable[..., Any]
Event = Callable[["LedgerMachine", Draw], None]
EVENTS: list[tuple[int, Callable[[LedgerMachine], Any], Event]] = []


def event(weight: int, when: Callable[[LedgerMachine], Any] = lambda _: True) -> Callable[[Event], Event]:
    """Register an event: its weight, and the condition under which it is possible."""

    def enter(happen: Event) -> Event:
        EVENTS.append((weight, when, happen))
        return happen

    return enter


@dataclass(frozen=True)
class Holder:
    """A claim, and the incarnation of the worker that received it."""

    claim: Claim
    worker: str
    incarnation: str


class LedgerMachine(RuleBasedStateMachine):
    """Makes the calls of the API, the workers and the reaper, and calls that they should not make."""

    def __init__(self, client: redis.Redis, settings: Settings, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        names = itertools.count(1)  # replicas are drawn by name: a repeated example has the same names
        patch.setattr("fleet.operation.secrets.token_hex", lambda _: f"{next(names):08x}")
        for name, seconds in SLOW_RESTARTS.items():
            patch.setattr(f"fleet.worker_reports.{name}", seconds * THOUSAND)
        prefix = f"{settings.redis.prefix}-{next(EXAMPLES)}"
        models = {
            name: replace(
                model,
                backend="llama_cpp",
                options={"gguf_n_ctx": 4096},
                on_demand="load",
                idle_unload_s=50.0 * THOUSAND,
            )
            for name, model in settings.models.items()
        }
        scaled = replace(settings, redis=replace(settings.redis, prefix=prefix), models=models, **SLOW)
        self.platform = SimulatedPlatform(client, scaled)
        self.ledger, self.fleet = self.platform.ledger, self.platform.fleet
        self.on_demand = OnDemand(self.fleet)
        self.history = History()
        self.holders: list[Holder] = []
        self.former: list[tuple[str, str]] = []
        self.numbers = itertools.count(1)
        self.incarnations: list[int] = []
        self.now = Snapshot()
        self.last_call: tuple[Callable[[Call[Any]], Any], Call[Any]] | None = None
        for scripts in (self.ledger.scripts, self.fleet.scripts):
            scripts.execute = self.recording(scripts.execute)  # type: ignore[method-assign]

    def recording(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def record(command: Call[Any] | Read[Any]) -> Any:
            if isinstance(command, Call):
                self.last_call = (execute, command._replace(read=unchanged))
            return execute(command)

        return record

    def advance_time(self, seconds: float) -> None:
        self.platform.advance_time(seconds * THOUSAND)

    def run_for(self, seconds: float, *alive: str, every: float = 1.0) -> None:
        while seconds > 0:
            step = min(seconds, every)
            self.platform.run_for(step * THOUSAND, *alive, every=step * THOUSAND)
            # records the ends: the next step may delete these jobs
            an_ended_job_never_changes(self.snapshot())
            seconds -= step

    def snapshot(self) -> Snapshot:
        return take_snapshot(self.platform.client, self.platform.prefix, self.history)

    @initialize(
        slots=strategies.sampled_from([1, 2, 3]),
        workers=strategies.sampled_from([1, 2, 3]),
        reserve=strategies.sampled_from([None, 2]),
        background=strategies.sampled_from([0, 1, 2]),
    )
    def a_model_is_loaded(self, slots: int, workers: int, reserve: int | None, background: int) -> None:
        queue = replace(self.ledger.settings.queue, reserve_one_in=reserve, background_reserve=background)
        self.ledger.settings = replace(self.ledger.settings, queue=queue)
        for worker in WORKERS[:workers]:
            self.start_worker(worker)
        self.fleet.report_artifacts(SIZES_MIB)
        self.platform.load("alpha", slots=slots, replicas=workers)

    @rule(data=strategies.data())
    def an_event_happens(self, data: strategies.DataObject) -> None:
        possible = [happen for weight, when, happen in EVENTS if when(self) for _ in range(weight)]
        names = strategies.sampled_from(possible)

        def draw(items: Any, label: str = "") -> Any:
            return data.draw(strategies.sampled_from(list(items)), label)

        data.draw(names.map(Named), "event")(self, draw)

    @invariant()
    def every_invariant_holds(self) -> None:
        before, self.now = self.now, self.snapshot()
        self.now.before, before.before = before, None
        check(self.now)

    def teardown(self) -> None:
        """All processes die, time passes, and the reaper ends everything."""
        try:
            self.advance_time(1000)
            self.fleet.registry.expire()
            an_ended_job_never_changes(self.snapshot())  # the first run of the reaper extends no leases
            self.run_for(8)
            self.run_for(125, every=1.9)  # a job that was dispatched just before may wait once more
            self.every_invariant_holds()
            check_all_has_ended(self.now)
        finally:
            for key in self.platform.client.scan_iter(f"{self.platform.prefix}*", count=1000):
                self.platform.client.delete(key)

    # ---- the objects to draw from

    def jobs(self, *statuses: str) -> list[str]:
        return sorted(self.now.with_status(*statuses) if statuses else self.now.jobs)

    def replicas(self, *states: str) -> list[str]:
        return sorted(name for name, row in self.now.all("replica").items() if row["state"] in states)

    def worker_of(self, replica: str) -> tuple[str, str]:
        worker = self.now.all("replica")[replica]["worker"]
        return worker, self.platform.incarnations[worker]

    def jobs_on(self, worker: str) -> set[str]:
        """Return the jobs that run on the worker's replicas."""
        rows, gone = self.now.jobs, self.now.unfinished("slots")
        mine = [id for id in self.jobs("running") if rows[id]["worker"] == worker]
        return {id for id in mine if rows[id]["replica"] not in gone}

    def jobs_of(self, model: str) -> list[str]:
        return [id for id in self.jobs("queued", "running") if self.now.jobs[id]["model"] == model]

    def alive(self) -> list[str]:
        return sorted(self.now.one("workers"))

    def incomplete(self) -> list[str]:
        """Return the loaded models with fewer replicas than wanted."""
        counts = {model: len(names) for model, names in self.now.all("replicas").items()}
        rows = self.now.all("model").items()
        loaded = {model: int(row["wanted"]) for model, row in rows if row.get("state") == "loaded"}
        return sorted(model for model, wanted in loaded.items() if counts[model] < wanted)

    def surplus(self) -> list[str]:
        """Return the loaded models that want more replicas than their load began with."""
        rows = self.now.all("model").items()
        loaded = {model: row for model, row in rows if row.get("state") == "loaded"}
        return sorted(model for model, row in loaded.items() if int(row["wanted"]) > int(row["least"]))

    def valid_claims(self) -> list[Holder]:
        """Return the claims whose fence is still the job's."""
        rows = self.now.jobs
        return [one for one in self.holders if rows.get(one.claim.id, {}).get("fence") == one.claim.fence]

    def zombies(self) -> list[tuple[str, str]]:
        return [one for one in self.former if one != (one[0], self.platform.incarnations[one[0]])]

    # ---- what several events do

    def receive(self, claim: Claim, worker: str, *, is_lost: bool) -> None:
        """A claim arrives at a worker, perhaps for the second time, or is lost on its way."""
        if is_lost:
            self.history.lost_claims.add(claim.fence)
            return
        fences = self.history.claims.setdefault(claim.id, set())
        if claim.fence in fences:
            return
        incarnation = self.platform.incarnations[worker]
        assert int(claim.fence) > int(incarnation), "fences grow"
        row = self.platform.client.hgetall(f"{self.platform.prefix}job:{claim.id}")
        assert int(claim.fence) <= int(row.get(b"fence", claim.fence)), "fences grow"
        fences.add(claim.fence)
        self.holders.append(Holder(claim, worker, incarnation))

    def step(
        self, holder: Holder, appends: list[AppendRequest], releases: list[Release], lost: bool = False
    ) -> dict[str, str]:
        """Write a step; `lost`: the claims in the reply are lost with it."""
        reply = self.ledger.step(holder.incarnation, appends, releases)
        for claim in reply.claims:
            assert holder.incarnation == self.platform.incarnations[holder.worker], "a zombie gets no claims"
            self.receive(claim, holder.worker, is_lost=lost)
        return reply.stopped

    def texts(self, claim: Claim, count: int) -> AppendRequest:
        """Return the next events of a run."""
        accepted = self.history.accepted.setdefault(claim.id, [])
        number = claim.last + 1 + sum(fence == claim.fence for fence, _ in accepted)
        words = tuple(TextDelta(f"{claim.fence}/{number + offset}").encode() for offset in range(count))
        return AppendRequest(claim.id, claim.replica, claim.fence, number, words)

    def record(self, request: AppendRequest, stopped: dict[str, str]) -> None:
        if stopped.get(request.id) not in {"fenced", "cancel", "log_lost"}:
            words = [decode(event).text for event in request.events]  # type: ignore[union-attr]
            self.history.accepted[request.id] += [(request.fence, word) for word in words]

    def append(self, holder: Holder, count: int, *, again: bool = False) -> None:
        request = self.texts(holder.claim, count)
        self.record(request, self.step(holder, [request, request] if again else [request], []))

    def release(self, claim: Claim, status: Status, tokens: int | None, *, retry: bool) -> Release:
        retry = retry and status is Status.FAILED
        last = self.texts(claim, 0).number - 1
        return Release(
            claim.id,
            claim.fence,
            status,
            code="engine_error",
            usage=b'{"input_tokens":3,"output_tokens":2}',
            tokens=tokens,
            retry=retry,
            last=last,
            first_ms=5,
        )

    def record_incarnation(self, incarnation: str) -> None:
        fences = [int(fence) for fences in self.history.claims.values() for fence in fences]
        assert int(incarnation) > max([0, *self.incarnations, *fences]), "fences grow"
        self.incarnations.append(int(incarnation))

    def start_worker(self, worker: str) -> None:
        if worker in self.platform.incarnations:
            self.former.append((worker, self.platform.incarnations[worker]))
        self.record_incarnation(self.platform.register(worker))
        self.history.draining.discard(worker)

    def begin_load(self, model: str, operation: str, count: int, *assignment: str, evict: str = "") -> None:
        begin_load(
            self.fleet,
            model,
            operation,
            assignment,
            replicas=count,
            lease_us=5_000_000 * THOUSAND,
            need_mib=SIZES_MIB[model],
            variant="variant",
            evicts=evict,
            evict_us=100_000_000 * THOUSAND,
        )

    def latest_operations(self) -> list[str]:
        return sorted(row["operation"] for row in self.now.all("model").values() if "operation" in row)


class Named:
    """An event whose repr is its name, for the report of a failure."""

    def __init__(self, happen: Event) -> None:
        self.happen = happen

    def __call__(self, *arguments: Any) -> None:
        self.happen(*arguments)

    def __repr__(self) -> str:
        return self.happen.__name__


def without_clock(snapshot: Snapshot) -> dict[str, Any]:
    """What a repeated call must not change.

    Without the times, and without the turn of equally loaded replicas: `admit` looks for a replica before it
    knows that the job is there already, and the turn has no effect on jobs.
    """
    values = {
        name: {field: text for field, text in value.items() if field != "rotation"}
        if name.startswith("model:")
        else value
        for name, value in snapshot.values.items()
        if name not in CLOCKS
    }
    counters = values.get("counters", {})  # a refused write counts again when it is repeated
    values["counters"] = {name: count for name, count in counters.items() if not name.startswith("fenced ")}
    return values
