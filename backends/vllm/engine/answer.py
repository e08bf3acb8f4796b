"""One generation's answer as vLLM says it: told apart by its parser, and counted."""

from __future__ import annotations

from typing import Any

from ...shared.engine.pipe import Step
from .chat import Question

REASONS = {"stop": "stop", "length": "length", "abort": "cancelled"}


class Answer:
    """Takes outputs; `ended` once the last one was taken."""

    def __init__(self, number: int, question: Question) -> None:
        self.ended = False
        self._number = number
        self._question = question
        self._tokens: list[int] = []
        self._cached = 0
        self._called = False

    def take(self, output: Any, step: Step) -> None:
        """Say what one `RequestOutput` brought (what is new in it only)."""
        if output.num_cached_tokens:
            self._cached = output.num_cached_tokens
        for completion in output.outputs:
            self._tokens += completion.token_ids
            self._say(completion, step)
            if completion.finish_reason is not None:
                self._end(completion.finish_reason, step)

    def cancel(self, step: Step) -> None:
        """Say that it ended because it was to."""
        self._end("abort", step)

    def _say(self, completion: Any, step: Step) -> None:
        parser = self._question.parser
        if parser is None:
            if completion.text:
                step.add_text(self._number, "text", completion.text)
            return
        delta = parser.parse_delta(
            delta_text=completion.text,
            delta_token_ids=list(completion.token_ids),
            request=self._question.request,
            prompt_token_ids=self._question.tokens,
            finished=completion.finish_reason is not None,
        )
        if delta is None:
            return
        if delta.reasoning:
            step.add_text(self._number, "reasoning", delta.reasoning)
        if delta.content:
            step.add_text(self._number, "text", delta.content)
        for call in delta.tool_calls or ():
            self._called = True
            name, arguments = (call.function.name, call.function.arguments) if call.function else (None, "")
            step.add_tool_call(self._number, (call.index, arguments or "", call.id, name))

    def _end(self, reason: str, step: Step) -> None:
        self.ended = True
        if reason not in REASONS:
            step.add_error(self._number, "engine_error", "the engine failed while it answered")
            return
        told = "tool_calls" if self._called and reason == "stop" else REASONS[reason]
        step.add_end(
            self._number, told, (len(self._question.tokens), len(self._tokens), self._cached, self._thought())
        )

    def _thought(self) -> int:
        """How many of its tokens were reasoning."""
        parser = self._question.counting
        if parser is None or parser.reasoning_parser is None or not self._tokens:
            return 0
        return int(parser.count_reasoning_tokens(tuple(self._tokens)))
