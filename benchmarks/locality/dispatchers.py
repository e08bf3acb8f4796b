"""Which replica runs a request, and when: Stoker's own scripts, and the rules of other gateways."""

from __future__ import annotations

import itertools
import random
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from benchmarks.growth.server import MeasuredServer
from benchmarks.locality.localities import OFF
from benchmarks.locality.scenarios import REPLICAS, SLOTS
from benchmarks.locality.simulated_engine import Block, PrefixCache, SimulatedRequest
from config.settings import LeaseSettings, Locality, ModelDefinition, QueueSettings, Settings
from fleet.engine_report import EngineReport
from fleet.fleet import Fleet
from fleet.load_request import LoadRequest
from fleet.memory import DeviceMemory
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

Start = tuple[int, SimulatedRequest]
"""A request that begins now, and the number of its replica."""


class Dispatcher(Protocol):
    """Assigns requests to replicas. `now` is seconds of virtual time."""

    def admit(self, request: SimulatedRequest, now: float) -> list[Start]:
        """A request arrives. Returns what begins now."""
        ...

    def end(self, replica: int, ended: Sequence[SimulatedRequest], now: float) -> list[Start]:
        """Requests of a replica have ended in one step. Returns what begins now."""
        ...

    def lose(self, replica: int, running: Sequence[SimulatedRequest], now: float) -> list[Start]:
        """A replica is gone for good, with what it ran. Returns what begins now."""
        ...


class LedgerDispatcher:
    """The platform's own scripts on a real server, with a value of the model's option `locality`.

    The scripts read the server's clock and add an offset, so their time is late by the latency of the call:
    two runs with the same seed differ a little. Raises `StorageUnavailable`.
    """

    def __init__(self, server: MeasuredServer, locality: Locality, caches: Sequence[PrefixCache]) -> None:
        model = ModelDefinition(MODEL, "stub", replica_max=REPLICAS, target_inflight=SLOTS, locality=locality)
        self._settings: Settings = server.settings(
            f"locality{next(PREFIXES)}",
            models={MODEL: model},
            queue=QueueSettings(timeout_ms=HOUR_MS, max_depth=MANY, max_depth_per_tenant=MANY),
            lease=LeaseSettings(lease_ms=10 * HOUR_MS),  # virtual time passes without heartbeats
        )
        client = server.command_client(self._settings)
        self._locality = locality
        self._ledger, self._fleet = Ledger(client, self._settings), Fleet(client, self._settings)
        self._began = time.time()
        self._requests: dict[str, SimulatedRequest] = {}
        self._claims: dict[str, Claim] = {}
        self._incarnations: list[str] = []
        self._numbers: dict[str, int] = {}
        self._workers: dict[str, tuple[str, str]] = {}
        self._ledger.scripts.load()
        self._fleet.scripts.load()
        self._load(caches)

    def _load(self, caches: Sequence[PrefixCache]) -> None:
        self._set_clock(0.0)
        incarnations: dict[str, str] = {}
        for number in range(REPLICAS):
            worker = f"w{number}"
            incarnations[worker] = self._fleet.registry.register(worker, "cpu")
            memory = DeviceMemory(f"host:{worker}", MEMORY_MIB, MEMORY_MIB)
            self._fleet.report_memory(worker, incarnations[worker], memory)
        self._incarnations = list(incarnations.values())
        outcome = self._fleet.load(MODEL, LoadRequest(REPLICAS))
        for number, item in enumerate(sorted(outcome.assignments, key=lambda item: item.replica)):
            incarnation = incarnations[item.worker]
            self._fleet.replica_starting(item.replica, item.worker, incarnation)
            cache = caches[number]
            report = EngineReport(cache_capacity=cache.capacity, cache_unit=cache.unit)
            self._fleet.replica_up(item.replica, item.worker, incarnation, SLOTS, None, engine=report)
            self._numbers[item.replica] = number
            self._workers[item.replica] = (item.worker, incarnation)

    def _set_clock(self, now: float) -> None:
        offset_us = int((self._began + now - time.time()) * 1e6)
        self._ledger.scripts.offset_us = self._fleet.scripts.offset_us = offset_us

    def admit(self, request: SimulatedRequest, now: float) -> list[Start]:
        """Call `admit`."""
        self._set_clock(now)
        self._requests[request.id] = request
        job = Job(
            *(request.id, request.tenant, MODEL, "responses", b"{}", b"{}"),
            store=False,
            cost=request.tokens + ANSWER_ESTIMATE,
            locality=self._locality,
            prefix_keys=() if self._locality == OFF else request.keys,
        )
        self._ledger.admit(job)
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
        )

    def _started(self, claims: Sequence[Claim]) -> list[Start]:
        """The claims of a reply, and those that wait for workers."""
        keys = [self._ledger.claims_key(incarnation) for incarnation in self._incarnations]
        replies = self._ledger.scripts.exchange([("LPOP", key, MANY) for key in keys])
        found = [*claims, *(decode_claim(message) for messages in replies for message in messages or ())]
        for claim in found:
            self._claims[claim.id] = claim
        return [(self._numbers[claim.replica], self._requests[claim.id]) for claim in found]


