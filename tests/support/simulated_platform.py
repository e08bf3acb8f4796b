"""A platform without processes: a test makes the calls of the API and the workers, and moves the clock."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import replace

import redis

from config.settings import LeaseSettings, Settings
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.memory import DeviceMemory
from fleet.recovery import Recovery
from fleet.scaling.scaling import Scaling
from scheduler.commands import decode_claim
from scheduler.job import AppendRequest, Claim, Job, Release, Status, StepReply
from store.errors import StorageUnavailable
from streams.events import End, TextDelta, decode
from tests.support.thread_ledger import ThreadLedger
from tests.support.waiting import scaled

COUNTER = itertools.count()

LONG_LEASE = LeaseSettings(lease_ms=600_000)
"""For tests of the API, which take seconds on a slow machine, and whose workers send no heartbeats."""


class ChannelRecorder:
    """Records the messages that are published on some channels."""

    def __init__(self, client: redis.Redis, prefix: str, *channels: str) -> None:
        self._client = client
        self._prefix = prefix
        self._pubsub = client.pubsub()
        self._pubsub.subscribe(*(prefix + channel for channel in channels))
        for _ in channels:
            assert self._pubsub.get_message(timeout=scaled(5))
        self._last = prefix + channels[-1]

    def messages(self) -> list[tuple[str, str]]:
        """Unsubscribe, and return (channel, message) of all that was published until this call."""
        self._client.publish(self._last, "(end of the recording)")
        messages = []
        while (message := self._pubsub.get_message(timeout=scaled(5))) is not None:
            if message["data"] == b"(end of the recording)":
                self._pubsub.close()
                return messages
            messages.append(
                (message["channel"].decode().removeprefix(self._prefix), message["data"].decode())
            )
        raise AssertionError("the subscription ended")


class SimulatedPlatform:
    """Makes the calls that the API and the workers would make, one at a time."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.client = client
        self.settings = settings
        self.ledger = ThreadLedger(client, settings)
        self.fleet = Fleet(client, settings)
        self.recovery = Recovery(self.fleet)
        self.scaling = Scaling(self.fleet)
        self.incarnations: dict[str, str] = {}
        self._new_claims: dict[str, list[Claim]] = {}
        self._holders: dict[str, tuple[str, str]] = {}

    @property
    def prefix(self) -> str:
        return self.ledger.scripts.prefix

    # ---- time

    def advance_time(self, seconds: float) -> None:
        self.ledger.scripts.offset_us += int(seconds * 1e6)
        self.fleet.scripts.offset_us = self.ledger.scripts.offset_us

    def real_time(self) -> float:
        """The time that passes beside that of the test, in seconds."""
        return time.monotonic()

    def run_for(self, seconds: float, *alive: str, every: float = 1.0) -> int:
        """Let time pass: every second the `alive` workers heartbeat and the reaper runs.

        The time that these calls take counts as a part of the next second: 600 calls on a slow machine take
        seconds. Returns how many jobs, loads and workers the reaper ended.
        """
        ended = 0
        began = self.real_time()
        while seconds > 0:
            step = min(seconds, every)
            now = self.real_time()
            self.advance_time(max(0.0, step - (now - began)))
            began = now
            seconds -= step
            for worker in alive:
                self.ledger.heartbeat(worker, self.incarnations[worker])
            ended += self.expire()
        return ended

    def expire(self) -> int:
        """Run the reaper until no work is unfinished; returns how many jobs, loads and workers it ended."""
        ended, more = 0, True
        while more:
            reply = self.fleet.registry.expire()
            ended, more = ended + reply.ended, reply.more
        return ended

    # ---- workers and models

    def register(self, worker: str = "w1") -> str:
        self.incarnations[worker] = self.fleet.registry.register(worker, "cpu")
        self._new_claims[worker] = []
        return self.incarnations[worker]

    def report_memory(
        self, worker: str = "w1", free_mib: int = 100, total_mib: int = 100, id: str | None = None
    ) -> None:
        memory = DeviceMemory(f"host:{worker}" if id is None else id, total_mib, free_mib)
        self.fleet.report_memory(worker, self.incarnations[worker], memory)

    def load(self, model: str = "alpha", slots: int = 2, replicas: int = 1) -> list[str]:
        outcome = self.fleet.load(model, LoadRequest(replicas))
        self.finish_load(outcome, slots)
        return [item.replica for item in outcome.assignments]

    def finish_load(self, outcome: LoadOutcome, slots: int = 2, memory_mib: int | None = None) -> None:
        for item in outcome.assignments:
            self.starting(item.replica, item.worker)
            incarnation = self.incarnations[item.worker]
            self.fleet.replica_up(item.replica, item.worker, incarnation, slots, 4242, memory_mib=memory_mib)

    def finish_unload(self, outcome: LoadOutcome) -> None:
        for item in outcome.assignments:
            self.stopped(item.replica, item.worker)

    def starting(self, replica: str, worker: str = "w1") -> str | None:
        start = self.fleet.replica_starting(replica, worker, self.incarnations[worker])
        return start.model if start else None

    def up(self, replica: str, worker: str = "w1", slots: int = 2) -> bool:
        return self.fleet.replica_up(replica, worker, self.incarnations[worker], slots, 4242)

    def crash(
        self,
        replica: str,
        worker: str = "w1",
        code: str = "engine_crashed",
        message: str = "killed by SIGSEGV",
    ) -> None:
        self.fleet.replica_down(replica, worker, self.incarnations[worker], code=code, message=message)

    def stopped(self, replica: str, worker: str = "w1") -> None:
        self.fleet.replica_down(
            replica, worker, self.incarnations[worker], code="unloaded", message="the model was unloaded"
        )

    def model(self, name: str = "alpha") -> str:
        return str(self.fleet.row(name).state)

    # ---- requests

    def admit(
        self, tenant: str = "acme", priority: str = "normal", model: str = "alpha", **more: object
    ) -> str:
        job = Job(f"resp_{next(COUNTER):06d}", tenant, model, "test", b"{}", b"{}", priority=priority)
        if "prefix_keys" in more:  # the API makes none for a model whose jobs they do not concern
            more = {"locality": "fair", **more}
        return self.ledger.admit(replace(job, **more)).id  # type: ignore[arg-type]

    def claims(self, worker: str = "w1") -> list[Claim]:
        """The claims that a worker has received and not started, the oldest first."""
        self.receive(worker, self.take_claim_messages(worker))
        return self._new_claims[worker]

    def take_claim_messages(self, worker: str = "w1") -> list[Claim]:
        """Take all messages from a worker's claim list, as its blocking pop does."""
        key = self.ledger.claims_key(self.incarnations[worker])
        return [decode_claim(message) for message in self.client.lpop(key, 1000) or ()]  # type: ignore[union-attr]

    def receive(self, worker: str, claims: Sequence[Claim]) -> None:
        """Remember the claims that a worker has not seen yet."""
        for claim in claims:
            if claim.fence not in self._holders:
                self._holders[claim.fence] = (worker, self.incarnations[worker])
                self._new_claims[worker].append(claim)

    def claimed(self, worker: str = "w1") -> list[str]:
        """Start all new claims; returns their job ids, the oldest first."""
        ids = [claim.id for claim in self.claims(worker)]
        self._new_claims[worker] = []
        return ids

    def next_claim(self, worker: str = "w1") -> Claim | None:
        """Start the oldest new claim; None without one."""
        claims = self.claims(worker)
        return claims.pop(0) if claims else None

    def run(self, id: str, worker: str = "w1") -> Claim:
        """Start a new claim of that job."""
        found = [claim for claim in self.claims(worker) if claim.id == id]
        assert found, f"{worker} has no new claim of {id}, which is {self.status(id)}"
        self._new_claims[worker].remove(found[-1])
        return found[-1]

    def step(self, claim: Claim, appends: Sequence[AppendRequest], releases: Sequence[Release]) -> StepReply:
        """Write a step of the worker that holds the claim, as the incarnation that received it.

        When the reply is lost, repeat the call, and ask for the claims that were in it.
        """
        worker, incarnation = self._holders[claim.fence]
        try:
            reply = self.ledger.step(incarnation, appends, releases)
        except StorageUnavailable:
            reply = self.ledger.step(incarnation, appends, releases)
            self.receive(worker, self.ledger.take_claims(worker, incarnation, []))
        self.receive(worker, reply.claims)
        return reply

    def append_text(self, claim: Claim, number: int, *texts: str) -> dict[str, str]:
        events = tuple(TextDelta(text).encode() for text in texts)
        return self.step(
            claim, [AppendRequest(claim.id, claim.replica, claim.fence, number, events)], []
        ).stopped

    def stop_copies(self, id: str) -> None:
        """Lose the copies of all further events, as pub/sub may; the log still gets them."""
        self.client.hset(f"{self.prefix}job:{id}", "subscribers", "")
        if self.status(id) == "running":
            slots = f"{self.prefix}slots:{self.field(id, 'replica')}"
            self.client.hset(slots, id, f"{self.field(id, 'fence')} ")

    def release(self, claim: Claim, status: Status = Status.COMPLETED, **more: object) -> None:
        self.step(claim, [], [Release(claim.id, claim.fence, status, **more)])  # type: ignore[arg-type]

    def serve_next(self, worker: str = "w1", **release: object) -> str | None:
        """Run and end the job of the oldest new claim; returns its id, None without one."""
        claim = self.next_claim(worker)
        if claim is None:
            return None
        self.release(claim, **release)  # type: ignore[arg-type]
        return claim.id

    # ---- inspecting

    def record(self, *channels: str) -> ChannelRecorder:
        return ChannelRecorder(self.client, self.prefix, *channels)

    def status(self, id: str) -> str:
        value = self.client.hget(f"{self.prefix}job:{id}", "status")
        return value.decode() if value else "gone"

    def field(self, id: str, name: str) -> str:
        return (self.client.hget(f"{self.prefix}job:{id}", name) or b"").decode()

    def log(self, id: str) -> list[object]:
        return [decode(fields[b"e"]) for _, fields in self.client.xrange(f"{self.prefix}log:{id}")]

    def end(self, id: str) -> End:
        ends = [event for event in self.log(id) if isinstance(event, End)]
        assert len(ends) == 1, f"{id} has {len(ends)} terminal events"
        return ends[0]

    def waiting(self, model: str = "alpha") -> list[str]:
        return [id.decode() for id in self.client.zrange(f"{self.prefix}waiting:{model}", 0, -1)]

    def slots_taken(self) -> int:
        keys = self.client.keys(f"{self.prefix}slots:*")
        return sum(self.client.hlen(key) for key in keys)
