"""The errors of the engine process."""

from __future__ import annotations


class WhisperLoadError(Exception):
    """Raised when a model cannot be used; the text is one sentence that says what to do."""


class WhisperRequestError(Exception):
    """Raised when a request cannot be answered; `code` is that of the generation's error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class RequestCancelled(Exception):
    """Raised in the thread of a cancelled request, at its next use of the model or of the recording."""
