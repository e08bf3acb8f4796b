"""Splits a model's output into reasoning, text and tool calls while it is generated, up to a stop string.

Pieces may be cut anywhere: text that may be the beginning of a marker or of a stop string is held back until
that is decided. White space around reasoning belongs to the chat template, not to the answer, and is removed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from secrets import token_hex

from .pipe import Step
from .syntax import Syntax

MAX_HEAD = 300
"""Characters of a tool call. If its name was not found by then, it is looked for in the complete call."""


class OutputParser:
    """Parses the output of one generation.

    `number` is the number of the generation in the pipe. `tools` says whether the request has tools; without
    tools, the text of a tool call is ordinary text. `in_reasoning` says whether the prompt has opened the
    reasoning; it is updated as the output is parsed. With `single_call` the first tool call ends the answer.
    With `json_text` a marker of reasoning or of a call inside the text is text: the answer is either or.
    `reasoning_tokens` counts the tokens of the reasoning,
    `has_tool_calls` says whether a tool call was found; `stop_sequence` is the stop string that ended the
    answer.
    """

    def __init__(  # noqa: PLR0913 - the marks of one request
        self,
        number: int,
        syntax: Syntax,
        stop: Sequence[str] = (),
        *,
        tools: bool = False,
        in_reasoning: bool = False,
        single_call: bool = False,
        json_text: bool = False,
    ) -> None:
        self.reasoning_tokens = 0
        self.has_tool_calls = False
        self.stop_sequence: str | None = None
        self.number = number
        self._syntax = syntax
        self._stop = tuple(filter(None, stop))
        self._tools = tools and syntax.call_start is not None
        self._single_call = single_call
        self._json_text = json_text
        self._has_text = False
        self._held = ""
        self._trim = in_reasoning  # remove the white space at the beginning of what follows
        self._indices = count()
        self._index = 0
        self._call = _ToolCallText(None)
        self._enter("reasoning" if in_reasoning else "text")

    @property
    def in_reasoning(self) -> bool:
        """Whether the next piece continues the reasoning."""
        return self._state == "reasoning"

    @property
    def in_call(self) -> bool:
        """Whether the next piece continues a tool call."""
        return self._state == "call"

    @property
    def in_text(self) -> bool:
        """Whether the next piece continues the answer's text."""
        return self._state == "text"

    @property
    def call_text(self) -> str:
        """The text of the present tool call so far, behind its marker."""
        return self._call.text + self._held

    def feed(self, piece: str, step: Step, tokens: int = 1) -> bool:
        """Parse the text of `tokens` tokens into `step`.

        Returns true if a stop string, or the end of a single call, ended the answer.
        """
        if self._state == "reasoning":
            self.reasoning_tokens += tokens
        if not self._held and self._is_plain(piece):
            self._has_text = self._has_text or self._state == "text"
            step.add_text(self.number, self._state, piece)
            return False
        self._held += piece
        while (found := self._next_marker()) is not None:
            at, marker = found
            if marker in self._stop and self._state == "text":
                self._add(self._held[:at], step)
                self._held = ""
                self.stop_sequence = marker
                return True
            self._pass_marker(at, marker, step)
            if self._single_call and self.has_tool_calls and not self.in_call:
                self._held = ""
                return True
        self._release(step)
        return False

    def finish(self, step: Step) -> None:
        """End the output: add the text that was held back to `step`."""
        held, self._held = self._held, ""
        self._add(held.rstrip() if self._state == "reasoning" else held, step)
        if self._state == "call":
            self._end_call(step, "")

    def _enter(self, state: str) -> None:
        """Enter a state: reasoning, text or call.

        `_markers` are the strings that may end it, `_first_letters` their first characters.
        """
        syntax = self._syntax
        ends: dict[str, tuple[str | None, ...]] = {
            "reasoning": (syntax.reasoning_end,),
            "call": (
                syntax.call_end or syntax.call_start,
            ),  # without an end marker, the next call ends a call
            "text": (syntax.reasoning_start, syntax.call_start if self._tools else None, *self._stop),
        }
        self._state = state
        self._markers = tuple(filter(None, ends[state]))
        self._first_letters = {marker[0] for marker in self._markers}

    def _is_plain(self, piece: str) -> bool:
        """Whether a piece can be added at once: no marker begins in it, and nothing has to be trimmed."""
        if self._trim or not piece or self._state == "call" or piece[-1].isspace():
            return False
        for letter in self._first_letters:  # noqa: SIM110 - a loop is faster, and this runs for each token
            if letter in piece:
                return False
        return True

    def _next_marker(self) -> tuple[int, str] | None:
        """Return (position, marker) of the earliest marker in the held text; of several, the longest."""
        if self._trim and self._state == "text":
            self._held = self._held.lstrip()  # the template's white space is not a stop string
        found = [
            (at, -len(marker), marker)
            for marker in self._markers
            if (at := self._held.find(marker)) >= 0 and not self._is_text(at, marker)
        ]
        return (min(found)[0], min(found)[2]) if found else None

    def _is_text(self, at: int, marker: str) -> bool:
        """Whether a marker at a position of the held text is a part of JSON that is the answer."""
        if not self._json_text or self._state != "text" or marker in self._stop:
            return False
        return self._has_text or bool(self._held[:at].strip())

    def _pass_marker(self, at: int, marker: str, step: Step) -> None:
        """Add the text before a marker, and enter the state that follows it."""
        before, self._held = self._held[:at], self._held[at + len(marker) :]
        stripped = self._state == "reasoning" or (self._state == "text" and marker == self._syntax.call_start)
        self._add(before.rstrip() if stripped else before, step)
        if self._state == "call" and self._call.is_in_string:  # the marker is part of an argument
            self._add(marker, step)
            return
        if self._state == "call":
            self._end_call(step, marker if marker == self._syntax.call_end else "")
        ended = self._single_call and self.has_tool_calls
        if self._state != "text" and (ended or marker != self._syntax.call_start):
            self._enter("text")
        elif marker == self._syntax.reasoning_start:
            self._enter("reasoning")
        else:
            self._call = _ToolCallText(self._syntax.call_head)
            self._enter("call")
        self._trim = True

    def _release(self, step: Step) -> None:
        """Add all held text that cannot be the beginning of a marker."""
        uncertain = max((_overlap(self._held, marker) for marker in self._markers), default=0)
        ready = self._held[: len(self._held) - uncertain]
        if self._state == "reasoning" or (self._tools and self._state == "text"):
            ready = ready.rstrip()  # the white space at its end may belong to the template
        if (
            self._state == "reasoning"
            and self._trim
            and self._syntax.reasoning_label.startswith(ready.lstrip())
        ):
            return  # the label may be incomplete
        self._held = self._held[len(ready) :]
        self._add(ready, step)

    def _add(self, text: str, step: Step) -> None:
        if self._state == "call":
            self._add_to_call(text, step)
            return
        if self._trim:
            text = text.lstrip()
            if self._state == "reasoning" and self._syntax.reasoning_label:
                text = text.removeprefix(self._syntax.reasoning_label).lstrip()
        if text:
            self._trim = False
            self._has_text = self._has_text or (self._state == "text" and not text.isspace())
            step.add_text(self.number, self._state, text)

    def _add_to_call(self, text: str, step: Step) -> None:
        known = self._call.name is not None
        arguments = self._call.feed(text)
        if not known and self._call.name is not None:
            self._begin_call(self._call.name, step)
        if arguments:
            step.add_tool_call(self.number, (self._index, arguments, None, None))

    def _begin_call(self, name: str, step: Step) -> None:
        self.has_tool_calls = True
        self._index = next(self._indices)
        step.add_tool_call(self.number, (self._index, "", f"call_{token_hex(12)}", name))

    def _end_call(self, step: Step, end: str) -> None:
        """Add a call that could only be parsed when complete; text that is not a call is added as text."""
        if self._call.name is not None:
            return
        text = self._call.text
        try:
            calls = self._syntax.parse_calls(text)
        except (ValueError, LookupError, AttributeError, RecursionError):
            step.add_text(self.number, "text", f"{self._syntax.call_start}{text}{end}")
            return
        for name, arguments in calls[:1] if self._single_call else calls:
            self._begin_call(name, step)
            step.add_tool_call(self.number, (self._index, arguments, None, None))


