"""Errors of engines, and how an engine's process ended."""

from __future__ import annotations

import signal as signals
from dataclasses import dataclass


class EngineError(Exception):
    """Raised when an engine fails to do what was requested; `code` is for programs, the text for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class EngineLost(EngineError):
    """Raised when the engine's process has ended or no longer responds.

    Codes: engine_crashed, engine_stalled.
    """


@dataclass(frozen=True, slots=True)
class Exit:
    """How an engine's process ended: by `signal` or with `code`; `expected` after a request to stop."""

    code: int | None
    signal: int | None
    expected: bool

    def __str__(self) -> str:
        """One clause for `last_error`, such as "killed by SIGKILL" or "exited with code 0"."""
        if self.signal is not None:
            return f"killed by {signals.Signals(self.signal).name}"
        return f"exited with code {self.code}"
