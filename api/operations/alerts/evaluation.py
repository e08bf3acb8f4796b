"""The states of alerts: pending from when a rule holds, firing after its time, resolved once it does not.

`evaluate` is a pure function of what was stored, the platform's state and the time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import orjson

from api.operations.alerts.growth import Growth, grown, is_gap
from api.operations.alerts.measures import Reading
from api.operations.alerts.rules import RULES, Rule
from api.operations.metrics.collector import PlatformState

State = Literal["pending", "firing", "resolved"]
MAX_INSTANCES = 100
"""The most instances of one rule: each of them is a message to an operator."""
RESOLVED_KEPT_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Instance:
    """An alert: a rule, and a label for which it holds or has lately. `since` (unix seconds): of its state.

    `value` is the latest one for which the rule was true.
    """

    rule: str
    label: str
    state: State
    since: float
    value: float


@dataclass(frozen=True, slots=True)
class Transition:
    """An alert began to fire, or was resolved, at a time (unix seconds)."""

    rule: Rule
    label: str
    was: State | Literal["inactive"]
    state: State
    at: float
    value: float

    @property
    def id(self) -> str:
        """The same for one transition, whichever process reports it."""
        text = f"{self.rule.name} {self.label} {self.state} {self.at}"
        return f"alert_{hashlib.sha256(text.encode()).hexdigest()[:32]}"

    @property
    def alert_key(self) -> str:
        """The same for all transitions of one alert: its rule, and its label if it has one."""
        return f"{self.rule.name}:{self.label}" if self.label else self.rule.name

    @property
    def summary(self) -> str:
        """The rule's summary, with the numbers."""
        return self.rule.text(self.label, self.value)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one evaluation has found, for the next one. `at` is in unix seconds."""

    at: float
    growth: Growth
    instances: tuple[Instance, ...] = ()

    def instances_json(self) -> bytes:
        """The instances and the time, for Redis."""
        return orjson.dumps({"at": self.at, "instances": [asdict(one) for one in self.instances]})

    @property
    def firing(self) -> frozenset[str]:
        """The names of the rules with an alert that fires."""
        return frozenset(one.rule for one in self.instances if one.state == "firing")


def instances_of(data: bytes) -> tuple[float, tuple[Instance, ...]]:
    """Decode `instances_json`. Raises `ValueError`, `KeyError` or `TypeError` for anything else."""
    stored = orjson.loads(data)
    return float(stored["at"]), tuple([Instance(**one) for one in stored["instances"]])


def evaluate(
    before: Evaluation | None, state: PlatformState, at: float, rules: Sequence[Rule] = RULES
) -> tuple[Evaluation, list[Transition]]:
    """Evaluate the rules at a time (unix seconds), after the evaluation before."""
    growth = grown(before.growth if before else None, state.counters, at)
    reading = Reading(state, growth)
    earlier = before.instances if before else ()
    if before and is_gap(before.at, at):  # whether the rule was true meanwhile is not known
        ended_or_fires = [one for one in earlier if one.state != "pending"]
        earlier = tuple([replace(one, since=min(one.since, at)) for one in ended_or_fires])
    instances: list[Instance] = []
    transitions: list[Transition] = []
    for rule in rules:
        known = {one.label: one for one in earlier if one.rule == rule.name}
        values = _holding(rule, reading, [one.label for one in known.values() if one.state != "resolved"])
        after: list[Instance] = []
        for label in sorted({*known, *values}):
            old, value = known.get(label), values.get(label)
            new = _after(rule, old, label, value, growth)
            if new is not None:
                after.append(new)
            if new is not None and new.state != "pending" and (old is None or old.state != new.state):
                was = "inactive" if old is None or old.state == "resolved" else old.state
                transitions.append(Transition(rule, label, was, new.state, at, new.value))
        instances += _bounded(after)
    return Evaluation(at, growth, tuple(instances)), transitions


def _holding(rule: Rule, reading: Reading, active: Collection[str]) -> dict[str, float]:
    """The values for which a rule holds, at most so many with those that are active; these come first."""
    if rule.measure is None:
        return {}
    found = {label: value for label, value in rule.measure(reading).items() if rule.holds(value)}
    new = sorted(found.keys() - {*active})[: max(0, MAX_INSTANCES - len(active))]
    return {label: found[label] for label in (*sorted(found.keys() & {*active}), *new)}


def _bounded(instances: list[Instance]) -> list[Instance]:
    """At most so many instances of a rule: without the ones that were resolved first."""
    resolved = sorted((one for one in instances if one.state == "resolved"), key=lambda one: one.since)
    dropped = {one.label for one in resolved[: max(0, len(instances) - MAX_INSTANCES)]}
    return [one for one in instances if one.label not in dropped]


def _after(
    rule: Rule, old: Instance | None, label: str, value: float | None, growth: Growth
) -> Instance | None:
    """An instance after an evaluation; None: it is inactive."""
    at = growth.at
    if value is None:
        if old is None or old.state == "pending":
            return None
        if old.state == "firing":  # after a gap too little of the window is known to resolve it
            return replace(old, state="resolved", since=at) if growth.covers(rule.window_s) else old
        return old if at - old.since < RESOLVED_KEPT_S else None
    if old is not None and old.state == "firing":
        return replace(old, value=value)
    since = old.since if old is not None and old.state == "pending" else at
    if at - since >= rule.hold_s:
        return Instance(rule.name, label, "firing", at, value)
    return Instance(rule.name, label, "pending", since, value)
