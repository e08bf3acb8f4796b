"""Parses the outputs of one vLLM generation into reasoning, text and tool calls, and counts their tokens."""

from __future__ import annotations

from typing import Any

from ...shared.engine.pipe import Step
from .chat import PreparedRequest
from .token_scores import TokenScores

REASONS = {"stop": "stop", "length": "length", "abort": "cancelled"}


class VllmOutput:
    """The output of one generation; `ended` once the last `RequestOutput` was added."""

    def __init__(self, number: int, request: PreparedRequest) -> None:
        self.ended = False
        self._number = number
        self._request = request
        self._tokens: list[int] = []
        self._cached = 0
        self._called = False
        self._prompt_scored = False
        self._scores = TokenScores.of(request)

    @property
    def held_tokens(self) -> int:
        """The tokens that the generation holds in the cache: of its prompt and of its output so far."""
        return len(self._request.tokens) + len(self._tokens)

    def add(self, output: Any, step: Step) -> None:
        """Add the new content of one `RequestOutput` to `step`."""
        if output.num_cached_tokens:
            self._cached = output.num_cached_tokens
        if self._scores is not None and output.prompt_logprobs and not self._prompt_scored:
            self._prompt_scored = True
            text = self._request.prompt["prompt"]
            step.add_scored(self._number, text, self._scores.of_prompt(text, self._request.tokens, output))
        for completion in output.outputs:
            self._tokens += completion.token_ids
            self._add_completion(completion, step)
            if completion.finish_reason is not None:
                self._end(completion.finish_reason, step, completion.stop_reason)

    def cancel(self, step: Step) -> None:
        """End the output of a cancelled generation."""
        self._end("abort", step)

    def _add_completion(self, completion: Any, step: Step) -> None:
        parser = self._request.parser
        if self._scores is not None:
            self._scores.add(completion)
        if parser is None:
            self._add_text(completion.text, step)
            return
        delta = parser.parse_delta(
            delta_text=completion.text,
            delta_token_ids=list(completion.token_ids),
            request=self._request.request,
            prompt_token_ids=self._request.tokens,
            finished=completion.finish_reason is not None,
        )
        if delta is None:
            return
        if delta.reasoning:
            step.add_text(self._number, "reasoning", delta.reasoning)
            if self._scores is not None:
                self._scores.skip_reasoning(also_text=bool(delta.content))
        self._add_text(delta.content, step)
        for call in delta.tool_calls or ():
            self._called = True
            if self._scores is not None:
                self._scores.skip()
            name, arguments = (call.function.name, call.function.arguments) if call.function else (None, "")
            step.add_tool_call(self._number, (call.index, arguments or "", call.id, name))

    def _add_text(self, text: str | None, step: Step) -> None:
        if not text:
            return
        tokens = [] if self._scores is None else self._scores.take(text)
        if tokens:
            step.add_scored(self._number, text, tokens)
        else:
            step.add_text(self._number, "text", text)

    def _end(self, reason: str, step: Step, ended_by: object = None) -> None:
        """Add the end; `ended_by` is the text of a stop string, or the number of a token that ended it."""
        self.ended = True
        if reason not in REASONS:
            step.add_error(self._number, "engine_error", "the engine failed while it answered")
            return
        finish = "tool_calls" if self._called and reason == "stop" else REASONS[reason]
        usage = (len(self._request.tokens), len(self._tokens), self._cached, self._reasoning_tokens())
        step.add_end(self._number, finish, usage, ended_by if isinstance(ended_by, str) else None)

    def _reasoning_tokens(self) -> int:
        parser = self._request.counting_parser
        if parser is None or parser.reasoning_parser is None or not self._tokens:
            return 0
        return int(parser.count_reasoning_tokens(tuple(self._tokens)))
