"""The sampling fields of `backends.declaration.TOKEN_SAMPLING`: each changes the answer of the demo model.

A test is skipped for a backend that does not declare its field.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from backends.base import GenerationError
from backends.catalogue import BACKENDS
from generation.generation import Generation
from tests.backends.capabilities import not_applicable
from tests.backends.conftest import Launched, ask

ZEROS = "0" * 200
"""The demo model has not learned zeros: it answers with a zero again and again."""

NORWAY, CAPITAL = 795, 318
"""The tokens of " Norway" and " capital" in the demo model's vocabulary."""

LETTERS = {"Norway": "A", "capital": "B"}


def learned(**fields: object) -> Generation:
    """Return a request whose greedy answer the model has learned."""
    return ask("Tell me a story.", **{"temperature": 0.0, "max_tokens": 30, **fields})


class SamplingContract:
    """The requirements for the sampling fields of an engine with the demo model."""

    backend: str
    counts_prompt = False  # whether its presence and frequency penalties count the prompt's tokens, too
    bounds_penalties = False  # whether it refuses penalties that no client can ask for
    knows_vocabulary = False  # whether it refuses a bias of a token that does not exist

    def needs(self, *names: str) -> None:
        """Skip the test of a backend that lacks one of these fields."""
        missing = set(names) - BACKENDS[self.backend].sampling
        if missing:
            not_applicable(f"this backend does not honour {', '.join(sorted(missing))}")

    @pytest.mark.parametrize("field", [{"top_k": 1}, {"min_p": 1.0}])
    def test_one_candidate_is_the_greedy_answer_at_any_temperature(
        self, shared: Launched, field: dict[str, float]
    ) -> None:
        self.needs(*field)
        fields = {"temperature": 2.0, "max_tokens": 30}
        greedy = shared.answer(ask(ZEROS, temperature=0.0, max_tokens=30)).text
        for seed in range(3):
            assert shared.answer(ask(ZEROS, seed=seed, **field, **fields)).text == greedy
        assert {shared.answer(ask(ZEROS, seed=seed, **fields)).text for seed in range(3)} != {greedy}

    def test_llama_cpps_samplers_have_an_effect_on_the_answer_to_a_conversation(
        self, shared: Launched
    ) -> None:
        self.needs("llama")
        fields = {"temperature": 2.0, "max_tokens": 30}
        greedy = shared.answer(ask(ZEROS, temperature=0.0, max_tokens=30)).text
        narrow = {"top_n_sigma": 0.001}
        for seed in range(3):
            assert shared.answer(ask(ZEROS, seed=seed, llama=narrow, **fields)).text == greedy
        assert {shared.answer(ask(ZEROS, seed=seed, **fields)).text for seed in range(3)} != {greedy}

    def test_two_candidates_are_the_two_likeliest_tokens(self, shared: Launched) -> None:
        self.needs("top_k", "min_p", "top_logprobs")  # backends with min_p report alternatives
        fields = {"temperature": 2.0, "top_p": 1.0, "min_p": 0.0, "max_tokens": 1}
        # the likeliest token: one that is drawn at this temperature may be an end, which has no text
        (first,) = shared.answer(ask(ZEROS, top_logprobs=2, **{**fields, "temperature": 0.0})).tokens
        drawn = {shared.answer(ask(ZEROS, seed=seed, top_k=2, **fields)).text for seed in range(20)}
        # a server may take the white space at the beginning of an answer away
        assert {text.strip() for text in drawn} == {one.token.strip() for one in first.top}
        assert len(drawn) == 2

    def test_a_bias_forces_a_token(self, shared: Launched) -> None:
        self.needs("logit_bias")
        forced = learned(logit_bias=((NORWAY, 100.0),), max_tokens=4)
        assert shared.answer(forced).text.split() == ["Norway"] * 4

    def test_a_bias_prevents_a_token(self, shared: Launched) -> None:
        self.needs("logit_bias")
        biases = ((NORWAY, 100.0), (CAPITAL, 80.0))
        assert shared.answer(learned(logit_bias=biases, max_tokens=2)).text.split() == ["Norway"] * 2
        banned = ((NORWAY, -100.0), (CAPITAL, 80.0))
        assert shared.answer(learned(logit_bias=banned, max_tokens=2)).text.split() == ["capital"] * 2

    def test_biases_of_tokens_that_do_not_exist_change_no_other_answer(self, shared: Launched) -> None:
        self.needs("logit_bias")
        greedy = shared.answer(learned()).text
        for first in (2**31 - 1, 2**20, 9_999_999_999):
            request = learned(logit_bias=tuple((first - number, -100.0) for number in range(1024)))
            if self.knows_vocabulary:
                with pytest.raises(GenerationError) as caught:
                    shared.answer(request)
                assert caught.value.code == "invalid_prompt"
            else:
                assert shared.answer(request).text == greedy
            assert shared.answer(learned()).text == greedy

    def test_a_repetition_penalty_divides_the_logit_of_an_earlier_token(self, shared: Launched) -> None:
        """The biases are far above the model's logits. A third of that of A is below that of B."""
        self.needs("repetition_penalty", "logit_bias")
        request = learned(logit_bias=((NORWAY, 100.0), (CAPITAL, 80.0)), max_tokens=4, repetition_penalty=3.0)
        assert "".join(LETTERS[word] for word in shared.answer(request).text.split()) == "ABAA"

    @pytest.mark.parametrize(
        ("penalty", "expected"),
        [({}, "AAAA"), ({"presence_penalty": 500.0}, "ABAA"), ({"frequency_penalty": 500.0}, "ABAB")],
    )
    def test_a_penalty_lowers_the_logits_of_earlier_tokens(
        self, shared: Launched, penalty: dict[str, float], expected: str
    ) -> None:
        """Biases and penalties are far above the model's logits, and above what a client may ask for."""
        self.needs("logit_bias", *penalty)
        if self.bounds_penalties:
            not_applicable("this backend refuses such penalties")
        request = learned(logit_bias=((NORWAY, 1000.0), (CAPITAL, 800.0)), max_tokens=4, **penalty)
        assert "".join(LETTERS[word] for word in shared.answer(request).text.split()) == expected

    @pytest.mark.parametrize("name", ["presence_penalty", "frequency_penalty", "repetition_penalty"])
    def test_a_penalty_breaks_a_repetition(self, shared: Launched, name: str) -> None:
        self.needs(name)
        plain = ask(ZEROS, temperature=0.0, max_tokens=60)
        penalized = replace(plain, sampling=replace(plain.sampling, **{name: 2.0}))
        assert set(shared.answer(plain).text) == {"0"}
        assert len(set(shared.answer(penalized).text)) > 1

    @pytest.mark.parametrize("name", ["presence_penalty", "frequency_penalty"])
    def test_a_penalty_counts_generated_tokens_only(self, shared: Launched, name: str) -> None:
        self.needs(name)
        if self.counts_prompt:
            not_applicable("this backend counts the tokens of the prompt, too")
        plain = ask(ZEROS, temperature=0.0, max_tokens=1)
        penalized = replace(plain, sampling=replace(plain.sampling, **{name: 2.0}))
        assert shared.answer(penalized).text == shared.answer(plain).text == "0"

    def test_values_without_effect_change_no_answer(self, shared: Launched) -> None:
        neutral = {"presence_penalty": 0.0, "frequency_penalty": 0.0, "repetition_penalty": 1.0}
        neutral |= {"top_k": 0, "min_p": 0.0}
        greedy = ask(ZEROS, temperature=0.0, max_tokens=30)
        changed = replace(greedy, sampling=replace(greedy.sampling, **neutral))
        assert shared.answer(changed).text == shared.answer(greedy).text

    def test_log_probabilities_are_those_before_biases_and_penalties(self, shared: Launched) -> None:
        self.needs("top_logprobs", "logit_bias")
        (plain,) = shared.answer(learned(max_tokens=1, top_logprobs=2)).tokens
        request = learned(max_tokens=1, top_logprobs=2, logit_bias=((NORWAY, 100.0),))
        (forced,) = shared.answer(request).tokens
        assert [one.token for one in forced.top] == [one.token for one in plain.top]
        assert math.isclose(forced.top[0].logprob, plain.top[0].logprob, abs_tol=0.02)
        assert forced.token == " Norway"
        assert forced.logprob < plain.logprob

    def test_log_probabilities_do_not_depend_on_how_tokens_are_chosen(self, shared: Launched) -> None:
        self.needs("top_logprobs")
        (greedy,) = shared.answer(ask(ZEROS, temperature=0.0, max_tokens=1, top_logprobs=0)).tokens
        hot = {"temperature": 2.0, "max_tokens": 1, "top_logprobs": 0}
        answers = [shared.answer(ask(ZEROS, seed=seed, **hot)) for seed in range(20)]
        drawn = [token for answer in answers for token in answer.tokens]  # the end of an answer has no text
        same = [token.logprob for token in drawn if token.token == greedy.token]
        assert same
        assert same == pytest.approx([greedy.logprob] * len(same), abs=0.02)
        assert all(token.logprob < greedy.logprob for token in drawn if token.token != greedy.token)

    def test_tokens_before_a_stop_string_have_log_probabilities(self, shared: Launched) -> None:
        self.needs("top_logprobs")
        whole = shared.answer(learned()).text
        stop = whole.split()[4]
        answer = shared.answer(learned(stop=(stop,), top_logprobs=0))
        assert answer.text == whole[: whole.index(stop)]
        texts = "".join(token.token for token in answer.tokens)
        assert texts.startswith(answer.text)
        assert len(texts) < len(answer.text) + len(stop)

    @pytest.mark.parametrize("stop", [(), ("no such text",)])
    def test_reasoning_has_no_log_probabilities(self, shared: Launched, stop: tuple[str, ...]) -> None:
        self.needs("top_logprobs")
        plain = ask("Think: what is 3+4?", thinking="enabled", temperature=0.0, stop=stop)
        expected = shared.answer(plain)
        answer = shared.answer(replace(plain, sampling=replace(plain.sampling, top_logprobs=0)))
        assert (answer.reasoning, answer.text) == (expected.reasoning, expected.text)
        assert answer.reasoning
        texts = "".join(token.token for token in answer.tokens).strip()
        # a server that sends tokens before their text does not say which are the first after the reasoning
        assert answer.text.strip().endswith(texts) if stop else answer.text.strip() == texts

    @pytest.mark.parametrize("budget", [0, 3])
    def test_reasoning_ends_when_its_budget_is_used_up_and_the_answer_follows(
        self, shared: Launched, budget: int
    ) -> None:
        self.needs("thinking_budget")
        thinking = ask("Think: what is 3+4?", thinking="enabled", temperature=0.0, max_tokens=60)
        whole = shared.answer(thinking)
        assert whole.finish.usage.reasoning_tokens > budget + 2
        answer = shared.answer(replace(thinking, thinking_budget=budget))
        assert whole.reasoning.strip().startswith(answer.reasoning.strip())
        assert len(answer.reasoning) < len(whole.reasoning)
        assert answer.finish.usage.reasoning_tokens <= budget + 2  # the markers may count
        assert answer.text.strip()
        assert answer.finish.reason == "stop"

    def test_budget_of_reasoning_that_is_not_used_up_changes_nothing(self, shared: Launched) -> None:
        self.needs("thinking_budget")
        thinking = ask("Think: what is 3+4?", thinking="enabled", temperature=0.0, max_tokens=60)
        whole = shared.answer(thinking)
        answer = shared.answer(replace(thinking, thinking_budget=50))
        assert (answer.reasoning, answer.text) == (whole.reasoning, whole.text)
