"""The plan of a load of a model whose files were read: parts of its memory, its context, what makes room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import redis

from backends.model_shape import AttentionLayers, Device, ModelShape
from config.settings import Settings
from fleet.estimates import encode_shape
from fleet.load_request import LoadRequest
from fleet.plan import plan_load
from governance.authorization import PLATFORM
from tests.support.simulated_platform import SimulatedPlatform

MIB = 1024 * 1024
LONGEST = 32_768
SLOTS = 4
SHAPE = ModelShape(5000 * MIB, attention=(AttentionLayers(32, 1024, 1024),), context=LONGEST)
"""A model of 5,000 MiB whose cache takes an eighth of a MiB for each token."""
NAMES = ("alpha", "beta")


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Two workers, and two models of llama.cpp."""
    models = {
        name: replace(
            settings.models[name], backend="llama_cpp", target_inflight=SLOTS, replica_max=2, options={}
        )
        for name in NAMES
    }
    platform = SimulatedPlatform(client, replace(settings, models=models))
    for worker in ("w1", "w2"):
        platform.register(worker)
    shape = encode_shape(SHAPE, Device(is_gpu=True, total_mib=40_000))
    platform.fleet.report_artifacts(dict.fromkeys(NAMES, 5000), dict.fromkeys(NAMES, shape))
    return platform


def plan(platform: SimulatedPlatform, **wanted: Any) -> dict[str, Any]:
    replicas, evict = wanted.pop("replicas", None), wanted.pop("evict", None)
    request = LoadRequest(replicas=replicas, override=wanted, evict=evict)
    return plan_load(platform.fleet, platform.fleet.definition("alpha"), request).shown


def parts(shown: dict[str, Any]) -> list[int | None]:
    return [shown["memory"][name] for name in ("weightsMB", "kvCacheMB", "otherMB")]


def test_a_plan_has_the_parts_of_its_need_which_follow_the_context(platform: SimulatedPlatform) -> None:
    shown = plan(platform, gguf_n_ctx=8192)
    assert parts(shown)[:2] == [5000, SLOTS * 8192 // 8]
    assert sum(part or 0 for part in parts(shown)) == shown["memory"]["neededMB"]
    assert parts(plan(platform, gguf_n_ctx=16_384))[:2] == [5000, SLOTS * 16_384 // 8]


def test_the_parts_of_a_measured_need_are_computed_and_the_rest_is_the_difference(
    platform: SimulatedPlatform,
) -> None:
    platform.finish_load(platform.fleet.load("alpha"), memory_mib=9000)
    shown = plan(platform)
    assert shown["memory"]["source"] == "observed_load_delta"
    assert parts(shown) == [5000, SLOTS * 4096 // 8, 9000 - 5000 - SLOTS * 4096 // 8]


def test_a_need_that_is_less_than_its_parts_has_none(platform: SimulatedPlatform) -> None:
    platform.finish_load(platform.fleet.load("alpha"), memory_mib=100)
    shown = plan(platform)
    assert (shown["memory"]["neededMB"], parts(shown)) == (100, [None] * 3)


def test_each_device_has_what_the_load_takes_there(platform: SimulatedPlatform) -> None:
    for worker in ("w1", "w2"):
        platform.report_memory(worker, free_mib=20_000)
    need = plan(platform)["memory"]["neededMB"]
    taken = [device["neededMB"] for device in plan(platform)["memory"]["devices"]]
    assert sorted(taken) == [0, need]
    both = plan(platform, replicas=2)["memory"]["devices"]
    assert [device["neededMB"] for device in both] == [need, need]
    platform.fleet.drains.begin("w1", PLATFORM)
    devices = plan(platform)["memory"]["devices"]
    assert [device["eligible"] for device in devices] == [False, True]


def test_a_context_beyond_the_models_own_is_explained_with_numbers(platform: SimulatedPlatform) -> None:
    platform.report_memory("w1", free_mib=40_000)
    context = plan(platform, gguf_n_ctx=100_000)["context"]
    assert (context["field"], context["requested"], context["inForce"]) == ("gguf_n_ctx", 100_000, LONGEST)
    for number in (str(LONGEST), "100000", str(100_000 - LONGEST)):
        assert number in context["reason"]
    within = plan(platform, gguf_n_ctx=LONGEST)["context"]
    assert (within["inForce"], within["reason"]) == (LONGEST, None)


@pytest.mark.parametrize("free_mib", [6000, 9000, 100_000])
def test_the_largest_context_of_a_plan_fits_and_a_larger_one_does_not(
    platform: SimulatedPlatform, free_mib: int
) -> None:
    for worker in ("w1", "w2"):
        platform.report_memory(worker, free_mib=free_mib)
    largest = plan(platform)["context"]["largest"]
    assert plan(platform, gguf_n_ctx=largest)["begins"]
    if free_mib == 100_000:
        assert largest == LONGEST
    else:
        assert plan(platform, gguf_n_ctx=largest + 256)["problem"]["code"] == "insufficient_memory"


def test_no_context_fits_when_the_weights_do_not(platform: SimulatedPlatform) -> None:
    for worker in ("w1", "w2"):
        platform.report_memory(worker, free_mib=1000)
    assert plan(platform)["context"]["largest"] is None


def test_a_plan_without_room_names_the_models_that_would_make_it(platform: SimulatedPlatform) -> None:
    platform.report_memory("w1", free_mib=20_000)
    platform.report_memory("w2", free_mib=10)
    platform.finish_load(platform.fleet.load("beta"), slots=1, memory_mib=9000)
    platform.report_memory("w1", free_mib=2000)
    platform.admit(model="beta")
    refused = plan(platform)
    assert refused["problem"]["code"] == "insufficient_memory"
    (other,) = refused["evictions"]
    assert (other["modelId"], other["freesMB"], other["runningRequests"]) == ("beta", 9000, 1)
    assert plan(platform, evict="beta")["begins"]
    assert plan(platform, evict="beta")["evictions"] == []
    too_large = plan(platform, gguf_n_ctx=LONGEST)
    assert (too_large["problem"]["code"], too_large["evictions"]) == ("insufficient_memory", [])


def test_a_plan_has_the_last_error_when_the_model_failed_with_the_same_options(
    platform: SimulatedPlatform,
) -> None:
    outcome = platform.fleet.load("alpha", LoadRequest(override={"gguf_n_ctx": 512}))
    (assignment,) = outcome.assignments
    platform.starting(assignment.replica, assignment.worker)
    platform.crash(assignment.replica, assignment.worker)
    error = platform.fleet.row("alpha").last_error
    assert error
    same, other = plan(platform, gguf_n_ctx=512), plan(platform, gguf_n_ctx=1024)
    assert (same["lastError"], other["lastError"]) == (error, None)
    assert same["begins"], "another try may succeed"
