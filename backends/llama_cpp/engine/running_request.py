"""One request in the engine: its tokens, and how many of them the model has read."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from ...shared.engine.pipe import Step
from .output import Output

if TYPE_CHECKING:
    from .sequence import CacheSequence


@dataclass(eq=False)
class RunningRequest:
    """The state of a request from its tokenization to its end.

    `tokens` holds the prompt (`prompt_length` tokens) and then the generated tokens (at most `max_tokens`),
    `length` in all. `done` of these are in the memory of its `sequence`; `cached` of them were in it when the
    request began. With `count_only` its prompt is not read, only counted. It shares
    prefixes with requests of its cache `namespace`, with None with no other. It is computed with the LoRA
    adapter `lora`. Its sequence can be saved as that of its `conversation`. One that `reports_progress` says
    how much of its prompt was read.
    """

    number: int
    tokens: Any
    prompt_length: int
    max_tokens: int
    output: Output
    namespace: str | None = None
    count_only: bool = False
    lora: str | None = None
    conversation: str | None = None
    reports_progress: bool = False
    length: int = field(init=False)
    done: int = 0
    cached: int = 0
    sequence: CacheSequence | None = None
    save_points: list[int] = field(default_factory=list)
    """Token counts at which the state of its sequence is to be saved, see `PrefixCache`."""

    _began: float = 0.0
    _awaited: tuple[RunningRequest, int] | None = None

    def __post_init__(self) -> None:  # noqa: D105
        self.length = self.prompt_length

    @property
    def is_waiting(self) -> bool:
        """Whether it still waits for another request to read the common prefix of both prompts."""
        if self._awaited is not None:
            other, count = self._awaited
            if other.sequence is not None and other.done < count:
                return True
            self._awaited = None
        return False

    def wait_for_prefix(self, other: RunningRequest, count: int) -> None:
        """Make this request wait until `other` has read `count` tokens, or has ended."""
        self._awaited = (other, count)

    @property
    def next_stop(self) -> int:
        """The token count at which the next step has to stop reading."""
        return self.save_points[0] if self.save_points else self.length

    @property
    def generated(self) -> int:
        """The number of generated tokens, without the end token."""
        return self.length - self.prompt_length

    def begin(self, step: Step) -> None:
        """Note that the request has a sequence, and begins to read its prompt."""
        if self.reports_progress:
            self._began = monotonic()
            self.add_progress(step)

    def add_progress(self, step: Step) -> None:
        """Add to `step` how much of the prompt was read."""
        passed_ms = int((monotonic() - self._began) * 1000)
        step.add_progress(self.number, self.prompt_length, self.cached, self.done, passed_ms)

    def end_reasoning(self) -> None:
        """End the reasoning, if the request is amid one and was asked to have an end."""
        if self.output.budget is not None:
            self.output.budget.end_now(self.output.parser)

    def add_token(self, token: int, step: Step) -> bool:
        """Add a token and write its text into `step`; true when it was the last token."""
        if self.output.is_end(token):
            self._end("stop", step, end_tokens=1)
            return True
        self.tokens[self.length] = token
        self.length += 1
        if self.output.add_token(token, step):
            self._end("stop", step)
        elif self.generated >= self.max_tokens or self.output.is_cut:
            self._end("length", step)
        else:
            return False
        return True

    def cancel(self, step: Step) -> None:
        """End the request because it was cancelled."""
        self._write_end("cancelled", step)

    def end_counted(self, step: Step) -> None:
        """End a request whose prompt was only counted."""
        self._write_end("stop", step)

    def fail(self, step: Step) -> None:
        """End the request because the engine cannot continue it."""
        step.add_error(self.number, "engine_error", "the engine could not continue this request")
        self.output.close()

    def _end(self, reason: str, step: Step, end_tokens: int = 0) -> None:
        called = self.output.finish(step)
        self._write_end("tool_calls" if called and reason == "stop" else reason, step, end_tokens)

    def _write_end(self, reason: str, step: Step, end_tokens: int = 0) -> None:
        output_tokens, reasoning_tokens = self.generated + end_tokens, self.output.parser.reasoning_tokens
        usage = (self.prompt_length, output_tokens, self.cached, reasoning_tokens)
        step.add_end(self.number, reason, usage, self.output.parser.stop_sequence)
        self.output.close()
