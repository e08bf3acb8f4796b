"""Loads models for the requests that wait for them: reads, decides, and acts through the fleet."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import orjson

from config.settings import ModelDefinition
from fleet.errors import InsufficientMemory, NoWorker, StateConflict
from fleet.fleet import Fleet
from fleet.load_request import AS_CONFIGURED, LoadOutcome
from fleet.on_demand.choice import Action, Choose, Step, choose
from fleet.on_demand.cost import Rules
from fleet.on_demand.demand import DemandedModel
from fleet.on_demand.room import FleetRoom
from fleet.on_demand.snapshot import read_demand
from fleet.states import ModelState
from governance.authorization import PLATFORM, Authorization
from store.errors import StokerError, StorageUnavailable

logger = logging.getLogger("fleet")

TRANSIENT = (InsufficientMemory, NoWorker, StateConflict)
"""The workers have changed since the look: the next one decides again."""

TURN_S = 5.0
"""How long other processes wait for one that ends while it decides."""


class OnDemand:
    """Decides which models are loaded for the requests that wait. One process at a time does.

    Each step is one script, which checks it again: a process may end between any two of them, and the next
    one that looks continues by what Redis holds. `again_s`: after so many seconds the latest look of this
    process is worth a repeat; None: something else has to happen first. Methods raise `StorageUnavailable`.
    """

    def __init__(self, fleet: Fleet, choice: Choose = choose) -> None:
        self._fleet = fleet
        self._choose = choice
        self._rules = _rules(fleet)
        self._holder = secrets.token_hex(8)
        self.again_s: float | None = None

    def look(self) -> list[LoadOutcome] | None:
        """Take the steps that are due. Returns the outcomes whose workers the caller has to notify.

        None: another process decides at this moment.
        """
        models = self._fleet.current_models()
        self.again_s = None
        if all(model.idle_unload_s is None for model in models) and not self._has_demand():
            return []
        with self._turn() as has_turn:
            if not has_turn:
                return None
            return self._act(models)

    def _has_demand(self) -> bool:
        return bool(self._fleet.client.exists(f"{self._fleet.scripts.prefix}demand"))

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        scripts = self._fleet.scripts
        taken = scripts.run("hold_demand", holder=self._holder, lease_us=int(TURN_S * 1e6))
        try:
            yield bool(taken)
        finally:
            if taken:
                scripts.run("hold_demand", holder=self._holder, lease_us="")

    def _act(self, models: list[ModelDefinition]) -> list[LoadOutcome]:
        demanded = read_demand(self._fleet, models)
        if not any(model.is_wanted or model.idle_unload_s is not None for model in demanded):
            return []
        concerned = {model.name for model in demanded}
        rows = {row.name: row for row in self._fleet.read_rows([it for it in models if it.name in concerned])}
        room = FleetRoom(self._fleet, rows)
        # they go first (`fleet/scaling/`): no other model makes room meanwhile
        surplus = self._waiting_for_surplus(demanded, room, models)
        others = [replace(model, is_wanted=False) if model.name in surplus else model for model in demanded]
        steps = self._choose(others, room, self._rules)
        steps += [Step(Action.WAIT, name, "further replicas of other models end") for name in surplus]
        outcomes: list[LoadOutcome] = []
        notes = {model.name: b"" for model in demanded if model.is_wanted}
        by_name = {model.name: model for model in demanded}
        for step in steps:
            try:
                outcome = self._take(step, by_name)
            except StorageUnavailable:
                raise
            except TRANSIENT as error:
                logger.info(
                    "on demand: %s %s is not possible yet: %s", step.action, step.model, error.message
                )
                continue
            except StokerError as error:
                self._fail(step.model, error.code, error.message)
                continue
            if outcome is not None and outcome.begun:
                logger.info("on demand: %s %s: %s", step.action, step.model, step.reason)
                outcomes.append(outcome)
            if step.again_s is not None:
                self.again_s = step.again_s if self.again_s is None else min(step.again_s, self.again_s)
            if step.action is Action.WAIT:
                notes[step.model] = _note(step, self._fleet.scripts.now())
        if notes:
            self._fleet.scripts.run("note_demand", notes=[item for pair in notes.items() for item in pair])
        return outcomes

    def _waiting_for_surplus(
        self, demanded: list[DemandedModel], room: FleetRoom, models: list[ModelDefinition]
    ) -> list[str]:
        """The wanted models for which replicas that follow the load of other models make room."""
        scaled = [model for model in models if model.scale_max is not None]
        loadable = (ModelState.UNLOADED, ModelState.FAILED)
        wanted = [model.name for model in demanded if model.is_wanted and model.state in loadable]
        if not scaled or not wanted:
            return []
        rows = self._fleet.read_rows(scaled)
        return [name for name in wanted if room.fits_without_surplus(name, rows)]

    def _take(self, step: Step, models: dict[str, DemandedModel]) -> LoadOutcome | None:
        """Take a step. Raises what a load raises."""
        model = models[step.model]
        if step.action is Action.LOAD:
            request = self._fleet.loads.checked(self._fleet.definition(step.model), AS_CONFIGURED)
            return self._fleet.loads.begin(
                step.model, request, _authorization(model), charges=_milliseconds(step)
            )
        if step.action is Action.MAKE_ROOM:
            (beneficiary,) = step.others
            return self._fleet.make_room(
                step.model,
                beneficiary,
                _milliseconds(step),
                _authorization(models[beneficiary]),
                idle_s=step.idle_s,
                pays_return=step.pays_return,
            )
        if step.action is Action.UNLOAD_IDLE:
            return self._fleet.unload_idle(step.model, step.idle_s or 0.0)
        if step.action is Action.FAIL:
            self._fail(step.model, InsufficientMemory.default_code, step.reason)
        return None

    def _fail(self, model: str, code: str, reason: str) -> None:
        """Fail the requests that wait for a model that cannot be loaded."""
        logger.warning("on demand: %s cannot be loaded: %s", model, reason)
        self._fleet.scripts.run("fail_demand", model=model, code=code, message=reason)


def _rules(fleet: Fleet) -> Rules:
    settings = fleet.settings.on_demand
    return Rules(settings.max_loaded, settings.min_residency_s)


def _milliseconds(step: Step) -> dict[str, float]:
    return {tenant: seconds * 1e3 for tenant, seconds in step.charges.items()}


def _authorization(model: DemandedModel) -> Authorization:
    """The platform's authority; the tenant with the most waiting requests is the one that asked."""
    asking = max(model.tenants, key=lambda tenant: tenant.waiting, default=None)
    return PLATFORM if asking is None else PLATFORM.asked_by(asking.tenant)


def _note(step: Step, now: float) -> bytes:
    """What requests wait for, as `demand_note` of the model; `ready_us` is when that is over, if known."""
    ready_us = None if step.ready_s is None else int((now + step.ready_s) * 1e6)
    return orjson.dumps({"reason": step.reason, "models": step.others, "ready_us": ready_us})
