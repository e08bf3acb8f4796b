"""Spare slots of llama-server: it keeps more prompts than it takes requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backends.catalogue import BACKENDS
from backends.llama_server.arguments import LlamaServerOptions
from backends.llama_server.template_trial import trial_options
from backends.memory_rules import spare_sequences
from backends.model_shape import Device
from config.settings import ModelDefinition
from engines.nvml import device_type
from fleet.artifacts.gguf_shape import read_gguf_shape
from generation.generation import Generation
from tests.backends.conftest import DEMO_MODEL, Launched, Start, ask

SLOTS = 8
TOPICS = (
    "rivers",
    "islands",
    "bridges",
    "gardens",
    "castles",
    "markets",
    "lakes",
    "roads",
    "trains",
    "ports",
)


def model(device: str = "cpu", **options: Any) -> ModelDefinition:
    named = {f"llama_server_{name}": value for name, value in {"n_ctx": 512, "threads": 1, **options}.items()}
    return ModelDefinition("model", "llama_server", model_path=str(DEMO_MODEL), device=device, options=named)


def prompts() -> list[Generation]:
    """One request of each of ten tenants."""
    return [
        ask(f"What do travellers say about {topic}? " * 3, cache_namespace=f"{number:032x}", max_tokens=2)
        for number, topic in enumerate(TOPICS)
    ]


def hits(launched: Launched, requests: list[Generation]) -> int:
    """How many requests, one after the other, find most of their prompt in the cache."""
    finishes = [launched.answer(request).finish for request in requests]
    assert all(finish is not None for finish in finishes)
    return sum(2 * finish.usage.cached_tokens > finish.usage.input_tokens for finish in finishes if finish)


# the number


@pytest.mark.parametrize(
    ("wanted", "slots", "on_gpu", "spare"),
    [
        (None, 8, False, 2),
        (None, 3, False, 0),
        (None, 8, True, 0),
        (0, 8, False, 0),
        (5, 1, True, 5),
        (255, 8, True, 248),
        (None, 256, False, 0),
    ],
)
def test_the_default_is_a_quarter_of_the_slots_on_the_cpu_and_none_on_a_gpu(
    wanted: int | None, slots: int, on_gpu: bool, spare: int
) -> None:
    assert spare_sequences(wanted, slots, on_gpu=on_gpu) == spare


@pytest.mark.parametrize(
    ("definition", "spare"),
    [
        (model(), 2),
        (model(device="auto"), 2 if device_type() == "cpu" else 0),
        (model(device="cuda"), 0),
        (model(device="cuda", n_gpu_layers=0), 2),
        (model(spare_slots=3), 3),
        (model(spare_slots=3, cache_prompt=False), 0),
        (model(spare_slots=3, pooling="mean"), 0),
    ],
)
def test_the_server_gets_the_spare_slots_and_the_same_context_for_each(
    definition: ModelDefinition, spare: int
) -> None:
    options = LlamaServerOptions.of(definition, SLOTS)
    assert (options.slots, options.engine_slots) == (SLOTS, SLOTS + spare)
    engine = options.for_engine()
    assert (engine["slots"], engine["total_context"]) == (SLOTS + spare, 512 * (SLOTS + spare))


@pytest.mark.parametrize(("device", "counted"), [(Device(is_gpu=False), 2), (Device(is_gpu=True), 0)])
def test_the_memory_estimate_counts_the_spare_slots(device: Device, counted: int) -> None:
    backend = BACKENDS["llama_server"]
    shape, rule = read_gguf_shape(DEMO_MODEL), backend.memory
    assert rule is not None

    def cache(slots: int, **options: Any) -> int:
        named = {f"llama_server_{name}": value for name, value in options.items()}
        return rule.need(shape, backend.with_defaults(named), slots, device).cache

    one = cache(1, spare_slots=0)
    assert cache(SLOTS) == (SLOTS + counted) * one
    assert cache(SLOTS, spare_slots=6) == (SLOTS + 6) * one
    assert cache(SLOTS, spare_slots=6, cache_prompt=False) == SLOTS * one
    shape = replace(shape, draft=shape)
    assert cache(SLOTS, spare_slots=6) == 2 * (SLOTS + 6) * one


def test_the_trial_of_a_template_starts_no_spare_slots() -> None:
    options = LlamaServerOptions.of(model(spare_slots=200), SLOTS)
    assert trial_options(options, DEMO_MODEL).engine_slots == 1


# on a real server


@pytest.mark.engines
@pytest.mark.parametrize(("options", "expected"), [({"spare_slots": 0}, 0), ({}, 10)])
def test_ten_tenants_by_turns_find_their_prompts_when_two_of_ten_slots_are_spare(
    start: Start, options: dict[str, Any], expected: int
) -> None:
    launched = start(model(**options), slots=SLOTS)
    assert (launched.engine.slots, launched.engine.context) == (SLOTS, 512)
    facts = launched.engine.facts
    assert (facts.cache_capacity, facts.cache_unit) == (SLOTS + (2 if expected else 0), "sequences")
    requests = prompts()
    assert hits(launched, requests) == 0
    assert hits(launched, requests) == expected


@pytest.mark.engines
def test_a_spare_slot_is_not_reused_for_another_tenant_and_a_flush_empties_it(start: Start) -> None:
    launched = start(model(), slots=SLOTS)
    requests = prompts()
    hits(launched, requests)
    assert launched.flush(*requests).entries == 0
    for number, request in enumerate(requests):
        finish = launched.answer(replace(request, cache_namespace=f"f{number:031x}")).finish
        assert finish is not None
        assert finish.usage.cached_tokens == 0
    hits(launched, requests)
    assert launched.flush(requests[5]).entries == 9
    assert hits(launched, requests[5:6]) == 1
    assert hits(launched, requests[6:]) == 0


@pytest.mark.engines
def test_all_slots_for_requests_have_the_whole_context_beside_full_spare_ones(start: Start) -> None:
    launched = start(model(), slots=SLOTS)
    hits(launched, prompts())
    long = [
        ask("word " * 60 + str(number), cache_namespace=f"f{number:031x}", max_tokens=8)
        for number in range(SLOTS)
    ]
    running = [launched.begin(request, id=str(number)) for number, request in enumerate(long)]
    for answer, thread in running:
        thread.join()
        assert answer.error is None
        assert answer.finish is not None
