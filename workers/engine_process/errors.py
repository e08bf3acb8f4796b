"""How an engine fails, and how its process ended."""

from __future__ import annotations

import signal as signals
from dataclasses import dataclass


class EngineError(Exception):
    """Raised when an engine cannot do what was asked; `code` is machine-readable, the text is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class EngineLost(EngineError):
    """Raised when the engine's process is gone or no longer speaks.

    Codes: engine_crashed, engine_stalled.
    """


@dataclass(frozen=True, slots=True)
class Exit:
    """How an engine's process ended: by `signal` or with `code`; `expected` when we asked for it."""

    code: int | None
    signal: int | None
    expected: bool

    def __str__(self) -> str:
        """One clause for `last_error`, such as "killed by SIGKILL" or "exited with code 0"."""
        if self.signal is not None:
            return f"killed by {signals.Signals(self.signal).name}"
        return f"exited with code {self.code}"
