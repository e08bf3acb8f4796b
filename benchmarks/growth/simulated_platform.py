"""A platform of any size without processes: this class makes the calls of its API, workers and clients."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.growth.server import MeasuredServer
from config.settings import LeaseSettings, ModelDefinition, QueueSettings, RestartSettings
from fleet.fleet import Fleet
from fleet.load_request import Assignment, LoadOutcome, LoadRequest
from fleet.memory import DeviceMemory
from fleet.recovery import Recovery
from generation.prefix_keys import MAX_KEYS, PrefixKey
from scheduler import commands
from scheduler.commands import decode_claim
from scheduler.job import AppendRequest, Claim, Job, Release, Status
from scheduler.ledger import Ledger
from streams.events import TextDelta

GENERATION = b'{"messages":[{"role":"user","content":"' + b"x" * 1000 + b'"}]}'
EVENT = TextDelta(" token").encode()
BATCH = 500
"""The calls of one round trip while a platform is filled."""

CHATS = 4096
"""The conversations to which the requests belong, by turns."""

TURN_TOKENS = 300

MEMORY_MIB = 80_000
MANY = 10**6
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Size:
    """The size of a platform. `slots` are those of each replica of the model that requests name."""

    workers: int = 1
    replicas: int = 1
    slots: int = 256
    tenants: int = 1
    waiting: int = 0


class SimulatedPlatform:
    """A platform on the server, with its own keys. Methods raise `StorageUnavailable`."""

    def __init__(self, server: MeasuredServer, prefix: str, size: Size) -> None:
        models = {
            name: ModelDefinition(name, "stub", replica_max=MANY, target_inflight=size.slots)
            for name in ("measured", "other", "wide")
        }
        queue = QueueSettings(timeout_ms=HOUR_MS, max_depth=MANY, max_depth_per_tenant=MANY)
        # nothing ends by itself while another platform is measured
        lease = LeaseSettings(lease_ms=10 * HOUR_MS)
        restart = RestartSettings(max_restarts=0)  # a crash ends the waiting jobs
        self.settings = server.settings(prefix, models=models, queue=queue, lease=lease, restart=restart)
        client = server.command_client(self.settings)
        self.size = size
        self.ledger, self.fleet = Ledger(client, self.settings), Fleet(client, self.settings)
        self.recovery = Recovery(self.fleet)
        self.client = client
        self.incarnations: dict[str, str] = {}
        self.running: list[Claim] = []
        self.workers_by_replica: dict[str, str] = {}
        self._numbers = itertools.count()

    @property
    def prefix(self) -> str:
        """The prefix of its keys."""
        return self.ledger.scripts.prefix

    # ---- workers and models

    def register(self, worker: str) -> None:
        """Register a worker with memory of its own."""
        self.incarnations[worker] = self.fleet.registry.register(worker, "cpu")
        memory = DeviceMemory(f"host:{worker}", MEMORY_MIB, MEMORY_MIB)
        self.fleet.report_memory(worker, self.incarnations[worker], memory)

    def load(self, model: str, replicas: int, slots: int) -> LoadOutcome:
        """Load a model."""
        outcome = self.fleet.load(model, LoadRequest(replicas))
        self.start_replicas(outcome, slots)
        return outcome

    def start_replicas(self, outcome: LoadOutcome, slots: int) -> None:
        """Start the engines of a load."""
        for item in outcome.assignments:
            incarnation = self.incarnations[item.worker]
            self.fleet.replica_starting(item.replica, item.worker, incarnation)
            self.fleet.replica_up(item.replica, item.worker, incarnation, slots, None)
            self.workers_by_replica[item.replica] = item.worker

    def stop_replica(self, item: Assignment, code: str) -> None:
        """Report that an engine has ended."""
        incarnation = self.incarnations[item.worker]
        self.fleet.replica_down(item.replica, item.worker, incarnation, code=code, message=code)

    def advance_time(self, seconds: float) -> None:
        """Move the clock of all scripts."""
        self.ledger.scripts.offset_us += int(seconds * 1e6)
        self.fleet.scripts.offset_us = self.ledger.scripts.offset_us

    def finish_work(self) -> None:
        """Run the reaper until no work is unfinished."""
        while self.fleet.registry.expire().more:
            pass

    # ---- requests

    def job(self, model: str = "measured") -> Job:
        """The next request; tenants take turns."""
        number = next(self._numbers)
        tenant = f"tenant{number % self.size.tenants}"
        return Job(
            f"resp_{number:08d}",
            tenant,
            model,
            "responses",
            GENERATION,
            b"{}",
            store=False,
            prefix_keys=prefix_keys(number % CHATS, 1 + number // CHATS),
        )

    def admit_many(self, count: int, model: str = "measured") -> None:
        """Admit so many requests, many in one round trip."""
        scripts = self.ledger.scripts
        for first in range(0, count, BATCH):
            jobs = [self.job(model) for _ in range(min(BATCH, count - first))]
            replies = scripts.exchange(
                [scripts.command("admit", commands.admit(job, self.settings).arguments) for job in jobs]
            )
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply

    def take(self, workers: Sequence[str]) -> list[Claim]:
        """Take all claim messages of these workers."""
        keys = [self.ledger.claims_key(self.incarnations[worker]) for worker in workers]
        replies = self.ledger.scripts.exchange([("LPOP", key, MANY) for key in keys])
        return [decode_claim(message) for messages in replies for message in messages or ()]

    def end(self, claim: Claim) -> list[Claim]:
        """Write one event and the end of a job in one step; returns the claims that came in the reply."""
        step = commands.step(
            self.incarnations[self.worker_of(claim)],
            [AppendRequest(claim.id, claim.replica, claim.fence, 1, (EVENT,))],
            [Release(claim.id, claim.fence, Status.COMPLETED, tokens=100)],
        )
        reply = self.ledger.scripts.execute(step)
        return list(reply.claims)

    def worker_of(self, claim: Claim) -> str:
        """The worker of a claim's replica."""
        return self.workers_by_replica[claim.replica]


def prefix_keys(chat: int, turn: int) -> list[PrefixKey]:
    """The keys of a turn: that of the system prompt, which chats share, and those of the last turns."""
    first = max(1, turn - MAX_KEYS + 2)
    texts = ["system", *(f"{chat} {number}" for number in range(first, turn + 1))]
    tokens = [TURN_TOKENS, *(TURN_TOKENS * (1 + number) for number in range(first, turn + 1))]
    hashes = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return list(zip(hashes, tokens, strict=True))


def build(server: MeasuredServer, prefix: str, size: Size) -> SimulatedPlatform:
    """A platform of this size: half of the slots are taken, or all of them when jobs wait."""
    platform = SimulatedPlatform(server, prefix, size)
    platform.ledger.scripts.load()
    platform.fleet.scripts.load()
    for worker in range(size.workers):
        platform.register(f"w{worker}")
    platform.load("other", size.workers, 1)
    platform.load("measured", size.replicas, size.slots)
    slots = size.replicas * size.slots
    platform.admit_many(slots + size.waiting if size.waiting else slots // 2)
    platform.running = platform.take(list(platform.incarnations))
    return platform
