"""One generation: how much of it there is, and how much of that the model has read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...shared.engine.step import Step
from .answer import Answer

if TYPE_CHECKING:
    from .sequence import Sequence


@dataclass(eq=False)
class Run:
    """`tokens` holds those of the prompt (`prompt` of them) and then what was said (`most` at most), `length`
    in all. `done` of these are in the memory of its `sequence`, `cached` were there when it came.
    """

    number: int
    tokens: Any
    prompt: int
    most: int
    answer: Answer
    length: int = field(init=False)
    done: int = 0
    cached: int = 0
    sequence: Sequence | None = None
    marks: list[int] = field(default_factory=list)
    """Where the state of its sequence is to be kept, see `Prefixes`."""

    _ahead: tuple[Run, int] | None = None

    def __post_init__(self) -> None:  # noqa: D105
        self.length = self.prompt

    @property
    def waits(self) -> bool:
        """Whether it still pays to wait for another run to read what both prompts begin with."""
        if self._ahead is not None:
            run, count = self._ahead
            if run.sequence is not None and run.done < count:
                return True
            self._ahead = None
        return False

    def wait_for(self, run: Run, count: int) -> None:
        """Wait until a run has read so many tokens, or has ended."""
        self._ahead = (run, count)

    @property
    def next_stop(self) -> int:
        """How far it may be read in one step."""
        return self.marks[0] if self.marks else self.length

    @property
    def said(self) -> int:
        """Tokens of the answer so far, without the one that ended it."""
        return self.length - self.prompt

    def take(self, token: int, step: Step) -> bool:
        """Say a token; true when it was the last."""
        if self.answer.is_end(token):
            self._end("stop", step, unsaid=1)
            return True
        self.tokens[self.length] = token
        self.length += 1
        if self.answer.take(token, step):
            self._end("stop", step)
        elif self.said >= self.most:
            self._end("length", step)
        else:
            return False
        return True

    def cancel(self, step: Step) -> None:
        """End it because nobody wants it any more."""
        self._say_end("cancelled", step)

    def fail(self, step: Step) -> None:
        """End it because the engine cannot go on with it."""
        step.error(self.number, "engine_error", "the engine could not go on with this request")
        self.answer.close()

    def _end(self, reason: str, step: Step, unsaid: int = 0) -> None:
        called = self.answer.finish(step)
        self._say_end("tool_calls" if called and reason == "stop" else reason, step, unsaid)

    def _say_end(self, reason: str, step: Step, unsaid: int = 0) -> None:
        used = (self.prompt, self.said + unsaid, self.cached, self.answer.reply.reasoning_tokens)
        step.end(self.number, reason, used)
        self.answer.close()
