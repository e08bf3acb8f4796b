"""What the two kinds of model have in common: what the loop asks of them, and how they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ...shared.engine.pipe import Step
from .batches import Batches


class LoadFailure(Exception):
    """Raised when a model cannot be used; the text is one sentence that says what to do."""


class Refusal(Exception):
    """Raised when a request cannot be answered; `code` is that of the generation's error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Service(Protocol):
    """Answers requests with one model. Rows go into `batches` and come back through `take`."""

    batches: Batches[Any]
    context: int | None
    """Tokens that one request may have; None: as many as it likes."""

    @property
    def running(self) -> int:
        """Requests that have not ended."""
        ...

    def try_it(self) -> None:
        """Let the library do a little, so that it fails now if it fails at all; raises what it raises."""
        ...

    def begin(self, number: int, request: dict[str, Any], step: Step) -> None:
        """Take a request. Raises `Refusal`; whatever else it raises, nothing is left of the request."""
        ...

    def go_on(self, step: Step) -> bool:
        """Do a few milliseconds of the work that is left of long requests; true while there is more."""
        ...

    def cancel(self, number: int, step: Step) -> None:
        """End a request; unknown ones are ignored."""
        ...

    def take(self, row: Any, tokens: Sequence[str], last: bool, step: Step) -> None:
        """Take what a row said. Nothing, though it is the last: the batch failed."""
        ...
