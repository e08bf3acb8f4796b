"""One request in the engine: its tokens, and how many of them the model has read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...shared.engine.pipe import Step
from .output import Output

if TYPE_CHECKING:
    from .sequence import Sequence


@dataclass(eq=False)
class RunningRequest:
    """`tokens` holds the prompt (`prompt` tokens) and then the generated tokens (at most `most`), `length` in
    all. `done` of these are in the memory of its `sequence`; `cached` were there when the request began.
    """

    number: int
    tokens: Any
    prompt: int
    most: int
    output: Output
    length: int = field(init=False)
    done: int = 0
    cached: int = 0
    sequence: Sequence | None = None
    save_points: list[int] = field(default_factory=list)
    """Token counts at which the state of its sequence is to be saved, see `PrefixCache`."""

    _awaited: tuple[RunningRequest, int] | None = None

    def __post_init__(self) -> None:  # noqa: D105
        self.length = self.prompt

    @property
    def is_waiting(self) -> bool:
        """Whether it still pays to wait for another request to read the common prefix of both prompts."""
        if self._awaited is not None:
            run, count = self._awaited
            if run.sequence is not None and run.done < count:
                return True
            self._awaited = None
        return False

    def wait_for_prefix(self, run: RunningRequest, count: int) -> None:
        """Wait until `run` has read `count` tokens, or has ended."""
        self._awaited = (run, count)

    @property
    def next_stop(self) -> int:
        """The token count at which the next step has to stop reading."""
        return self.save_points[0] if self.save_points else self.length

    @property
    def generated(self) -> int:
        """The number of generated tokens, without the end token."""
        return self.length - self.prompt

    def add_token(self, token: int, step: Step) -> bool:
        """Add and write a token; true when it was the last."""
        if self.output.is_end(token):
            self._end("stop", step, end_tokens=1)
            return True
        self.tokens[self.length] = token
        self.length += 1
        if self.output.add_token(token, step):
            self._end("stop", step)
        elif self.generated >= self.most:
            self._end("length", step)
        else:
            return False
        return True

    def cancel(self, step: Step) -> None:
        """End the request because it was cancelled."""
        self._write_end("cancelled", step)

    def fail(self, step: Step) -> None:
        """End the request because the engine cannot continue it."""
        step.add_error(self.number, "engine_error", "the engine could not go on with this request")
        self.output.close()

    def _end(self, reason: str, step: Step, end_tokens: int = 0) -> None:
        called = self.output.finish(step)
        self._write_end("tool_calls" if called and reason == "stop" else reason, step, end_tokens)

    def _write_end(self, reason: str, step: Step, end_tokens: int = 0) -> None:
        used = (self.prompt, self.generated + end_tokens, self.cached, self.output.reply.reasoning_tokens)
        step.add_end(self.number, reason, used)
        self.output.close()
