"""Other choices of the models to load, as other servers make them, for the comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleet.on_demand.choice import Action, Choose, Fit, Room, Step, choose
from fleet.on_demand.cost import Rules
from fleet.on_demand.demand import DemandedModel
from fleet.states import ModelState

Victims = Callable[[DemandedModel, list[DemandedModel]], list[DemandedModel]]
"""The models that may make room for a waiting one, of those that are loaded, in order."""

RESTING = (ModelState.UNLOADED, ModelState.FAILED)


def least_recently_used(models: Sequence[DemandedModel], room: Room, _rules: Rules) -> list[Step]:
    """The oldest request goes first, and the model makes room that was used least recently.

    llama-server's router, llama-swap and Ollama do so, with a queue. That model serves the requests that are
    older than the one that waits.
    """

    def victims(model: DemandedModel, loaded: list[DemandedModel]) -> list[DemandedModel]:
        used = sorted(loaded, key=lambda it: (it.is_in_use, -(it.idle_s or it.resident_s)))
        return [it for it in used[:1] if it.waits_s <= model.waits_s]

    return _in_order(models, room, victims)


def first_in_first_out(models: Sequence[DemandedModel], room: Room, _rules: Rules) -> list[Step]:
    """Requests are served in the order of their arrival: any model makes room that has no older request."""

    def victims(model: DemandedModel, loaded: list[DemandedModel]) -> list[DemandedModel]:
        return sorted((it for it in loaded if it.waits_s <= model.waits_s), key=lambda it: it.waits_s)

    return _in_order(models, room, victims)


def _in_order(models: Sequence[DemandedModel], room: Room, victims: Victims) -> list[Step]:
    steps: list[Step] = []
    leaving: set[str] = set()
    waiting = [model for model in models if model.is_wanted and model.waiting and model.state in RESTING]
    for model in sorted(waiting, key=lambda model: -model.waits_s):
        if room.fit(model.name) is Fit.FITS:
            room.take(model.name)
            steps.append(Step(Action.LOAD, model.name, "first in the queue"))
            continue
        own = [it.name for it in models if it.leaves_for == model.name and it.state is ModelState.UNLOADING]
        if own:
            room.take(model.name, own)
            continue
        loaded = [it for it in models if it.state is ModelState.LOADED and it.name not in leaving]
        for victim in victims(model, loaded):
            if room.fit(model.name, [victim.name]) is Fit.FITS:
                leaving.add(victim.name)
                room.take(model.name, [victim.name])
                steps.append(Step(Action.MAKE_ROOM, victim.name, "makes room", (model.name,)))
                break
    return steps


POLICIES: dict[str, Choose] = {
    "Stoker": choose,
    "LRU with a queue": least_recently_used,
    "FIFO": first_in_first_out,
}
