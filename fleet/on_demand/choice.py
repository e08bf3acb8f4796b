"""Decides which models to load for the requests that wait, and which make room. Pure: numbers in, steps out.

A GPU serves one model after the other, as a server that visits queues and loses time at each switch. The
rules (docs/scheduling.md has their reasons):

1. A waiting model is loaded at once where it fits. Waiting models come in the order of their urgency, after
   those for which another model has made room: what a switch was made for is served.
2. An idle model makes room first, once it was idle for a part of what a switch costs; of several, the one
   whose stay saves the least (`saved_by_staying`).
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
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from fleet.on_demand.cost import Rules, charges, saved_by_staying, time_to_leave, urgency
from fleet.on_demand.demand import DemandedModel
from fleet.states import ModelState

RELEASE_S = 10.0
"""How long a driver may take to report the memory that an unloaded model freed."""


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


@dataclass(frozen=True, slots=True)
class _Victim:
    """A model that may make room for another one: in so many seconds; None: it is in use and stays longer."""

    model: DemandedModel
    ready_s: float

    @property
    def order(self) -> tuple[bool, bool, float, str]:
        """Idle ones first, those first of them that save the least, then those with the longest visit."""
        model = self.model
        worth = -model.resident_s if model.is_in_use else saved_by_staying(model)
        return (self.ready_s > 0, model.is_in_use, worth, model.name)


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
                _Victim(
                    other,
                    min(time_to_leave(waiting, other, self._rules, self._charged) for waiting in self._rest),
                )
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
