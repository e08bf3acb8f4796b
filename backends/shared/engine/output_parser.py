"""What a model says, told apart into reasoning, text and tool calls as it comes, up to a stop string.

Pieces may be cut anywhere: what could be the beginning of a marker or of a stop string is held back until
that is clear. Blanks around reasoning are the template's, not the model's, and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from secrets import token_hex

from .step import Step
from .syntax import Syntax
from .tool_call_text import CallText


class Reply:
    """One generation's. `number` is its number in the pipe; `thinking` says that its prompt opened the
    reasoning.

    `calls` says that the request has tools; without any, a call is text. `reasoning_tokens` and `called` tell
    of it afterwards.
    """

    def __init__(
        self,
        number: int,
        syntax: Syntax,
        stop: Sequence[str] = (),
        *,
        calls: bool = False,
        thinking: bool = False,
    ) -> None:
        self.reasoning_tokens = 0
        self.called = False
        self._number = number
        self._syntax = syntax
        self._stop = tuple(filter(None, stop))
        self._calls = calls and syntax.call is not None
        self._held = ""
        self._blank = thinking  # what comes next is trimmed on its left
        self._indices = count()
        self._index = 0
        self._call = CallText(None)
        self._enter("reasoning" if thinking else "text")

    @property
    def thinks(self) -> bool:
        """Whether what comes next is reasoning."""
        return self._state == "reasoning"

    def take(self, piece: str, step: Step, tokens: int = 1) -> bool:
        """Take what `tokens` tokens said; true when a stop string has ended the answer."""
        if self._state == "reasoning":
            self.reasoning_tokens += tokens
        if not self._held and self._is_plain(piece):
            step.say(self._number, self._state, piece)
            return False
        self._held += piece
        while (found := self._next_marker()) is not None:
            at, marker = found
            if marker in self._stop and self._state == "text":
                self._say(self._held[:at], step)
                self._held = ""
                return True
            self._pass(at, marker, step)
        self._release(step)
        return False

    def finish(self, step: Step) -> None:
        """Nothing more comes: let go of what was held back."""
        held, self._held = self._held, ""
        self._say(held.rstrip() if self._state == "reasoning" else held, step)
        if self._state == "call":
            self._end_call(step, "")

    def _enter(self, state: str) -> None:
        """Begin a part; `_markers` is what may end it, `_firsts` what these begin with."""
        syntax = self._syntax
        ends: dict[str, tuple[str | None, ...]] = {
            "reasoning": (syntax.answer,),
            "call": (syntax.called or syntax.call,),  # without an end, the next call is the end of one
            "text": (syntax.thought, syntax.call if self._calls else None, *self._stop),
        }
        self._state = state
        self._markers = tuple(filter(None, ends[state]))
        self._firsts = {marker[0] for marker in self._markers}

    def _is_plain(self, piece: str) -> bool:
        """Whether a piece can be said at once: nothing begins in it, and nothing is to be trimmed."""
        if self._blank or not piece or self._state == "call" or piece[-1].isspace():
            return False
        for first in self._firsts:  # noqa: SIM110 - a loop is quicker, and this is done for each token
            if first in piece:
                return False
        return True

    def _next_marker(self) -> tuple[int, str] | None:
        """The first marker in what is held: the earliest, and of those that begin together the longest."""
        if self._blank and self._state == "text":
            self._held = self._held.lstrip()  # these blanks are the template's, and no stop string
        found = [
            (at, -len(marker), marker) for marker in self._markers if (at := self._held.find(marker)) >= 0
        ]
        return (min(found)[0], min(found)[2]) if found else None

    def _pass(self, at: int, marker: str, step: Step) -> None:
        """Say what stands before a marker and go on behind it."""
        before, self._held = self._held[:at], self._held[at + len(marker) :]
        stripped = self._state == "reasoning" or (self._state == "text" and marker == self._syntax.call)
        self._say(before.rstrip() if stripped else before, step)
        if self._state == "call" and self._call.is_quoting:  # an argument that tells of calls
            self._say(marker, step)
            return
        if self._state == "call":
            self._end_call(step, marker if marker == self._syntax.called else "")
        if self._state != "text" and marker != self._syntax.call:
            self._enter("text")
        elif marker == self._syntax.thought:
            self._enter("reasoning")
        else:
            self._call = CallText(self._syntax.head)
            self._enter("call")
        self._blank = True

    def _release(self, step: Step) -> None:
        """Say all that cannot be the beginning of a marker any more."""
        keep = max((_overlap(self._held, marker) for marker in self._markers), default=0)
        ready = self._held[: len(self._held) - keep]
        if self._state == "reasoning" or (
            self._calls and self._state == "text"
        ):  # blanks at its end may be the template's
            ready = ready.rstrip()
        if self._state == "reasoning" and self._blank and self._syntax.label.startswith(ready.lstrip()):
            return  # a label that is not whole yet
        self._held = self._held[len(ready) :]
        self._say(ready, step)

    def _say(self, text: str, step: Step) -> None:
        if self._state == "call":
            self._say_call(text, step)
            return
        if self._blank:
            text = text.lstrip()
            if self._state == "reasoning" and self._syntax.label:
                text = text.removeprefix(self._syntax.label).lstrip()
        if text:
            self._blank = False
            step.say(self._number, self._state, text)

    def _say_call(self, text: str, step: Step) -> None:
        known = self._call.name is not None
        arguments = self._call.take(text)
        if not known and self._call.name is not None:
            self._begin_call(self._call.name, step)
        if arguments:
            step.call(self._number, (self._index, arguments, None, None))

    def _begin_call(self, name: str, step: Step) -> None:
        self.called = True
        self._index = next(self._indices)
        step.call(self._number, (self._index, "", f"call_{token_hex(12)}", name))

    def _end_call(self, step: Step, end: str) -> None:
        """Say a call that could not be told before it was whole, or as text what turns out to be none."""
        if self._call.name is not None:
            return
        text = self._call.text
        try:
            calls = self._syntax.read(text)
        except (ValueError, LookupError, AttributeError, RecursionError):
            step.say(self._number, "text", f"{self._syntax.call}{text}{end}")
            return
        for name, arguments in calls:
            self._begin_call(name, step)
            step.call(self._number, (self._index, arguments, None, None))


def _overlap(text: str, marker: str) -> int:
    """How many characters at the end of a text may begin a marker."""
    for size in range(min(len(marker) - 1, len(text)), 0, -1):
        if text.endswith(marker[:size]):
            return size
    return 0
