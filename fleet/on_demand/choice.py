"""Decides which models to load for the requests that wait, and which make room. Pure: numbers in, steps out.

A GPU serves one model after the other, as a server that visits queues and loses time at each switch. The
rules (docs/scheduling.md has their reasons):

1. A waiting model is loaded at once where it fits. Waiting models come in the order of their urgency, after
   those for which another model has made room: what a switch was made for is served.
2. An idle model makes room first, once it was idle for a part of what a switch costs.
3. A model in use makes room after a visit whose length is a multiple of the switch, so that switching takes
   a bounded share of the time; it is longer for tenants above their share of the switches, within a bound.
   Its running requests end in their own time, and its waiting ones keep their places.
4. A model that makes room does so for the most urgent one, whoever has waited long enough for it.
5. Urgency is the age of the oldest request times bounded factors, so that every model is the most urgent
   one in the end.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from fleet.states import ModelState

SWITCH_SHARE = 0.2
"""The share of a GPU's time that switching between models in use may take, at most."""

IDLE_SHARE = 0.25
"""A model makes room as an idle one after this part of the switch: its client may send the next request."""

LARGEST_DELAY = 8.0
"""So many times longer, at most, a tenant waits that has caused more switches than others."""

PRIORITY_FACTORS = {"high": 2.0, "normal": 1.0, "low": 0.5}

NOTHING: Mapping[str, float] = {}

RELEASE_S = 10.0
"""How long a driver may take to report the memory that an unloaded model freed."""


@dataclass(frozen=True, slots=True)
class TenantUse:
    """A tenant whose jobs wait for a model or run on it.

    `spent_s`: the time of the recent switches that were made for it, divided by its weight.
    """

    tenant: str
    waiting: int = 0
    weight: float = 1.0
    spent_s: float = 0.0
    priority: str = "normal"


@dataclass(frozen=True, slots=True)
class DemandedModel:
    """A model as the choice sees it. Times are seconds; `idle_s` is 0 while requests run or wait.

    `is_wanted`: requests wait for its load, for `waits_s` at most. `is_paused`: it failed, and is tried again
    later. `may_leave`: the configuration permits to unload it for another one. `by_request`: it was loaded
    for requests. `leaves_for` is the model that it makes room for, or made room for last, `changed_s` the
    time since its state changed. `return_paid`: its next load was charged to the tenants for which it was
    unloaded. `work_s` is what its waiting requests take. `tenants`: those that use it, of an idle model the
    last one.
    """

    name: str
    state: ModelState
    load_s: float
    unload_s: float
    waiting: int = 0
    waits_s: float = 0.0
    running: int = 0
    idle_s: float = 0.0
    resident_s: float = 0.0
    changed_s: float = 0.0
    work_s: float = 0.0
    tenants: tuple[TenantUse, ...] = ()
    is_wanted: bool = False
    is_paused: bool = False
    may_leave: bool = False
    by_request: bool = False
    leaves_for: str | None = None
    return_paid: bool = False
    idle_unload_s: float | None = None

    @property
    def is_in_use(self) -> bool:
        """Whether requests run or wait."""
        return bool(self.waiting or self.running)

    @property
    def priority_factor(self) -> float:
        """That of the most urgent of its tenants."""
        return max((PRIORITY_FACTORS[tenant.priority] for tenant in self.tenants), default=1.0)

    def spent_s(self, more: Mapping[str, float] = NOTHING) -> float:
        """What the tenant with the fewest switches has spent: the others share what is done for it.

        `more` is added to the accounts.
        """
        spent = (tenant.spent_s + more.get(tenant.tenant, 0.0) for tenant in self.tenants)
        return min(spent, default=0.0)


class Fit(enum.Enum):
    """Whether a model can be loaded."""

    FITS = enum.auto()
    SHORT = enum.auto()
    NO_WORKER = enum.auto()


class Room(Protocol):
    """The memory of the workers, as far as it is not taken by a step."""

    def fit(self, model: str, without: Collection[str] = ()) -> Fit:
        """Whether a model fits once the models `without` are gone."""
        ...

    def take(self, model: str, without: Collection[str] = ()) -> None:
        """Reserve the room for a model."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings of `on_demand`. `switch_share`: see `SWITCH_SHARE`."""

    max_loaded: int | None = None
    min_residency_s: float = 10.0
    switch_share: float = SWITCH_SHARE
    largest_delay: float = LARGEST_DELAY


class Action(enum.StrEnum):
    """What to do with a model."""

    LOAD = "load"
    MAKE_ROOM = "make room"
    UNLOAD_IDLE = "unload"
    WAIT = "wait"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Step:
    """A step, and its reason in words.

    `others` are the models that make room, or the one that room is made for.
    `idle_s`: only if the model was idle for so long. `charges` are seconds by tenant, divided by its weight.
    `ready_s`: of a wait, the seconds after which it is over, if they are known; `again_s`: after which
    something may be done about it.
    """

    action: Action
    model: str
    reason: str
    others: tuple[str, ...] = ()
    idle_s: float | None = None
    charges: dict[str, float] = field(default_factory=dict)
    pays_return: bool = False
    ready_s: float | None = None
    again_s: float | None = None


