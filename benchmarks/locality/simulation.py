"""Runs a scenario in virtual time: its sessions, a dispatcher, and an engine for each replica."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.locality.dispatchers import Dispatcher, Start
from benchmarks.locality.scenarios import REPLICAS, SETTLED_S, SLOTS, Scenario, Session, sessions
from benchmarks.locality.simulated_engine import (
    BLOCK_TOKENS,
    Block,
    BlockCache,
    Iteration,
    PrefixCache,
    SequenceCache,
    SimulatedEngine,
    SimulatedRequest,
)

WARM_UP = 0.1
"""What happens in this first share of the time counts for no figure."""

OUTPUT_WORK = 4
"""The share of an iteration that a token of an answer takes, in tokens of a prompt."""


@dataclass
class Outcome:
    """What happened after the warm-up. Tokens of prompts are counted when a request begins.

    `ideal` are those that any replica has computed before; `first_s` are the times to the first token by
    tenant, `work` the computed tokens of the requests that have ended. `needed` are the tokens of these
    that no replica had computed before: unlike `work`, they do not grow when prompts are computed again.
    """

    seconds: float
    prompt: int = 0
    reused: int = 0
    ideal: int = 0
    ended: int = 0
    first_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    work: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    needed: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def caches(scenario: Scenario) -> list[PrefixCache]:
    """An empty prefix cache for each replica."""
    if scenario.capacity is None:
        return [SequenceCache(SLOTS) for _ in range(REPLICAS)]
    return [BlockCache(scenario.capacity) for _ in range(REPLICAS)]


class Simulation:
    """A run of a scenario."""

    def __init__(
        self, scenario: Scenario, dispatcher: Dispatcher, caches: Sequence[PrefixCache], seed: int
    ) -> None:
        self.dispatcher = dispatcher
        self.engines = [SimulatedEngine(cache, scenario.prefill_s) for cache in caches]
        self.now = 0.0
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._sessions: dict[str, Session] = {}
        self._computed: set[Block] = set()
        self._scenario = scenario
        self._warm_up_s = 0.0
        self.outcome = Outcome(0.0)
        chance = random.Random(seed)  # noqa: S311 - a workload that can be repeated
        for session in sessions(scenario, seed):
            first_s = chance.uniform(0, min(20.0, 2 * session.clients.think_s + 1))
            self._at(first_s, lambda session=session: self._send(session))  # type: ignore[misc]

    def run(self, seconds: float) -> Outcome:
        """Run until this time."""
        self._warm_up_s = WARM_UP * seconds
        if self._scenario.loses_replica:
            self._warm_up_s = seconds / 2 + SETTLED_S
            self._at(seconds / 2, lambda: self._lose(0))
        self.outcome.seconds = seconds - self._warm_up_s
        while self._events and self._events[0][0] < seconds:
            self.now, _, happen = heapq.heappop(self._events)
            happen()
        return self.outcome

    @property
    def _counts(self) -> bool:
        return self.now > self._warm_up_s

    def _at(self, at_s: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at_s, next(self._numbers), happen))

    def _send(self, session: Session) -> None:
        request = session.request(f"resp_{next(self._numbers):08d}", self.now)
        self._sessions[request.id] = session
        self._begin(self.dispatcher.admit(request, self.now))

    def _begin(self, starts: Sequence[Start]) -> None:
        for replica, request in starts:
            engine = self.engines[replica]
            engine.begin(request)
            request.known = min(self._computed_tokens(request), request.tokens - 1)
            if self._counts:
                self.outcome.prompt += request.tokens
                self.outcome.reused += request.cached
                self.outcome.ideal += request.known
            self._computed.update(request.blocks)
            if not engine.is_busy:
                self._iterate(engine, replica)

    def _lose(self, replica: int) -> None:
        """A replica and its cache are gone; what it ran begins anew elsewhere."""
        running = self.engines[replica].running()
        self.engines[replica] = SimulatedEngine(caches(self._scenario)[replica], self._scenario.prefill_s)
        for request in running:
            request.generated = 0
        self._begin(self.dispatcher.lose(replica, running, self.now))

    def _computed_tokens(self, request: SimulatedRequest) -> int:
        known = itertools.takewhile(self._computed.__contains__, request.blocks)
        return BLOCK_TOKENS * sum(1 for _ in known)

    def _iterate(self, engine: SimulatedEngine, replica: int) -> None:
        iteration = engine.next_iteration()
        engine.is_busy = iteration is not None
        if iteration is not None:
            self._at(self.now + iteration.duration_s, lambda: self._end_iteration(engine, replica, iteration))

    def _end_iteration(self, engine: SimulatedEngine, replica: int, iteration: Iteration) -> None:
        if self.engines[replica] is not engine:
            return  # it was lost
        ended = engine.finish(iteration)
        for request in ended:
            self._end(engine, request)
        if self._counts:
            for request in iteration.prompts:
                if not request.has_output:
                    self.outcome.first_s[request.tenant].append(self.now - request.sent_s)
        for request in iteration.prompts:
            request.has_output = True
        if ended:
            self._begin(self.dispatcher.end(replica, ended, self.now))
        self._iterate(engine, replica)

    def _end(self, engine: SimulatedEngine, request: SimulatedRequest) -> None:
        session = self._sessions.pop(request.id)
        blocks = session.answered(request.answer_tokens)
        self._computed.update(blocks)
        engine.cache.end(request, blocks)
        if self._counts:
            self.outcome.ended += 1
            answer = OUTPUT_WORK * request.answer_tokens
            self.outcome.work[request.tenant] += request.tokens - request.cached + answer
            self.outcome.needed[request.tenant] += request.tokens - request.known + answer
        self._at(self.now + session.think_s(), lambda: self._send(session))
