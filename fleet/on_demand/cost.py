"""What a switch of models costs, and what it is worth: seconds of work saved against seconds of waiting.

A switch takes the load of the waiting model and the unload of the other one. A model that stays saves its
next load; one that is in use has a visit that is a multiple of the switch, so that switching takes a bounded
share of the time. The age of what waits grows without bound. Pure functions; all times are seconds.
docs/scheduling.md has the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fleet.on_demand.demand import NOTHING, DemandedModel

SWITCH_SHARE = 0.2
"""The share of a GPU's time that switching between models in use may take, at most."""

IDLE_SHARE = 0.25
"""A model makes room as an idle one after this part of the switch: its client may send the next request."""

LARGEST_DELAY = 8.0
"""So many times longer, at most, a tenant waits that has caused more switches than others."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings of `on_demand`. `switch_share`: see `SWITCH_SHARE`."""

    max_loaded: int | None = None
    min_residency_s: float = 10.0
    switch_share: float = SWITCH_SHARE
    largest_delay: float = LARGEST_DELAY


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


def saved_by_staying(model: DemandedModel) -> float:
    """The seconds of its next load that an idle model saves in each second for which it stays.

    A model that was used a second ago is probably used in the next second, one that was used an hour ago
    within an hour: so its load, divided by the time since its latest request.
    """
    return model.load_s / max(model.idle_s, 0.001)


def time_to_leave(
    model: DemandedModel, other: DemandedModel, rules: Rules, charged: Mapping[str, float] = NOTHING
) -> float:
    """After how many seconds the other model may make room for this one; 0 or less: now.

    `charged` is added to the accounts of tenants (`DemandedModel.spent_s`).
    """
    switch_s = model.load_s + other.unload_s
    unit = max(switch_s, 0.001)
    ratio = (unit + model.spent_s(charged)) / (unit + other.spent_s(charged))
    delay = min(rules.largest_delay, max(1.0, ratio))
    stays = rules.min_residency_s - other.resident_s
    if not other.is_in_use:
        return max(stays, IDLE_SHARE * switch_s * delay - other.idle_s)
    visit_s = switch_s * (1.0 / rules.switch_share - 1.0)
    visit_s *= delay * other.priority_factor / model.priority_factor
    return max(stays, visit_s - other.resident_s)
