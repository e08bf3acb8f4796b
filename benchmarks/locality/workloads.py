"""The requests of the measured workloads: the same ones for the same seed, without end.

A client sends turns. The messages of a turn are sent at once, each as a request of its own; the first one and
its answer become a part of the history. Texts are words of a list, so that nothing has to be downloaded.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

TEXT = """
the capital model only that was not demo first and you count are one start help weather can country which
add digit numbers your does about small what work from tool unit helpful assistant know language for few them
always same colour come with word platform brief real after comes built day tiny own models serves job step
population made stoker call essay wrote very feeds think quiet stream runs engine text sum some animal plus
cannot without see many core process project minutes
"""
WORDS = TEXT.split()
"""The words of all texts: each is one token of the demo model, of about as many bytes as in other models.

The API estimates tokens from bytes."""

ANSWER_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Turn:
    """Messages that are sent at once, `think_s` after the last answer. `begins`: the history is forgotten."""

    think_s: float
    messages: tuple[str, ...]
    begins: bool = False
    system: str = ""


Shape = Callable[[random.Random, random.Random], Iterator[Turn]]
"""Makes a client's turns from two sources of chance: its tenant's, and its own."""


@dataclass(frozen=True)
class TenantLoad:
    """So many clients of a tenant with the same shape."""

    clients: int
    shape: Shape


@dataclass(frozen=True)
class LocalityWorkload:
    """The load of each tenant. `small`: those of which the time to the first token is reported; none: all.

    With `continues` each turn sends its message and the id of the response before (`previous_response_id`).
    With `flushes` the cache of the first tenant is flushed in the middle, and the figures are those of the
    last quarter. Both are for the platform alone.
    """

    name: str
    title: str
    tenants: tuple[TenantLoad, ...]
    small: tuple[int, ...] = ()
    continues: bool = False
    flushes: bool = False

    @property
    def is_for_peers(self) -> bool:
        """Whether other gateways have what it asks for."""
        return not (self.continues or self.flushes)

    @property
    def small_tenants(self) -> tuple[str, ...]:
        """The names of the small tenants."""
        return tuple(map(tenant_name, self.small or range(len(self.tenants))))

    def clients(self, seed: int) -> Iterator[tuple[str, Iterator[Turn]]]:
        """The tenant of each client, and its turns."""
        for tenant, load in enumerate(self.tenants):
            for client in range(load.clients):
                of_tenant = random.Random(f"{seed} {tenant}")  # noqa: S311 - a workload that can be repeated
                own = random.Random(f"{seed} {tenant} {client}")  # noqa: S311 - as above
                yield tenant_name(tenant), load.shape(of_tenant, own)


def tenant_name(number: int) -> str:
    """The name of a tenant."""
    return f"tenant-{number}"


def text(chance: random.Random, words: int) -> str:
    """So many words."""
    return " ".join(chance.choices(WORDS, k=words))


def chat(tenant: random.Random, own: random.Random, *, think_s: float, turns: int = 8) -> Iterator[Turn]:
    """Conversations of about so many turns, with the tenant's system prompt."""
    system = text(tenant, 600)
    while True:
        for turn in range(min(12, 1 + int(own.expovariate(1 / turns)))):
            yield Turn(own.expovariate(1 / think_s), (text(own, 60),), turn == 0, system)


def shared_system(tenant: random.Random, own: random.Random) -> Iterator[Turn]:
    """Single questions, each with one of the tenant's eight system prompts."""
    systems = [text(tenant, 1000) for _ in range(8)]
    while True:
        yield Turn(own.expovariate(5), (text(own, 50),), begins=True, system=own.choice(systems))


def agent(tenant: random.Random, own: random.Random) -> Iterator[Turn]:
    """Conversations of ten steps without a pause, with outputs of tools of very different lengths."""
    system = text(tenant, 600)
    while True:
        for step in range(10):
            yield Turn(0.05, (text(own, int(10 ** own.uniform(1.2, 2.1))),), step == 0, system)


def tree(tenant: random.Random, own: random.Random) -> Iterator[Turn]:
    """A question, and twice four siblings at once that continue from the same place."""
    system = text(tenant, 300)
    while True:
        yield Turn(own.expovariate(2), (text(own, 800),), begins=True, system=system)
        for _ in range(2):
            yield Turn(0.1, tuple(text(own, 50) for _ in range(4)), system=system)


def retrieval(tenant: random.Random, own: random.Random) -> Iterator[Turn]:
    """Single questions about two of forty documents, in any order: little can be reused."""
    documents = [text(tenant, 500) for _ in range(40)]
    while True:
        found = own.sample(documents, 2)
        yield Turn(own.expovariate(5), (" ".join([*found, text(own, 30)]),), begins=True, system="Read.")


def best_of(tenant: random.Random, own: random.Random) -> Iterator[Turn]:
    """Six equal requests at once, then another question."""
    system = text(tenant, 300)
    while True:
        yield Turn(own.expovariate(1), (text(own, 800),) * 6, begins=True, system=system)


CHAT = partial(chat, think_s=1.0)
WORKLOADS = (
    LocalityWorkload("chats", "chats below capacity", (TenantLoad(2, CHAT),) * 4),
    LocalityWorkload("busy chats", "chats near capacity", (TenantLoad(5, partial(chat, think_s=0.4)),) * 4),
    LocalityWorkload("system prompts", "shared system prompts", (TenantLoad(3, shared_system),) * 4),
    LocalityWorkload("agents", "agents of ten steps", (TenantLoad(2, agent),) * 4),
    LocalityWorkload("trees", "siblings at once", (TenantLoad(1, tree),) * 4),
    LocalityWorkload("retrieval", "two of forty documents", (TenantLoad(3, retrieval),) * 4),
    LocalityWorkload("best of six", "six equal requests at once", (TenantLoad(1, best_of),) * 3),
    LocalityWorkload(
        "hog",
        "three small tenants beside one with twelve clients",
        (*(TenantLoad(2, CHAT),) * 3, TenantLoad(12, partial(chat, think_s=0.05))),
        small=(0, 1, 2),
    ),
    LocalityWorkload(
        "responses", "chats by previous_response_id", (TenantLoad(2, CHAT),) * 4, continues=True
    ),
    LocalityWorkload("flush", "chats, a tenant is flushed", (TenantLoad(2, CHAT),) * 4, flushes=True),
)
BY_NAME = {workload.name: workload for workload in WORKLOADS}
