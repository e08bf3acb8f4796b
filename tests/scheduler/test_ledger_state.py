"""Anything may happen in any order, and every promise holds after every step.

A Hypothesis state machine drives the real scripts on a real server. Time is an argument, so an hour passes
in a microsecond. Zombies are common here: workers that were given up and go on with what they had. What
happens next is drawn by weight among what is possible now; Hypothesis' own choice of rules leaves the house
empty most of the time.

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
from tests.support.promises import PRIORITIES, check, check_that_nothing_is_left
from tests.support.redis_snapshot import Memory, Snapshot, take
from tests.support.simulated_platform import SimulatedPlatform

MODELS = ("alpha", "alpha", "beta")
WORKERS = ("w1", "w2", "w3")
TENANTS = ("acme", "umbrella", "wayne")
ENDS = (Status.COMPLETED, Status.INCOMPLETE, Status.FAILED, Status.CANCELLED)
REPEATED = {  # what must change nothing when it is said again, since an answer may be lost
    *("admit", "claim", "cancel", "subscribe", "begin_load", "begin_unload"),
    *("replica_starting", "replica_up", "replica_down", "deregister"),
    *("resume_pending", "abort_load", "replace_lost", "report_memory", "report_artifacts"),
}
REFUSALS = (InsufficientMemory, InvalidLoadRequest, NoWorker, StateConflict)
OTHER = {"alpha": "beta", "beta": "alpha"}
SIZES_MIB = {"alpha": 10, "beta": 6}
EXAMPLES = itertools.count()

# All durations are a thousand times what they are, and time passes in steps as much larger: what happens does
# not depend on how busy this machine is, so an example that failed fails again.
THOUSAND = 1000
SLOW: dict[str, Any] = {
    "lease": LeaseSettings(*(1000 * THOUSAND * seconds for seconds in (5, 1, 0.5))),  # type: ignore[arg-type]
    "queue": QueueSettings(timeout_ms=120_000 * THOUSAND),
    "limits": LimitSettings(request_timeout_s=600.0 * THOUSAND, unload_timeout_s=60.0 * THOUSAND),
}

BUDGETS = {
    "default": {"max_examples": 60, "stateful_step_count": 40},
    "nightly": {"max_examples": 2000, "stateful_step_count": 60},
    # against a planted bug the first failure is enough
    "mutant": {"max_examples": 200, "stateful_step_count": 40, "phases": (Phase.generate,)},
}

Draw = Callable[..., Any]
Event = Callable[["Ledger", Draw], None]
EVENTS: list[tuple[int, Callable[[Ledger], Any], Event]] = []


def event(weight: int, when: Callable[[Ledger], Any] = lambda _: True) -> Callable[[Event], Event]:
    """What may happen, how often compared with the rest, and when it can."""

    def enter(happen: Event) -> Event:
        EVENTS.append((weight, when, happen))
        return happen

    return enter


@dataclass(frozen=True)
class Holder:
    """A claim in the hands of one life of a worker."""

    claim: Claim
    worker: str
    incarnation: str


class Ledger(RuleBasedStateMachine):
    """What the API, the workers and the reaper do, and what they should not."""

    def __init__(self, client: redis.Redis, settings: Settings, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        names = itertools.count(1)  # replicas are drawn by name: an example that failed has the same again
        patch.setattr("fleet.operation.secrets.token_hex", lambda _: f"{next(names):08x}")
        prefix = f"{settings.redis.prefix}-{next(EXAMPLES)}"
        models = {
            name: replace(model, backend="llama_cpp", options={"gguf_n_ctx": 4096})
            for name, model in settings.models.items()
        }
        here = replace(settings, redis=replace(settings.redis, prefix=prefix), models=models, **SLOW)
        self.platform = SimulatedPlatform(client, here)
        self.ledger, self.fleet = self.platform.ledger, self.platform.fleet
        self.memory = Memory()
        self.holders: list[Holder] = []
        self.former: list[tuple[str, str]] = []
        self.numbers = itertools.count(1)
        self.fences: list[int] = []
        self.now = Snapshot()
        self.last_call: tuple[Any, ...] = ()
        for scripts in (self.ledger.scripts, self.fleet.scripts):
            scripts.run = self.remembering(scripts.run)  # type: ignore[method-assign]

    def remembering(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def remember(*call: Any) -> Any:
            self.last_call = (run, *call)
            return run(*call)

        return remember

    def advance_time(self, seconds: float) -> None:
        self.platform.advance_time(seconds * THOUSAND)

    def live(self, seconds: float, *beating: str, every: float = 1.0) -> None:
        self.platform.run_for(seconds * THOUSAND, *beating, every=every * THOUSAND)

    def look(self) -> Snapshot:
        return take(self.platform.client, self.platform.prefix, self.memory)

    @initialize(slots=strategies.sampled_from([1, 2]), workers=strategies.sampled_from([1, 2]))
    def a_model_is_loaded(self, slots: int, workers: int) -> None:
        for worker in WORKERS[:workers]:
            self.begins_a_life(worker)
        self.fleet.report_artifacts(SIZES_MIB)
        self.platform.load("alpha", slots=slots, replicas=workers)

    @rule(data=strategies.data())
    def something_happens(self, data: strategies.DataObject) -> None:
        possible = [happen for weight, when, happen in EVENTS if when(self) for _ in range(weight)]
        names = strategies.sampled_from(possible)

        def draw(items: Any, label: str = "") -> Any:
            return data.draw(strategies.sampled_from(list(items)), label)

        data.draw(names.map(Named), "what")(self, draw)

    @invariant()
    def every_promise_holds(self) -> None:
        self.now = self.look()
        check(self.now)

    def teardown(self) -> None:
        """Everybody dies, time passes, and the reaper closes what is open."""
        try:
            self.advance_time(1000)
            self.ledger.expire()
            self.live(8)
            self.every_promise_holds()
            check_that_nothing_is_left(self.now)
        finally:
            for key in self.platform.client.scan_iter(f"{self.platform.prefix}*", count=1000):
                self.platform.client.delete(key)

    # ---- what there is to choose from

    def jobs(self, *statuses: str) -> list[str]:
        return sorted(self.now.with_status(*statuses) if statuses else self.now.jobs)

    def replicas(self, *states: str) -> list[str]:
        return sorted(name for name, row in self.now.all("replica").items() if row["state"] in states)

    def host_of(self, replica: str) -> tuple[str, str]:
        worker = self.now.all("replica")[replica]["worker"]
        return worker, self.platform.incarnations[worker]

    def alive(self) -> list[str]:
        return sorted(self.now.one("workers"))

    def runs(self) -> list[Holder]:
        """The claims that are good."""
        rows = self.now.jobs
        return [one for one in self.holders if rows.get(one.claim.id, {}).get("fence") == one.claim.fence]

    def zombies(self) -> list[tuple[str, str]]:
        return [life for life in self.former if life != (life[0], self.platform.incarnations[life[0]])]

    # ---- requests come, and clients change their minds

    @event(8)
    def requests_come(self, draw: Draw) -> None:
        model, tenant, priority = draw(MODELS), draw(TENANTS), draw(PRIORITIES)
        for _ in range(draw([1, 1, 2, 4])):
            id = f"r{next(self.numbers):03}"
            with contextlib.suppress(Rejected):
                self.platform.admit(
                    tenant, priority, model, id=id, weight=draw([1, 3]), store=draw([True, False])
                )
                self.memory.admitted[id] = tenant

    @event(2, lambda self: self.now.jobs)
    def a_request_is_cancelled(self, draw: Draw) -> None:
        id, right = draw(self.jobs()), draw([True, True, False])
        status = self.ledger.cancel(id, self.memory.admitted[id] if right else "stranger")
        assert (status is None) == (not right)

    @event(1, lambda self: self.now.jobs)
    def a_response_is_deleted(self, draw: Draw) -> None:
        id = draw(self.jobs())
        if self.ledger.delete(id, self.memory.admitted[id]) and id in self.memory.ended:
            self.memory.deleted.add(id)

    # ---- workers do their work

    @event(14, lambda self: self.jobs("dispatched"))
    def a_bell_is_heard(self, draw: Draw) -> None:
        id = draw(self.jobs("dispatched"))
        worker = self.now.jobs[id]["worker"]
        claim = self.platform.claim(id, worker)
        assert claim, f"{id} was dispatched to {worker}"
        self.holds(claim, worker)

    def holds(self, claim: Claim, worker: str) -> None:
        self.holders.append(Holder(claim, worker, self.platform.incarnations[worker]))
        self.memory.attempts.setdefault(claim.id, set()).add(claim.fence)
        self.given_out(claim.fence)

    def given_out(self, fence: str) -> None:
        assert not self.fences or int(fence) > self.fences[-1], "fences grow"
        self.fences.append(int(fence))

    @event(6, lambda self: self.runs())
    def an_engine_speaks(self, draw: Draw) -> None:
        self.speak(draw(self.runs()).claim, draw([1, 3]), again=draw([True, False]))

    def write(self, entries: list[AppendRequest], releases: list[Release]) -> dict[str, str]:
        self.last_call = ()
        return self.ledger.append_and_release(entries, releases)

    def speak(self, claim: Claim, count: int, *, again: bool = False) -> None:
        said = self.memory.accepted.setdefault(claim.id, [])
        number = sum(fence == claim.fence for fence, _ in said) + 1
        texts = [f"{claim.fence}/{number + offset}" for offset in range(count)]
        entry = AppendRequest(
            claim.id, claim.fence, number, tuple(TextDelta(text).encode() for text in texts)
        )
        verdicts = self.write([entry, entry] if again else [entry], [])
        if verdicts.get(claim.id) not in {"fenced", "cancel"}:
            said += [(claim.fence, text) for text in texts]

    @event(4, lambda self: self.runs())
    def a_run_ends(self, draw: Draw) -> None:
        self.end(draw(self.runs()).claim, draw(ENDS), draw([None, 1, 5000]), retry=draw([True, False]))

    @event(3, lambda self: self.runs())
    def a_run_is_lost_and_may_be_tried_again(self, draw: Draw) -> None:
        self.end(draw(self.runs()).claim, Status.FAILED, None, retry=True)

    def end(self, claim: Claim, status: Status, tokens: int | None, *, retry: bool) -> None:
        retry = retry and status is Status.FAILED
        release = Release(claim.id, claim.fence, status, code="engine_error", tokens=tokens, retry=retry)
        self.write([], [release])

    # ---- workers come and go

    @event(2)
    def a_worker_starts_or_is_restarted(self, draw: Draw) -> None:
        self.begins_a_life(draw(WORKERS))

    def begins_a_life(self, worker: str) -> None:
        if worker in self.platform.incarnations:
            self.former.append((worker, self.platform.incarnations[worker]))
        self.given_out(self.platform.register(worker))
        self.memory.draining.discard(worker)

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
        self.memory.draining.add(worker)

    @event(1, lambda self: self.alive())
    def a_worker_leaves(self, draw: Draw) -> None:
        worker = draw(self.alive())
        self.ledger.deregister(worker, self.platform.incarnations[worker], "shut down")
        self.memory.draining.discard(worker)

    # ---- models come and go

    @event(2)
    def a_model_is_loaded_at_once(self, draw: Draw) -> None:
        with contextlib.suppress(*REFUSALS):
            self.platform.load(draw(MODELS), slots=draw([1, 2]), replicas=draw([1, 2]))

    @event(5, lambda self: "alpha" not in self.now.all("ready"))
    def the_house_is_put_right(self, draw: Draw) -> None:
        for replica in self.replicas("stopping"):
            self.fleet.replica_down(replica, *self.host_of(replica), code="unloaded", message="unloaded")
        for worker in WORKERS[:2]:
            if worker not in self.alive():
                self.begins_a_life(worker)
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
    def a_load_waits_for_the_other_model_and_who_began_it_dies(self, draw: Draw) -> None:
        model, number = draw(MODELS), next(self.numbers)
        self.begin_load(model, f"load_{number}", draw([1, 2]), evict=OTHER[model])

    @event(2)
    def a_load_begins_on_a_worker_that_may_be_gone(self, draw: Draw) -> None:
        model, number = draw(MODELS), next(self.numbers)
        place = (f"{model}#{number}.0", draw(WORKERS))
        self.begin_load(model, f"load_{number}", 1, *place)

    def begin_load(self, model: str, operation: str, count: int, *place: str, evict: str = "") -> None:
        lease_us, patience_us = 5_000_000 * THOUSAND, 100_000_000 * THOUSAND
        arguments = (model, operation, count, lease_us, "{}", SIZES_MIB[model], "variant", evict)
        self.fleet.scripts.run("begin_load", *arguments, patience_us, "", 0, *place)

    @event(9, lambda self: self.now.one("evicting"))
    def somebody_goes_on_with_what_waits(self, _: Draw) -> None:
        self.platform.recovery.resume_pending()

    def latest_operations(self) -> list[str]:
        return sorted(row["operation"] for row in self.now.all("model").values() if "operation" in row)

    @event(2, lambda self: self.now.all("operation"))
    def somebody_goes_on_with_an_old_picture(self, draw: Draw) -> None:
        model, number = draw(MODELS), next(self.numbers)
        arguments = (model, draw(self.latest_operations()), 5_000_000 * THOUSAND, SIZES_MIB[model])
        wanted = int(self.now.all("model")[model].get("wanted", 1)) or 1
        places = [(f"{model}#{number}.{index}", draw(WORKERS)) for index in range(wanted)]
        self.fleet.scripts.run("resume_pending", *arguments, *itertools.chain(*places))

    @event(1, lambda self: self.now.all("operation"))
    def a_load_that_waits_is_given_up(self, draw: Draw) -> None:
        model, operation = draw(MODELS), draw(self.latest_operations())
        self.fleet.scripts.run("abort_load", model, operation, "insufficient_memory", "no room")

    @event(4, lambda self: any(int(row.get("lost", 0)) for row in self.now.all("model").values()))
    def somebody_mends_what_was_lost(self, _: Draw) -> None:
        self.platform.recovery.replace_lost()

    @event(2, lambda self: self.now.all("model").get("alpha", {}).get("state") == "loaded")
    def somebody_mends_with_an_old_picture(self, draw: Draw) -> None:
        place = (f"alpha#{next(self.numbers)}.0", draw(WORKERS))
        self.fleet.scripts.run("replace_lost", "alpha", 5_000_000 * THOUSAND, SIZES_MIB["alpha"], *place)

    @event(3, lambda self: self.alive())
    def a_worker_tells_how_much_memory_is_left(self, draw: Draw) -> None:
        worker = draw(self.alive())
        of, free, total = draw([worker, "shared"]), draw([0, 10, 20, 30, 100]), draw([100, 100, 100, 0])
        memory = DeviceMemory(f"host:{of}", total, min(free, total))
        self.fleet.report_memory(worker, self.platform.incarnations[worker], memory)

    @event(4, lambda self: self.replicas("assigned"))
    def a_worker_takes_up_a_replica(self, draw: Draw) -> None:
        replica = draw(self.replicas("assigned"))
        assert self.fleet.replica_starting(replica, *self.host_of(replica))

    @event(4, lambda self: self.replicas("starting"))
    def a_replica_comes_up(self, draw: Draw) -> None:
        replica = draw(self.replicas("starting"))
        self.fleet.replica_progress(replica, 0.5, "reading")
        took = draw([None, 8])
        assert self.fleet.replica_up(replica, *self.host_of(replica), draw([1, 2]), 1, memory_mib=took)

    @event(4, lambda self: self.replicas("stopping"))
    def a_replica_stops_as_it_was_told(self, draw: Draw) -> None:
        replica = draw(self.replicas("stopping"))
        self.fleet.replica_down(replica, *self.host_of(replica), code="unloaded", message="unloaded")

    @event(1, lambda self: self.replicas("starting", "up", "stopping"))
    def an_engine_crashes(self, draw: Draw) -> None:
        replica = draw(self.replicas("starting", "up", "stopping"))
        code = draw(["engine_crashed", "load_failed"])
        self.fleet.replica_down(replica, *self.host_of(replica), code=code, message="killed")

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
        silent = draw(["nobody", "nobody", *self.alive()])
        self.live(draw([2.0, 6.0]), *(worker for worker in self.alive() if worker != silent))

    @event(1)
    def the_line_grows_old(self, draw: Draw) -> None:
        self.live(draw([20.0, 125.0]), *self.alive(), every=1.9)

    @event(2)
    def the_reaper_looks(self, _: Draw) -> None:
        self.ledger.expire()

    @event(2, lambda self: self.jobs("dispatched", "running"))
    def a_lease_is_lost(self, draw: Draw) -> None:
        self.platform.client.zadd(
            f"{self.platform.prefix}leases", {draw(self.jobs("dispatched", "running")): 1}
        )
        self.ledger.expire()

    # ---- an answer was lost: whoever called calls once more

    @event(3, lambda self: self.last_call)
    def the_last_call_is_repeated(self, _: Draw) -> None:
        run, name, *arguments = self.last_call
        before = without_clock(self.look())
        answer = run(name, *arguments)
        if name == "register":
            worker = arguments[0]
            self.former.append((worker, self.platform.incarnations[worker]))
            self.platform.incarnations[worker] = answer.decode()
            self.given_out(answer)
        elif name == "delete" and arguments[0] in self.memory.ended:
            self.memory.deleted.add(arguments[0])
        assert name not in REPEATED or without_clock(self.look()) == before, f"{name} did more when repeated"

    # ---- zombies: they were given up, do not know it, and go on

    @event(4, lambda self: self.holders)
    def a_zombie_speaks(self, draw: Draw) -> None:
        self.speak(draw(self.holders).claim, draw([1, 3]))

    @event(3, lambda self: self.holders)
    def a_zombie_ends_its_run(self, draw: Draw) -> None:
        self.end(draw(self.holders).claim, draw(ENDS), 7, retry=draw([True, False]))

    @event(2, lambda self: self.holders)
    def a_zombie_speaks_and_ends_in_one_breath(self, draw: Draw) -> None:
        claim = draw(self.holders).claim
        self.speak(claim, 1)
        self.end(claim, Status.COMPLETED, None, retry=False)

    @event(2, lambda self: self.zombies() and self.now.jobs)
    def a_zombie_claims(self, draw: Draw) -> None:
        worker, incarnation = draw(self.zombies())
        for id in self.jobs():
            with pytest.raises(Fenced):
                self.ledger.claim(worker, incarnation, id)

    @event(3, lambda self: self.now.jobs and self.alive())
    def a_bell_rings_at_the_wrong_time_or_place(self, draw: Draw) -> None:
        id, worker = draw(self.jobs()), draw(self.alive())
        row = self.now.jobs[id]
        claim = self.platform.claim(id, worker)
        assert (claim is not None) == (row["status"] == "dispatched" and row["worker"] == worker)
        if claim:
            self.holds(claim, worker)

    @event(3, lambda self: self.zombies())
    def a_zombie_worker_reports(self, draw: Draw) -> None:
        worker, incarnation = draw(self.zombies())
        replica = draw(sorted(self.now.all("replica")) or ["alpha#gone"])
        before = without_clock(self.look())
        verb = draw(["heartbeat", "drain", "leave", "up", "down", "starting", "memory"])
        if verb == "heartbeat":
            with pytest.raises(Fenced):
                self.ledger.heartbeat(worker, incarnation)
        elif verb == "drain":
            self.ledger.drain(worker, incarnation)
        elif verb == "leave":
            self.ledger.deregister(worker, incarnation, "goodbye")
        elif verb == "up":
            assert not self.fleet.replica_up(replica, worker, incarnation, 9, 1)
        elif verb == "memory":
            self.fleet.report_memory(worker, incarnation, DeviceMemory("host:elsewhere", 100, 100))
        elif verb == "down":
            self.fleet.replica_down(replica, worker, incarnation, code="engine_crashed", message="killed")
        else:
            assert self.fleet.replica_starting(replica, worker, incarnation) is None
        assert without_clock(self.look()) == before


class Named:
    """An event that shows its name when a failure is printed."""

    def __init__(self, happen: Event) -> None:
        self.happen = happen

    def __call__(self, *arguments: Any) -> None:
        self.happen(*arguments)

    def __repr__(self) -> str:
        return self.happen.__name__


def without_clock(snapshot: Snapshot) -> dict[str, Any]:
    return {name: value for name, value in snapshot.values.items() if name != "expired_at"}


@pytest.mark.timeout(7200)
def test_whatever_happens_every_promise_holds(
    client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = BUDGETS["mutant" if VARIABLE in os.environ else os.environ.get("HYPOTHESIS_PROFILE", "default")]
    run_state_machine_as_test(
        lambda: Ledger(client, settings, monkeypatch),
        settings=profile(
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            **budget,  # type: ignore[arg-type]
        ),
    )
