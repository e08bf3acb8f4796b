"""The simulation of cached prompts: its sessions, its model of an engine, and its events."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.growth.server import MeasuredServer, measured_server
from benchmarks.locality import simulated_run
from benchmarks.locality.dispatchers import PushDispatcher, prefix_tree, round_robin
from benchmarks.locality.localities import DEFAULT, OFF, PROCESSES, several, stoker
from benchmarks.locality.scenarios import REPLICAS, SCENARIOS, Event, sessions
from benchmarks.locality.simulated_engine import (
    BLOCK_TOKENS,
    CHUNK_TOKENS,
    DECODE_S,
    ITERATION_S,
    PREFILL_S,
    BlockCache,
    SequenceCache,
    SimulatedEngine,
    SimulatedRequest,
)
from benchmarks.locality.simulation import Simulation, caches
from benchmarks.locality.tokens import Phase, changes

A, B = SCENARIOS[:2]


def test_session_repeats_its_history_and_its_keys_name_earlier_prompts() -> None:
    one, again = sessions(A, 1)[0], sessions(A, 1)[0]
    before = None
    for number in range(12):
        request = one.request("id", 0.0)
        assert request == again.request("id", 0.0) or request.blocks
        assert request.tokens // BLOCK_TOKENS == len(request.blocks)
        assert request.keys[-1][1] == request.tokens
        if before is not None and len(request.keys) > 2:
            assert before.keys[-1] in request.keys
            assert request.blocks[: len(before.blocks)] == before.blocks
        before = request
        assert one.answered(10) == again.answered(10), number


def request(tokens: int, name: str = "a", answer_tokens: int = 2) -> SimulatedRequest:
    blocks = tuple((name, at) for at in range(tokens // BLOCK_TOKENS))
    return SimulatedRequest(f"{name}-{tokens}", "acme", tokens, blocks, answer_tokens, [], 0.0)


def test_iteration_takes_the_time_of_its_prompts_and_of_its_answers() -> None:
    engine = SimulatedEngine(BlockCache(10_000))
    engine.begin(request(CHUNK_TOKENS + 100))
    iteration = engine.next_iteration()
    assert iteration is not None
    assert iteration.duration_s == pytest.approx(ITERATION_S + PREFILL_S * CHUNK_TOKENS)
    assert engine.finish(iteration) == []
    iteration = engine.next_iteration()
    assert iteration is not None
    assert iteration.duration_s == pytest.approx(ITERATION_S + PREFILL_S * 100)
    engine.finish(iteration)
    iteration = engine.next_iteration()
    assert iteration is not None
    assert iteration.duration_s == pytest.approx(ITERATION_S + DECODE_S)
    assert [ended.tokens for ended in engine.finish(iteration)] == [CHUNK_TOKENS + 100]
    assert engine.next_iteration() is None


def test_block_cache_drops_what_was_used_least_recently() -> None:
    cache = BlockCache(10 * BLOCK_TOKENS)
    for name in ("a", "b"):
        cache.prompt_computed(request(5 * BLOCK_TOKENS, name))
    assert cache.begin(request(6 * BLOCK_TOKENS, "a")) == 5
    cache.prompt_computed(request(3 * BLOCK_TOKENS, "c"))
    assert [cache.begin(request(5 * BLOCK_TOKENS, name)) for name in ("a", "b", "c")] == [5, 2, 3]


def test_sequence_cache_continues_a_free_sequence_and_replaces_the_oldest() -> None:
    cache = SequenceCache(2)
    for name in ("a", "b"):
        first = request(5 * BLOCK_TOKENS, name)
        assert cache.begin(first) == 0
        cache.end(first, first.blocks)
    longer = request(6 * BLOCK_TOKENS, "a")
    assert cache.begin(longer) == 5
    other = request(7 * BLOCK_TOKENS, "a")
    assert cache.begin(other) == 0  # the sequence serves another request: that of b is replaced
    cache.end(longer, longer.blocks)
    cache.end(other, other.blocks)
    assert cache.begin(request(5 * BLOCK_TOKENS, "b")) == 0


@pytest.mark.slow
def test_locality_reuses_more_than_turns_do_below_capacity(tmp_path: Path) -> None:
    found = {}
    with measured_server(tmp_path, print) as server:
        for name in (stoker(OFF), stoker(DEFAULT), simulated_run.ONE_TREE, simulated_run.FOUR_TREES):
            outcome = simulated_run.run(server, A, simulated_run.VARIANTS[name], 1, 60.0)
            found[name] = simulated_run.figures(A, outcome)
    reuse = {name: figures.reuse for name, figures in found.items()}
    assert reuse[stoker(DEFAULT)] > reuse[stoker(OFF)] + 0.1
    assert reuse[simulated_run.ONE_TREE] > reuse[simulated_run.FOUR_TREES]
    assert all(0 < figures.of_ideal <= 1 for figures in found.values())
    assert all(figures.fairness > 0.9 for figures in found.values())


def simulation_of(server: MeasuredServer, event: Event, variant: str) -> Simulation:
    scenario = next(scenario for scenario in SCENARIOS if scenario.event is event)
    replicas = caches(scenario)
    dispatcher = simulated_run.VARIANTS[variant](server, replicas, scenario, 1)
    return Simulation(scenario, dispatcher, replicas, 1)


@pytest.mark.slow
def test_chats_of_a_lost_replica_go_on_elsewhere(tmp_path: Path) -> None:
    with measured_server(tmp_path, print) as server:
        for name in (stoker(DEFAULT), simulated_run.ONE_TREE):
            simulation = simulation_of(server, Event.LOSS, name)
            outcome = simulation.run(100.0)
            assert outcome.ended > 50
            assert not simulation.engines[0].running()
            assert any(engine.running() for engine in simulation.engines[1:])
            assert 0.5 < outcome.tokens.of(Phase.SETTLED).reuse < 1


@pytest.mark.slow
def test_added_replica_gets_requests_while_the_others_keep_their_chats(tmp_path: Path) -> None:
    with measured_server(tmp_path, print) as server:
        for name in (stoker(DEFAULT), simulated_run.ROUND_ROBIN):
            simulation = simulation_of(server, Event.ADDITION, name)
            outcome = simulation.run(160.0)
            assert outcome.added[Phase.SETTLED]
            assert not outcome.added[Phase.BEFORE]
            if name == stoker(DEFAULT):
                assert outcome.tokens.of(Phase.SETTLED).of_ideal > 0.9


@pytest.mark.slow
def test_flushed_tenant_reuses_again_and_the_others_lose_nothing(tmp_path: Path) -> None:
    with measured_server(tmp_path, print) as server:
        outcome = simulation_of(server, Event.FLUSH, stoker(DEFAULT)).run(160.0)
    flushed = outcome.tokens.of(Phase.SETTLING, tenants=("tenant-0",)).reuse
    assert flushed < outcome.tokens.of(Phase.BEFORE, tenants=("tenant-0",)).reuse - 0.05
    found = changes(outcome.tokens, ("tenant-0",))
    assert found["regained"] > 0.9
    assert found["others"] > -0.05


@pytest.mark.slow
def test_choice_does_not_depend_on_the_process_that_admits(tmp_path: Path) -> None:
    reuse = []
    with measured_server(tmp_path, print) as server:
        for name in (stoker(DEFAULT), *(several(stoker(DEFAULT), count) for count in PROCESSES)):
            outcome = simulated_run.run(server, A, simulated_run.VARIANTS[name], 1, 60.0)
            reuse.append(outcome.tokens.of(Phase.SETTLED).reuse)
    assert max(reuse) - min(reuse) <= 0.02


def test_a_flush_changes_all_blocks_and_keys_of_a_session() -> None:
    session = sessions(A, 1)[0]
    before = session.request("id", 0.0)
    session.flush()
    after = session.request("id", 0.0)
    assert not set(before.blocks) & set(after.blocks)
    assert not set(before.keys) & set(after.keys)
    assert len(after.blocks) >= len(before.blocks)


def test_only_a_scenario_with_an_addition_begins_with_fewer_replicas() -> None:
    for scenario in SCENARIOS:
        assert scenario.first_replicas == REPLICAS - (scenario.event is Event.ADDITION)


def test_a_simulated_gateway_has_the_same_result_for_the_same_seed() -> None:
    outcomes = []
    for seed in (1, 1, 2):
        replicas = caches(B)
        simulation = Simulation(B, PushDispatcher(prefix_tree(4, seed)), replicas, seed)
        outcomes.append(simulated_run.figures(B, simulation.run(30.0)))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0] != outcomes[2]


def test_needed_work_leaves_out_what_another_replica_has_computed() -> None:
    replicas = caches(A)
    dispatcher = PushDispatcher(round_robin())
    outcome = Simulation(A, dispatcher, replicas, 1).run(60.0)
    assert len(outcome.work) == len(A.tenants)
    assert all(0 < outcome.needed[tenant] <= work for tenant, work in outcome.work.items())
    assert sum(outcome.needed.values()) < 0.9 * sum(outcome.work.values())  # chats go on elsewhere
