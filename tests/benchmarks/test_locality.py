"""The comparison of what becomes of cached prompts: its workloads, its variants, its tables."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from benchmarks.locality import servers, simulated_run
from benchmarks.locality.figures import Figures, Sample, Samples, first_token_figures
from benchmarks.locality.load_generator import ComputedPrefixes, LocalityLoadResult
from benchmarks.locality.localities import DEFAULT, LOCALITIES, OFF, several, stoker
from benchmarks.locality.measured_run import figures, in_turn, nonce
from benchmarks.locality.plots import write_plots
from benchmarks.locality.report import Bar, Comparison, bars_table, missed_bars, workload_tables
from benchmarks.locality.request_forms import Answer, ChatForm, ResponsesForm
from benchmarks.locality.tokens import Phase, PromptTokens, TokensByPhase, changes
from benchmarks.locality.workloads import BY_NAME, Turn
from benchmarks.on_demand.report import jain

TURNS = 30


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
    tokens = TokensByPhase()
    tokens.add(Phase.SETTLED, "tenant-0", PromptTokens(100, 60, 80.0))
    result = LocalityLoadResult(
        *(2.0, 4), tokens=tokens.rows(), first_s={"tenant-0": [0.5]}, work={"tenant-0": 7}
    )
    found = figures(workload, result)
    assert (found.reuse, found.of_ideal, found.requests_per_s) == (0.6, 0.75, 2.0)
    assert found.fairness == pytest.approx(jain([7, 0, 0, 0])) == pytest.approx(0.25)


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


def test_changes_compare_with_the_time_before_the_event() -> None:
    tokens = TokensByPhase()
    for phase, of_flushed, of_others in (
        (Phase.BEFORE, 80, 90),
        (Phase.SETTLING, 10, 80),
        (Phase.SETTLED, 60, 100),
    ):
        tokens.add(phase, "flushed", PromptTokens(100, of_flushed, 100))
        tokens.add(phase, "other", PromptTokens(100, of_others, 100))
    assert changes(TokensByPhase(tokens.rows()), ("flushed",)) == {
        "regained": pytest.approx(0.75), "others": pytest.approx(0.0),
    }  # fmt: skip
    assert changes(tokens, ()) == {"regained": pytest.approx(160 / 170)}


def test_request_that_continues_a_response_sends_its_last_message_alone() -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert ChatForm().body("m", messages, "")["messages"] == messages
    form = ResponsesForm()
    assert form.body("m", messages, "")["input"] == messages
    assert "previous_response_id" not in form.body("m", messages, "")
    assert form.body("m", messages, "resp_1")["input"] == messages[1:]
    assert form.body("m", messages, "resp_1")["previous_response_id"] == "resp_1"


def test_both_forms_read_the_text_and_the_usage_of_a_stream() -> None:
    chat, response = Answer(), Answer()
    usage = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens": 2}
    for event in ({"choices": [{"delta": {"reasoning_content": "a"}}]}, {"choices": [], "usage": usage}):
        ChatForm().read(event, chat)
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 2}
    ended = {"type": "response.incomplete", "response": {"id": "resp_1", "usage": usage}}
    for event in ({"type": "response.output_text.delta", "delta": "a"}, ended):
        ResponsesForm().read(event, response)
    assert chat == Answer("a", "", 9, 4, 2, is_whole=True)
    assert response == Answer("a", "resp_1", 9, 4, 2, is_whole=True)


def test_peers_are_measured_in_front_of_llama_servers_only() -> None:
    names = {backend: servers.variant_names(backend) for backend in servers.BACKENDS}
    assert any(name.startswith("smg") for name in names[servers.LLAMA_SERVER])
    assert all(name.startswith("Stoker") for name in names["llama_cpp"])
    assert several(stoker(DEFAULT), 2) in names["llama_cpp"]
