"""What chat clients of llama-server see and do while an engine computes.

They see how much of the prompt was read, and end the reasoning. A test is skipped for a backend that does not
declare `ends_reasoning`: those that do report the progress, too.
"""

from __future__ import annotations

from dataclasses import replace

from backends.base import EndsReasoning
from backends.catalogue import BACKENDS
from streams.events import PromptProgress
from tests.backends.capabilities import not_applicable
from tests.backends.conftest import Launched, ask
from tests.support.generations import on_loop
from tests.support.waiting import scaled

END_OF_THINKING, END_OF_TURN = 1017, 1015
"""The tokens `</think>` and `<|im_end|>` in the demo model's vocabulary."""


class ControlContract:
    """The requirements for an engine with the demo model."""

    backend: str

    def needs_control(self) -> None:
        """Skip the test of a backend that lacks it."""
        if not BACKENDS[self.backend].ends_reasoning:
            not_applicable("this backend does not end a reasoning")

    def test_reasoning_ends_on_request_and_the_answer_follows(self, shared: Launched) -> None:
        self.needs_control()
        banned = tuple((token, -100.0) for token in (END_OF_THINKING, END_OF_TURN))
        unending = {"max_tokens": 3500, "logit_bias": banned, "ends_reasoning": True}
        endless = ask("Think: what is 3+4?", thinking="enabled", temperature=0.0, **unending)
        answer, thread = shared.begin(endless, "endless")
        assert answer.first_delta.wait(scaled(10))
        assert isinstance(shared.engine, EndsReasoning)
        for _ in range(2):  # the second one has no effect
            on_loop(shared.engine.end_reasoning, "endless")
        thread.join(scaled(20))
        assert answer.error is None
        assert answer.finish is not None
        assert answer.reasoning
        assert answer.text, "the answer followed"
        usage = answer.finish.usage
        assert (answer.finish.reason, usage.output_tokens) == ("length", 3500)
        assert 0 < usage.reasoning_tokens < 3500

    def test_answer_whose_reasoning_may_be_ended_is_the_same_without_that(self, shared: Launched) -> None:
        self.needs_control()
        thinking = ask("Think: what is 3+4?", thinking="enabled", temperature=0.0, max_tokens=60)
        plain, answer = (shared.answer(replace(thinking, ends_reasoning=may)) for may in (False, True))
        assert (answer.reasoning, answer.text) == (plain.reasoning, plain.text)
        assert isinstance(shared.engine, EndsReasoning)
        on_loop(shared.engine.end_reasoning, "only")  # it has ended

    def test_progress_of_a_prompt_comes_before_the_output_where_it_is_asked_for(
        self, shared: Launched
    ) -> None:
        self.needs_control()
        long = ask("Think: what is 3+4? " * 300, cache_namespace="9" * 32, max_tokens=3, temperature=0.0)
        plain = shared.answer(long)
        assert not any(isinstance(delta, PromptProgress) for delta in plain.deltas)
        assert plain.finish is not None
        for namespace, is_cached in (("8" * 32, False), ("9" * 32, True)):
            request = replace(long, cache_namespace=namespace, reports_progress=True)
            answer = shared.answer(request)
            count = sum(isinstance(delta, PromptProgress) for delta in answer.deltas)
            progress = [delta for delta in answer.deltas[:count] if isinstance(delta, PromptProgress)]
            assert len(progress) == count >= 2
            assert {one.total for one in progress} == {plain.finish.usage.input_tokens}
            assert len({one.cached for one in progress}) == 1
            assert (progress[0].cached > 0) is is_cached
            read = [one.processed for one in progress]
            assert read == sorted(read)
            assert (read[0], read[-1]) == (progress[0].cached, progress[0].total)
            times = [one.time_ms for one in progress]
            assert times == sorted(times)
            assert times[0] < scaled(1000)
            assert answer.finish is not None
            assert answer.finish.usage.output_tokens == plain.finish.usage.output_tokens