Choose = Callable[[Sequence[DemandedModel], Room, Rules], list[Step]]


def choose(models: Sequence[DemandedModel], room: Room, rules: Rules) -> list[Step]:
    """The steps to take now, the most urgent first."""
    return _Choice(models, room, rules).steps()


def urgency(model: DemandedModel) -> float:
    """How urgently a model has to be loaded: it grows with the age of its oldest request without bound."""
    switch_s = model.load_s + model.unload_s
    work = 1.0 + min(1.0, model.work_s / max(switch_s, 0.001))
    spent = 1.0 + min(LARGEST_DELAY - 1.0, model.spent_s() / max(switch_s, 0.001))
    return model.waits_s * model.priority_factor * work / spent


def charges(model: DemandedModel, seconds: float) -> dict[str, float]:
    """The share of each tenant in the seconds of a switch, by its waiting jobs, divided by its weight."""
    jobs = sum(tenant.waiting for tenant in model.tenants)
    return {
        tenant.tenant: seconds * tenant.waiting / jobs / tenant.weight
        for tenant in model.tenants
        if tenant.waiting
    }


@dataclass(frozen=True, slots=True)
class _Victim:
    """A model that may make room for another one: in so many seconds; None: it is in use and stays longer."""

    model: DemandedModel
    ready_s: float

    @property
    def order(self) -> tuple[bool, bool, float, str]:
        """Idle ones first, the longest idle ones first of them, then those with the longest visit."""
        model = self.model
        return (
            self.ready_s > 0,
            model.is_in_use,
            -(model.resident_s if model.is_in_use else model.idle_s),
            model.name,
        )


