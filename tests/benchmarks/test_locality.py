"""The comparison of what becomes of cached prompts: its workloads, its model of an engine, its tables."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from benchmarks.growth.server import measured_server
from benchmarks.locality import servers, simulated_run
from benchmarks.locality.dispatchers import PushDispatcher, prefix_tree, round_robin
from benchmarks.locality.figures import Figures, Sample, Samples, first_token_figures
from benchmarks.locality.load_generator import ComputedPrefixes, LocalityLoadResult
from benchmarks.locality.localities import DEFAULT, LOCALITIES, OFF, stoker
from benchmarks.locality.measured_run import figures, in_turn, nonce
from benchmarks.locality.plots import write_plots
from benchmarks.locality.report import Bar, Comparison, bars_table, missed_bars, workload_tables
from benchmarks.locality.scenarios import SCENARIOS, sessions
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
from benchmarks.locality.workloads import BY_NAME, Turn
from benchmarks.on_demand.report import jain

TURNS = 30
A, B = SCENARIOS[:2]


def first_turns(name: str, seed: int) -> list[tuple[str, list[Turn]]]:
    clients = BY_NAME[name].clients(seed)
    return [(tenant, list(itertools.islice(turns, TURNS))) for tenant, turns in clients]


@pytest.mark.parametrize("name", BY_NAME)
def test_workload_sends_the_same_requests_for_the_same_seed(name: str) -> None:
    assert first_turns(name, 1) == first_turns(name, 1)
    assert first_turns(name, 1) != first_turns(name, 2)


@pytest.mark.parametrize("name", BY_NAME)
def test_clients_of_a_tenant_share_its_texts_and_send_their_own_messages(name: str) -> None:
    clients = first_turns(name, 1)
    by_tenant: dict[str, list[list[Turn]]] = {}
    for tenant, turns in clients:
        assert turns[0].begins
        by_tenant.setdefault(tenant, []).append(turns)
    assert set(by_tenant) <= set(servers.KEYS)
    messages = [turn.messages for _, turns in clients for turn in turns]
    assert len(set(messages)) == len(messages)
    systems = {
        tenant: {turn.system for turns in them for turn in turns} for tenant, them in by_tenant.items()
    }
    if name != "retrieval":
        for one, other in itertools.combinations(systems.values(), 2):
            assert not one & other


def test_workloads_have_the_shapes_that_their_names_promise() -> None:
    assert {len(turn.messages) for _, turns in first_turns("trees", 1) for turn in turns} == {1, 4}
    for _, turns in first_turns("best of six", 1):
        assert all(len(turn.messages) == 6 and len(set(turn.messages)) == 1 for turn in turns)
    hog = BY_NAME["hog"]
    assert hog.small_tenants == ("tenant-0", "tenant-1", "tenant-2")
    assert hog.tenants[3].clients >= 4 * hog.tenants[0].clients
    assert BY_NAME["chats"].small_tenants == ("tenant-0", "tenant-1", "tenant-2", "tenant-3")
    below, near = (sum(load.clients for load in BY_NAME[name].tenants) for name in ("chats", "busy chats"))
    assert below < servers.REPLICAS * servers.SLOTS < near


@pytest.mark.parametrize("name", BY_NAME)
def test_conversations_fit_into_the_context(name: str) -> None:
    tokens_per_word, answer = 1.1, 30
    for _, turns in first_turns(name, 1):
        tokens = 0.0
        for turn in turns:
            if turn.begins:
                tokens = tokens_per_word * len(turn.system.split())
            tokens += answer + tokens_per_word * len(turn.messages[0].split())
            assert tokens < servers.CONTEXT


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


def test_localities_are_those_of_the_option() -> None:
    assert LOCALITIES[0] == OFF
    assert DEFAULT in LOCALITIES
    assert len(LOCALITIES) >= 2
    names = servers.variant_names()
    assert len(set(names)) == len(names)
    for locality in LOCALITIES:
        assert stoker(locality) in names
        assert stoker(locality) in simulated_run.VARIANTS


def test_times_to_the_first_token_are_those_of_all_and_the_worst_of_the_small_tenants() -> None:
    times = {"small": [1.0, 2.0, 3.0], "other": [4.0], "hog": [9.0, 9.0]}
    assert first_token_figures(times, ("small", "other", "absent")) == (4.0, 9.0, 4.0)


def test_ideal_counts_messages_that_were_computed_before() -> None:
    def messages(*texts: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": text} for text in texts]

    computed = ComputedPrefixes()
    assert computed.share(messages("abcd", "ef")) == 0
    computed.add(messages("abcd", "ef"))
    assert computed.share(messages("abcd", "ef", "ghijkl")) == 0.5
    assert computed.share(messages("abcd", "xyz!")) == 0.5
    assert computed.share(messages("ef", "abcd")) == 0


def test_figures_of_a_measurement_count_tenants_without_an_answer() -> None:
    workload = BY_NAME["hog"]
    result = LocalityLoadResult(
        2.0, requests=4, prompt=100, cached=60, ideal=80.0, first_s={"tenant-0": [0.5]}, work={"tenant-0": 7}
    )
    found = figures(workload, result)
    assert (found.reuse, found.of_ideal, found.requests_per_s) == (0.6, 0.75, 2.0)
    assert found.fairness == pytest.approx(jain([7, 0, 0, 0])) == pytest.approx(0.25)


def test_needed_work_leaves_out_what_another_replica_has_computed() -> None:
    replicas = caches(A)
    dispatcher = PushDispatcher(round_robin())
    outcome = Simulation(A, dispatcher, replicas, 1).run(60.0)
    assert len(outcome.work) == len(A.tenants)
    assert all(0 < outcome.needed[tenant] <= work for tenant, work in outcome.work.items())
    assert sum(outcome.needed.values()) < 0.9 * sum(outcome.work.values())  # chats go on elsewhere


def test_each_round_begins_with_another_variant_and_prompts_of_its_own() -> None:
    variants = [servers.LocalityVariant(name, (1,), {}, "model") for name in "abc"]
    orders = ["".join(variant.name for variant in in_turn(variants, round)) for round in (1, 2, 4)]
    assert orders == ["abc", "bca", "abc"]
    assert len({nonce(round, "w", name) for round in (1, 2) for name in "ab"}) == 4
    assert len({len(nonce(round, "w", name)) for round in (1, 2) for name in "ab"}) == 1


def sample(variant: str, round: int, rate: float, p95: float = 1.0, workload: str = "w") -> Sample:
    return Sample(round, workload, variant, Figures(0.5, None, 0.1, p95, 0.3, rate, 0.9))


def test_tables_have_a_row_for_each_variant_and_no_column_without_values() -> None:
    found = Samples(
        [sample("one", 1, 2.0), sample("two", 1, 3.0), sample("one", 2, 4.0), sample("two", 2, 3.0)]
    )
    text = workload_tables(found, {"w": "a workload", "absent": "not measured"})
    head, _, one, two = text.splitlines()
    assert "w: a workload" in head
    assert "of the ideal" not in head
    assert "3.00 (2.00 to 4.00)" in one
    assert "3.00 (3.00 to 3.00)" in two


def test_plots_have_a_bar_for_the_mean_of_each_variant(tmp_path: Path) -> None:
    samples = Samples([sample("one", 1, 10.0), sample("one", 2, 30.0), sample("<two>", 1, 5.0)])
    write_plots(tmp_path, samples, {"w": "a title"})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "locality-first-token.svg", "locality-requests.svg", "locality-reused.svg",
    ]  # fmt: skip
    text = (tmp_path / "locality-requests.svg").read_text()
    assert "a title" in text
    assert ">20  one<" in text
    assert ">5  &lt;two&gt;<" in text


def test_bars_compare_within_a_round() -> None:
    found = Samples(
        [sample("one", 1, 2.0), sample("two", 1, 1.0), sample("one", 2, 9.0), sample("two", 2, 3.0)]
    )
    ratio = Bar("w", "one", "requests_per_s", minimum=2.5, reference="two", comparison=Comparison.RATIO)
    assert ratio.measured(found) == 2.5
    assert ratio.holds(found)
    more = Bar("w", "two", "requests_per_s", minimum=-0.01, reference="one", comparison=Comparison.DIFFERENCE)
    assert more.measured(found) == -3.5
    assert missed_bars(found, [ratio, more]) == [f"{more.title}: -3.500, at least -0.01 more than one"]
    value = Bar("w", "one", "reuse", maximum=0.4)
    assert value.cells(found) == ["w, one: reused", "at most 0.4", "0.500", "**no**"]


def test_bar_of_a_variant_that_does_not_exist_is_skipped_with_the_reason() -> None:
    found = Samples([sample("one", 1, 2.0)])
    bar = Bar("w", "one", "reuse", minimum=2.0, reference="absent", comparison=Comparison.RATIO)
    other = Bar("unmeasured", "one", "reuse", minimum=2.0)
    assert missed_bars(found, [bar, other]) == []
    assert bars_table(found, [bar, other]).splitlines()[2:] == [
        "| w, one: reused | at least 2 x absent |          | skipped: no absent |"
    ]


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


@pytest.mark.slow
def test_chats_of_a_lost_replica_go_on_elsewhere(tmp_path: Path) -> None:
    lost = next(scenario for scenario in SCENARIOS if scenario.loses_replica)
    with measured_server(tmp_path, print) as server:
        for name in (stoker(DEFAULT), simulated_run.ONE_TREE):
            replicas = caches(lost)
            dispatcher = simulated_run.VARIANTS[name](server, replicas, 1)
            simulation = Simulation(lost, dispatcher, replicas, 1)
            outcome = simulation.run(100.0)
            assert outcome.ended > 50
            assert not simulation.engines[0].running()
            assert any(engine.running() for engine in simulation.engines[1:])
            assert 0.5 < outcome.reused / outcome.prompt < 1


def test_a_simulated_gateway_has_the_same_result_for_the_same_seed() -> None:
    outcomes = []
    for seed in (1, 1, 2):
        replicas = caches(B)
        simulation = Simulation(B, PushDispatcher(prefix_tree(4, seed)), replicas, seed)
        outcomes.append(simulated_run.figures(B, simulation.run(30.0)))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0] != outcomes[2]
