"""Ends the reasoning of a request when its budget is used up, or when its client asks for the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ...shared.engine.output_parser import OutputParser


class ThinkingBudget:
    """After `most` tokens of reasoning, the tokens of the marker that ends it follow, once.

    None: after `end_now` only.
    """

    def __init__(self, most: int | None, end: Sequence[int]) -> None:
        self._most = sys.maxsize if most is None else most
        self._end = list(end)
        self._left: list[int] | None = None

    def end_now(self, parser: OutputParser) -> None:
        """End the reasoning with the next token; no effect outside of it."""
        if parser.in_reasoning:
            self._most = 0

    def next_token(self, parser: OutputParser) -> int | None:
        """Return the next token of the end marker; None while the model chooses."""
        if self._left is None:
            if not parser.in_reasoning or parser.reasoning_tokens < self._most:
                return None
            self._left = list(self._end)
        return self._left.pop(0) if self._left else None
