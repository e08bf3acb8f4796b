"""How many requests run at once, and the context of each, by the memory that is free."""

from __future__ import annotations

from typing import Any

import pytest

from backends.catalogue import BACKENDS
from backends.load_parameters import Weights
from backends.model_shape import AttentionLayers, Device, ModelShape
from fleet.adding.context import ContextChoice, choose_context
from fleet.adding.defaults import BestWorker

MIB = 1 << 20
SHAPE = ModelShape(
    100 * MIB, attention=(AttentionLayers(4, 2048, 2048),), width=2048, context=32768, layers=4
)
"""A model whose keys and values take 32 KiB for each token."""


def choose(backend: str, free: int | None, *, gpu: bool = True, **options: Any) -> ContextChoice:
    best = None if free is None else BestWorker("w1", free, 100_000, Device(gpu, 100_000 if gpu else 0))
    weights = Weights("gguf", SHAPE.weights, context=SHAPE.context)
    return choose_context(BACKENDS[backend], SHAPE, weights, options, best)


def need(backend: str, choice: ContextChoice) -> int:
    declaration = BACKENDS[backend]
    assert declaration.memory is not None
    options = declaration.with_defaults({str(choice.option): choice.context})
    return declaration.memory.need(SHAPE, options, choice.slots, Device(is_gpu=True, total_mib=100_000)).mib


@pytest.mark.parametrize("backend", ["llama_server", "llama_cpp", "exllamav3"])
@pytest.mark.parametrize("free", [1200, 1500, 2000, 3000, 6000, 20_000])
def test_the_chosen_context_fits_into_the_free_memory(backend: str, free: int) -> None:
    choice = choose(backend, free)
    assert choice.context is not None
    assert need(backend, choice) <= free
    assert choice.context % 256 == 0
    assert str(choice.context) in str(choice.reason) or choice.context == 32768 or backend == "exllamav3"


def test_more_memory_gives_no_less_context() -> None:
    tokens = [
        choice.slots * (choice.context or 0)
        for free in range(700, 9000, 100)
        if (choice := choose("llama_server", free))
    ]
    assert tokens == sorted(tokens)


def test_a_cache_for_all_requests_has_room_for_each() -> None:
    choice = choose("exllamav3", 80_000)
    assert choice.context == 4 * 32768


def test_the_cache_of_vllm_on_the_cpu_bounds_the_context() -> None:
    assert choose("vllm", 80_000, gpu=False).context == (1 << 30) // (4 * SHAPE.cache_numbers())
    assert choose("vllm", 95_000, gpu=True).context == 32768


def test_a_context_of_the_request_is_not_replaced() -> None:
    choice = choose("llama_server", 80_000, target_inflight=1, llama_server_n_ctx=512)
    assert (choice.slots, choice.slots_reason, choice.option) == (1, None, None)


def test_the_context_is_moderate_where_no_memory_is_known() -> None:
    assert choose("llama_server", None).context == 8192
    assert choose("ct2", None).option is None


def test_a_model_that_does_not_fit_gets_a_context_and_the_numbers() -> None:
    choice = choose("llama_server", 50)
    assert choice.context == 4096
    assert "w1 has 50 MiB free" in str(choice.reason)
