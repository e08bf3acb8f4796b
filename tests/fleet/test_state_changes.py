"""The stream of state changes: one entry for each transition (fleet/README.md has their letters)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleet.errors import StateConflict
from fleet.load_request import LoadRequest
from fleet.loading import MEMORY_RELEASE_S
from fleet.state_changes import STREAM_START, StateChanges
from tests.support.simulated_platform import SimulatedPlatform

Transition = tuple[str, str, str | None]
UP: list[Transition] = [("unloaded", "loading", None), ("loading", "loaded", None)]


def changes(platform: SimulatedPlatform) -> StateChanges:
    return StateChanges(platform.client, platform.settings.redis.prefix)


def transitions(platform: SimulatedPlatform, model: str = "alpha") -> list[Transition]:
    """(was, state, code) of each change of a model's state so far."""
    entries = changes(platform).read(STREAM_START)
    return [(str(one.was), str(one.state), one.code) for one in entries if one.model == model]


def begins(platform: SimulatedPlatform) -> list[Transition]:
    platform.fleet.load("alpha")
    return UP[:1]


def begins_again_after_a_failure(platform: SimulatedPlatform) -> list[Transition]:
    platform.crash(platform.load()[0])
    platform.fleet.load("alpha")
    return [*UP, ("loaded", "failed", "engine_crashed"), ("failed", "loading", None)]


def is_loaded(platform: SimulatedPlatform) -> list[Transition]:
    platform.load()
    return UP


def does_not_start(platform: SimulatedPlatform) -> list[Transition]:
    item = platform.fleet.load("alpha").assignments[0]
    platform.starting(item.replica, item.worker)
    platform.crash(item.replica, item.worker, code="load_failed")
    return [UP[0], ("loading", "failed", "load_failed")]


def loses_its_worker_while_it_loads(platform: SimulatedPlatform) -> list[Transition]:
    platform.register(platform.fleet.load("alpha").assignments[0].worker)
    return [UP[0], ("loading", "failed", "load_interrupted")]


def loses_its_worker(platform: SimulatedPlatform) -> list[Transition]:
    platform.load()
    platform.register("w1")
    return [*UP, ("loaded", "failed", "worker_lost")]


def loses_its_engine(platform: SimulatedPlatform) -> list[Transition]:
    platform.crash(platform.load()[0])
    return [*UP, ("loaded", "failed", "engine_crashed")]


def is_unloaded(platform: SimulatedPlatform) -> list[Transition]:
    platform.load()
    platform.finish_unload(platform.fleet.unload("alpha"))
    return [*UP, ("loaded", "unloading", None), ("unloading", "unloaded", None)]


def loses_its_worker_while_it_unloads(platform: SimulatedPlatform) -> list[Transition]:
    platform.load()
    platform.fleet.unload("alpha")
    platform.register("w1")
    return [*UP, ("loaded", "unloading", None), ("unloading", "unloaded", None)]


def its_worker_is_shut_down(platform: SimulatedPlatform) -> list[Transition]:
    platform.load()
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "shut down")
    return [*UP, ("loaded", "unloaded", None)]


def its_worker_is_shut_down_while_it_loads(platform: SimulatedPlatform) -> list[Transition]:
    worker = platform.fleet.load("alpha").assignments[0].worker
    platform.fleet.registry.deregister(worker, platform.incarnations[worker], "shut down")
    return [UP[0], ("loading", "unloaded", None)]


def is_unloaded_after_a_failure(platform: SimulatedPlatform) -> list[Transition]:
    platform.crash(platform.load()[0])
    platform.fleet.unload("alpha")
    return [*UP, ("loaded", "failed", "engine_crashed"), ("failed", "unloaded", None)]


def remaining_replicas_of_a_failure_are_unloaded(platform: SimulatedPlatform) -> list[Transition]:
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


def waits_for_another_and_resumes(platform: SimulatedPlatform) -> list[Transition]:
    platform.load("beta")
    outcome = platform.fleet.load("alpha", LoadRequest(evict="beta"))
    assert outcome.eviction
    platform.finish_unload(outcome.eviction)
    platform.finish_load(platform.recovery.resume_pending()[0])
    return UP


def waits_for_another_and_finds_no_memory(platform: SimulatedPlatform) -> list[Transition]:
    platform.load("beta")
    outcome = platform.fleet.load("alpha", LoadRequest(evict="beta"))
    assert outcome.eviction
    platform.finish_unload(outcome.eviction)
    platform.fleet.report_artifacts({"alpha": 60})
    for worker in ("w1", "w2"):
        platform.report_memory(worker, 10)
    platform.advance_time(MEMORY_RELEASE_S + 1)
    platform.recovery.resume_pending()
    return [UP[0], ("loading", "failed", "insufficient_memory")]


def waits_for_another_until_the_deadline(platform: SimulatedPlatform) -> list[Transition]:
    platform.load("beta")
    platform.fleet.load("alpha", LoadRequest(evict="beta"))
    platform.run_for(
        2 * (platform.settings.limits.unload_timeout_s + MEMORY_RELEASE_S) + 2, "w1", "w2", every=1.9
    )
    return [UP[0], ("loading", "failed", "load_timeout")]


