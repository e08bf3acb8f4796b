"""The stub's vectors: unit vectors that follow from the hash of their input alone; and its scores."""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from array import array
from itertools import islice
from typing import Any

BATCH_INPUTS = 16
"""The vectors of one step, so that other requests are not delayed."""


class StubEmbedding:
    """A request for vectors, or for scores, that is under way. A word is a token."""

    def __init__(self, number: int, asked: dict[str, Any], dimensions: int) -> None:
        self.number = number
        self._inputs: list[str | list[int]] = asked["inputs"]
        self._query: str | None = asked.get("query")
        self._dimensions = dimensions
        self._shortened: int = asked["dimensions"] or dimensions
        self._next = 0

    def problem(self, limit: int) -> tuple[str, str] | None:
        """Return (code, sentence) if an input has more than `limit` tokens, or a vector too few numbers."""
        if self._shortened > self._dimensions:
            return "invalid_prompt", f"the embeddings of this model have {self._dimensions} dimensions"
        for index, given in enumerate(self._inputs):
            if (tokens := self._tokens(given)) > limit:
                return "context_length_exceeded", f"input {index} has {tokens} tokens; {limit} fit"
        return None

    def advance(self, frame: dict[str, list[Any]]) -> bool:
        """Add the next vectors to `frame`; whether the last one is among them."""
        for given in islice(self._inputs, self._next, self._next + BATCH_INPUTS):
            data = base64.b64encode(self._vector(given)).decode()
            frame.setdefault("vectors", []).append((self.number, self._next, data))
            self._next += 1
        if self._next < len(self._inputs):
            return False
        self.end(frame, "stop")
        return True

    def end(self, frame: dict[str, list[Any]], reason: str) -> None:
        """Add the end of the request to `frame`."""
        tokens = sum(map(self._tokens, self._inputs[: self._next]))
        frame.setdefault("ends", []).append((self.number, reason, (tokens, 0, 0, 0), None))

    def _tokens(self, given: str | list[int]) -> int:
        return count(given) + (0 if self._query is None else count(self._query))

    def _vector(self, given: str | list[int]) -> bytes:
        if self._query is None:
            return unit_vector(given, self._dimensions, self._shortened)
        return struct.pack("<f", score(self._query, str(given)))


def score(query: str, document: str) -> float:
    """Return the share of the query's words that the document has."""
    words, found = set(query.lower().split()), set(document.lower().split())
    return len(words & found) / max(1, len(words))


def count(given: str | list[int]) -> int:
    """Return the tokens of an input."""
    return len(given.split()) if isinstance(given, str) else len(given)


def unit_vector(given: str | list[int], dimensions: int, shortened: int) -> bytes:
    """Return the first `shortened` of so many numbers, scaled to length 1: float32, little-endian."""
    content = given if isinstance(given, str) else ",".join(map(str, given))
    seed = type(given).__name__ + content
    digest = hashlib.shake_256(seed.encode("utf-8", "replace")).digest(2 * dimensions)
    numbers = [value - 32767.5 for value in memoryview(digest).cast("H")[:shortened]]  # none of them is 0
    length = math.sqrt(sum(value * value for value in numbers))
    return array("f", [value / length for value in numbers]).tobytes()
