"""Reads reasoning and tool calls in the text of a server that passes it on as it is.

llama-server does so for an answer with a grammar of its request.
"""

from __future__ import annotations

from backends.base import Emit
from backends.shared.engine.output_parser import OutputParser
from backends.shared.engine.pipe import Step
from backends.shared.engine.syntax import Syntax
from streams.events import Delta, ReasoningDelta, ScoredTextDelta, TextDelta, TokenLogprob, ToolCallDelta


class AnswerReader:
    """Emits the deltas of one answer; see `OutputParser` for the parameters."""

    def __init__(
        self, emit: Emit, syntax: Syntax, *, tools: bool, single_call: bool, json_text: bool
    ) -> None:
        self._emit = emit
        self._parser = OutputParser(0, syntax, tools=tools, single_call=single_call, json_text=json_text)
        self._scored: list[TokenLogprob] = []  # of text that is held back

    @property
    def has_calls(self) -> bool:
        """Whether the answer has a tool call."""
        return self._parser.has_tool_calls

    def read(self, delta: Delta) -> None:
        """Read a delta of the server."""
        if isinstance(delta, TextDelta | ScoredTextDelta):
            step = Step()
            was_text = self._is_text
            self._parser.feed(delta.text, step)
            if isinstance(delta, ScoredTextDelta):
                # a token that begins or ends reasoning or a call is a marker, no text
                self._scored = [*self._scored, *delta.tokens] if was_text and self._is_text else []
            self._emit_step(step)
        else:
            self._emit(delta)

    @property
    def _is_text(self) -> bool:
        return not self._parser.in_reasoning and not self._parser.in_call

    def finish(self) -> None:
        """Emit what was held back until the end."""
        step = Step()
        self._parser.finish(step)
        self._emit_step(step)

    def _emit_step(self, step: Step) -> None:
        """Emit what the parser added: the reasoning, the text, the calls, which is the order of an answer."""
        for _, pieces in step.frame.get("reasoning", ()):
            self._emit(ReasoningDelta("".join(pieces)))
        for _, pieces in step.frame.get("text", ()):
            piece = "".join(pieces)
            self._emit(ScoredTextDelta(piece, tuple(self._scored)) if self._scored else TextDelta(piece))
            self._scored = []
        for _, calls in step.frame.get("calls", ()):
            for call in calls:
                self._emit(ToolCallDelta(*call))
