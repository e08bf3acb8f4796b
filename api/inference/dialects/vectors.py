"""The vectors of a response, or its tokens, for the dialects that answer with them.

An answer with vectors may take a hundred megabytes of JSON, so each vector becomes text when its part of the
answer is made (`parts_of`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from streams.events import End, Event, TokensDelta, VectorDelta

PART_BYTES = 32 * 1024
"""A part of an answer ends with the vector that fills it."""


class Vector:
    """A vector in an answer: a list of numbers, or their base64. `json_form` renders it for `orjson`."""

    __slots__ = ("_as_base64", "_delta")

    def __init__(self, delta: VectorDelta, *, as_base64: bool = False) -> None:
        self._delta, self._as_base64 = delta, as_base64

    def json(self) -> bytes:
        """The JSON."""
        return b'"%b"' % self._delta.base64 if self._as_base64 else orjson.dumps(self._delta.numbers)


class TokenItems:
    """Some items of a list of tokens, with the commas between them: one item of the list for `parts_of`."""

    __slots__ = ("_items",)

    def __init__(self, delta: TokensDelta) -> None:
        self._items = delta.items

    def json(self) -> bytes:
        """The JSON."""
        return self._items


def json_form(value: object) -> orjson.Fragment:
    """The JSON of a vector: the argument `default` of `orjson.dumps`. Raises `TypeError` for other values."""
    if not isinstance(value, (Vector, TokenItems)):
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return orjson.Fragment(value.json())


def parts_of(answer: Mapping[str, Any] | list[Any]) -> Iterator[bytes]:
    """The JSON of an answer in parts, all but the last of at least PART_BYTES.

    The items of its lists are rendered one after the other.
    """
    part = bytearray()
    for piece in _pieces_of(answer):
        part += piece
        if len(part) >= PART_BYTES:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)


def _pieces_of(answer: Mapping[str, Any] | list[Any]) -> Iterator[bytes]:
    if isinstance(answer, list):
        yield from _pieces_of_list(answer)
        return
    before = b"{"
    for name, value in answer.items():
        yield b"%b%b:" % (before, orjson.dumps(name))
        if isinstance(value, list):
            yield from _pieces_of_list(value)
        else:
            yield orjson.dumps(value, default=json_form)
        before = b","
    yield b"}"


def _pieces_of_list(items: list[Any]) -> Iterator[bytes]:
    yield b"["
    for number, item in enumerate(items):
        yield (b"," if number else b"") + orjson.dumps(item, default=json_form)
    yield b"]"


def vectors_of(events: Iterable[Event]) -> tuple[list[VectorDelta], End | None]:
    """The vectors in the order of their inputs, and the end."""
    vectors, end = list[VectorDelta](), None
    for event in events:
        if isinstance(event, VectorDelta):
            vectors.append(event)
        elif isinstance(event, End):
            end = event
    return sorted(vectors, key=lambda vector: vector.index), end


def input_tokens(end: End | None) -> int:
    """The tokens of the inputs."""
    return 0 if end is None or end.usage is None else end.usage.input_tokens
