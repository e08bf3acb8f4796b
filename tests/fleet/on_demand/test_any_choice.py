"""What holds for any choice, whatever the models, their tenants and the room: drawn by Hypothesis."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fleet.on_demand.choice import Action, Fit, choose
from fleet.on_demand.cost import Rules
from fleet.on_demand.demand import DemandedModel, TenantUse
from fleet.states import ModelState
from tests.fleet.on_demand.test_choice import Places

SECONDS = st.floats(0.0, 1e4)
TENANTS = st.builds(
    TenantUse,
    st.sampled_from(["acme", "umbrella", "mallory"]),
    waiting=st.integers(0, 3),
    weight=st.sampled_from([0.5, 1.0, 4.0]),
    spent_s=SECONDS,
    priority=st.sampled_from(["high", "normal", "low"]),
)


@st.composite
def models(draw: st.DrawFn) -> list[DemandedModel]:
    names = [f"m{number}" for number in range(draw(st.integers(1, 6)))]
    found = []
    for name in names:
        state = draw(st.sampled_from(list(ModelState)))
        loaded = state is ModelState.LOADED
        waiting, running = draw(st.integers(0, 3)), draw(st.integers(0, 2)) if loaded else 0
        found.append(
            DemandedModel(
                name,
                state,
                load_s=draw(st.floats(0.1, 60.0)),
                unload_s=draw(st.floats(0.1, 5.0)),
                waiting=waiting,
                waits_s=draw(SECONDS) if waiting else 0.0,
                running=running,
                idle_s=0.0 if waiting or running else draw(SECONDS),
                resident_s=draw(SECONDS),
                changed_s=draw(SECONDS),
                tenants=tuple(draw(st.lists(TENANTS, max_size=3, unique_by=lambda one: one.tenant))),
                is_wanted=not loaded and draw(st.booleans()),
                is_paused=draw(st.sampled_from([False, False, True])),
                may_leave=draw(st.booleans()),
                by_request=draw(st.booleans()),
                leaves_for=draw(st.sampled_from([None, *names])),
                return_paid=draw(st.booleans()),
                idle_unload_s=draw(st.sampled_from([None, 60.0])),
            )
        )
    return found


@given(models(), st.integers(0, 3), st.sampled_from([None, 1, 2]), st.data())
def test_a_choice_keeps_its_rules(
    found: list[DemandedModel], free: int, most: int | None, data: st.DataObject
) -> None:
    needs = {model.name: data.draw(st.integers(1, 2), model.name) for model in found}
    rules = Rules(max_loaded=most)
    by_name = {model.name: model for model in found}
    steps = choose(found, Places(free, needs), rules)
    assert max(Counter(step.model for step in steps).values(), default=1) == 1, "a model has one step"
    room = free
    for step in steps:
        model = by_name[step.model]
        if step.action is Action.MAKE_ROOM or step.action is Action.UNLOAD_IDLE:
            assert model.state is ModelState.LOADED
            assert step.action is Action.UNLOAD_IDLE or model.may_leave
            assert model.is_in_use or step.idle_s is not None, "the script checks that it is idle still"
        else:
            assert model.is_wanted
            assert model.waiting
            assert not model.is_paused
        if step.action is Action.MAKE_ROOM:
            assert model.resident_s >= rules.min_residency_s
            assert by_name[step.others[0]].is_wanted
        if step.action is Action.LOAD:
            room -= needs[step.model]
        assert all(amount >= 0 for amount in step.charges.values())
    loads = [step.model for step in steps if step.action is Action.LOAD]
    if not any(step.others for step in steps):
        assert room >= 0, "no more is loaded than fits"
    held = sum(model.by_request and model.state in HELD for model in found)
    assert most is None or not loads or held + len(loads) <= most


HELD = (ModelState.LOADING, ModelState.LOADED, ModelState.UNLOADING)


@given(st.lists(st.tuples(SECONDS, TENANTS), min_size=2, max_size=5), st.data())
def test_no_model_starves(others: list[tuple[float, TenantUse]], data: st.DataObject) -> None:
    """A model that waits long enough is the next one, whoever else waits, and whoever uses the GPU."""
    tenant = data.draw(TENANTS)
    last = DemandedModel(
        "last",
        ModelState.UNLOADED,
        30.0,
        1.0,
        waiting=1,
        waits_s=1e7,
        changed_s=1e9,
        is_wanted=True,
        tenants=(replace(tenant, waiting=1),),
    )
    rivals = [
        replace(last, name=f"rival-{number}", load_s=1.0, waits_s=waits_s, tenants=(replace(use, waiting=1),))
        for number, (waits_s, use) in enumerate(others)
    ]
    used = DemandedModel(
        "used",
        ModelState.LOADED,
        30.0,
        1.0,
        waiting=9,
        running=4,
        resident_s=1e6,
        may_leave=True,
        tenants=(data.draw(TENANTS),),
    )
    assert Places(0).fit("last") is Fit.SHORT
    leave = choose([last, *rivals, used], Places(0), Rules())[0]
    assert (leave.action, leave.model, leave.others) == (Action.MAKE_ROOM, "used", ("last",))