Choose = Callable[[SimulatedRequest, Mapping[int, int], float], int]
"""The number of the replica for a request, given the jobs that run and wait at each that is up."""


class PushDispatcher:
    """A gateway that sends each request to a replica at once; it waits there, first come first served."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._running = dict.fromkeys(range(REPLICAS), 0)
        self._queues: dict[int, deque[SimulatedRequest]] = {number: deque() for number in range(REPLICAS)}

    def admit(self, request: SimulatedRequest, now: float) -> list[Start]:
        """Send the request to its replica."""
        loads = {number: self._running[number] + len(queue) for number, queue in self._queues.items()}
        replica = self._choose(request, loads, now)
        self._queues[replica].append(request)
        return self._fill(replica)

    def end(self, replica: int, ended: Sequence[SimulatedRequest], _now: float) -> list[Start]:
        """The replica begins what waits in its queue."""
        self._running[replica] -= len(ended)
        return self._fill(replica)

    def lose(self, replica: int, running: Sequence[SimulatedRequest], now: float) -> list[Start]:
        """Send what ran and waited there to the others."""
        waiting = self._queues.pop(replica)
        return [start for request in (*running, *waiting) for start in self.admit(request, now)]

    def _fill(self, replica: int) -> list[Start]:
        started: list[Start] = []
        queue = self._queues[replica]
        while queue and self._running[replica] < SLOTS:
            self._running[replica] += 1
            started.append((replica, queue.popleft()))
        return started


def round_robin() -> Choose:
    """Replicas in turn."""
    numbers = itertools.cycle(range(REPLICAS))
    return lambda _request, loads, _now: next(number for number in numbers if number in loads)


def prefix_tree(gateways: int, seed: int) -> Choose:
    """SMG's `cache_aware` with the defaults of its program, in so many processes with a tree each.

    The tree has, for each block, when a replica was last sent a request with it. The rules, of
    model_gateway/src/policies/cache_aware.rs: the least load if loads differ by more than 64 and by more than
    half; else the replica of the longest match, if it covers 0.3 of the prompt; else the least load. The
    simulated gateways know the true loads, which real ones do not.
    """
    max_difference, max_ratio, min_match = 64, 1.5, 0.3
    chance = random.Random(seed)  # noqa: S311 - a workload that can be repeated
    trees: list[dict[Block, dict[int, float]]] = [defaultdict(dict) for _ in range(gateways)]

    def choose(request: SimulatedRequest, loads: Mapping[int, int], now: float) -> int:
        tree = trees[chance.randrange(gateways)]
        replica = least = min(loads, key=lambda number: (loads[number], chance.random()))
        high, low = max(loads.values()), min(loads.values())
        if not (high - low > max_difference and high > max_ratio * low):
            matched, holders = 0, dict[int, float]()
            for block in request.blocks:
                found = {number: at for number, at in tree.get(block, {}).items() if number in loads}
                if not found:
                    break
                matched, holders = matched + 1, found
            replica = max(holders, key=holders.__getitem__) if holders else least
            if matched < min_match * len(request.blocks):
                replica = least
        for block in request.blocks:
            tree[block][replica] = now
        return replica

    return choose