def loses_one_of_two_and_gets_another(platform: SimulatedPlatform) -> list[Transition]:
    platform.load(replicas=2)
    platform.register("w2")
    platform.finish_load(platform.recovery.replace_lost()[0])
    return UP


def the_platform_restarts(platform: SimulatedPlatform) -> list[Transition]:
    platform.load()
    platform.fleet.reset_to_configuration()
    return [*UP, ("loaded", "unloaded", None)]


def the_platform_restarts_after_a_failure(platform: SimulatedPlatform) -> list[Transition]:
    platform.crash(platform.load()[0])
    platform.fleet.reset_to_configuration()
    return [*UP, ("loaded", "failed", "engine_crashed"), ("failed", "unloaded", None)]


SCENARIOS = [
    begins,
    begins_again_after_a_failure,
    is_loaded,
    does_not_start,
    loses_its_worker_while_it_loads,
    loses_its_worker,
    loses_its_engine,
    is_unloaded,
    loses_its_worker_while_it_unloads,
    its_worker_is_shut_down,
    its_worker_is_shut_down_while_it_loads,
    is_unloaded_after_a_failure,
    remaining_replicas_of_a_failure_are_unloaded,
    waits_for_another_and_resumes,
    waits_for_another_and_finds_no_memory,
    waits_for_another_until_the_deadline,
    loses_one_of_two_and_gets_another,
    the_platform_restarts,
    the_platform_restarts_after_a_failure,
]


@pytest.mark.rule("beyond/events")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_each_transition_is_one_entry_of_the_stream(
    platform: SimulatedPlatform, scenario: Callable[[SimulatedPlatform], list[Transition]]
) -> None:
    expected = scenario(platform)
    assert transitions(platform) == expected
    assert platform.model() == expected[-1][1]


def test_a_state_change_has_its_operation(platform: SimulatedPlatform) -> None:
    load = platform.fleet.load("alpha")
    platform.finish_load(load)
    unload = platform.fleet.unload("alpha")
    platform.finish_unload(unload)
    assert load.operation
    assert unload.operation
    ids = [load.operation.id, unload.operation.id]
    assert [one.operation for one in changes(platform).read(STREAM_START)] == [ids[0], ids[0], ids[1], ids[1]]


def test_a_failure_has_a_code_a_message_and_a_time(platform: SimulatedPlatform) -> None:
    item = platform.fleet.load("alpha").assignments[0]
    platform.starting(item.replica, item.worker)
    platform.advance_time(30)
    platform.crash(item.replica, item.worker, code="load_failed")
    began, failed = changes(platform).read(STREAM_START)
    assert (began.code, began.message) == (None, None)
    assert (failed.code, failed.message) == ("load_failed", "killed by SIGSEGV")
    assert failed.at - began.at == pytest.approx(30, abs=0.5)


def test_a_call_without_effect_writes_no_state_change(platform: SimulatedPlatform) -> None:
    platform.load()
    platform.fleet.load("alpha")
    platform.fleet.unload("beta")
    assert transitions(platform) == UP
    platform.fleet.unload("alpha")
    platform.fleet.unload("alpha")
    with pytest.raises(StateConflict):
        platform.fleet.load("alpha")
    assert transitions(platform) == [*UP, ("loaded", "unloading", None)]
    assert transitions(platform, "beta") == []


def test_a_reader_continues_after_the_last_id(platform: SimulatedPlatform) -> None:
    reader = changes(platform)
    assert (reader.last(), reader.read(STREAM_START)) == (STREAM_START, [])
    platform.load()
    first, second = reader.read(STREAM_START)
    assert (reader.last(), reader.read(second.id)) == (second.id, [])
    assert reader.read(first.id) == [second]
    assert reader.read(STREAM_START, limit=1) == [first]
    assert reader.read(second.id, wait_s=0.01) == []


def test_changes_of_an_unknown_kind_are_left_out(platform: SimulatedPlatform) -> None:
    reader = changes(platform)

    def append_unknown() -> None:
        for number in range(3):
            platform.client.xadd(f"{platform.prefix}changes", {"later": number, "at_us": "1"})

    append_unknown()
    platform.load()
    append_unknown()
    first, second = reader.read(STREAM_START)
    assert (first.model, second.model) == ("alpha", "alpha")
    assert reader.read(STREAM_START, limit=2) == [first], "the page after one without a known change"
    assert reader.read(second.id) == reader.read(second.id, wait_s=0.01) == []
    assert reader.history(1) == ([second], True)
    assert reader.history(1, before=second.id) == ([first], False)
    assert reader.history(1, model="alpha") == ([second], True)
    assert reader.history(5, before=first.id) == ([], False)


def test_the_stream_is_bounded(platform: SimulatedPlatform) -> None:
    for _ in range(300):
        platform.load()
        platform.finish_unload(platform.fleet.unload("alpha"))
    assert 1000 <= platform.client.xlen(f"{platform.prefix}changes") <= 1200
