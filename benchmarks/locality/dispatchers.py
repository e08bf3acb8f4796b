"""Which replica runs a request, and when: what a dispatcher does, and the rules of other gateways."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from benchmarks.locality.scenarios import REPLICAS, SLOTS
from benchmarks.locality.simulated_engine import Block, SimulatedRequest

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

    def add(self, replica: int, now: float) -> list[Start]:
        """A further replica is up. Returns what begins now."""
        ...

    def expire(self, now: float) -> list[Start]:
        """What is due by time. Returns what begins now."""
        ...


Choose = Callable[[SimulatedRequest, Mapping[int, int], float], int]
"""The number of the replica for a request, given the jobs that run and wait at each that is up."""


class PushDispatcher:
    """A gateway that sends each request to a replica at once; it waits there, first come first served."""

    def __init__(self, choose: Choose, replicas: int = REPLICAS) -> None:
        self._choose = choose
        self._running: dict[int, int] = {}
        self._queues: dict[int, deque[SimulatedRequest]] = {}
        for number in range(replicas):
            self.add(number, 0.0)

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

    def add(self, replica: int, _now: float) -> list[Start]:
        """The replica may be chosen from now on."""
        self._running[replica], self._queues[replica] = 0, deque()
        return []

    def expire(self, _now: float) -> list[Start]:
        """Nothing is due by time."""
        return []

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
