"""A conversation that may be truncated is answered by every engine that counts tokens.

The worker's search (`workers.truncation`) runs here with each engine's own counts.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from backends.base import GenerationError, HasContextLimit
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition
from generation.generation import Generation, Message, Sampling, text_content
from generation.truncation import DroppableParts
from tests.backends.capabilities import not_applicable
from tests.backends.conftest import Launched, ask
from tests.support.generations import RecordingSink, on_loop
from workers.truncation import prompt_limit, submit_truncated

TURNS = 24
ROOM = 16


def _runs() -> bool:
    return False


class TruncationContract:
    """The requirements for a conversation of three times the context."""

    backend: str

    def model(self, **fields: object) -> ModelDefinition:
        raise NotImplementedError

    def long_conversation(self, context: int) -> Generation:
        """A system message, turns of which eight have more tokens than the context, and a question."""
        turn = (
            Message("user", text_content("word " * (context // 8))),
            Message("assistant", text_content("Yes.")),
        )
        last = ask("Why?", temperature=0.0).messages
        messages = (Message("system", text_content("Be brief.")), *turn * TURNS, *last)
        return replace(ask("", max_tokens=ROOM), messages=messages, truncate=True)

    def count(self, launched: Launched, generation: Generation, messages: tuple[Message, ...]) -> int:
        """The engine's count of a conversation; more than any context if it does not fit."""
        answer, thread = launched.begin(replace(generation, messages=messages, count_only=True))
        thread.join()
        if isinstance(answer.error, GenerationError):
            assert answer.error.code == "context_length_exceeded"
            return 1 << 60
        assert answer.finish is not None
        return answer.finish.usage.input_tokens

    def test_the_oldest_turns_of_a_long_conversation_are_dropped(self, shared: Launched) -> None:
        declared, options = BACKENDS[self.backend], self.model().options
        if not declared.can_count_tokens(options) or declared.is_single_turn(options):
            not_applicable("this model cannot truncate a conversation")
        engine = shared.engine
        assert isinstance(engine, HasContextLimit)
        assert engine.context is not None
        request = self.long_conversation(engine.context)
        with pytest.raises(GenerationError) as caught:
            shared.answer(replace(request, truncate=False))
        assert caught.value.code == "context_length_exceeded"

        sink = RecordingSink(lambda _delta: None)
        on_loop(submit_truncated, engine, "truncated", request, sink, _runs)
        used = sink.result().usage

        parts = DroppableParts(request.messages)
        counts = [self.count(shared, request, parts.without(dropped)) for dropped in range(parts.count + 1)]
        limit = prompt_limit(engine.context, ROOM)
        assert used.input_tokens == next(count for count in counts if count <= limit)
        assert used.input_tokens > engine.context // 2
        assert 0 < used.output_tokens <= ROOM

        counting = RecordingSink(lambda _delta: None)
        on_loop(submit_truncated, engine, "counted", replace(request, count_only=True), counting, _runs)
        assert counting.result().usage.input_tokens == used.input_tokens

    def test_a_truncated_request_ends_when_it_is_cancelled_at_once(self, shared: Launched) -> None:
        declared, options = BACKENDS[self.backend], self.model().options
        if not declared.can_count_tokens(options) or declared.is_single_turn(options):
            not_applicable("this model cannot truncate a conversation")
        engine, cancelled = shared.engine, []
        assert isinstance(engine, HasContextLimit)
        assert engine.context is not None
        request = replace(self.long_conversation(engine.context), sampling=Sampling())
        sink = RecordingSink(lambda _delta: None)

        def submit_and_cancel() -> None:
            submit_truncated(engine, "at-once", request, sink, lambda: bool(cancelled))  # type: ignore[arg-type]
            cancelled.append(True)
            shared.engine.cancel("at-once")

        on_loop(submit_and_cancel)
        assert sink.result().reason == "cancelled"
        assert sink.outcomes.empty()
