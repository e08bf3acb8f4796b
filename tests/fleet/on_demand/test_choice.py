"""Which models are loaded and which make room: the choice is a function of numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from fleet.on_demand.choice import Action, Fit, Step, choose
from fleet.on_demand.cost import LARGEST_DELAY, Rules, charges
from fleet.on_demand.demand import DemandedModel, TenantUse
from fleet.states import ModelState

RULES = Rules(min_residency_s=10.0)
VISIT_S = 4 * (5.0 + 1.0)
"""The length of a visit: a switch takes 6 s, and a fifth of the time."""


class Places:
    """Room for so many models; a model may need more than one place."""

    def __init__(self, free: int, needs: dict[str, int] | None = None) -> None:
        self.free = free
        self.needs = needs or {}

    def fit(self, model: str, without: Collection[str] = ()) -> Fit:
        freed = sum(self.needs.get(name, 1) for name in without)
        return Fit.FITS if self.free + freed >= self.needs.get(model, 1) else Fit.SHORT

    def take(self, model: str, without: Collection[str] = ()) -> None:
        self.free += sum(self.needs.get(name, 1) for name in without) - self.needs.get(model, 1)


def waiting(
    name: str = "wanted", waits_s: float = 1.0, tenant: str = "acme", **more: object
) -> DemandedModel:
    model = DemandedModel(
        name,
        ModelState.UNLOADED,
        load_s=5.0,
        unload_s=1.0,
        waiting=1,
        waits_s=waits_s,
        changed_s=1e9,
        tenants=(TenantUse(tenant, waiting=1),),
        is_wanted=True,
        may_leave=True,
    )
    return replace(model, **more)  # type: ignore[arg-type]


def resident(
    name: str = "other", resident_s: float = 1e3, idle_s: float = 0.0, **more: object
) -> DemandedModel:
    model = DemandedModel(
        name,
        ModelState.LOADED,
        load_s=5.0,
        unload_s=1.0,
        running=0 if idle_s else 1,
        idle_s=idle_s,
        resident_s=resident_s,
        tenants=(TenantUse("umbrella"),),
        may_leave=True,
        by_request=True,
    )
    return replace(model, **more)  # type: ignore[arg-type]


def actions(steps: list[Step]) -> list[tuple[str, str]]:
    return [(step.action.name, step.model) for step in steps]


def test_a_model_that_fits_is_loaded_and_the_tenant_pays_its_load() -> None:
    (step,) = choose([waiting()], Places(1), RULES)
    assert (step.action, step.model, step.charges) == (Action.LOAD, "wanted", {"acme": 5.0})


def test_a_model_whose_return_was_paid_is_loaded_for_nothing() -> None:
    (step,) = choose([waiting(return_paid=True)], Places(1), RULES)
    assert step.charges == {"acme": 0.0}


def test_a_load_is_charged_by_waiting_jobs_and_weight() -> None:
    tenants = (TenantUse("acme", waiting=3), TenantUse("umbrella", waiting=1, weight=2.0), TenantUse("wayne"))
    assert charges(waiting(tenants=tenants), 8.0) == {"acme": 6.0, "umbrella": 1.0}


def test_the_model_with_the_older_request_is_loaded_first() -> None:
    models = [waiting("new", 1.0), waiting("old", 9.0)]
    assert actions(choose(models, Places(1), RULES))[0] == ("LOAD", "old")


def test_a_higher_priority_outweighs_age_only_up_to_a_bound() -> None:
    urgent = waiting("urgent", 10.0, tenants=(TenantUse("acme", 1, priority="high"),))
    assert actions(choose([waiting("old", 15.0), urgent], Places(1), RULES))[0] == ("LOAD", "urgent")
    assert actions(choose([waiting("old", 30.0), urgent], Places(1), RULES))[0] == ("LOAD", "old")


def test_every_model_is_the_most_urgent_one_in_the_end() -> None:
    greedy = (TenantUse("acme", 1, spent_s=1e9, priority="low"),)
    urgent = (TenantUse("wayne", 99, priority="high"),)
    models = [waiting("last", 1_000.0, tenants=greedy), waiting("first", 10.0, tenants=urgent, work_s=1e9)]
    assert actions(choose(models, Places(1), RULES))[0] == ("LOAD", "last")


def test_an_idle_model_makes_room_before_one_in_use() -> None:
    models = [waiting(), resident("busy"), resident("idle", idle_s=20.0), resident("idler", idle_s=30.0)]
    leave, wait = choose(models, Places(0), RULES)
    assert (leave.action, leave.model, leave.others) == (Action.MAKE_ROOM, "idler", ("wanted",))
    assert leave.idle_s == 30.0
    assert (wait.action, wait.reason) == (Action.WAIT, "other models leave")


def test_the_idle_model_makes_room_whose_stay_saves_the_least() -> None:
    """A load of a minute that may be needed again is worth more than one of five seconds."""
    models = [waiting(), resident("slow", idle_s=60.0, load_s=60.0), resident("fast", idle_s=20.0)]
    leave, _ = choose(models, Places(0), RULES)
    assert (leave.action, leave.model) == (Action.MAKE_ROOM, "fast")
    models = [waiting(), resident("slow", idle_s=600.0, load_s=60.0), resident("fast", idle_s=20.0)]
    leave, _ = choose(models, Places(0), RULES)
    assert (leave.action, leave.model) == (Action.MAKE_ROOM, "slow")


def test_a_model_that_was_idle_for_a_moment_stays() -> None:
    (step,) = choose([waiting(), resident(idle_s=0.5)], Places(0), RULES)
    assert (step.action, step.reason) == (Action.WAIT, "other models have their turn")
    assert step.again_s == pytest.approx(1.0)


def test_a_model_stays_at_least_its_residency() -> None:
    (step,) = choose([waiting(), resident(resident_s=4.0, idle_s=4.0)], Places(0), RULES)
    assert (step.action, step.again_s) == (Action.WAIT, pytest.approx(6.0))


def test_a_model_in_use_makes_room_after_its_visit() -> None:
    (step,) = choose([waiting(), resident(resident_s=VISIT_S - 1)], Places(0), RULES)
    assert (step.action, step.again_s) == (Action.WAIT, pytest.approx(1.0))
    leave, _ = choose([waiting(), resident(resident_s=VISIT_S)], Places(0), RULES)
    assert (leave.action, leave.idle_s) == (Action.MAKE_ROOM, None)


def test_a_tenant_that_displaces_a_model_in_use_pays_its_return() -> None:
    leave, _ = choose([waiting(), resident()], Places(0), RULES)
    assert (leave.pays_return, leave.charges) == (True, {"acme": 6.0})
    leave, _ = choose([waiting(), resident(idle_s=50.0)], Places(0), RULES)
    assert (leave.pays_return, leave.charges) == (False, {"acme": 1.0})
    leave, _ = choose([waiting(tenant="umbrella"), resident()], Places(0), RULES)
    assert not leave.pays_return, "the model is its own"


def test_a_tenant_above_its_share_waits_longer_within_a_bound() -> None:
    def visit_of(spent_s: float) -> float:
        model = waiting(tenants=(TenantUse("acme", 1, spent_s=spent_s),))
        (step,) = choose([model, resident(resident_s=11.0)], Places(0), RULES)
        assert step.again_s is not None
        return step.again_s + 11.0

    assert visit_of(0.0) == pytest.approx(VISIT_S)
    assert visit_of(12.0) == pytest.approx(3 * VISIT_S)
    assert visit_of(1e9) == pytest.approx(LARGEST_DELAY * VISIT_S)


def test_a_tenant_below_its_share_shares_its_right_with_others() -> None:
    tenants = (TenantUse("acme", 1, spent_s=1e9), TenantUse("wayne", 1))
    leave, _ = choose([waiting(tenants=tenants), resident(resident_s=VISIT_S)], Places(0), RULES)
    assert leave.action is Action.MAKE_ROOM


def test_a_tenant_that_asks_for_many_models_does_not_displace_all_others_at_once() -> None:
    asked = [waiting(f"wanted-{number}", tenant="mallory") for number in range(3)]
    used = [
        resident(f"other-{number}", VISIT_S, tenants=(TenantUse(f"tenant-{number}"),)) for number in range(3)
    ]
    steps = choose([*asked, *used], Places(0), RULES)
    assert [step.action for step in steps].count(Action.MAKE_ROOM) == 1


@pytest.mark.parametrize("model", [resident(may_leave=False), resident(may_leave=False, idle_s=1e3)])
def test_a_request_fails_that_only_fits_without_a_model_that_may_not_leave(model: DemandedModel) -> None:
    (step,) = choose([waiting(), model], Places(0), RULES)
    assert step.action is Action.FAIL


def test_a_request_fails_for_the_number_of_models_and_not_for_memory_that_is_free() -> None:
    rules, pinned = replace(RULES, max_loaded=1), resident(may_leave=False)
    (step,) = choose([waiting(), pinned], Places(9), rules)
    assert step.action is Action.FAIL
    assert "on_demand.max_loaded" in step.reason
    (step,) = choose([waiting(), pinned], Places(0), RULES)
    assert "does not fit beside" in step.reason


def test_no_second_model_makes_room_while_one_leaves() -> None:
    leaving = resident("leaving", state=ModelState.UNLOADING, leaves_for="wanted", changed_s=0.4)
    (step,) = choose([waiting(), leaving, resident(idle_s=50.0)], Places(0), RULES)
    assert (step.action, step.others, step.ready_s) == (Action.WAIT, ("leaving",), pytest.approx(0.6))


def test_no_second_model_makes_room_while_the_driver_frees_the_memory() -> None:
    left = DemandedModel("left", ModelState.UNLOADED, 5.0, 1.0, leaves_for="wanted", changed_s=1.0)
    (step,) = choose([waiting(), left, resident(idle_s=50.0)], Places(0), RULES)
    assert (step.action, step.reason) == (Action.WAIT, "the memory is being freed")
    late = replace(left, changed_s=11.0)
    assert choose([waiting(), late, resident(idle_s=50.0)], Places(0), RULES)[0].action is Action.MAKE_ROOM


def test_the_room_that_is_made_for_a_model_is_not_taken_by_another_one() -> None:
    leaving = resident("leaving", state=ModelState.UNLOADING, leaves_for="wanted")
    steps = choose([waiting(waits_s=5.0), waiting("second"), leaving, resident()], Places(0), RULES)
    assert actions(steps) == [("WAIT", "wanted"), ("MAKE_ROOM", "other"), ("WAIT", "second")]


def test_a_model_that_room_was_made_for_is_loaded_before_older_requests() -> None:
    left = waiting("left", 99.0, leaves_for="wanted", changed_s=1.0, tenant="wayne")
    assert actions(choose([waiting(), left], Places(1), RULES))[0] == ("LOAD", "wanted")
    served = waiting(changed_s=0.5)  # it was loaded since, and is unloaded again
    assert actions(choose([served, left], Places(1), RULES))[0] == ("LOAD", "left")


def test_several_models_make_room_for_a_large_one_and_none_without_need() -> None:
    models = [waiting(), *(resident(name, idle_s=20.0 + at) for at, name in enumerate("abc"))]
    steps = choose(models, Places(0, {"wanted": 3, "a": 1, "b": 1, "c": 2}), RULES)
    assert sorted(actions(steps)) == [("MAKE_ROOM", "b"), ("MAKE_ROOM", "c"), ("WAIT", "wanted")]


def test_no_more_models_are_loaded_by_requests_than_the_settings_permit() -> None:
    rules = replace(RULES, max_loaded=1)
    (step,) = choose([waiting(), resident()], Places(9), replace(rules, max_loaded=2))
    assert step.action is Action.LOAD
    leave, wait = choose([waiting(), resident(idle_s=50.0)], Places(9), rules)
    assert (leave.action, wait.action) == (Action.MAKE_ROOM, Action.WAIT)
    (step,) = choose([waiting(), resident(by_request=False, may_leave=False)], Places(9), rules)
    assert step.action is Action.LOAD, "an operator loaded the other one"


def test_of_two_waiting_models_for_one_place_the_second_waits() -> None:
    rules = replace(RULES, max_loaded=1)
    steps = choose([waiting("first", 2.0), waiting("second")], Places(9), rules)
    assert actions(steps) == [("LOAD", "first"), ("WAIT", "second")]


@pytest.mark.parametrize("state", [ModelState.LOADING, ModelState.LOADED, ModelState.UNLOADING])
def test_a_model_that_is_on_its_way_is_left_alone(state: ModelState) -> None:
    assert choose([waiting(state=state, may_leave=False)], Places(9), RULES) == []


def test_a_model_in_its_pause_is_not_loaded() -> None:
    assert choose([waiting(is_paused=True)], Places(9), RULES) == []


def test_a_model_without_requests_is_unloaded_after_its_time() -> None:
    (step,) = choose([resident(idle_s=30.0, idle_unload_s=30.0)], Places(0), RULES)
    assert (step.action, step.model, step.idle_s) == (Action.UNLOAD_IDLE, "other", 30.0)
    assert choose([resident(idle_s=29.0, idle_unload_s=30.0)], Places(0), RULES) == []
    assert choose([resident(idle_unload_s=30.0)], Places(0), RULES) == []
