"""The batch of one step: tokens with their positions, in arrays that the library reads in place."""

from __future__ import annotations

import ctypes
from typing import Any


class Batch:
    """The rows of one llama_decode call, at most `capacity`; `vocabulary` is the number of logits of a row.

    Rows of one sequence are adjacent, sequences in ascending order: the library computes neighbouring
    sequences together, and all others one after the other.
    """

    def __init__(self, library: Any, context: Any, numpy: Any, capacity: int, vocabulary: int) -> None:
        self._library = library
        self._context = context
        self._numpy = numpy
        self._vocabulary = vocabulary
        self.capacity = capacity
        self.rows = 0
        self._tokens = numpy.zeros(capacity, numpy.int32)
        self._positions = numpy.zeros(capacity, numpy.int32)
        self._ramp = numpy.arange(capacity, dtype=numpy.int32)
        self._counts = numpy.ones(capacity, numpy.int32)
        self._sequences = numpy.zeros(capacity, numpy.int32)
        self._with_logits = numpy.zeros(capacity, numpy.int8)
        self._outputs = 0  # rows whose logits are computed
        self._logits: tuple[int, int, Any] = (0, 0, None)
        number = ctypes.POINTER(ctypes.c_int32)
        start = self._sequences.ctypes.data
        self._lists = (number * (capacity + 1))(
            *(ctypes.cast(start + 4 * row, number) for row in range(capacity))
        )
        self._batch = library.llama_batch(
            0,
            self._tokens.ctypes.data_as(number),
            None,
            self._positions.ctypes.data_as(number),
            self._counts.ctypes.data_as(number),
            self._lists,
            self._with_logits.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def clear(self) -> None:
        """Remove all rows."""
        self.rows = 0
        self._outputs = 0

    def add(self, sequence: int, position: int, tokens: Any, *, with_logits: bool) -> None:
        """Add tokens of a sequence from `position` on; `with_logits` requests the logits of the last one."""
        start, self.rows = self.rows, self.rows + len(tokens)
        rows = slice(start, self.rows)
        self._tokens[rows] = tokens
        self._numpy.add(self._ramp[: len(tokens)], position, out=self._positions[rows])
        self._sequences[rows] = sequence
        self._with_logits[rows] = 0
        if with_logits:
            self._with_logits[self.rows - 1] = 1
            self._outputs += 1

    def want_all(self) -> None:
        """Request an output of each row, as the vector of a sequence needs."""
        self._with_logits[: self.rows] = 1
        self._outputs = self.rows

    def advance(self, tokens: list[int]) -> None:
        """Replace each row by the next token of its sequence; every sequence must have exactly one row."""
        self._tokens[: self.rows] = tokens
        self._positions[: self.rows] += 1

    def compute(self) -> int:
        """Compute the batch. Returns 0 or the library's error code."""
        self._batch.n_tokens = self.rows
        code: int = self._library.llama_decode(self._context, self._batch)
        return code

    def logits(self) -> Any:
        """The requested logits, an array (rows with logits, vocabulary); valid until the next step."""
        count = self._outputs
        pointer = self._library.llama_get_logits(self._context)
        address = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        if self._logits[:2] != (address, count):
            shape = (count, self._vocabulary)
            memory = (ctypes.c_float * (count * self._vocabulary)).from_address(address)
            view = self._numpy.frombuffer(memory, self._numpy.float32).reshape(shape)
            self._logits = (address, count, view)
        return self._logits[2]
