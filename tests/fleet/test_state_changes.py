"""Each change of a model's state is told once, in the order of the letters in fleet/README.md."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleet.errors import StateConflict
from fleet.fleet import SETTLING_S
from fleet.load_request import LoadRequest
from fleet.state_changes import FIRST, Changes
from tests.support.simulated_platform import House

Told = tuple[str, str, str | None]
UP: list[Told] = [("unloaded", "loading", None), ("loading", "loaded", None)]


def changes(house: House) -> Changes:
    return Changes(house.client, house.settings.redis.prefix)


def told(house: House, model: str = "alpha") -> list[Told]:
    """(was, state, code) of each change of a model so far."""
    entries = changes(house).read(FIRST)
    return [(str(one.was), str(one.state), one.code) for one in entries if one.model == model]


def begins(house: House) -> list[Told]:
    house.fleet.load("alpha")
    return UP[:1]


def begins_again_after_a_failure(house: House) -> list[Told]:
    house.crash(house.load()[0])
    house.fleet.load("alpha")
    return [*UP, ("loaded", "failed", "engine_crashed"), ("failed", "loading", None)]


def comes_up(house: House) -> list[Told]:
    house.load()
    return UP


def does_not_come_up(house: House) -> list[Told]:
    item = house.fleet.load("alpha").assignments[0]
    house.starting(item.replica, item.worker)
    house.crash(item.replica, item.worker, code="load_failed")
    return [UP[0], ("loading", "failed", "load_failed")]


def loses_its_worker_while_it_loads(house: House) -> list[Told]:
    house.register(house.fleet.load("alpha").assignments[0].worker)
    return [UP[0], ("loading", "failed", "load_interrupted")]


def loses_its_worker(house: House) -> list[Told]:
    house.load()
    house.register("w1")
    return [*UP, ("loaded", "failed", "worker_lost")]


def loses_its_engine(house: House) -> list[Told]:
    house.crash(house.load()[0])
    return [*UP, ("loaded", "failed", "engine_crashed")]


def goes_down(house: House) -> list[Told]:
    house.load()
    house.bring_down(house.fleet.unload("alpha"))
    return [*UP, ("loaded", "unloading", None), ("unloading", "unloaded", None)]


def loses_its_worker_while_it_unloads(house: House) -> list[Told]:
    house.load()
    house.fleet.unload("alpha")
    house.register("w1")
    return [*UP, ("loaded", "unloading", None), ("unloading", "unloaded", None)]


def leaves_with_its_worker(house: House) -> list[Told]:
    house.load()
    house.ledger.deregister("w1", house.incarnations["w1"], "shut down")
    return [*UP, ("loaded", "unloaded", None)]


def leaves_with_its_worker_while_it_loads(house: House) -> list[Told]:
    worker = house.fleet.load("alpha").assignments[0].worker
    house.ledger.deregister(worker, house.incarnations[worker], "shut down")
    return [UP[0], ("loading", "unloaded", None)]


def is_unloaded_after_a_failure(house: House) -> list[Told]:
    house.crash(house.load()[0])
    house.fleet.unload("alpha")
    return [*UP, ("loaded", "failed", "engine_crashed"), ("failed", "unloaded", None)]


def what_is_left_of_a_failure_is_unloaded(house: House) -> list[Told]:
    failing, left = house.fleet.load("alpha", LoadRequest(2)).assignments
    house.crash(failing.replica, failing.worker, code="load_failed")
    house.fleet.unload("alpha")
    house.stopped(left.replica, left.worker)
    return [
        UP[0],
        ("loading", "failed", "load_failed"),
        ("failed", "unloading", None),
        ("unloading", "unloaded", None),
    ]


def waits_for_another_and_goes_on(house: House) -> list[Told]:
    house.load("beta")
    change = house.fleet.load("alpha", LoadRequest(evict="beta"))
    assert change.first
    house.bring_down(change.first)
    house.bring_up(house.rescue.resume_pending()[0])
    return UP


def waits_for_another_and_finds_no_room(house: House) -> list[Told]:
    house.load("beta")
    change = house.fleet.load("alpha", LoadRequest(evict="beta"))
    assert change.first
    house.bring_down(change.first)
    house.fleet.report_artifacts({"alpha": 60})
    for worker in ("w1", "w2"):
        house.tell_memory(worker, 10)
    house.pass_time(SETTLING_S + 1)
    house.rescue.resume_pending()
    return [UP[0], ("loading", "failed", "insufficient_memory")]


def waits_for_another_in_vain(house: House) -> list[Told]:
    house.load("beta")
    house.fleet.load("alpha", LoadRequest(evict="beta"))
    house.live(2 * (house.settings.limits.unload_timeout_s + SETTLING_S) + 2, "w1", "w2", every=1.9)
    return [UP[0], ("loading", "failed", "load_timeout")]


def loses_one_of_two_and_gets_another(house: House) -> list[Told]:
    house.load(replicas=2)
    house.register("w2")
    house.bring_up(house.rescue.replace_lost()[0])
    return UP


def the_platform_starts_anew(house: House) -> list[Told]:
    house.load()
    house.fleet.restart_load()
    return [*UP, ("loaded", "unloaded", None)]


def the_platform_starts_anew_after_a_failure(house: House) -> list[Told]:
    house.crash(house.load()[0])
    house.fleet.restart_load()
    return [*UP, ("loaded", "failed", "engine_crashed"), ("failed", "unloaded", None)]


LIVES = [
    begins,
    begins_again_after_a_failure,
    comes_up,
    does_not_come_up,
    loses_its_worker_while_it_loads,
    loses_its_worker,
    loses_its_engine,
    goes_down,
    loses_its_worker_while_it_unloads,
    leaves_with_its_worker,
    leaves_with_its_worker_while_it_loads,
    is_unloaded_after_a_failure,
    what_is_left_of_a_failure_is_unloaded,
    waits_for_another_and_goes_on,
    waits_for_another_and_finds_no_room,
    waits_for_another_in_vain,
    loses_one_of_two_and_gets_another,
    the_platform_starts_anew,
    the_platform_starts_anew_after_a_failure,
]


@pytest.mark.rule("beyond/events")
@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.__name__)
def test_a_change_of_a_state_is_told_once(house: House, life: Callable[[House], list[Told]]) -> None:
    expected = life(house)
    assert told(house) == expected
    assert house.model() == expected[-1][1]


def test_a_change_names_the_operation_that_it_belongs_to(house: House) -> None:
    load = house.fleet.load("alpha")
    house.bring_up(load)
    unload = house.fleet.unload("alpha")
    house.bring_down(unload)
    assert load.operation
    assert unload.operation
    ids = [load.operation.id, unload.operation.id]
    assert [one.operation for one in changes(house).read(FIRST)] == [ids[0], ids[0], ids[1], ids[1]]


def test_a_failure_says_why_and_when(house: House) -> None:
    item = house.fleet.load("alpha").assignments[0]
    house.starting(item.replica, item.worker)
    house.pass_time(30)
    house.crash(item.replica, item.worker, code="load_failed")
    began, failed = changes(house).read(FIRST)
    assert (began.code, began.message) == (None, None)
    assert (failed.code, failed.message) == ("load_failed", "killed by SIGSEGV")
    assert failed.at - began.at == pytest.approx(30, abs=0.5)


def test_what_changes_nothing_is_not_told(house: House) -> None:
    house.load()
    house.fleet.load("alpha")
    house.fleet.unload("beta")
    assert told(house) == UP
    house.fleet.unload("alpha")
    house.fleet.unload("alpha")
    with pytest.raises(StateConflict):
        house.fleet.load("alpha")
    assert told(house) == [*UP, ("loaded", "unloading", None)]
    assert told(house, "beta") == []


def test_who_follows_reads_on_where_it_was(house: House) -> None:
    feed = changes(house)
    assert (feed.last(), feed.read(FIRST)) == (FIRST, [])
    house.load()
    first, second = feed.read(FIRST)
    assert (feed.last(), feed.read(second.id)) == (second.id, [])
    assert feed.read(first.id) == [second]
    assert feed.read(FIRST, most=1) == [first]
    assert feed.read(second.id, wait_s=0.01) == []


def test_the_stream_does_not_grow_for_ever(house: House) -> None:
    for _ in range(300):
        house.load()
        house.bring_down(house.fleet.unload("alpha"))
    assert 1000 <= house.client.xlen(f"{house.prefix}changes") <= 1200
