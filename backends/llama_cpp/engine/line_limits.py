"""Ends an answer by its lines, as llama-server does for editors: by their indentation, or after a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any


class LineLimits:
    """The limits of one answer. A line with less than `indent` white space ends it; so does the end of a line
    after `time_ms` milliseconds. 0 sets no limit."""

    def __init__(self, indent: int, time_ms: int, clock: Callable[[], float] = monotonic) -> None:
        self.is_reached = False
        """Whether the answer has ended."""
        self._indent = indent
        self._time_s = time_ms / 1000
        self._clock = clock
        self._began: float | None = None
        self._column: int | None = None  # of white space alone; None within a line, and in the first one

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> LineLimits | None:
        """The limits that a request's parameters name; None without any."""
        indent, time_ms = int(given.get("n_indent", 0)), int(given.get("t_max_predict_ms", 0))
        return cls(indent, time_ms) if indent > 0 or time_ms > 0 else None

    def take(self, text: str) -> str:
        """The text of a token, up to where the answer ends."""
        if self._began is None:
            self._began = self._clock()
        if self._indent and (end := self._unindented(text)) is not None:
            self.is_reached = True
            return text[:end]
        if self._time_s and "\n" in text and self._clock() - self._began > self._time_s:
            self.is_reached = True
        return text

    def _unindented(self, text: str) -> int | None:
        """Where a line begins with too little white space."""
        for at, character in enumerate(text):
            if self._column is not None and character in " \t":
                self._column += 1
            elif self._column is not None and self._column < self._indent:
                return at
            else:
                self._column = 0 if character == "\n" else None
        return None
