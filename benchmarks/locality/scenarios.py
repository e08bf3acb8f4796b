"""The simulated clients: sessions in a closed loop, with the same requests for the same seed.

A session thinks, sends its whole history, reads the answer, and begins another conversation when the last
turn is over. Tenants share no prefix. The letters are those of docs/benchmarks.md.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import blake2b

from benchmarks.locality.simulated_engine import BLOCK_TOKENS, PREFILL_S, Block, SimulatedRequest
from benchmarks.locality.workloads import tenant_name
from generation.prefix_keys import HASH_BYTES, LAST_ITEMS

MIN_USER_TOKENS, MIN_ANSWER_TOKENS = 20, 8
REPLICAS, SLOTS = 4, 8
SETTLED_S = 20.0
"""About two turns of a chat: the mean time to think, and to get an answer."""


@dataclass(frozen=True, slots=True)
class Clients:
    """The sessions of a tenant: means of exponential distributions. A conversation has at least one turn."""

    sessions: int
    system_tokens: int = 768
    user_tokens: int = 120
    answer_tokens: int = 120
    turns: float = 8
    think_s: float = 8.0


class Event(Enum):
    """What happens in the middle of a scenario."""

    LOSS = "a replica is lost"
    ADDITION = "a replica is added"
    FLUSH = "a tenant's cache is flushed"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Tenants with their clients, and the prefix cache of each of the replicas.

    `capacity` is in tokens; None: the engine has one sequence for each slot. `small` are the tenants that ask
    for less than their share, of which the time to the first token is reported. With an `event` the figures
    are those from `SETTLED_S` after it on. A token of a prompt takes `prefill_s`.
    """

    name: str
    title: str
    tenants: tuple[Clients, ...]
    capacity: int | None = 100_000
    small: tuple[int, ...] = ()
    event: Event | None = None
    prefill_s: float = PREFILL_S

    @property
    def small_tenants(self) -> tuple[str, ...]:
        """The names of the small tenants; all without any."""
        return tuple(map(tenant_name, self.small or range(len(self.tenants))))

    @property
    def first_replicas(self) -> int:
        """How many replicas there are at the beginning."""
        return REPLICAS - 1 if self.event is Event.ADDITION else REPLICAS

    @property
    def concerned_tenants(self) -> tuple[str, ...]:
        """The tenants whose caches the event empties; empty: it may concern all."""
        return (tenant_name(0),) if self.event is Event.FLUSH else ()


CHAT = Clients(8)
NEAR = replace(CHAT, sessions=20)
BUSY = Clients(5, system_tokens=640, user_tokens=40, answer_tokens=8, think_s=0.4)
"""More sessions than slots, with short answers: as `busy chats` of the real engines."""

SCENARIOS = (
    Scenario("A", "chats below capacity", (CHAT,) * 8),
    Scenario("B", "chats near capacity", (NEAR,) * 8),
    Scenario("C", "overload, small caches", (replace(CHAT, sessions=32),) * 8, capacity=40_000),
    Scenario("D", "a sequence for each slot", (replace(CHAT, sessions=5),) * 8, capacity=None),
    Scenario(
        "E",
        "three small tenants, retrieval, a hog",
        (
            *(replace(CHAT, sessions=28),) * 3,
            Clients(28, system_tokens=0, user_tokens=2200, answer_tokens=80, turns=1, think_s=2.0),
            replace(CHAT, sessions=112, think_s=3.0),
        ),
        small=(0, 1, 2),
    ),
    Scenario("F", "chats after the loss of a replica", (CHAT,) * 8, event=Event.LOSS),
    Scenario("G", "busy, a sequence for each slot", (BUSY,) * 8, capacity=None),
    Scenario("H", "busy, engines on CPUs", (BUSY,) * 8, prefill_s=0.002),
    Scenario("I", "chats, a replica is added", (CHAT,) * 8, event=Event.ADDITION),
    Scenario("J", "near capacity, a replica is added", (NEAR,) * 8, event=Event.ADDITION),
    Scenario("K", "chats, a tenant is flushed", (CHAT,) * 8, event=Event.FLUSH),
)


class Session:
    """A client of a tenant."""

    def __init__(self, tenant: int, number: int, clients: Clients, seed: int) -> None:
        self.tenant, self.number, self.clients = tenant, number, clients
        self.chance = random.Random(seed * 7919 + number)  # noqa: S311 - a workload that can be repeated
        self._system = clients.system_tokens // BLOCK_TOKENS * BLOCK_TOKENS
        self._conversation = self._epoch = 0
        self._begin_conversation()

    @property
    def begins(self) -> bool:
        """Whether the last request was the first one of its conversation."""
        return len(self._ends) == 1

    def flush(self) -> None:
        """What was cached before has another namespace: no block and no key agrees with the next ones."""
        self._epoch += 1

    def think_s(self) -> float:
        """The time until its next request."""
        return self.chance.expovariate(1 / self.clients.think_s)

    def request(self, id: str, now: float) -> SimulatedRequest:
        """The next request: all that was said so far, and a further message."""
        clients, chance = self.clients, self.chance
        self._tokens += MIN_USER_TOKENS + int(chance.expovariate(1 / clients.user_tokens))
        self._ends.append(self._tokens)
        return SimulatedRequest(
            id,
            tenant_name(self.tenant),
            self._tokens,
            self._blocks(),
            MIN_ANSWER_TOKENS + int(chance.expovariate(1 / clients.answer_tokens)),
            list(self._keys()),
            now,
        )

    def answered(self, tokens: int) -> tuple[Block, ...]:
        """The answer to the last request has so many tokens. Returns the blocks of the history with it."""
        self._tokens += tokens
        blocks = self._blocks()
        self._turns -= 1
        if self._turns <= 0:
            self._begin_conversation()
        return blocks

    def _begin_conversation(self) -> None:
        mean = self.clients.turns
        self._conversation += 1
        self._turns = 1 + int(self.chance.expovariate(1 / mean)) if mean > 1 else 1
        self._tokens = self._system
        self._ends: list[int] = []

    def _blocks(self) -> tuple[Block, ...]:
        shared, own = self._system // BLOCK_TOKENS, self._tokens // BLOCK_TOKENS
        conversation = (self.tenant, self._epoch, self.number, self._conversation)
        return (
            *((self.tenant, self._epoch, at) for at in range(shared)),
            *((*conversation, at) for at in range(shared, own)),
        )

    def _keys(self) -> Iterator[tuple[bytes, int]]:
        """As `generation.prefix_keys`: the end of the system prompt, and of the last messages of the user."""
        if self._system:
            yield _digest(self.tenant, self._epoch), self._system
        for end in self._ends[-LAST_ITEMS:]:
            yield _digest(self.tenant, self._epoch, self.number, self._conversation, end), end


def sessions(scenario: Scenario, seed: int) -> list[Session]:
    """All sessions of a scenario."""
    owners = [tenant for tenant, clients in enumerate(scenario.tenants) for _ in range(clients.sessions)]
    return [Session(tenant, number, scenario.tenants[tenant], seed) for number, tenant in enumerate(owners)]


def _digest(*parts: int) -> bytes:
    return blake2b(repr(parts).encode(), digest_size=HASH_BYTES).digest()
