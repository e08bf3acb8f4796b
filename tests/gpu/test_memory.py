"""The GPU memory that engines hold. No other process should use the GPUs during these tests."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date

import pytest

from backends.base import LoadError
from config.settings import ModelDefinition
from tests.backends.conftest import Start, ask
from tests.gpu.cards import Card, Cards
from tests.gpu.conftest import FIGURES, version_of
from workers.device_memory import DeviceMemoryReader

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(900)]

QUESTION, ANSWER = "What is the capital of Norway?", "The capital of Norway is Oslo."
NEAR_MIB = 16
LEAST_MIB = 64
"""A CUDA context alone takes more than this."""


def test_an_engine_takes_memory_of_its_gpu_and_frees_it_at_its_end(
    start: Start, cards: Cards, card: Card, model: ModelDefinition
) -> None:
    before = cards.used_mib()
    begun = time.monotonic()
    launched = start(model)
    took_s = time.monotonic() - begun
    assert launched.answer(ask(QUESTION, temperature=0.0)).text == ANSWER
    loaded = cards.used_mib()
    held = cards.held_mib(launched.engine.pid).get(card.uuid)
    launched.engine.stop(10.0)
    after = cards.wait_used_mib(before, NEAR_MIB)
    taken = {uuid: loaded[uuid] - before[uuid] for uuid in before}
    FIGURES.append(
        f"| {date.today()} | {model.backend} {version_of(model.backend)} | {card.name} | {cards.driver()} | "
        f"{took_s:.1f} s | {before[card.uuid]} | {loaded[card.uuid]} | "
        f"{'not shown' if held is None else held} | {after[card.uuid]} |"
    )
    assert taken.pop(card.uuid) >= LEAST_MIB
    assert all(abs(mib) <= NEAR_MIB for mib in taken.values())
    assert all(abs(after[uuid] - before[uuid]) <= NEAR_MIB for uuid in before)


def test_the_driver_lists_an_engine_on_its_gpu_alone(
    start: Start, cards: Cards, card: Card, model: ModelDefinition
) -> None:
    launched = start(model)
    held = cards.held_mib(launched.engine.pid)
    if not held:
        pytest.skip("the driver shows this container no processes: run it in the machine's pid namespace")
    assert list(held) == [card.uuid]
    assert DeviceMemoryReader().held_by(launched.engine.pid) == pytest.approx(held[card.uuid], abs=NEAR_MIB)


def test_a_worker_reads_the_memory_of_its_gpu(cards: Cards, card: Card) -> None:
    read = DeviceMemoryReader().read()
    assert read.error is None
    assert (read.id, read.total_mib) == (card.uuid, card.total_mib)
    (gpu,) = read.gpus
    assert gpu.used_mib == pytest.approx(cards.used_mib()[card.uuid], abs=NEAR_MIB)


def test_an_engine_without_a_gpu_takes_no_gpu_memory(
    start: Start, cards: Cards, model: ModelDefinition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    before = cards.used_mib()
    if model.backend == "exllamav3":
        with pytest.raises(LoadError, match="ExLlamaV3 finds no GPU"):
            start(model)
    else:
        assert start(model).answer(ask(QUESTION, temperature=0.0)).text == ANSWER
    used = cards.used_mib()
    assert all(abs(used[uuid] - before[uuid]) <= NEAR_MIB for uuid in before)


# llama.cpp ends its process when memory is short; the contract tests engines that die
@pytest.mark.parametrize("model", ["exllamav3"], indirect=True)
def test_a_load_that_needs_too_much_memory_fails_and_frees_all_of_it(
    start: Start, cards: Cards, card: Card, model: ModelDefinition
) -> None:
    before = cards.used_mib()
    tokens = card.total_mib * 1024 * 1024 // 768 // 256 * 256 * 2  # a token takes 768 bytes of fp16 cache
    options = {**model.options, "exllama_cache_size": tokens}
    with pytest.raises(LoadError, match="does not have enough memory for the model and its cache"):
        start(replace(model, options=options))
    after = cards.wait_used_mib(before, NEAR_MIB)
    assert all(abs(after[uuid] - before[uuid]) <= NEAR_MIB for uuid in before)
