"""Runs a scenario in virtual time: its sessions, a dispatcher, and an engine for each replica."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from benchmarks.locality.dispatchers import Dispatcher, Start
from benchmarks.locality.scenarios import (
    REPLICAS,
    SETTLED_S,
    SLOTS,
    Event,
    Scenario,
    Session,
    sessions,
)
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
from benchmarks.locality.tokens import Phase, PromptTokens, TokensByPhase
from benchmarks.locality.workloads import tenant_name

WARM_UP = 0.1
"""What happens in this first share of the time counts for no figure."""

EXPIRE_S = 0.5
"""How often each process of the platform calls `expire`."""

OUTPUT_WORK = 4
"""The share of an iteration that a token of an answer takes, in tokens of a prompt."""


@dataclass
class Outcome:
    """What happened after the warm-up; all but `tokens` and `added` in the last phase, of `seconds`.

    `first_s` are the times to the first token by tenant, `work` the computed tokens of the requests that have
    ended, `needed` those of them that no replica had computed before: they do not grow when a prompt is
    computed again. `added` has for each request that began on an added replica whether it was the first one
    of its conversation, by phase.
    """

    seconds: float = 0.0
    begun: int = 0
    ended: int = 0
    tokens: TokensByPhase = field(default_factory=TokensByPhase)
    first_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    work: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    added: dict[Phase, list[bool]] = field(default_factory=lambda: defaultdict(list))
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
        self._added: int | None = None
        self.now = 0.0
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._sessions: dict[str, Session] = {}
        self._computed: set[Block] = set()
        self._scenario = scenario
        self._phase: Phase | None = None
        self.outcome = Outcome()
        chance = random.Random(seed)  # noqa: S311 - a workload that can be repeated
        self._all_sessions = sessions(scenario, seed)
        for session in self._all_sessions:
            first_s = chance.uniform(0, min(20.0, 2 * session.clients.think_s + 1))
            self._at(first_s, lambda session=session: self._send(session))  # type: ignore[misc]

    def run(self, seconds: float) -> Outcome:
        """Run until this time."""
        event = self._scenario.event
        begins = {Phase.SETTLED: WARM_UP * seconds}
        if event is not None:
            at_s = seconds / 2
            begins = {
                Phase.BEFORE: WARM_UP * seconds,
                Phase.SETTLING: at_s,
                Phase.SETTLED: at_s + SETTLED_S,
            }
            self._at(
                at_s, {Event.LOSS: self._lose, Event.ADDITION: self._add, Event.FLUSH: self._flush}[event]
            )
        for phase, begins_s in begins.items():
            self._at(begins_s, partial(setattr, self, "_phase", phase))
        for number in range(1, int(seconds / EXPIRE_S)):
            self._at(number * EXPIRE_S, self._expire)
        self.outcome.seconds = seconds - begins[Phase.SETTLED]
        while self._events and self._events[0][0] < seconds:
            self.now, _, happen = heapq.heappop(self._events)
            happen()
        return self.outcome

    @property
    def _counts(self) -> bool:
        return self._phase is Phase.SETTLED

    def _at(self, at_s: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at_s, next(self._numbers), happen))

    def _send(self, session: Session) -> None:
        request = session.request(f"resp_{next(self._numbers):08d}", self.now)
        self._sessions[request.id] = session
        self._begin(self.dispatcher.admit(request, self.now))

    def _begin(self, starts: Sequence[Start]) -> None:
        for replica, request in starts:
            engine = self.engines[replica]
            request.begun_s = self.now
            engine.begin(request)
            request.known = min(self._computed_tokens(request), request.tokens - 1)
            self._count_begin(replica, request)
            self._computed.update(request.blocks)
            if not engine.is_busy:
                self._iterate(engine, replica)

    def _count_begin(self, replica: int, request: SimulatedRequest) -> None:
        if self._phase is None:
            return
        counted = PromptTokens(request.tokens, request.cached, request.known)
        self.outcome.tokens.add(self._phase, request.tenant, counted)
        if replica == self._added:
            self.outcome.added[self._phase].append(self._sessions[request.id].begins)
        if self._counts:
            self.outcome.begun += 1

    def _lose(self) -> None:
        """The first replica and its cache are gone; what it ran begins anew elsewhere."""
        running = self.engines[0].running()
        self.engines[0] = SimulatedEngine(caches(self._scenario)[0], self._scenario.prefill_s)
        for request in running:
            request.generated = 0
        self._begin(self.dispatcher.lose(0, running, self.now))

    def _add(self) -> None:
        """The last replica comes, with an empty cache."""
        self._added = self._scenario.first_replicas
        self._begin(self.dispatcher.add(self._added, self.now))

    def _expire(self) -> None:
        self._begin(self.dispatcher.expire(self.now))

    def _flush(self) -> None:
        """What the concerned tenants have in caches is not found any more."""
        for session in self._all_sessions:
            if tenant_name(session.tenant) in self._scenario.concerned_tenants:
                session.flush()

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
            if not request.has_output:
                request.has_output, request.first_s = True, self.now - request.begun_s
        if ended:
            self._begin(self.dispatcher.end(replica, ended, self.now))
        self._iterate(engine, replica)

    def _end(self, engine: SimulatedEngine, request: SimulatedRequest) -> None:
        session = self._sessions.pop(request.id)
        blocks = session.answered(request.answer_tokens)
        if blocks[: len(request.blocks)] != request.blocks:
            blocks = request.blocks  # a flush came in between
        self._computed.update(blocks)
        engine.cache.end(request, blocks)
        if self._counts:
            self.outcome.ended += 1
            answer = OUTPUT_WORK * request.answer_tokens
            self.outcome.work[request.tenant] += request.tokens - request.cached + answer
            self.outcome.needed[request.tenant] += request.tokens - request.known + answer
        self._at(self.now + session.think_s(), lambda: self._send(session))
