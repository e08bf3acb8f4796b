"""Evaluates the rules, one API process at a time, and keeps what it finds in Redis.

A change and its webhooks are written in one step, by the process whose turn it is still.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson
import redis

from api.operations.alerts.evaluation import Evaluation, Instance, Transition, evaluate, instances_of
from api.operations.alerts.growth import Growth
from api.operations.alerts.rules import Rule
from api.operations.metrics.collector import PlatformState
from api.webhooks.store import Entry, list_of_target
from config.settings import Settings
from governance.authorization import Authorization
from store.errors import StokerError
from store.scripts import Scripts, redis_errors_translated

logger = logging.getLogger("api")

LUA = Path(__file__).parent / "lua"
INTERVAL_S = 15
ATTEMPT_S = 5.0
"""How often each process asks whether it is its turn."""

MAX_WAITING = 1000
"""The deliveries that wait for one target: a receiver that is down must not fill Redis."""

UNREADABLE = (ValueError, TypeError, KeyError)
"""Raised for what another version has written."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A key of the tenant `actor` acknowledged a rule's alerts. Times are in unix seconds.

    `at` is when the evaluation began that the operator knew: what a later one finds is not acknowledged.
    `made_at` is when it was made. `until` is when it ends, at the latest with the alerts; None: with them.
    """

    actor: str
    at: float
    made_at: float
    until: float | None
    note: str

    def covers(self, instance: Instance) -> bool:
        """Whether an alert fired already when its rule was acknowledged: a later one is news."""
        return instance.state == "firing" and instance.since <= self.at


@dataclass(frozen=True, slots=True)
class AlertStates:
    """The alerts at the latest evaluation, None before the first; `now` is the time of the reading.

    `acknowledgements` are also those of the last day whose alerts are resolved.
    """

    now: float
    evaluated_at: float | None
    instances: tuple[Instance, ...]
    acknowledgements: Mapping[str, Acknowledgement]

    def of_rule(self, rule: Rule) -> list[Instance]:
        """The instances of a rule."""
        return [one for one in self.instances if one.rule == rule.name]

    def acknowledgement(self, rule: Rule) -> Acknowledgement | None:
        """The acknowledgement of a rule, unless all alerts that it covers are resolved."""
        found = self.acknowledgements.get(rule.name)
        return found if found and any(map(found.covers, self.of_rule(rule))) else None


class Alerts:
    """Reads the alerts, evaluates the rules, and records acknowledgements. Raises `StorageUnavailable`.

    `targets` are the webhook targets of each event.
    """

    def __init__(
        self, client: redis.Redis, settings: Settings, targets: Mapping[str, Collection[str]]
    ) -> None:
        self.scripts = Scripts(client, settings.redis.prefix, LUA)
        self._targets = targets

    def read(self) -> AlertStates:
        """The alerts of the latest evaluation, and the acknowledgements whose hours are not over."""
        prefix, client = self.scripts.prefix, self.scripts.client
        with redis_errors_translated():
            stored = client.hget(f"{prefix}alerts", "instances")
            fields: dict[bytes, bytes] = client.hgetall(f"{prefix}alert_acknowledgements")
        now = self.scripts.now()
        at: float | None = None
        instances: tuple[Instance, ...] = ()
        if stored:
            with suppress(*UNREADABLE):
                at, instances = instances_of(stored)
        read = {rule.decode(): _acknowledgement(value) for rule, value in fields.items()}
        current = {rule: one for rule, one in read.items() if one.until is None or one.until > now}
        return AlertStates(now, at, instances, current)

    def evaluate(self, read_state: Callable[[], PlatformState]) -> bool:
        """Evaluate the rules if it is this process's turn; False if it is not, or is no longer."""
        turn = self.scripts.run("begin_alerts", interval_us=INTERVAL_S * 1_000_000)
        if not turn:
            return False
        at_us, *stored = turn
        found, transitions = evaluate(_before(*stored), read_state(), int(at_us) / 1e6)
        deliveries = list(self._deliveries(transitions))
        changes = [part for one in transitions for part in _change(one)]
        written = self.scripts.run(
            "write_alerts",
            turn_us=at_us,
            instances=found.instances_json(),
            growth=found.growth.to_json(),
            firing=orjson.dumps(sorted(found.firing)),
            change_count=len(transitions),
            max_waiting=MAX_WAITING,
            entries=[*changes, *deliveries],
        )
        return bool(written == b"ok")

    def acknowledge(self, rule: Rule, evaluated_at: float, hours: int, note: str, by: Authorization) -> None:
        """Acknowledge the alerts of a rule that fired at an evaluation (its time in unix seconds).

        It holds for so many hours (0: until they are resolved).
        """
        self.scripts.run(
            "acknowledge_alert",
            rule=rule.name,
            severity=rule.severity,
            evaluated_us=round(evaluated_at * 1e6),
            hours=hours,
            note=note,
            by=orjson.dumps(by.record()),
        )

    def end_acknowledgement(self, rule: Rule, by: Authorization) -> None:
        """Take the acknowledgement of a rule back, if it covers an alert."""
        if self.read().acknowledgement(rule) is None:
            return
        record = orjson.dumps(by.record())
        self.scripts.run("end_acknowledgement", rule=rule.name, severity=rule.severity, by=record)

    async def run(self, read_state: Callable[[], PlatformState]) -> None:
        """Evaluate until cancelled, each time in a thread."""
        while True:
            try:
                await asyncio.to_thread(self.evaluate, read_state)
            except StokerError as error:
                logger.debug("%s", error.message)  # others warn of it
            except Exception:
                logger.exception("an evaluation of the alerts failed; the next one follows")
            await asyncio.sleep(ATTEMPT_S)

    def _deliveries(self, transitions: Iterable[Transition]) -> Iterable[str | bytes]:
        for one in transitions:
            event = f"alert.{one.state}"
            entry = Entry(one.id, one.at, event, int(one.at), alert=_data(one))
            # a target that does not receive is not sent that it does not
            own = one.label if one.rule.label == "target" else None
            for target in self._targets.get(event, ()):
                if target != own:
                    yield from (list_of_target(target), one.id, entry.to_json(), one.alert_key)


def _before(instances: bytes, growth: bytes) -> Evaluation | None:
    """The evaluation before; None if there was none, or one of another version."""
    with suppress(*UNREADABLE):
        if instances and growth:
            at, found = instances_of(instances)
            return Evaluation(at, Growth.from_json(growth), found)
    return None


def _change(one: Transition) -> tuple[str, ...]:
    return one.rule.name, one.label, one.was, one.state, one.rule.severity, one.summary


def _data(one: Transition) -> dict[str, object]:
    """The data of the event of a webhook."""
    return {
        "id": one.id,
        "alert_key": one.alert_key,
        "name": one.rule.name,
        "severity": one.rule.severity,
        "state": one.state,
        "labels": {one.rule.label: one.label} if one.rule.label else {},
        "value": one.value,
        "threshold": one.rule.threshold,
        "summary": one.summary,
        "at": one.at,
    }


def _acknowledgement(data: bytes) -> Acknowledgement:
    stored = orjson.loads(data)
    until = int(stored["until_us"]) / 1e6 if stored["until_us"] else None
    at_us = stored["at_us"]
    made_us = stored.get("asked_us", at_us)  # an earlier version has stored none
    return Acknowledgement(stored["actor"], int(at_us) / 1e6, int(made_us) / 1e6, until, stored["note"])
