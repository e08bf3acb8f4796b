"""A Hypothesis state machine calls the ledger in random order; every invariant holds after every step.

It runs the real scripts on a real server. Time is an argument, so an hour passes in a microsecond. Zombies
are common: workers whose incarnation has ended and that still make calls. The next event is drawn by weight
from those that are possible now; with Hypothesis' own choice of rules there would be no jobs most of the
time.

`HYPOTHESIS_PROFILE=nightly` runs it for longer; a failure prints how to run the same example again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, Phase, strategies
from hypothesis import settings as profile
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from config.settings import LeaseSettings, LimitSettings, QueueSettings, Settings
from fleet.errors import InsufficientMemory, InvalidLoadRequest, NoWorker, StateConflict
from fleet.load_request import LoadRequest
from fleet.memory import DeviceMemory
from scheduler.errors import Fenced, Rejected
from scheduler.job import AppendRequest, Claim, Release, Status
from streams.events import TextDelta
from tests.scheduler.mutants import VARIABLE
from tests.support.ledger_invariants import PRIORITIES, check, check_all_has_ended
from tests.support.redis_snapshot import History, Snapshot, take_snapshot
from tests.support.simulated_platform import SimulatedPlatform

MODELS = ("alpha", "alpha", "beta")
WORKERS = ("w1", "w2", "w3")
TENANTS = ("acme", "umbrella", "wayne")
ENDS = (Status.COMPLETED, Status.INCOMPLETE, Status.FAILED, Status.CANCELLED)
REPEATABLE = {  # calls that must change nothing when they are repeated, since a reply may be lost
    *("admit", "claim", "cancel", "subscribe", "begin_load", "begin_unload"),
    *("replica_starting", "replica_up", "replica_down", "deregister"),
    *("resume_pending", "abort_load", "replace_lost", "report_memory", "report_artifacts"),
}
REFUSALS = (InsufficientMemory, InvalidLoadRequest, NoWorker, StateConflict)
OTHER = {"alpha": "beta", "beta": "alpha"}
SIZES_MIB = {"alpha": 10, "beta": 6}
EXAMPLES = itertools.count()

# All durations and all steps of time are a thousand times their real size, so the result does not depend on
# the load of this machine: an example that failed fails again.
THOUSAND = 1000
SLOW: dict[str, Any] = {
    "lease": LeaseSettings(*(1000 * THOUSAND * seconds for seconds in (5, 1, 0.5))),  # type: ignore[arg-type]
    "queue": QueueSettings(timeout_ms=120_000 * THOUSAND),
    "limits": LimitSettings(request_timeout_s=600.0 * THOUSAND, unload_timeout_s=60.0 * THOUSAND),
}

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
    """A claim, and the incarnation of the worker that made it."""

    claim: Claim
    worker: str
    incarnation: str


class LedgerMachine(RuleBasedStateMachine):
    """Makes the calls of the API, the workers and the reaper, and calls that they should not make."""

    def __init__(self, client: redis.Redis, settings: Settings, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        names = itertools.count(1)  # replicas are drawn by name: a repeated example has the same names
        patch.setattr("fleet.operation.secrets.token_hex", lambda _: f"{next(names):08x}")
        prefix = f"{settings.redis.prefix}-{next(EXAMPLES)}"
        models = {
            name: replace(model, backend="llama_cpp", options={"gguf_n_ctx": 4096})
            for name, model in settings.models.items()
        }
        scaled = replace(settings, redis=replace(settings.redis, prefix=prefix), models=models, **SLOW)
        self.platform = SimulatedPlatform(client, scaled)
        self.ledger, self.fleet = self.platform.ledger, self.platform.fleet
        self.history = History()
        self.holders: list[Holder] = []
        self.former: list[tuple[str, str]] = []
        self.numbers = itertools.count(1)
        self.fences: list[int] = []
        self.now = Snapshot()
        self.last_call: tuple[Any, ...] = ()
        for scripts in (self.ledger.scripts, self.fleet.scripts):
            scripts.run = self.recording(scripts.run)  # type: ignore[method-assign]

    def recording(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def record(*call: Any) -> Any:
            self.last_call = (run, *call)
            return run(*call)

        return record

    def advance_time(self, seconds: float) -> None:
        self.platform.advance_time(seconds * THOUSAND)

    def run_for(self, seconds: float, *alive: str, every: float = 1.0) -> None:
        self.platform.run_for(seconds * THOUSAND, *alive, every=every * THOUSAND)

    def snapshot(self) -> Snapshot:
        return take_snapshot(self.platform.client, self.platform.prefix, self.history)

    @initialize(slots=strategies.sampled_from([1, 2]), workers=strategies.sampled_from([1, 2]))
    def a_model_is_loaded(self, slots: int, workers: int) -> None:
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
        self.now = self.snapshot()
        check(self.now)

    def teardown(self) -> None:
        """All processes die, time passes, and the reaper ends everything."""
        try:
            self.advance_time(1000)
            self.ledger.expire()
            self.run_for(8)
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

    def alive(self) -> list[str]:
        return sorted(self.now.one("workers"))

    def valid_claims(self) -> list[Holder]:
        """Return the claims whose fence is still the job's."""
        rows = self.now.jobs
        return [one for one in self.holders if rows.get(one.claim.id, {}).get("fence") == one.claim.fence]

    def zombies(self) -> list[tuple[str, str]]:
        return [one for one in self.former if one != (one[0], self.platform.incarnations[one[0]])]

    # ---- clients

    @event(8)
    def requests_arrive(self, draw: Draw) -> None:
        model, tenant, priority = draw(MODELS), draw(TENANTS), draw(PRIORITIES)
        for _ in range(draw([1, 1, 2, 4])):
            id = f"r{next(self.numbers):03}"
            with contextlib.suppress(Rejected):
                self.platform.admit(
                    tenant, priority, model, id=id, weight=draw([1, 3]), store=draw([True, False])
                )
                self.history.admitted[id] = tenant

    @event(2, lambda self: self.now.jobs)
    def a_request_is_cancelled(self, draw: Draw) -> None:
        id, is_owner = draw(self.jobs()), draw([True, True, False])
        status = self.ledger.cancel(id, self.history.admitted[id] if is_owner else "stranger")
        assert (status is None) == (not is_owner)

    @event(1, lambda self: self.now.jobs)
    def a_response_is_deleted(self, draw: Draw) -> None:
        id = draw(self.jobs())
        if self.ledger.delete(id, self.history.admitted[id]) and id in self.history.ended:
            self.history.deleted.add(id)

    # ---- workers run jobs

    @event(14, lambda self: self.jobs("dispatched"))
    def a_wake_up_message_is_received(self, draw: Draw) -> None:
        id = draw(self.jobs("dispatched"))
        worker = self.now.jobs[id]["worker"]
        claim = self.platform.claim(id, worker)
        assert claim, f"{id} was dispatched to {worker}"
        self.record_claim(claim, worker)

    def record_claim(self, claim: Claim, worker: str) -> None:
        self.holders.append(Holder(claim, worker, self.platform.incarnations[worker]))
        self.history.attempts.setdefault(claim.id, set()).add(claim.fence)
        self.record_fence(claim.fence)

    def record_fence(self, fence: str) -> None:
        assert not self.fences or int(fence) > self.fences[-1], "fences grow"
        self.fences.append(int(fence))

    @event(6, lambda self: self.valid_claims())
    def an_engine_produces_text(self, draw: Draw) -> None:
        self.append(draw(self.valid_claims()).claim, draw([1, 3]), again=draw([True, False]))

    def append_and_release(self, appends: list[AppendRequest], releases: list[Release]) -> dict[str, str]:
        self.last_call = ()
        return self.ledger.append_and_release(appends, releases)

    def append(self, claim: Claim, count: int, *, again: bool = False) -> None:
        accepted = self.history.accepted.setdefault(claim.id, [])
        number = sum(fence == claim.fence for fence, _ in accepted) + 1
        texts = [f"{claim.fence}/{number + offset}" for offset in range(count)]
        request = AppendRequest(
            claim.id, claim.fence, number, tuple(TextDelta(text).encode() for text in texts)
        )
        stopped = self.append_and_release([request, request] if again else [request], [])
        if stopped.get(claim.id) not in {"fenced", "cancel"}:
            accepted += [(claim.fence, text) for text in texts]

    @event(4, lambda self: self.valid_claims())
    def a_run_ends(self, draw: Draw) -> None:
        self.end(
            draw(self.valid_claims()).claim, draw(ENDS), draw([None, 1, 5000]), retry=draw([True, False])
        )

    @event(3, lambda self: self.valid_claims())
    def a_run_fails_and_may_be_retried(self, draw: Draw) -> None:
        self.end(draw(self.valid_claims()).claim, Status.FAILED, None, retry=True)

    def end(self, claim: Claim, status: Status, tokens: int | None, *, retry: bool) -> None:
        retry = retry and status is Status.FAILED
        release = Release(claim.id, claim.fence, status, code="engine_error", tokens=tokens, retry=retry)
        self.append_and_release([], [release])

    # ---- workers start and stop

    @event(2)
    def a_worker_starts_or_is_restarted(self, draw: Draw) -> None:
        self.start_worker(draw(WORKERS))

    def start_worker(self, worker: str) -> None:
        if worker in self.platform.incarnations:
            self.former.append((worker, self.platform.incarnations[worker]))
        self.record_fence(self.platform.register(worker))
        self.history.draining.discard(worker)

    @event(3, lambda self: self.alive())
    def a_worker_heartbeats(self, draw: Draw) -> None:
        worker = draw(self.alive())
        reply = self.ledger.heartbeat(worker, self.platform.incarnations[worker])
        mine = {id for id in self.jobs("running") if self.now.jobs[id]["worker"] == worker}
        assert reply.running == mine
        assert set(reply.cancelled) == {id for id in mine if self.now.jobs[id].get("cancel") == "1"}
        rows = self.now.all("replica").items()
        assert reply.replicas == {name: row["state"] for name, row in rows if row["worker"] == worker}

    @event(1, lambda self: self.alive())
    def a_worker_drains(self, draw: Draw) -> None:
        worker = draw(self.alive())
        self.ledger.drain(worker, self.platform.incarnations[worker])
        self.history.draining.add(worker)

    @event(1, lambda self: self.alive())
    def a_worker_leaves(self, draw: Draw) -> None:
        worker = draw(self.alive())
        self.ledger.deregister(worker, self.platform.incarnations[worker], "shut down")
        self.history.draining.discard(worker)

    # ---- models are loaded and unloaded

    @event(2)
    def a_model_is_loaded_at_once(self, draw: Draw) -> None:
        with contextlib.suppress(*REFUSALS):
            self.platform.load(draw(MODELS), slots=draw([1, 2]), replicas=draw([1, 2]))

    @event(5, lambda self: "alpha" not in self.now.all("ready"))
    def the_platform_is_repaired(self, draw: Draw) -> None:
        for replica in self.replicas("stopping"):
            self.fleet.replica_down(replica, *self.worker_of(replica), code="unloaded", message="unloaded")
        for worker in WORKERS[:2]:
            if worker not in self.alive():
                self.start_worker(worker)
        with contextlib.suppress(*REFUSALS):
            self.platform.load("alpha", slots=draw([1, 2]), replicas=draw([1, 2]))

    @event(1)
    def a_load_begins(self, draw: Draw) -> None:
        with contextlib.suppress(*REFUSALS):
            self.fleet.load(draw(MODELS), LoadRequest(draw([1, 2]), draw([{}, {"gguf_n_ctx": 8192}])))

    @event(3)
    def a_load_evicts_the_other_model(self, draw: Draw) -> None:
        model = draw(MODELS)
        with contextlib.suppress(*REFUSALS):
            self.fleet.load(model, LoadRequest(draw([1, 2]), evict=OTHER[model]))

    @event(2)
    def a_load_waits_for_the_other_model_and_its_caller_dies(self, draw: Draw) -> None:
        model, number = draw(MODELS), next(self.numbers)
        self.begin_load(model, f"load_{number}", draw([1, 2]), evict=OTHER[model])

    @event(2)
    def a_load_begins_on_a_worker_that_may_be_gone(self, draw: Draw) -> None:
        model, number = draw(MODELS), next(self.numbers)
        assignment = (f"{model}#{number}.0", draw(WORKERS))
        self.begin_load(model, f"load_{number}", 1, *assignment)

    def begin_load(self, model: str, operation: str, count: int, *assignment: str, evict: str = "") -> None:
        lease_us, max_wait_us = 5_000_000 * THOUSAND, 100_000_000 * THOUSAND
        arguments = (model, operation, count, lease_us, "{}", SIZES_MIB[model], "variant", evict)
        self.fleet.scripts.run("begin_load", *arguments, max_wait_us, "", 0, *assignment)

    @event(9, lambda self: self.now.one("evicting"))
    def waiting_loads_are_resumed(self, _: Draw) -> None:
        self.platform.recovery.resume_pending()

    def latest_operations(self) -> list[str]:
        return sorted(row["operation"] for row in self.now.all("model").values() if "operation" in row)

    @event(2, lambda self: self.now.all("operation"))
    def a_load_is_resumed_with_outdated_data(self, draw: Draw) -> None:
        model, number = draw(MODELS), next(self.numbers)
        arguments = (model, draw(self.latest_operations()), 5_000_000 * THOUSAND, SIZES_MIB[model])
        wanted = int(self.now.all("model")[model].get("wanted", 1)) or 1
        places = [(f"{model}#{number}.{index}", draw(WORKERS)) for index in range(wanted)]
        self.fleet.scripts.run("resume_pending", *arguments, *itertools.chain(*places))

    @event(1, lambda self: self.now.all("operation"))
    def a_waiting_load_is_aborted(self, draw: Draw) -> None:
        model, operation = draw(MODELS), draw(self.latest_operations())
        self.fleet.scripts.run("abort_load", model, operation, "insufficient_memory", "no room")

    @event(4, lambda self: any(int(row.get("lost", 0)) for row in self.now.all("model").values()))
    def lost_replicas_are_replaced(self, _: Draw) -> None:
        self.platform.recovery.replace_lost()

    @event(2, lambda self: self.now.all("model").get("alpha", {}).get("state") == "loaded")
    def a_replica_is_replaced_with_outdated_data(self, draw: Draw) -> None:
        assignment = (f"alpha#{next(self.numbers)}.0", draw(WORKERS))
        self.fleet.scripts.run("replace_lost", "alpha", 5_000_000 * THOUSAND, SIZES_MIB["alpha"], *assignment)

    @event(3, lambda self: self.alive())
    def a_worker_reports_its_memory(self, draw: Draw) -> None:
        worker = draw(self.alive())
        owner, free, total = draw([worker, "shared"]), draw([0, 10, 20, 30, 100]), draw([100, 100, 100, 0])
        memory = DeviceMemory(f"host:{owner}", total, min(free, total))
        self.fleet.report_memory(worker, self.platform.incarnations[worker], memory)

    @event(4, lambda self: self.replicas("assigned"))
    def a_worker_starts_a_replica(self, draw: Draw) -> None:
        replica = draw(self.replicas("assigned"))
        assert self.fleet.replica_starting(replica, *self.worker_of(replica))

    @event(4, lambda self: self.replicas("starting"))
    def a_replica_comes_up(self, draw: Draw) -> None:
        replica = draw(self.replicas("starting"))
        self.fleet.replica_progress(replica, 0.5, "reading")
        took = draw([None, 8])
        assert self.fleet.replica_up(replica, *self.worker_of(replica), draw([1, 2]), 1, memory_mib=took)

    @event(4, lambda self: self.replicas("stopping"))
    def a_replica_stops(self, draw: Draw) -> None:
        replica = draw(self.replicas("stopping"))
        self.fleet.replica_down(replica, *self.worker_of(replica), code="unloaded", message="unloaded")

    @event(1, lambda self: self.replicas("starting", "up", "stopping"))
    def an_engine_crashes(self, draw: Draw) -> None:
        replica = draw(self.replicas("starting", "up", "stopping"))
        code = draw(["engine_crashed", "load_failed"])
        self.fleet.replica_down(replica, *self.worker_of(replica), code=code, message="killed")

    @event(1)
    def a_model_is_unloaded(self, draw: Draw) -> None:
        with contextlib.suppress(StateConflict):
            self.fleet.unload(draw(MODELS))

    # ---- time passes

    @event(2)
    def time_passes(self, draw: Draw) -> None:
        self.advance_time(draw([0.1, 0.5, 1.0, 1.9]))

    @event(1)
    def much_time_passes(self, draw: Draw) -> None:
        self.advance_time(draw([4.9, 30.0, 130.0, 650.0]))

    @event(2)
    def time_passes_and_some_worker_is_silent(self, draw: Draw) -> None:
        silent = draw(["none", "none", *self.alive()])
        self.run_for(draw([2.0, 6.0]), *(worker for worker in self.alive() if worker != silent))

    @event(1)
    def queued_jobs_time_out(self, draw: Draw) -> None:
        self.run_for(draw([20.0, 125.0]), *self.alive(), every=1.9)

    @event(2)
    def the_reaper_runs(self, _: Draw) -> None:
        self.ledger.expire()

    @event(2, lambda self: self.jobs("dispatched", "running"))
    def a_lease_is_lost(self, draw: Draw) -> None:
        self.platform.client.zadd(
            f"{self.platform.prefix}leases", {draw(self.jobs("dispatched", "running")): 1}
        )
        self.ledger.expire()

    # ---- a reply was lost: the call is repeated

    @event(3, lambda self: self.last_call)
    def the_last_call_is_repeated(self, _: Draw) -> None:
        run, name, *arguments = self.last_call
        before = without_clock(self.snapshot())
        reply = run(name, *arguments)
        if name == "register":
            worker = arguments[0]
            self.former.append((worker, self.platform.incarnations[worker]))
            self.platform.incarnations[worker] = reply.decode()
            self.record_fence(reply)
        elif name == "delete" and arguments[0] in self.history.ended:
            self.history.deleted.add(arguments[0])
        assert name not in REPEATABLE or without_clock(self.snapshot()) == before, (
            f"the repeated {name} changed something"
        )

    # ---- zombies: workers that continue after the end of their incarnation

    @event(4, lambda self: self.holders)
    def a_zombie_appends(self, draw: Draw) -> None:
        self.append(draw(self.holders).claim, draw([1, 3]))

    @event(3, lambda self: self.holders)
    def a_zombie_ends_its_run(self, draw: Draw) -> None:
        self.end(draw(self.holders).claim, draw(ENDS), 7, retry=draw([True, False]))

    @event(2, lambda self: self.holders)
    def a_zombie_appends_and_ends_at_once(self, draw: Draw) -> None:
        claim = draw(self.holders).claim
        self.append(claim, 1)
        self.end(claim, Status.COMPLETED, None, retry=False)

    @event(2, lambda self: self.zombies() and self.now.jobs)
    def a_zombie_claims(self, draw: Draw) -> None:
        worker, incarnation = draw(self.zombies())
        for id in self.jobs():
            with pytest.raises(Fenced):
                self.ledger.claim(worker, incarnation, id)

    @event(3, lambda self: self.now.jobs and self.alive())
    def a_wake_up_message_arrives_late_or_at_another_worker(self, draw: Draw) -> None:
        id, worker = draw(self.jobs()), draw(self.alive())
        row = self.now.jobs[id]
        claim = self.platform.claim(id, worker)
        assert (claim is not None) == (row["status"] == "dispatched" and row["worker"] == worker)
        if claim:
            self.record_claim(claim, worker)

    @event(3, lambda self: self.zombies())
    def a_zombie_worker_reports(self, draw: Draw) -> None:
        worker, incarnation = draw(self.zombies())
        replica = draw(sorted(self.now.all("replica")) or ["alpha#gone"])
        before = without_clock(self.snapshot())
        call = draw(["heartbeat", "drain", "leave", "up", "down", "starting", "memory"])
        if call == "heartbeat":
            with pytest.raises(Fenced):
                self.ledger.heartbeat(worker, incarnation)
        elif call == "drain":
            self.ledger.drain(worker, incarnation)
        elif call == "leave":
            self.ledger.deregister(worker, incarnation, "goodbye")
        elif call == "up":
            assert not self.fleet.replica_up(replica, worker, incarnation, 9, 1)
        elif call == "memory":
            self.fleet.report_memory(worker, incarnation, DeviceMemory("host:other", 100, 100))
        elif call == "down":
            self.fleet.replica_down(replica, worker, incarnation, code="engine_crashed", message="killed")
        else:
            assert self.fleet.replica_starting(replica, worker, incarnation) is None
        assert without_clock(self.snapshot()) == before


class Named:
    """An event whose repr is its name, for the report of a failure."""

    def __init__(self, happen: Event) -> None:
        self.happen = happen

    def __call__(self, *arguments: Any) -> None:
        self.happen(*arguments)

    def __repr__(self) -> str:
        return self.happen.__name__


def without_clock(snapshot: Snapshot) -> dict[str, Any]:
    return {name: value for name, value in snapshot.values.items() if name != "expired_at"}


@pytest.mark.timeout(7200)
def test_every_invariant_holds_in_any_order_of_events(
    client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = BUDGETS["mutant" if VARIABLE in os.environ else os.environ.get("HYPOTHESIS_PROFILE", "default")]
    run_state_machine_as_test(
        lambda: LedgerMachine(client, settings, monkeypatch),
        settings=profile(
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            **budget,  # type: ignore[arg-type]
        ),
    )
