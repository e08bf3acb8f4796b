"""Counts the tokens of a prompt for a route: an ordinary job of which the engine generates nothing.

It waits in the model's queue and ends with its client's connection, as every job does. Its tokens count for
no limit and no usage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from flask import Response

from api.inference.dialects.base import Dialect, ParsedRequest, ResponseMetadata, StreamRenderer
from api.inference.exchange import generate
from store.errors import StokerError
from store.limit_state import LimitState
from streams.events import End, Event

Answer = Callable[[int], dict[str, Any]]
"""Makes the body of an answer from the number of input tokens."""


def count_tokens(dialect: Dialect, body: dict[str, Any], answer: Answer) -> Response:
    """Count the tokens of the prompt that the dialect makes of a body, and answer with `answer(tokens)`.

    Raises `StokerError` when the request is refused: code token_count_unsupported for a model that cannot
    count. Errors, later ones too, have the dialect's form.
    """
    return generate(TokenCount(dialect, answer), body)


class TokenCount:
    """Fulfils `Dialect` for the counts of another dialect's requests."""

    ID_PREFIX = "count_"
    HAS_CANCELLED_STATUS = False

    def __init__(self, dialect: Dialect, answer: Answer) -> None:
        self.NAME = f"{dialect.NAME}.count"  # an Idempotency-Key holds for one route
        self.FRAMING = dialect.FRAMING
        self._dialect = dialect
        self._answer = answer

    def error_body(self, error: StokerError) -> dict[str, Any]:
        """Return the body of an error in the dialect's form."""
        return self._dialect.error_body(error)

    def limit_headers(self, limits: Iterable[LimitState]) -> dict[str, str]:
        """Return what the tenant has left of its limits, as headers."""
        return self._dialect.limit_headers(limits)

    def parse(self, body: dict[str, Any]) -> ParsedRequest:
        """Parse a body; the request is neither streamed nor stored. Raises `InvalidRequest`."""
        parsed = self._dialect.parse(body)
        generation = replace(parsed.generation, count_only=True)
        return replace(parsed, generation=generation, stream=False, store=False, background=False)

    def stream_renderer(self, metadata: ResponseMetadata) -> StreamRenderer:
        """Fail: a count is never streamed."""
        raise NotImplementedError

    def response_object(
        self,
        metadata: ResponseMetadata,  # noqa: ARG002 - a count has no id
        events: Iterable[Event],
        pending: str = "in_progress",  # noqa: ARG002 - a count is answered when it has ended
    ) -> dict[str, Any]:
        """Return the count as the dialect's JSON object."""
        usages = [event.usage for event in events if isinstance(event, End) and event.usage is not None]
        return self._answer(sum(usage.input_tokens for usage in usages))
