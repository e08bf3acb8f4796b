"""The platform's own scripts as a dispatcher of the simulation."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

from benchmarks.growth.server import MeasuredServer
from benchmarks.locality.dispatchers import Start
from benchmarks.locality.localities import OFF
from benchmarks.locality.scenarios import REPLICAS, SLOTS
from benchmarks.locality.simulated_engine import PrefixCache, SimulatedRequest
from config.settings import LeaseSettings, Locality, ModelDefinition, QueueSettings, Settings
from fleet.engine_report import EngineReport
from fleet.fleet import Fleet
from fleet.load_request import Assignment, LoadRequest, assign_replicas, assignment_arguments
from fleet.memory import DeviceMemory
from fleet.operation import new_operation_id
from governance.authorization import PLATFORM
from scheduler.commands import decode_claim, step
from scheduler.job import Claim, Job, Release, Status
from scheduler.ledger import Ledger
from streams.events import Usage

MODEL = "simulated"
MEMORY_MIB = 80_000
MANY = 10**6
HOUR_MS = 3_600_000
ANSWER_ESTIMATE = 256
"""The tokens of an answer that the API charges for a request without `max_tokens`."""

PREFIXES = itertools.count()


class LedgerDispatcher:
    """The platform's own scripts on a real server, with a value of the model's option `locality`.

    It begins with so many `replicas`, which have the first of `caches`. Each request is admitted by the next
    of so many `processes`, which have a connection each, as API processes do. The scripts read the server's
    clock and add an offset, so their time is late by the latency of the call:
    two runs with the same seed differ a little. Raises `StorageUnavailable`.
    """

    def __init__(
        self,
        server: MeasuredServer,
        locality: Locality,
        caches: Sequence[PrefixCache],
        replicas: int = REPLICAS,
        processes: int = 1,
    ) -> None:
        model = ModelDefinition(MODEL, "stub", replica_max=REPLICAS, target_inflight=SLOTS, locality=locality)
        self._settings: Settings = server.settings(
            f"locality{next(PREFIXES)}",
            models={MODEL: model},
            queue=QueueSettings(timeout_ms=HOUR_MS, max_depth=MANY, max_depth_per_tenant=MANY),
            lease=LeaseSettings(lease_ms=10 * HOUR_MS),  # virtual time passes without heartbeats
        )
        self._locality, self._caches = locality, caches
        self._apis = [Ledger(server.command_client(self._settings), self._settings) for _ in range(processes)]
        self._next_api = itertools.cycle(self._apis)
        self._ledger = self._apis[0]
        self._fleet = Fleet(server.command_client(self._settings), self._settings)
        self._began = time.time()
        self._requests: dict[str, SimulatedRequest] = {}
        self._claims: dict[str, Claim] = {}
        self._incarnations: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._workers: dict[str, tuple[str, str]] = {}
        self._ledger.scripts.load()
        self._fleet.scripts.load()
        self._set_clock(0.0)
        for number in range(REPLICAS):
            worker = f"w{number}"
            self._incarnations[worker] = self._fleet.registry.register(worker, "cpu")
            memory = DeviceMemory(f"host:{worker}", MEMORY_MIB, MEMORY_MIB)
            self._fleet.report_memory(worker, self._incarnations[worker], memory)
        outcome = self._fleet.load(MODEL, LoadRequest(replicas))
        for assignment in sorted(outcome.assignments, key=lambda item: item.replica):
            self._start(assignment)

    def _start(self, assignment: Assignment) -> None:
        """A worker has started the next replica."""
        worker, number = assignment.worker, len(self._numbers)
        incarnation, cache = self._incarnations[worker], self._caches[number]
        self._fleet.replica_starting(assignment.replica, worker, incarnation)
        report = EngineReport(cache_capacity=cache.capacity, cache_unit=cache.unit)
        self._fleet.replica_up(assignment.replica, worker, incarnation, SLOTS, None, engine=report)
        self._numbers[assignment.replica] = number
        self._workers[assignment.replica] = (worker, incarnation)

    def _set_clock(self, now: float) -> None:
        offset_us = int((self._began + now - time.time()) * 1e6)
        self._fleet.scripts.offset_us = offset_us
        for api in self._apis:
            api.scripts.offset_us = offset_us

    def admit(self, request: SimulatedRequest, now: float) -> list[Start]:
        """Call `admit` as the next process."""
        self._set_clock(now)
        self._requests[request.id] = request
        job = Job(
            *(request.id, request.tenant, MODEL, "responses", b"{}", b"{}"),
            store=False,
            cost=request.tokens + ANSWER_ESTIMATE,
            locality=self._locality,
            prefix_keys=() if self._locality == OFF else request.keys,
        )
        next(self._next_api).admit(job)
        return self._started(())

    def end(self, replica: int, ended: Sequence[SimulatedRequest], now: float) -> list[Start]:
        """Call `step` as the worker does: the next claims are in its reply."""
        self._set_clock(now)
        releases = [self._release(request) for request in ended]
        name = next(name for name, number in self._numbers.items() if number == replica)
        reply = self._ledger.scripts.execute(step(self._workers[name][1], [], releases))
        return self._started(reply.claims)

    def lose(self, replica: int, _running: Sequence[SimulatedRequest], now: float) -> list[Start]:
        """Report the crash as the worker does: the jobs of the replica are queued again."""
        self._set_clock(now)
        name = next(name for name, number in self._numbers.items() if number == replica)
        worker, incarnation = self._workers[name]
        self._fleet.replica_down(name, worker, incarnation, code="engine_crashed", message="lost")
        while self._fleet.registry.expire().more:
            pass
        return self._started(())

    def add(self, replica: int, now: float) -> list[Start]:
        """Add a replica as the platform does where replicas follow the load (`fleet.scaling`)."""
        self._set_clock(now)
        free = next(name for name in self._incarnations if name not in dict(self._workers.values()))
        operation = new_operation_id("load")
        (assignment,) = assign_replicas(MODEL, operation, [free])
        self._fleet.scripts.run(
            "restore_replicas",
            model=MODEL,
            operation=operation,
            lease_us=self._fleet.lease_us,
            need_mib="",
            authorization=PLATFORM.argument(),
            grows_from=replica,
            reason="the benchmark adds one",
            places=assignment_arguments([assignment]),
        )
        self._start(assignment)
        return self._started(())

    def expire(self, now: float) -> list[Start]:
        """Call `expire` as every process does."""
        self._set_clock(now)
        self._fleet.registry.expire()
        return self._started(())

    def _release(self, request: SimulatedRequest) -> Release:
        usage = Usage(request.tokens, request.answer_tokens, request.cached)
        claim = self._claims.pop(request.id)
        del self._requests[request.id]
        return Release(
            request.id,
            claim.fence,
            Status.COMPLETED,
            "stop",
            usage=usage.encode(),
            tokens=usage.units,
            work=usage.work(self._settings.queue.cached_token_weight),
            log_bytes=20,
            first_ms=round(request.first_s * 1000),
        )

    def _started(self, claims: Sequence[Claim]) -> list[Start]:
        """The claims of a reply, and those that wait for workers."""
        keys = [self._ledger.claims_key(incarnation) for incarnation in self._incarnations.values()]
        replies = self._ledger.scripts.exchange([("LPOP", key, MANY) for key in keys])
        found = [*claims, *(decode_claim(message) for messages in replies for message in messages or ())]
        for claim in found:
            self._claims[claim.id] = claim
        return [(self._numbers[claim.replica], self._requests[claim.id]) for claim in found]
