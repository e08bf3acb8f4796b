"""The behaviour that is required of every adapter. A subclass provides the model and its requests.

`EngineContract` holds for all engines, with the requirements for their caches (`contract_cache`);
`contract_local.LocalEngineContract` adds the requirements for engines that are a process on the worker's
machine. Features that a library lacks are class attributes, so that all exceptions are in one place.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from backends.base import Finish, GenerationError
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition
from generation.generation import Generation, Message, Tool, text_content
from streams.events import ScoredTextDelta, TextDelta, TokenLogprob, ToolCallDelta, Usage
from tests.backends.capabilities import not_applicable
from tests.backends.conftest import Answer, Launched, Start, ask
from tests.backends.contract_cache import CacheContract
from tests.backends.contract_truncation import TruncationContract
from tests.backends.measurements import AT_ONCE, ROWS, Row, tokens_per_s, versions
from tests.support.generations import RecordingSink, on_loop, run_generation, submit
from tests.support.waiting import scaled

SOON_S = 1.0
MIN_SAMPLES = 50  # deltas of an answer that measure time precisely enough
TRIES = 5
WEATHER = Tool(
    "get_weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def called(launched: Launched, request: Generation) -> tuple[str | None, object]:
    """Return the name and the arguments of the only tool call in an answer."""
    answer = launched.answer(request)
    assert answer.finish is not None
    assert answer.finish.reason == "tool_calls"
    calls = [delta for delta in answer.deltas if isinstance(delta, ToolCallDelta)]
    assert calls[0].id
    assert {call.id for call in calls[1:]} <= {None}
    assert len(calls) > 1
    return calls[0].name, json.loads("".join(call.arguments for call in calls))


def scored(answer: Answer) -> list[TokenLogprob]:
    """Return the tokens of an answer, whose every piece has to have the tokens of its text."""
    deltas = [delta for delta in answer.deltas if isinstance(delta, ScoredTextDelta)]
    assert len(deltas) == len(answer.deltas) > 0
    tokens = [token for delta in deltas for token in delta.tokens]
    assert "".join(token.token for token in tokens) == "".join(delta.text for delta in deltas)
    return tokens


def cancel_for_a_waiting_request(launched: Launched, long: Generation, short: Generation) -> Answer:
    """Check that a short answer takes the slot of a long one that is cancelled. Returns the cancelled one.

    On a busy machine the long answer may be complete before the cancellation arrives; then it is tried again.
    """
    for _ in range(TRIES):
        cancelled, share = cancel_one_of_many(launched, long, short)
        if share < 0.1:
            return cancelled
    pytest.fail("a cancelled answer holds its slot too long")


def cancel_one_of_many(launched: Launched, long: Generation, short: Generation) -> tuple[Answer, float]:
    """Fill all slots with long answers, let a short one wait, and cancel a long one.

    Returns the cancelled answer, and when the short one began. The clock is another long answer, so that the
    result does not depend on the speed of the machine: its deltas after the cancellation run from 0 to 1. An
    engine that ignores the cancellation begins the short answer at 1.
    """
    running = [launched.begin(long, id=f"long-{i}") for i in range(launched.engine.slots)]
    for answer, _ in running:
        assert answer.first_delta.wait(scaled(30))
    (cancelled, ending), *_, (clock, _) = running
    waiting = launched.begin(short, id="waiting")
    begun = len(clock.times)
    launched.cancel("long-0")
    ending.join(scaled(SOON_S))
    in_time = cancelled.finish is not None and cancelled.finish.reason == "cancelled"
    for answer, thread in (waiting, *running):
        thread.join()
        assert answer.error is None
    left = clock.times[begun:]
    before = sum(moment < waiting[0].times[0] for moment in left)
    return cancelled, before / len(left) if in_time and len(left) > MIN_SAMPLES else 1.0


def check_seeds(launched: Launched, request: Callable[[int], Generation], *seeds: int) -> None:
    """Check that a seed determines the answer, and that not all seeds give the same one."""

    def text(seed: int) -> str:
        return launched.answer(request(seed)).text

    text(1)  # from now on the prompt is cached: it may have been computed in batches of another size before
    for seed in (7, *seeds):
        assert len({text(seed) for _ in range(3)}) == 1
    assert len({text(seed) for seed in range(4)}) > 1


@pytest.mark.contract
class EngineContract(CacheContract, TruncationContract):
    """The requirements for all engines."""

    backend: str
    kind = ""  # distinguishes it from others of its backend in the table of measurements
    slots_to_fill = 2  # how many requests fill it; a server may have a fixed number
    seeded = True  # whether the seed of a request determines the answer
    thinks = True  # whether it separates reasoning from the answer
    takes_prompts = True  # whether it continues a text without a chat template
    names_stops = False  # whether it reports the stop string that ended an answer
    counts_tools = True  # whether a request for its short answer may have tools
    rendered = ""  # the text that the template makes of the short request
    load_s = 20.0  # the longest duration of a load
    many = 200  # generations at once, most of which wait for a slot

    def model(self, **fields: object) -> ModelDefinition:
        """Return a model of this backend that loads quickly."""
        raise NotImplementedError

    def short(self, **overrides: object) -> Generation:
        """Return a request that always has the same short answer of some words."""
        raise NotImplementedError

    def long(self, **overrides: object) -> Generation:
        """Return a request that always has the same answer, which takes at least some tenths of a second."""
        raise NotImplementedError

    def varied(self, seed: int) -> Generation:
        """Return a request whose answer differs between most seeds."""
        raise NotImplementedError

    def too_long(self) -> Generation:
        """Return a request that does not fit into the context."""
        raise NotImplementedError

    def bad(self) -> Generation:
        """Return a well-formed request that the engine cannot process; here, one with an invalid schema."""
        nonsense = Tool("f", "A function.", {"type": "nonsense"}, strict=True)
        return ask("Call it.", tools=(nonsense,), tool_choice="required", max_tokens=64)

    def thinking(self) -> Generation:
        """Return a request whose answer begins with reasoning."""
        raise NotImplementedError

    # loading

    def test_a_load_reports_progress_up_to_its_end(self, shared: Launched) -> None:
        fractions = [done for done, _ in shared.progress]
        assert fractions == sorted(fractions)
        assert fractions[0] < 1.0
        assert fractions.count(1.0) == 1
        assert fractions[-1] == 1.0
        assert shared.engine.slots == 4

    # answering

    def test_an_answer_is_streamed_and_reports_its_usage(self, shared: Launched) -> None:
        answer = shared.answer(self.short())
        assert answer.finish is not None
        assert answer.finish.reason == "stop"
        assert all(isinstance(delta, TextDelta) and delta.text for delta in answer.deltas)
        usage = answer.finish.usage
        assert usage.input_tokens > 0
        assert 1 <= len(answer.deltas) <= usage.output_tokens  # text that comes together is one delta
        assert usage.reasoning_tokens == 0
        again = shared.answer(self.short()).finish
        assert again is not None
        assert (again.usage.input_tokens, again.usage.output_tokens) == (
            usage.input_tokens,
            usage.output_tokens,
        )

    def test_an_engine_answers_as_many_requests_at_once_as_it_has_slots(self, shared: Launched) -> None:
        request = self.long(max_tokens=1800)
        running = [shared.begin(request, id=f"at-once-{i}") for i in range(shared.engine.slots)]
        for _, thread in running:
            thread.join()
        answers = [answer for answer, _ in running]
        assert [answer.error for answer in answers] == [None] * 4
        assert all(len(answer.deltas) >= 4 for answer in answers)
        assert max(answer.times[0] for answer in answers) < min(answer.times[-1] for answer in answers)

    def test_an_answer_ends_before_a_stop_string(self, shared: Launched) -> None:
        whole = shared.answer(self.short()).text
        middle = whole.split()[2]
        answer = shared.answer(self.short(stop=(middle,)))
        assert answer.finish is not None
        assert answer.finish.reason == "stop"
        assert answer.text == whole[: whole.index(middle)]
        assert answer.finish.stop_sequence == (middle if self.names_stops else None)
        ended = shared.answer(self.short(stop=("no such text",))).finish
        assert ended is not None
        assert ended.stop_sequence is None

    def test_an_answer_ends_at_max_tokens(self, shared: Launched) -> None:
        answer = shared.answer(self.short(max_tokens=3))
        assert answer.finish is not None
        assert answer.finish.reason == "length"
        assert answer.finish.usage.output_tokens == 3

    def test_each_token_has_its_log_probability(self, shared: Launched) -> None:
        backend = BACKENDS[self.backend]
        if not backend.honours("top_logprobs", self.model().options):
            not_applicable("this backend reports no log probabilities")
        expected = shared.answer(self.short(max_tokens=4)).text
        prompt = replace(self.short(max_tokens=4), messages=(), prompt=self.rendered)
        for request in (self.short(max_tokens=4), *((prompt,) if self.takes_prompts else ())):
            for count in (each for each in (0, 1, 3) if each <= backend.max_logprobs):
                sampling = replace(request.sampling, top_logprobs=count)
                answer = shared.answer(replace(request, sampling=sampling))
                tokens = scored(answer)
                assert "".join(token.token for token in tokens) == expected
                assert answer.finish is not None
                assert len(tokens) == answer.finish.usage.output_tokens == 4
                for token in tokens:
                    assert [one.token for one in token.top[:1]] == [token.token][:count]
                    assert len(token.top) == count
                    chances = [math.exp(one.logprob) for one in token.top]
                    assert chances == sorted(chances, reverse=True)
                    assert sum(chances) <= 1.001
                    assert token.logprob <= 0

    def test_tokens_of_a_prompt_have_log_probabilities_when_they_are_asked_for(
        self, shared: Launched
    ) -> None:
        if not BACKENDS[self.backend].scores_prompts:
            not_applicable("this backend reports no log probabilities of prompts")
        prompt = replace(self.short(max_tokens=3, top_logprobs=2), messages=(), prompt=self.rendered)
        plain, answer = shared.answer(prompt), shared.answer(replace(prompt, scores_prompt=True))
        assert answer.text == self.rendered + plain.text
        tokens = answer.tokens[: -len(plain.tokens)]
        assert "".join(token.token for token in tokens) == self.rendered
        assert (tokens[0].logprob, tokens[0].top) == (0.0, ())
        assert all(token.logprob <= 0 and len(token.top) == 2 for token in tokens[1:])
        assert [one.token for one in answer.tokens[len(tokens) :]] == [one.token for one in plain.tokens]
        assert answer.finish is not None
        assert plain.finish is not None
        assert answer.finish.usage.output_tokens == plain.finish.usage.output_tokens
        again = shared.answer(replace(prompt, scores_prompt=True))  # a cached prefix is computed again
        assert [one.token for one in again.tokens] == [one.token for one in answer.tokens]

    def test_a_prompt_is_continued_as_it_is(self, shared: Launched) -> None:
        prompt = replace(self.short(), messages=(), prompt=self.rendered)
        if not self.takes_prompts:
            with pytest.raises(GenerationError):
                shared.answer(prompt)
            return
        expected, answer = shared.answer(self.short()), shared.answer(prompt)
        assert answer.text == expected.text
        assert all(isinstance(delta, TextDelta) for delta in answer.deltas)
        assert answer.finish is not None
        assert expected.finish is not None
        assert answer.finish.reason == "stop"
        assert 0 < answer.finish.usage.input_tokens <= expected.finish.usage.input_tokens

    def test_prompt_of_tokens_is_read_as_it_is(self, shared: Launched) -> None:
        if "prompt_tokens" not in BACKENDS[self.backend].sampling:
            not_applicable("this backend takes no tokens as a prompt")
        asked = replace(self.short(max_tokens=2), messages=(), prompt="", prompt_tokens=(5, 6, 7))
        text = replace(asked, prompt="a b", prompt_tokens=())
        mixed = replace(asked, prompt_tokens=("a b", 5, "c"))
        finishes = [shared.answer(request).finish for request in (asked, text, mixed)]
        tokens = [0 if finish is None else finish.usage.input_tokens for finish in finishes]
        assert tokens[0] == 3
        assert tokens[2] == tokens[1] + 2
        for token in (-1, 2**31 - 1):
            with pytest.raises(GenerationError, match=f"the prompt has the token {token}: the model has"):
                shared.answer(replace(asked, prompt_tokens=(5, token)))

    def test_begun_answer_is_continued_as_its_prompt_would_be(self, shared: Launched) -> None:
        whole = shared.answer(self.short()).text
        if BACKENDS[self.backend].is_single_turn(self.model().options):
            not_applicable("this model takes one message")
        begin = whole.split(" ")[0]
        begun = self.continuing(begin)
        if not self.takes_prompts:
            assert shared.answer(begun).text.strip() == whole[len(begin) :].strip()
            return
        prompt = replace(self.short(), messages=(), prompt=self.rendered + begin)
        expected, answer = shared.answer(prompt), shared.answer(begun)
        assert answer.text == expected.text
        assert not answer.reasoning
        assert answer.finish is not None
        assert expected.finish is not None
        assert answer.finish.usage.output_tokens == expected.finish.usage.output_tokens
        if BACKENDS[self.backend].can_count_tokens(self.model().options):
            counted = shared.answer(replace(begun, count_only=True))
            assert counted.finish == Finish("stop", Usage(answer.finish.usage.input_tokens))

    def continuing(self, begin: str) -> Generation:
        """Return the short request with the beginning of its answer."""
        messages = (*self.short().messages, Message("assistant", text_content(begin)))
        return replace(self.short(), messages=messages, continue_last=True)

    def counted(self) -> list[Generation]:
        """Return requests with short answers, whose prompts are of different kinds."""
        tools = {"tools": (WEATHER,)} if self.counts_tools else {}
        prompts = [replace(self.short(), messages=(), prompt=self.rendered)] if self.takes_prompts else []
        return [self.short(), replace(self.short(max_tokens=1), **tools), *prompts]

    def test_the_tokens_of_a_prompt_are_counted_as_in_an_answer(self, shared: Launched) -> None:
        for request in self.counted():
            counting = replace(request, count_only=True)
            if not BACKENDS[self.backend].can_count_tokens(self.model().options):
                with pytest.raises(GenerationError) as caught:
                    shared.answer(counting)
                assert caught.value.code == "token_count_unsupported"
                continue
            answered, counted = shared.answer(request).finish, shared.answer(counting)
            assert answered is not None
            assert counted.finish == Finish("stop", Usage(answered.usage.input_tokens))
            assert counted.deltas == []

    def test_a_count_of_a_prompt_that_is_too_long_fails_alone(self, shared: Launched) -> None:
        if BACKENDS[self.backend].can_count_tokens(self.model().options):
            with pytest.raises(GenerationError) as caught:
                shared.answer(replace(self.too_long(), count_only=True))
            assert caught.value.code == "context_length_exceeded"
        assert shared.answer(self.short()).text

    def test_a_seed_determines_the_answer(self, shared: Launched) -> None:
        if not self.seeded:
            not_applicable("this backend ignores seeds")
        check_seeds(
            shared, self.varied, -1, 2**32 - 1, 2**63 - 1
        )  # some engines take one of these numbers for no seed

    def test_reasoning_is_separated_from_the_answer(self, shared: Launched) -> None:
        if not self.thinks:
            not_applicable("this backend does not separate reasoning")
        answer = shared.answer(self.thinking())
        assert answer.finish is not None
        assert answer.reasoning
        assert answer.text
        assert 0 < answer.finish.usage.reasoning_tokens < answer.finish.usage.output_tokens

    def test_a_tool_call_is_complete(self, shared: Launched) -> None:
        raise NotImplementedError

    def test_a_prompt_that_is_too_long_fails_alone(self, shared: Launched) -> None:
        with pytest.raises(GenerationError) as caught:
            shared.answer(self.too_long())
        assert caught.value.code == "context_length_exceeded"
        assert shared.answer(self.short()).text

    def test_invalid_parameters_fail_alone(self, shared: Launched) -> None:
        with pytest.raises(GenerationError) as caught:
            shared.answer(self.bad())
        assert caught.value.code == "invalid_prompt"
        assert shared.answer(self.short()).text

    def test_a_refused_request_is_quoted_in_no_log(
        self, shared: Launched, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO")
        tool = Tool("f", None, {"type": "private-type", "pattern": "private-pattern["})
        messages = (Message("user", text_content("private-text")), Message("private-role", text_content("x")))
        for request in (
            replace(self.short(), tools=(tool,), tool_choice="required"),
            replace(self.short(), messages=messages),
            replace(self.short(), messages=(), prompt="private-text", tools=(tool,)),
        ):
            answer, thread = shared.begin(request)
            thread.join()
            assert isinstance(answer.error, GenerationError | None)
        log = shared.directory / "engine.log"
        written = log.read_text(errors="replace") if log.exists() else ""
        assert "private-" not in caplog.text
        # of a schema that a runtime cannot enforce its own lines may have the part that it does not know
        assert "private-text" not in written
        assert "private-role" not in written
        assert shared.answer(self.short()).text

    def test_a_generation_fails_alone_when_its_sink_raises(self, shared: Launched) -> None:
        def refuse(_delta: object) -> None:
            raise ZeroDivisionError

        with pytest.raises(GenerationError) as caught:
            run_generation(shared.engine, "refusing", self.short(), refuse)
        assert caught.value.code == "engine_error"
        assert shared.answer(self.short()).text

    def test_many_generations_at_once_need_no_threads(self, shared: Launched) -> None:
        threads = threading.active_count()
        request = self.short(max_tokens=2)
        sinks = [submit(shared.engine, f"many-{i}", request) for i in range(self.many)]
        most = threading.active_count()
        for sink in sinks:
            sink.result()
        assert most - threads < 10

    @classmethod
    def version(cls) -> str:
        """Return the version that is measured, for the table."""
        return versions()[cls.backend]

    def measured(self) -> Generation:
        """Return a request whose answer has about a hundred tokens."""
        return self.long(max_tokens=100)

    @pytest.mark.engines
    def test_the_throughput_is_measured(self, start: Start) -> None:
        """Measure the duration of a load, and tokens per second of many concurrent requests."""
        row = ROWS.setdefault(type(self), Row())
        begun = time.monotonic()
        launched = start(self.model(), slots=max(AT_ONCE))
        row.load_s = time.monotonic() - begun
        tokens_per_s(launched, self.measured(), 1)  # warm up
        for count in AT_ONCE:
            row.rates[count] = tokens_per_s(launched, self.measured(), count)

    # cancelling

    def test_a_cancelled_generation_frees_its_slot_at_once(self, start: Start) -> None:
        cancelled = cancel_for_a_waiting_request(
            start(self.model(), slots=self.slots_to_fill), self.long(), self.short()
        )
        assert cancelled.finish is not None
        assert cancelled.finish.usage.input_tokens > 0

    def test_a_generation_can_be_cancelled_as_soon_as_it_is_submitted(self, shared: Launched) -> None:
        sink = RecordingSink(lambda _delta: None)

        def submit_and_cancel() -> None:
            shared.engine.submit("at-once", self.long(), sink)
            shared.engine.cancel("at-once")
            shared.engine.cancel("at-once")

        on_loop(submit_and_cancel)
        assert sink.result().reason == "cancelled"
        assert shared.answer(self.short()).text
        assert sink.outcomes.empty()

    def test_cancelling_an_unknown_or_finished_request_does_nothing(self, shared: Launched) -> None:
        shared.cancel("unknown")
        shared.answer(self.short(), id="done")
        shared.cancel("done")
        assert shared.answer(self.short()).text