class _Choice:
    def __init__(self, models: Sequence[DemandedModel], room: Room, rules: Rules) -> None:
        self._models = models
        self._room = room
        self._rules = rules
        self._steps: list[Step] = []
        self._leaving: set[str] = set()
        self._rest: Sequence[DemandedModel] = ()
        self._charged: Counter[str] = Counter()
        self._is_any_placed = False
        held = (ModelState.LOADING, ModelState.LOADED, ModelState.UNLOADING)
        self._held = {model.name for model in models if model.by_request and model.state in held}

    def steps(self) -> list[Step]:
        wanted = [model for model in self._models if model.is_wanted and model.waiting]
        resting = [
            model
            for model in wanted
            if model.state in (ModelState.UNLOADED, ModelState.FAILED) and not model.is_paused
        ]
        resting.sort(key=lambda model: (not self._makers(model), -urgency(model), model.name))
        for place, model in enumerate(resting):
            self._rest = resting[place:]
            self._steps.append(self._place(model))
            self._is_any_placed = self._is_any_placed or self._steps[-1].action is not Action.FAIL
        for model in self._models:
            if self._is_over(model):
                reason = f"no request for {model.idle_s:.0f} s (idle_unload_s)"
                self._steps.append(Step(Action.UNLOAD_IDLE, model.name, reason, idle_s=model.idle_unload_s))
        return self._steps

    def _is_over(self, model: DemandedModel) -> bool:
        if model.idle_unload_s is None or model.state is not ModelState.LOADED or model.name in self._leaving:
            return False
        return not model.is_in_use and model.idle_s >= model.idle_unload_s

    def _place(self, model: DemandedModel) -> Step:
        """What to do for a waiting model."""
        if self._fit(model) is Fit.NO_WORKER:
            return Step(Action.WAIT, model.name, "no worker is running")
        if self._fit(model) is Fit.FITS:
            self._room.take(model.name)
            self._held.add(model.name)
            cost = 0.0 if model.return_paid else model.load_s
            return Step(Action.LOAD, model.name, _why(model), charges=charges(model, cost))
        makers = self._makers(model)
        leaving = [other for other in makers if other.state is ModelState.UNLOADING]
        if leaving:
            names = tuple(other.name for other in leaving)
            self._room.take(model.name, names)
            ready = max(0.0, *(other.unload_s - other.changed_s for other in leaving))
            return Step(Action.WAIT, model.name, "other models leave", names, ready_s=ready)
        if any(other.changed_s < RELEASE_S for other in makers) and self._has_place(()):
            return Step(Action.WAIT, model.name, "the memory is being freed")
        return self._make_room(model)

    def _makers(self, model: DemandedModel) -> list[DemandedModel]:
        """The models that make room for this one, or have done so since its state changed last."""
        return [
            other
            for other in self._models
            if other.leaves_for == model.name
            and (
                other.state is ModelState.UNLOADING
                or (other.state is ModelState.UNLOADED and other.changed_s < model.changed_s)
            )
        ]

    def _make_room(self, model: DemandedModel) -> Step:
        victims = sorted(
            (
                _Victim(other, min(self._ready_s(waiting, other) for waiting in self._rest))
                for other in self._models
                if other.state is ModelState.LOADED and other.may_leave and other.name not in self._leaving
            ),
            key=lambda victim: victim.order,
        )
        chosen = self._smallest(model, [victim for victim in victims if victim.ready_s <= 0])
        if chosen is not None:
            names = [victim.model.name for victim in chosen]
            self._room.take(model.name, names)
            self._leaving.update(names)
            leave = [self._leave(victim.model, model) for victim in chosen]
            for step in leave:
                self._charged.update(step.charges)
            self._steps += leave
            ready = max(victim.model.unload_s for victim in chosen)
            return Step(Action.WAIT, model.name, "other models leave", tuple(names), ready_s=ready)
        by_time = sorted(victims, key=lambda victim: victim.ready_s)
        later = self._smallest(model, by_time)
        if later is not None:
            names = [victim.model.name for victim in later]
            ready = max(victim.ready_s + victim.model.unload_s for victim in later)
            again = max(victim.ready_s for victim in later)
            reason = "other models have their turn"
            return Step(Action.WAIT, model.name, reason, tuple(names), ready_s=ready, again_s=again)
        movable = [
            other.name
            for other in self._models
            if other.state in (ModelState.LOADING, ModelState.LOADED, ModelState.UNLOADING)
            and (other.may_leave or other.state is ModelState.UNLOADING)
        ]
        if self._is_any_placed or self._fit(model, movable) is Fit.FITS:
            return Step(Action.WAIT, model.name, "other models are being loaded or unloaded")
        beside = "the models that may not be unloaded for it"
        if self._room.fit(model.name) is Fit.FITS:
            return Step(Action.FAIL, model.name, f"{beside} are as many as on_demand.max_loaded permits")
        return Step(Action.FAIL, model.name, f"it does not fit beside {beside}")

    def _ready_s(self, model: DemandedModel, other: DemandedModel) -> float:
        """After how many seconds another model may make room for this one; 0 or less: now."""
        switch_s = model.load_s + other.unload_s
        delay = self._delay(model, other, switch_s)
        stays = self._rules.min_residency_s - other.resident_s
        if not other.is_in_use:
            return max(stays, IDLE_SHARE * switch_s * delay - other.idle_s)
        visit_s = switch_s * (1.0 / self._rules.switch_share - 1.0)
        visit_s *= delay * other.priority_factor / model.priority_factor
        return max(stays, visit_s - other.resident_s)

    def _delay(self, model: DemandedModel, other: DemandedModel, switch_s: float) -> float:
        """How much longer than others the tenants of a model wait until another one makes room for it."""
        unit = max(switch_s, 0.001)
        ratio = (unit + model.spent_s(self._charged)) / (unit + other.spent_s(self._charged))
        return min(self._rules.largest_delay, max(1.0, ratio))

    def _leave(self, victim: DemandedModel, model: DemandedModel) -> Step:
        users = {tenant.tenant for tenant in victim.tenants}
        is_used_by_others = bool(users - {tenant.tenant for tenant in model.tenants})
        pays_return = is_used_by_others and victim.is_in_use
        cost = victim.unload_s + (victim.load_s if pays_return else 0.0)
        state = "its visit is over" if victim.is_in_use else f"idle for {victim.idle_s:.0f} s"
        return Step(
            Action.MAKE_ROOM,
            victim.name,
            f"makes room for {model.name}: {state}",
            (model.name,),
            idle_s=None if victim.is_in_use else victim.idle_s,
            charges=charges(model, cost),
            pays_return=pays_return,
        )

    def _smallest(self, model: DemandedModel, victims: Sequence[_Victim]) -> list[_Victim] | None:
        """The first victim that is enough alone, else the first of them that are enough together.

        None: all of them are not enough.
        """
        for victim in victims:
            if self._fit(model, [victim.model.name]) is Fit.FITS:
                return [victim]
        for chosen in accumulate(([victim] for victim in victims), lambda before, more: before + more):
            if self._fit(model, [victim.model.name for victim in chosen]) is Fit.FITS:
                return self._without_needless(model, chosen)
        return None

    def _without_needless(self, model: DemandedModel, chosen: list[_Victim]) -> list[_Victim]:
        for victim in chosen:
            fewer = [other for other in chosen if other is not victim]
            if self._fit(model, [other.model.name for other in fewer]) is Fit.FITS:
                return self._without_needless(model, fewer)
        return chosen

    def _fit(self, model: DemandedModel, without: Sequence[str] = ()) -> Fit:
        fit = self._room.fit(model.name, without)
        return Fit.SHORT if fit is Fit.FITS and not self._has_place(without) else fit

    def _has_place(self, without: Sequence[str]) -> bool:
        """Whether `on_demand.max_loaded` permits one more model."""
        most = self._rules.max_loaded
        return most is None or len(self._held - set(without)) < most


def _why(model: DemandedModel) -> str:
    requests = "1 request waits" if model.waiting == 1 else f"{model.waiting} requests wait"
    return f"{requests}, for {model.waits_s:.0f} s at most"
