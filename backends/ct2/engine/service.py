"""The interface of generators and translators that the engine's loop calls, and its errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ...shared.engine.pipe import Step
from .batches import BatchScheduler


class Ct2LoadError(Exception):
    """Raised when a model cannot be used; the text is one sentence that says what to do."""


class Ct2RequestError(Exception):
    """Raised when a request cannot be answered; `code` is that of the generation's error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Service(Protocol):
    """Answers requests with one model.

    It adds rows to `batches`; the loop passes the tokens of the rows to `on_tokens`.
    """

    batches: BatchScheduler[Any]
    context: int | None
    """The most tokens of one request; None: without limit."""

    @property
    def running(self) -> int:
        """The number of requests that have not ended."""
        ...

    def warm_up(self) -> None:
        """Run the model once, so that a missing or broken library raises its error now."""
        ...

    def add_request(self, number: int, request: dict[str, Any], step: Step) -> None:
        """Accept a request. Raises `Ct2RequestError`; after any exception nothing of the request remains."""
        ...

    def prepare_more(self, step: Step) -> bool:
        """Do a few milliseconds of the remaining preparation of long requests; true while there is more."""
        ...

    def cancel(self, number: int, step: Step) -> None:
        """End a request; unknown numbers are ignored."""
        ...

    def on_tokens(self, row: Any, tokens: Sequence[str], last: bool, step: Step) -> None:
        """Process tokens of a row. No tokens with `last` mean that its batch failed."""
        ...
