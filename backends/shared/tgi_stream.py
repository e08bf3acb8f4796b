"""Parser of a streamed answer of text-generation-inference (TGI), which differs from OpenAI's in some places.

Read in the source of TGI 3.3 (router/src/chat.rs and server.rs):

- a stop text is part of the answer, is found only where a token ends, and its finish reason is
  `stop_sequence` (so stop texts are looked for here, too);
- the end token of a completion is in its text;
- a tool call has the id "0" in each chunk, and its arguments may begin with the comma behind the name;
- the end of a tool call often has no finish reason: the usage follows at once, and the reason is `stop` where
  there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import Any

from backends.base import Emit, GenerationError
from backends.shared.chat_stream import ChatParser, engine_failed
from backends.shared.stop_texts import StopTexts
from streams.events import Delta, ScoredTextDelta, TextDelta, ToolCallDelta

END_TOKEN = "eos_token"  # noqa: S105 - a finish reason of completions
BETWEEN_ARGUMENTS = ", \t\r\n"
"""What may precede the first argument of a call, behind the brace."""


class TgiParser(ChatParser):
    """A `ChatParser` that ends the answer before the first of the texts `stop`.

    Once it has `stopped` the server may still generate: closing the connection ends that. One that has ended
    by itself is read to its end, which has the usage.
    """

    def __init__(  # noqa: PLR0913 - those of `ChatParser`, and the stop texts
        self,
        emit: Emit,
        stream_error: Callable[[Any], GenerationError] = engine_failed,
        *,
        stop: Sequence[str] = (),
        alternatives: int = 0,
        text_lags: bool = False,
        reports_progress: bool = False,
    ) -> None:
        super().__init__(
            self._pass_on,
            stream_error,
            alternatives=alternatives,
            text_lags=text_lags,
            reports_progress=reports_progress,
        )
        self._answer = emit
        self._stops = StopTexts(stop)
        self._stop_found: str | None = None
        self._has_call = False
        self._has_arguments = False

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the body; see `ChatParser.feed`."""
        super().feed(piece)
        if self._stop_found is not None:
            self.reason, self.stop_sequence = "stop", self._stop_found
        elif self.reason is not None or self.done:
            if rest := self._stops.rest():
                self._answer(TextDelta(rest))
            self._complete_reason()

    def _complete_reason(self) -> None:
        """Set the reason of an answer with a call, and of one that ended before its call had a name."""
        if self._has_call and self.reason in (None, "stop"):
            self.reason = "tool_calls"
        elif self.reason is None:
            self.reason = "length"

    def _deltas(self, chunk: dict[str, Any]) -> list[Delta]:
        for choice in chunk.get("choices") or ():
            if choice.get("finish_reason") == END_TOKEN and "text" in choice:
                choice["text"] = ""
        return super()._deltas(chunk)

    def _pass_on(self, delta: Delta) -> None:
        """Emit a delta, without what follows a stop text."""
        if self._stop_found is not None:
            return
        if isinstance(delta, ToolCallDelta):
            self._pass_on_call(delta)
        elif isinstance(delta, TextDelta | ScoredTextDelta):
            text, self._stop_found = self._stops.feed(delta.text)
            if text == delta.text:
                self._answer(delta)
            elif text:
                self._answer(TextDelta(text))
            if self._stop_found is not None and self.reason is None:
                self.stopped = self.done = True
        else:
            self._answer(delta)

    def _pass_on_call(self, delta: ToolCallDelta) -> None:
        arguments, id, name = delta.arguments, None, None
        if not self._has_call:
            self._has_call = True
            brace, arguments = arguments[:1], arguments[1:]
            id, name = f"call_{token_hex(12)}", delta.name
        else:
            brace = ""
        if not self._has_arguments:
            arguments = arguments.lstrip(BETWEEN_ARGUMENTS)
            self._has_arguments = bool(arguments)
        if brace or arguments:
            self._answer(ToolCallDelta(0, brace + arguments, id, name))
