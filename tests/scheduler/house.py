"""A ledger with a loaded model and a worker, driven by hand, with a clock that tests move."""

from __future__ import annotations

import itertools
from dataclasses import replace

import redis

from config.settings import Settings
from fleet.models import Fleet
from scheduler.ledger import Ledger
from scheduler.ticket import Claim, Entry, Release, Status, Ticket
from streams.events import End, TextDelta, decode

COUNTER = itertools.count()


class House:
    """What the API and a worker would do, one call at a time."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.client = client
        self.settings = settings
        self.ledger = Ledger(client, settings)
        self.fleet = Fleet(client, settings)
        self.incarnations: dict[str, str] = {}

    @property
    def prefix(self) -> str:
        return self.ledger.scripts.prefix

    def pass_time(self, seconds: float) -> None:
        self.ledger.scripts.offset_us += int(seconds * 1e6)
        self.fleet.scripts.offset_us = self.ledger.scripts.offset_us

    def register(self, worker: str = "w1") -> str:
        self.incarnations[worker] = self.ledger.register(worker, f"{self.prefix}bells:{worker}", "ring @ID@", "cpu")
        return self.incarnations[worker]

    def load(self, model: str = "alpha", slots: int = 2, replicas: int = 1) -> list[str]:
        change = self.fleet.load(model, replicas)
        for item in change.assignments:
            self.fleet.replica_starting(item.replica, item.worker, self.incarnations[item.worker])
            self.fleet.replica_up(item.replica, item.worker, self.incarnations[item.worker], slots, 4242)
        return [item.replica for item in change.assignments]

    def admit(self, tenant: str = "acme", band: str = "normal", model: str = "alpha", **more: object) -> str:
        ticket = Ticket(f"resp_{next(COUNTER):06d}", tenant, model, "test", b"{}", b"{}", band=band)
        return self.ledger.admit(replace(ticket, **more)).id  # type: ignore[arg-type]

    def claim(self, id: str, worker: str = "w1") -> Claim | None:
        return self.ledger.claim(worker, self.incarnations[worker], id)

    def say(self, claim: Claim, number: int, *texts: str) -> dict[str, str]:
        events = tuple(TextDelta(text).encode() for text in texts)
        return self.ledger.write([Entry(claim.id, claim.fence, number, events)], [])

    def release(self, claim: Claim, status: Status = Status.COMPLETED, **more: object) -> None:
        self.ledger.write([], [Release(claim.id, claim.fence, status, **more)])  # type: ignore[arg-type]

    def status(self, id: str) -> str:
        value = self.client.hget(f"{self.prefix}ticket:{id}", "status")
        return value.decode() if value else "gone"

    def log(self, id: str) -> list[object]:
        return [decode(fields[b"e"]) for _, fields in self.client.xrange(f"{self.prefix}log:{id}")]

    def end(self, id: str) -> End:
        ends = [event for event in self.log(id) if isinstance(event, End)]
        assert len(ends) == 1, f"{id} has {len(ends)} terminal events"
        return ends[0]

    def bells(self, worker: str = "w1") -> list[str]:
        """The ids rung for, the earliest first; hearing them empties the list."""
        heard = []
        while (bell := self.client.rpop(f"{self.prefix}bells:{worker}")) is not None:
            heard.append(bell.decode().removeprefix("ring "))
        return heard

    def taken(self) -> int:
        keys = self.client.keys(f"{self.prefix}slots:*")
        return sum(self.client.scard(key) for key in keys)