class _ToolCallText:
    """The text of one tool call: finds its name as early as possible, then returns its arguments in pieces.

    Long arguments are streamed because the worker takes a silent engine for a stalled one. `head` matches the
    text before the arguments, with the function's name as its group; with None the call is only read when it
    is complete. `text` is the complete text so far.
    """

    def __init__(self, head: re.Pattern[str] | None) -> None:
        self.name: str | None = None
        self.text = ""
        self._head = head
        self._returned = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._complete = False

    @property
    def is_in_string(self) -> bool:
        """Whether the next character is inside a string of the arguments."""
        return self.name is not None and self._in_string and not self._complete

    def feed(self, piece: str) -> str:
        """Add a piece. Returns the part of the arguments that it completes."""
        self.text += piece
        if self.name is None and not self._find_name(piece):
            return ""
        end = self._returned
        while end < len(self.text) and not self._complete:
            self._scan(self.text[end])
            end += 1
        arguments, self._returned = self.text[self._returned : end], end
        return arguments

    def _find_name(self, piece: str) -> bool:
        if self._head is None or len(self.text) - len(piece) > MAX_HEAD:
            return False
        found = self._head.match(self.text)
        if found is None:
            return False
        self.name = found.group(1)
        self._returned = found.end()
        return True

    def _scan(self, letter: str) -> None:
        """Count the brackets outside of strings: the arguments end where the first one is closed."""
        if self._escaped:
            self._escaped = False
        elif self._in_string:
            self._escaped = letter == "\\"
            self._in_string = letter != '"'
        elif letter == '"':
            self._in_string = True
        elif letter in "{[":
            self._depth += 1
        elif letter in "}]":
            self._depth -= 1
            self._complete = self._depth <= 0


def _overlap(text: str, marker: str) -> int:
    """Return how many characters at the end of a text may begin a marker."""
    for size in range(min(len(marker) - 1, len(text)), 0, -1):
        if text.endswith(marker[:size]):
            return size
    return 0
