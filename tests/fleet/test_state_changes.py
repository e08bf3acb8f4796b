"""Each change of a model's state is told once, in the order of the letters in fleet/README.md."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleet.errors import StateConflict
from fleet.fleet import MEMORY_RELEASE_S
from fleet.load_request import LoadRequest
from fleet.state_changes import STREAM_START, StateChanges
from tests.support.simulated_platform import SimulatedPlatform

Told = tuple[str, str, str | None]
UP: list[Told] = [("unloaded", "loading", None), ("loading", "loaded", None)]


def changes(platform: SimulatedPlatform) -> StateChanges:
    return StateChanges(platform.client, platform.settings.redis.prefix)


def told(platform: SimulatedPlatform, model: str = "alpha") -> list[Told]:
    """(was, state, code) of each change of a model so far."""
    entries = changes(platform).read(STREAM_START)
    return [(str(one.was), str(one.state), one.code) for one in entries if one.model == model]


def begins(platform: SimulatedPlatform) -> list[Told]:
    platform.fleet.load("alpha")
    return UP[:1]


def begins_again_after_a_failure(platform: SimulatedPlatform) -> list[Told]:
    platform.crash(platform.load()[0])
    platform.fleet.load("alpha")
    return [*UP, ("loaded", "failed", "engine_crashed"), ("failed", "loading", None)]


def comes_up(platform: SimulatedPlatform) -> list[Told]:
    platform.load()
    return UP


def does_not_come_up(platform: SimulatedPlatform) -> list[Told]:
    item = platform.fleet.load("alpha").assignments[0]
    platform.starting(item.replica, item.worker)
    platform.crash(item.replica, item.worker, code="load_failed")
    return [UP[0], ("loading", "failed", "load_failed")]


def loses_its_worker_while_it_loads(platform: SimulatedPlatform) -> list[Told]:
    platform.register(platform.fleet.load("alpha").assignments[0].worker)
    return [UP[0], ("loading", "failed", "load_interrupted")]


def loses_its_worker(platform: SimulatedPlatform) -> list[Told]:
    platform.load()
    platform.register("w1")
    return [*UP, ("loaded", "failed", "worker_lost")]


def loses_its_engine(platform: SimulatedPlatform) -> list[Told]:
    platform.crash(platform.load()[0])
    return [*UP, ("loaded", "failed", "engine_crashed")]


def goes_down(platform: SimulatedPlatform) -> list[Told]:
    platform.load()
    platform.finish_unload(platform.fleet.unload("alpha"))
    return [*UP, ("loaded", "unloading", None), ("unloading", "unloaded", None)]


def loses_its_worker_while_it_unloads(platform: SimulatedPlatform) -> list[Told]:
    platform.load()
    platform.fleet.unload("alpha")
    platform.register("w1")
    return [*UP, ("loaded", "unloading", None), ("unloading", "unloaded", None)]


def leaves_with_its_worker(platform: SimulatedPlatform) -> list[Told]:
    platform.load()
    platform.ledger.deregister("w1", platform.incarnations["w1"], "shut down")
    return [*UP, ("loaded", "unloaded", None)]


def leaves_with_its_worker_while_it_loads(platform: SimulatedPlatform) -> list[Told]:
    worker = platform.fleet.load("alpha").assignments[0].worker
    platform.ledger.deregister(worker, platform.incarnations[worker], "shut down")
    return [UP[0], ("loading", "unloaded", None)]


def is_unloaded_after_a_failure(platform: SimulatedPlatform) -> list[Told]:
    platform.crash(platform.load()[0])
    platform.fleet.unload("alpha")
    return [*UP, ("loaded", "failed", "engine_crashed"), ("failed", "unloaded", None)]


def what_is_left_of_a_failure_is_unloaded(platform: SimulatedPlatform) -> list[Told]:
    failing, left = platform.fleet.load("alpha", LoadRequest(2)).assignments
    platform.crash(failing.replica, failing.worker, code="load_failed")
    platform.fleet.unload("alpha")
    platform.stopped(left.replica, left.worker)
    return [
        UP[0],
        ("loading", "failed", "load_failed"),
        ("failed", "unloading", None),
        ("unloading", "unloaded", None),
    ]


def waits_for_another_and_goes_on(platform: SimulatedPlatform) -> list[Told]:
    platform.load("beta")
    change = platform.fleet.load("alpha", LoadRequest(evict="beta"))
    assert change.eviction
    platform.finish_unload(change.eviction)
    platform.finish_load(platform.recovery.resume_pending()[0])
    return UP


def waits_for_another_and_finds_no_room(platform: SimulatedPlatform) -> list[Told]:
    platform.load("beta")
    change = platform.fleet.load("alpha", LoadRequest(evict="beta"))
    assert change.eviction
    platform.finish_unload(change.eviction)
    platform.fleet.report_artifacts({"alpha": 60})
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 10)
    platform.advance_time(MEMORY_RELEASE_S + 1)
    platform.recovery.resume_pending()
    return [UP[0], ("loading", "failed", "insufficient_memory")]


def waits_for_another_in_vain(platform: SimulatedPlatform) -> list[Told]:
    platform.load("beta")
    platform.fleet.load("alpha", LoadRequest(evict="beta"))
    platform.run_for(
        2 * (platform.settings.limits.unload_timeout_s + MEMORY_RELEASE_S) + 2, "w1", "w2", every=1.9
    )
    return [UP[0], ("loading", "failed", "load_timeout")]


def loses_one_of_two_and_gets_another(platform: SimulatedPlatform) -> list[Told]:
    platform.load(replicas=2)
    platform.register("w2")
    platform.finish_load(platform.recovery.replace_lost()[0])
    return UP


def the_platform_starts_anew(platform: SimulatedPlatform) -> list[Told]:
    platform.load()
    platform.fleet.reset_to_configuration()
    return [*UP, ("loaded", "unloaded", None)]


def the_platform_starts_anew_after_a_failure(platform: SimulatedPlatform) -> list[Told]:
    platform.crash(platform.load()[0])
    platform.fleet.reset_to_configuration()
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
def test_a_change_of_a_state_is_told_once(
    platform: SimulatedPlatform, life: Callable[[SimulatedPlatform], list[Told]]
) -> None:
    expected = life(platform)
    assert told(platform) == expected
    assert platform.model() == expected[-1][1]


def test_a_change_names_the_operation_that_it_belongs_to(platform: SimulatedPlatform) -> None:
    load = platform.fleet.load("alpha")
    platform.finish_load(load)
    unload = platform.fleet.unload("alpha")
    platform.finish_unload(unload)
    assert load.operation
    assert unload.operation
    ids = [load.operation.id, unload.operation.id]
    assert [one.operation for one in changes(platform).read(STREAM_START)] == [ids[0], ids[0], ids[1], ids[1]]


def test_a_failure_says_why_and_when(platform: SimulatedPlatform) -> None:
    item = platform.fleet.load("alpha").assignments[0]
    platform.starting(item.replica, item.worker)
    platform.advance_time(30)
    platform.crash(item.replica, item.worker, code="load_failed")
    began, failed = changes(platform).read(STREAM_START)
    assert (began.code, began.message) == (None, None)
    assert (failed.code, failed.message) == ("load_failed", "killed by SIGSEGV")
    assert failed.at - began.at == pytest.approx(30, abs=0.5)


def test_what_changes_nothing_is_not_told(platform: SimulatedPlatform) -> None:
    platform.load()
    platform.fleet.load("alpha")
    platform.fleet.unload("beta")
    assert told(platform) == UP
    platform.fleet.unload("alpha")
    platform.fleet.unload("alpha")
    with pytest.raises(StateConflict):
        platform.fleet.load("alpha")
    assert told(platform) == [*UP, ("loaded", "unloading", None)]
    assert told(platform, "beta") == []


def test_who_follows_reads_on_where_it_was(platform: SimulatedPlatform) -> None:
    feed = changes(platform)
    assert (feed.last(), feed.read(STREAM_START)) == (STREAM_START, [])
    platform.load()
    first, second = feed.read(STREAM_START)
    assert (feed.last(), feed.read(second.id)) == (second.id, [])
    assert feed.read(first.id) == [second]
    assert feed.read(STREAM_START, limit=1) == [first]
    assert feed.read(second.id, wait_s=0.01) == []


def test_the_stream_does_not_grow_for_ever(platform: SimulatedPlatform) -> None:
    for _ in range(300):
        platform.load()
        platform.finish_unload(platform.fleet.unload("alpha"))
    assert 1000 <= platform.client.xlen(f"{platform.prefix}changes") <= 1200
