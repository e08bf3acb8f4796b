"""Counts the tokens that the engines of a worker process, while their jobs run; its heartbeats report them.

What is reported only grows: at its end a job adds what its engine counted beyond what was counted before, so
no token counts twice. A prompt that is computed again, for a job that moved, counts again.
"""

from __future__ import annotations

import threading
from collections import Counter

from scheduler.job import TokenCount, TokenReport
from streams.events import (
    Delta,
    PromptProgress,
    ReasoningDelta,
    ScoredTextDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)

MOST_COUNTS = 100
"""The most models and tenants of one report; the others follow with the next one."""

CHARS_PER_TOKEN = 8
"""A delta has one token, or several if it is longer: engines may join the tokens of a step."""

Owner = tuple[str, str]
"""The model and the tenant of a job."""


class JobTokens:
    """The tokens of one job so far: `input` of its prompt that were computed, `output` of its answer.

    For the worker's event loop. Until the end they are counted by what the engine sends: the progress of the
    prompt, and the pieces of the answer.
    """

    __slots__ = ("input", "output", "owner", "taken_input", "taken_output")

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.input = self.output = 0
        self.taken_input = self.taken_output = 0

    def count(self, delta: Delta) -> None:
        """Count a delta."""
        if isinstance(delta, ScoredTextDelta):
            self.output += max(1, len(delta.tokens))
        elif isinstance(delta, TextDelta | ReasoningDelta):
            self.output += max(1, len(delta.text) // CHARS_PER_TOKEN)
        elif isinstance(delta, ToolCallDelta):
            self.output += max(1, len(delta.arguments) // CHARS_PER_TOKEN)
        elif isinstance(delta, PromptProgress):
            self.input = max(self.input, delta.processed - delta.cached)

    def correct(self, usage: Usage) -> None:
        """Set what the engine counted; never less than what was counted before."""
        self.input = max(self.input, usage.input_tokens - usage.cached_tokens)
        self.output = max(self.output, usage.output_tokens)


class ProcessedTokens:
    """The tokens that were processed and not reported yet, by model and tenant.

    Jobs begin and end on the event loop; the heartbeats' thread takes the reports.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[JobTokens] = set()
        self._input: Counter[Owner] = Counter()
        self._output: Counter[Owner] = Counter()
        self._report = TokenReport(0, ())

    def begin(self, model: str, tenant: str) -> JobTokens:
        """Begin to count the tokens of a job."""
        tokens = JobTokens((model, tenant))
        with self._lock:
            self._running.add(tokens)
        return tokens

    def end(self, tokens: JobTokens, usage: Usage | None) -> None:
        """End a job's count; `usage` is what its engine counted, None after a failure."""
        with self._lock:
            self._running.discard(tokens)
            if usage is not None:
                tokens.correct(usage)
            self._take(tokens)

    def next_report(self) -> TokenReport:
        """Return what to report: the same until it is `confirmed`, since a call may be repeated."""
        with self._lock:
            if not self._report.counts:
                for tokens in self._running:
                    self._take(tokens)
                self._report = TokenReport(self._report.number + 1, tuple(self._take_counts()))
            return self._report

    def confirmed(self) -> None:
        """The latest report has arrived."""
        with self._lock:
            self._report = TokenReport(self._report.number, ())

    def _take(self, tokens: JobTokens) -> None:
        """Add what is new of a job to what will be reported."""
        read, written = tokens.input, tokens.output
        self._input[tokens.owner] += read - tokens.taken_input
        self._output[tokens.owner] += written - tokens.taken_output
        tokens.taken_input, tokens.taken_output = read, written

    def _take_counts(self) -> list[TokenCount]:
        counts: list[TokenCount] = []
        for owner in list(self._input.keys() | self._output.keys()):
            if len(counts) == MOST_COUNTS:
                break
            count = TokenCount(*owner, self._input.pop(owner, 0), self._output.pop(owner, 0))
            if count.input or count.output:
                counts.append(count)
        return counts
