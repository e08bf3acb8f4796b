"""The simulation: the platform's own scripts on a real server, with time as an argument, and no processes.

A heap has the events of the future: arrivals, ends of runs, of loads and of unloads, and looks. Each call of
a script gets the virtual time.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.growth.server import MeasuredServer
from benchmarks.on_demand.workload import (
    GPU_MIB,
    GPUS,
    LOAD_S,
    MODEL_MIB,
    MODELS,
    SLOTS,
    UNLOAD_S,
    Request,
    Workload,
)
from config.settings import LeaseSettings, ModelDefinition, OnDemandSettings, QueueSettings
from fleet.fleet import Fleet
from fleet.load_request import Assignment, LoadOutcome
from fleet.memory import DeviceMemory
from fleet.on_demand.choice import Choose
from fleet.on_demand.service import OnDemand
from scheduler.commands import decode_claim, step
from scheduler.job import Claim, Job, Release, Status
from scheduler.ledger import Ledger
from store.errors import Rejected

LOOK_S = 2.0
EXPIRE_S = 5.0
MANY = 10**6
HOUR_MS = 3_600_000


@dataclass
class Outcome:
    """What happened. Times are seconds of virtual time; `visits` are (GPU, model, state, from, to).

    A request that still waits at the end has waited until then.
    """

    seconds: float
    waits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    demanded_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    served_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    switching_s: float = 0.0
    switches: int = 0
    refused: int = 0
    failed: int = 0
    visits: list[tuple[str, str, str, float, float]] = field(default_factory=list)


class Simulation:
    """Runs a workload under a choice. `run` returns the outcome; raises `StorageUnavailable`."""

    def __init__(self, server: MeasuredServer, prefix: str, workload: Workload, choice: Choose) -> None:
        models = {
            name: ModelDefinition(name, "stub", target_inflight=SLOTS, on_demand="load") for name in MODELS
        }
        self.settings = server.settings(
            prefix,
            models=models,
            queue=QueueSettings(timeout_ms=HOUR_MS, max_depth=MANY, max_depth_per_tenant=MANY),
            on_demand=OnDemandSettings(None, min_residency_s=5.0, timeout_ms=HOUR_MS),
            lease=LeaseSettings(lease_ms=10 * HOUR_MS),
        )
        client = server.command_client(self.settings)
        self.client: Any = client
        self.ledger, self.fleet = Ledger(client, self.settings), Fleet(client, self.settings)
        self.on_demand = OnDemand(self.fleet, choice)
        self.workload = workload
        self.now = 0.0
        self._began = time.time()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._requests: dict[str, Request] = {}
        self._waiting: dict[str, Request] = {}
        self._workers: dict[str, str] = {}
        self._incarnations: dict[str, str] = {}
        self._used: dict[str, int] = dict.fromkeys(GPUS, 0)
        self._draining: dict[str, Assignment] = {}
        self._since: dict[str, float] = {}
        self._look_at = float("inf")
        self.outcome = Outcome(0.0)

    def run(self, seconds: float) -> Outcome:
        """Run until this time."""
        self.outcome.seconds = seconds
        self._set_clock()
        self.ledger.scripts.load()
        self.fleet.scripts.load()
        for worker in GPUS:
            self._incarnations[worker] = self.fleet.registry.register(worker, "cpu")
            self._report_memory(worker)
        self.fleet.report_artifacts(dict.fromkeys(MODELS, MODEL_MIB))
        for request in self.workload.requests:
            self._at(request.at_s, lambda request=request: self._arrive(request))  # type: ignore[misc]
        self._every(LOOK_S, self._look)
        self._every(EXPIRE_S, self._expire)
        while self._events and self._events[0][0] < seconds:
            self.now, _, happen = heapq.heappop(self._events)
            self._set_clock()
            happen()
        for replica, began in self._since.items():
            self._end_visit(replica, "loaded", began, seconds)
        for request in self._waiting.values():
            self.outcome.waits[request.tenant].append(seconds - request.at_s)
        return self.outcome

    # ---- time

    def _set_clock(self) -> None:
        offset_us = int((self._began + self.now - time.time()) * 1e6)
        self.ledger.scripts.offset_us = self.fleet.scripts.offset_us = offset_us

    def _at(self, at_s: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at_s, next(self._numbers), happen))

    def _every(self, period_s: float, happen: Callable[[], None]) -> None:
        def again() -> None:
            happen()
            self._at(self.now + period_s, again)

        self._at(self.now + period_s, again)

    # ---- requests

    def _arrive(self, request: Request) -> None:
        id = f"resp_{next(self._numbers):08d}"
        job = Job(
            id, request.tenant, request.model, "responses", b"{}", b"{}", store=False, load_on_demand=True
        )
        self._requests[id] = self._waiting[id] = request
        self.outcome.demanded_s[request.tenant] += request.run_s
        try:
            admission = self.ledger.admit(job)
        except Rejected:
            self.outcome.refused += 1
            return
        if admission.wants_load:
            self._look()
        self._take_claims()

    def _take_claims(self) -> None:
        for worker in GPUS:
            key = self.ledger.claims_key(self._incarnations[worker])
            for message in self.client.lpop(key, MANY) or ():
                self._begin(worker, decode_claim(message))

    def _begin(self, worker: str, claim: Claim) -> None:
        request = self._requests[claim.id]
        self._waiting.pop(claim.id, None)
        self.outcome.waits[request.tenant].append(self.now - request.at_s)
        self._at(self.now + request.run_s, lambda: self._end(worker, claim))

    def _end(self, worker: str, claim: Claim) -> None:
        release = Release(claim.id, claim.fence, Status.COMPLETED, "stop", tokens=10, log_bytes=20)
        reply = self.ledger.scripts.execute(step(self._incarnations[worker], [], [release]))
        request = self._requests[claim.id]
        self.outcome.served_s[request.tenant] += request.run_s
        for following in reply.claims:
            self._begin(worker, following)
        self._take_claims()
        self._end_drains()

    def _expire(self) -> None:
        self.outcome.failed += self.fleet.registry.expire().ended

    # ---- models

    def _look(self) -> None:
        for outcome in self.on_demand.look() or ():
            if outcome.kind == "load":
                self._load(outcome)
            else:
                self._draining |= {item.replica: item for item in outcome.assignments}
                self._end_drains()
        if self.on_demand.again_s is not None:
            at_s = self.now + max(0.1, self.on_demand.again_s)
            if at_s < self._look_at or self._look_at <= self.now:
                self._look_at = at_s
                self._at(at_s, self._look)

    def _load(self, outcome: LoadOutcome) -> None:
        for item in outcome.assignments:
            model = item.replica.partition("#")[0]
            began = self.now
            self.fleet.replica_starting(item.replica, item.worker, self._incarnations[item.worker])

            def up(item: Assignment = item, began: float = began) -> None:
                self._used[item.worker] += MODEL_MIB
                self._report_memory(item.worker)
                incarnation = self._incarnations[item.worker]
                self.fleet.replica_up(
                    item.replica, item.worker, incarnation, SLOTS, None, memory_mib=MODEL_MIB
                )
                self._workers[item.replica] = item.worker
                self._end_visit(item.replica, "loading", began, self.now)
                self._since[item.replica] = self.now
                self._take_claims()

            self._workers[item.replica] = item.worker
            self._at(self.now + LOAD_S[model], up)
            self.outcome.switches += 1

    def _end_drains(self) -> None:
        """Stop the engines of replicas that make room and have no running request."""
        for replica, item in list(self._draining.items()):
            if self.ledger.jobs_on_replica(replica):
                continue
            del self._draining[replica]
            if replica in self._since:
                self._end_visit(replica, "loaded", self._since.pop(replica), self.now)
            self._at(self.now + UNLOAD_S, lambda item=item, began=self.now: self._down(item, began))  # type: ignore[misc]

    def _down(self, item: Assignment, began: float) -> None:
        self._used[item.worker] -= MODEL_MIB
        self._report_memory(item.worker)
        incarnation = self._incarnations[item.worker]
        self.fleet.replica_down(
            item.replica, item.worker, incarnation, code="unloaded", message="the model was unloaded"
        )
        self._end_visit(item.replica, "unloading", began, self.now)
        self._look()

    def _end_visit(self, replica: str, state: str, began: float, ended: float) -> None:
        if state != "loaded":
            self.outcome.switching_s += min(ended, self.outcome.seconds) - began
        model = replica.partition("#")[0]
        self.outcome.visits.append((self._workers[replica], model, state, began, ended))

    def _report_memory(self, worker: str) -> None:
        memory = DeviceMemory(f"host:{worker}", GPU_MIB, GPU_MIB - self._used[worker])
        self.fleet.report_memory(worker, self._incarnations[worker], memory)
