"""A platform without processes: a test makes the calls of the API and the workers, and moves the clock."""

from __future__ import annotations

import itertools
from dataclasses import replace

import redis

from config.settings import Settings
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.memory import DeviceMemory
from fleet.recovery import Recovery
from scheduler.job import AppendRequest, Claim, Job, Release, Status
from scheduler.ledger import Ledger
from streams.events import End, TextDelta, decode

COUNTER = itertools.count()


class ChannelRecorder:
    """Records the messages that are published on some channels."""

    def __init__(self, client: redis.Redis, prefix: str, *channels: str) -> None:
        self._client = client
        self._prefix = prefix
        self._pubsub = client.pubsub()
        self._pubsub.subscribe(*(prefix + channel for channel in channels))
        for _ in channels:
            assert self._pubsub.get_message(timeout=5)
        self._last = prefix + channels[-1]

    def messages(self) -> list[tuple[str, str]]:
        """Unsubscribe, and return (channel, message) of all that was published until this call."""
        self._client.publish(self._last, "(end of the recording)")
        messages = []
        while (message := self._pubsub.get_message(timeout=5)) is not None:
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
        self.ledger = Ledger(client, settings)
        self.fleet = Fleet(client, settings)
        self.recovery = Recovery(self.fleet)
        self.incarnations: dict[str, str] = {}

    @property
    def prefix(self) -> str:
        return self.ledger.scripts.prefix

    # ---- time

    def advance_time(self, seconds: float) -> None:
        self.ledger.scripts.offset_us += int(seconds * 1e6)
        self.fleet.scripts.offset_us = self.ledger.scripts.offset_us

    def run_for(self, seconds: float, *alive: str, every: float = 1.0) -> int:
        """Let time pass: every second the `alive` workers heartbeat and the reaper runs.

        Returns how many jobs, loads and workers the reaper ended.
        """
        ended = 0
        while seconds > 0:
            step = min(seconds, every)
            self.advance_time(step)
            seconds -= step
            for worker in alive:
                self.ledger.heartbeat(worker, self.incarnations[worker])
            ended += self.ledger.expire()
        return ended

    # ---- workers and models

    def register(self, worker: str = "w1") -> str:
        wake_up_list = f"{self.prefix}wake_ups:{worker}"
        self.incarnations[worker] = self.ledger.register(worker, wake_up_list, "wake @ID@", "cpu")
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

    def crash(self, replica: str, worker: str = "w1", code: str = "engine_crashed") -> None:
        self.fleet.replica_down(
            replica, worker, self.incarnations[worker], code=code, message="killed by SIGSEGV"
        )

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
        return self.ledger.admit(replace(job, **more)).id  # type: ignore[arg-type]

    def claim(self, id: str, worker: str = "w1") -> Claim | None:
        return self.ledger.claim(worker, self.incarnations[worker], id)

    def run(self, id: str, worker: str = "w1") -> Claim:
        """Claim a job that is dispatched."""
        claim = self.claim(id, worker)
        assert claim, f"{id} is {self.status(id)}"
        return claim

    def append_text(self, claim: Claim, number: int, *texts: str) -> dict[str, str]:
        events = tuple(TextDelta(text).encode() for text in texts)
        return self.ledger.append_and_release([AppendRequest(claim.id, claim.fence, number, events)], [])

    def stop_copies(self, id: str) -> None:
        """Lose the copies of all further events, as pub/sub may; the log still gets them."""
        self.client.hset(f"{self.prefix}job:{id}", "subscribers", "")

    def release(self, claim: Claim, status: Status = Status.COMPLETED, **more: object) -> None:
        self.ledger.append_and_release([], [Release(claim.id, claim.fence, status, **more)])  # type: ignore[arg-type]

    def serve_next(self, worker: str = "w1", **release: object) -> str | None:
        """Claim and release the job of the next wake-up message; returns its id, None without a message."""
        id = self.next_wake_up(worker)
        if id is not None:
            self.release(self.run(id, worker), **release)  # type: ignore[arg-type]
        return id

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

    def next_wake_up(self, worker: str = "w1") -> str | None:
        """Take the oldest wake-up message; returns its job id, None without a message."""
        wake_up_message = self.client.rpop(f"{self.prefix}wake_ups:{worker}")
        return wake_up_message.decode().removeprefix("wake ") if wake_up_message else None

    def wake_ups(self, worker: str = "w1") -> list[str]:
        """Take all wake-up messages; returns their job ids, the oldest first."""
        return list(iter(lambda: self.next_wake_up(worker), None))

    def waiting(self, model: str = "alpha") -> list[str]:
        return [id.decode() for id in self.client.zrange(f"{self.prefix}waiting:{model}", 0, -1)]

    def slots_taken(self) -> int:
        keys = self.client.keys(f"{self.prefix}slots:*")
        return sum(self.client.scard(key) for key in keys)
