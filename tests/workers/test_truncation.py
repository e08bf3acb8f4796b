"""The search for the fewest parts to drop, with an engine that counts one token for each word."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from backends.base import Finish, GenerationError, Sink
from engines.engine_process.errors import EngineError, EngineLost
from generation.generation import Generation, Message, Sampling, text_content
from streams.events import Usage
from workers.truncation import prompt_limit, submit_truncated

CONTEXT = 1000


class WordEngine:
    """An engine that answers a count at once; a generation keeps its sink. Its limit is the context."""

    def __init__(self, context: int | None = CONTEXT) -> None:
        self.context = context
        self.counted: list[int] = []
        self.submitted: list[Generation] = []
        self.stopped = False
        self.stop_at: int | None = None
        self.error: EngineError | None = None

    def submit(self, _id: str, generation: Generation, sink: Sink) -> None:
        if not generation.count_only or generation.truncate:
            self.submitted.append(generation)
            return
        words = sum(len(message.text.split()) for message in generation.messages)
        self.counted.append(words)
        self.stopped = len(self.counted) == self.stop_at
        if self.error is not None:
            sink.fail(self.error)
        elif words >= CONTEXT:
            sink.fail(GenerationError("context_length_exceeded", "too long"))
        else:
            sink.finish(Finish("stop", Usage(words)))


class EndedSink:
    """A sink that keeps the outcomes."""

    def __init__(self) -> None:
        self.all: list[Finish | EngineError] = []
        self.finish = self.fail = self.all.append

    def delta(self, delta: object) -> None:
        raise AssertionError(delta)


def conversation(turns: int, words: int = 5, **sampling: int) -> Generation:
    """Turns of so many words each; the last message, which is never dropped, has one."""
    turn = (
        Message("user", text_content("w " * (words - 1))),
        Message("assistant", text_content("w")),
    )
    messages = (*turn * turns, Message("user", text_content("w")))
    return Generation("model", messages, Sampling(**sampling), truncate=True)


def run(engine: WordEngine, generation: Generation) -> tuple[list[Generation], list[Finish | EngineError]]:
    outcomes = EndedSink()
    submit_truncated(engine, "id", generation, outcomes, lambda: engine.stopped)  # type: ignore[arg-type]
    return engine.submitted, outcomes.all


@pytest.mark.parametrize("turns", [1, 2, 150, 151, 200, 1000, 5000])
@pytest.mark.parametrize("max_tokens", [1, 200])
def test_fewest_turns_are_dropped_in_a_logarithmic_number_of_counts(turns: int, max_tokens: int) -> None:
    engine = WordEngine()
    (submitted,), outcomes = run(engine, conversation(turns, max_tokens=max_tokens))
    fitting = (CONTEXT - max_tokens - 1) // 5
    assert len(submitted.messages) == 2 * min(turns, fitting) + 1
    assert (submitted.truncate, submitted.count_only) == (False, False)
    assert len(engine.counted) <= math.ceil(math.log2(turns)) + 3
    assert outcomes == []


def test_conversation_without_old_turns_goes_to_the_engine_without_a_count() -> None:
    engine = WordEngine()
    run(engine, conversation(0))
    assert (len(engine.submitted), engine.counted) == (1, [])


def test_all_counts_together_read_about_twice_the_conversation() -> None:
    small, huge = Message("user", text_content("w")), Message("user", text_content("w " * 200_000))
    for old in ([small] * 4000 + [huge], [huge] + [small] * 4000, [huge, small] * 20):
        engine = WordEngine()
        (submitted,), _ = run(engine, replace(conversation(0), messages=(*old, small)))
        words = sum(len(message.text) + 1 for message in old) // 2
        assert sum(engine.counted) <= 2 * words + len(engine.counted) * CONTEXT
        assert len(engine.counted) < 20
        assert huge not in submitted.messages


def test_two_counts_are_enough_when_the_last_message_is_too_long() -> None:
    engine = WordEngine()
    last = Message("user", text_content("w " * 2000))
    (submitted,), _ = run(engine, replace(conversation(0), messages=(last,) * 1000))
    assert submitted.messages == (last,)
    assert engine.counted == [2_000_000, 2000]


def test_everything_is_dropped_when_nothing_fits() -> None:
    generation = conversation(7)
    huge = replace(
        generation, messages=(*generation.messages[:-1], Message("user", text_content("w " * 2000)))
    )
    (submitted,), _ = run(WordEngine(), huge)
    assert submitted.messages == huge.messages[-1:]


def test_engine_without_a_known_context_decides_alone() -> None:
    (submitted,), _ = run(WordEngine(None), conversation(300, max_tokens=200))
    assert len(submitted.messages) == 2 * 199 + 1  # 996 words


@pytest.mark.parametrize("stop_at", [1, 2, 3])
def test_cancel_between_two_counts_ends_the_job(stop_at: int) -> None:
    engine = WordEngine()
    engine.stop_at = stop_at
    submitted, outcomes = run(engine, conversation(1000))
    assert submitted == []
    assert len(engine.counted) == stop_at
    assert outcomes == [Finish("cancelled", Usage())]


@pytest.mark.parametrize(
    "error", [GenerationError("invalid_prompt", "no template"), EngineLost("engine_crashed", "gone")]
)
def test_failure_of_a_count_is_that_of_the_job(error: EngineError) -> None:
    engine = WordEngine()
    engine.error = error
    assert run(engine, conversation(9)) == ([], [error])


def test_room_for_an_answer_is_at_most_half_of_the_context() -> None:
    limits = [prompt_limit(4096, most) for most in (None, 1, 2048, 100_000)]
    assert limits == [3072, 4095, 2048, 2048]
    assert prompt_limit(1024, None) == 512
