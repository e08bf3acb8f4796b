"""The loop of a model that makes vectors: each iteration makes some vectors and writes one frame.

The requests take turns, so that a large one does not delay the others; a cancelled one ends before the next
step.
"""

from __future__ import annotations

import base64
import select
from collections import deque
from typing import Any

from ...shared.engine.pipe import Pipe, Step
from .batch import Batch
from .model import LoadedModel
from .vocabulary import Vocabulary


class InputError(Exception):
    """Raised when an input has no vector; `code` is machine-readable, the text is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Encoder:
    """Computes the vectors of token sequences that fit into one batch."""

    def __init__(self, library: Any, numpy: Any, loaded: LoadedModel, batch: Batch) -> None:
        self._library = library
        self._numpy = numpy
        self._context = loaded.context
        self._memory = library.llama_get_memory(loaded.context)  # None in a model that only encodes
        self._batch = batch
        self.capacity = batch.capacity
        self.numbers: int = library.llama_model_n_embd_out(loaded.model)

    def vectors(self, inputs: list[Any]) -> Any:
        """Return an array with a vector of length 1 for each input; None if the library fails."""
        self._batch.clear()
        for sequence, tokens in enumerate(inputs):
            self._batch.add(sequence, 0, tokens, with_logits=True)
        self._batch.want_all()
        failed = self._batch.compute() != 0
        made = None if failed else self._read(len(inputs))
        if self._memory:
            self._library.llama_memory_clear(self._memory, True)
        return made

    def shortened(self, vectors: Any, dimensions: int | None) -> Any:
        """Return the first numbers of vectors, scaled to length 1; None for all of them."""
        return vectors if dimensions is None else unit(self._numpy, vectors[:, :dimensions])

    def array(self, tokens: list[int]) -> Any:
        """Return tokens in the form of those that the vocabulary makes."""
        return self._numpy.array(tokens, self._numpy.int32)

    def _read(self, count: int) -> Any:
        made = self._numpy.empty((count, self.numbers), self._numpy.float32)
        for sequence in range(count):
            pointer = self._library.llama_get_embeddings_seq(self._context, sequence)
            if not pointer:
                return None
            made[sequence] = self._numpy.ctypeslib.as_array(pointer, (self.numbers,))
        return unit(self._numpy, made) if self._numpy.isfinite(made).all() else None


def unit(numpy: Any, vectors: Any) -> Any:
    """Scale vectors to length 1; one of zeros stays as it is."""
    lengths = numpy.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / numpy.where(lengths == 0, 1, lengths)).astype("<f4")


class _Request:
    """A request for vectors, with the number of its next input."""

    def __init__(self, number: int, body: dict[str, Any]) -> None:
        self.number = number
        self.inputs: list[str | list[int]] = body["inputs"]
        self.dimensions: int | None = body["dimensions"]
        self.next = 0
        self.tokens = 0

    def end(self, step: Step, reason: str) -> None:
        """Add the end of the request to `step`."""
        step.add_end(self.number, reason, (self.tokens, 0, 0, 0))


class VectorLoop:
    """Holds every request that has not ended; `most_tokens` are those of a step with several inputs."""

    def __init__(
        self, pipe: Pipe, vocabulary: Vocabulary, encoder: Encoder, most_tokens: int, most_inputs: int
    ) -> None:
        self._pipe = pipe
        self._vocabulary = vocabulary
        self._encoder = encoder
        self._most_tokens = most_tokens
        self._most_inputs = most_inputs
        self._waiting: deque[_Request] = deque()
        self._poll = select.poll()
        self._poll.register(pipe.fileno(), select.POLLIN)

    def run(self) -> None:
        """Make vectors until the worker closes the pipe."""
        while True:
            step = Step()
            if self._poll.poll(0 if self._waiting else None) and not self._pipe.receive(
                self._begin, self._cancel, self._flush, step
            ):
                return
            if self._waiting:
                self._advance(step)
            if step.frame:
                self._pipe.write(step.frame)

    def _begin(self, number: int, body: dict[str, Any], step: Step) -> None:
        request = _Request(number, body)
        if request.dimensions is not None and request.dimensions > self._encoder.numbers:
            sentence = f"the embeddings of this model have {self._encoder.numbers} dimensions"
            step.add_error(number, "invalid_prompt", sentence)
        else:
            self._waiting.append(request)

    def _cancel(self, number: int, step: Step) -> None:
        for request in [waiting for waiting in self._waiting if waiting.number == number]:
            self._waiting.remove(request)
            request.end(step, "cancelled")

    def _flush(self, number: int, _kept: frozenset[str], step: Step) -> None:
        step.add_flushed(number, 0, 0.0)  # a text leaves nothing in the memory

    def _advance(self, step: Step) -> None:
        """Make the next vectors of the request whose turn it is."""
        request = self._waiting.popleft()
        try:
            part = self._part(request)
        except InputError as error:
            step.add_error(request.number, error.code, str(error))
            return
        vectors = self._encoder.vectors(part)
        if vectors is None:
            step.add_error(request.number, "engine_error", "the engine failed to compute a vector")
            return
        for vector in self._encoder.shortened(vectors, request.dimensions):
            step.add_vector(request.number, request.next, base64.b64encode(vector.tobytes()).decode())
            request.next += 1
        request.tokens += sum(map(len, part))
        if request.next < len(request.inputs):
            self._waiting.append(request)
        else:
            request.end(step, "stop")

    def _part(self, request: _Request) -> list[Any]:
        """The tokens of the request's next inputs: one, and more as far as they fit. Raises `InputError`."""
        part: list[Any] = []
        size = 0
        for index in range(request.next, min(len(request.inputs), request.next + self._most_inputs)):
            tokens = self._tokens(request.inputs[index], index)
            size += len(tokens)
            if part and size > self._most_tokens:
                break
            part.append(tokens)
        return part

    def _tokens(self, given: str | list[int], index: int) -> Any:
        limit = self._encoder.capacity
        if isinstance(given, str):
            minimum = len(given.encode("utf-8", "replace")) // self._vocabulary.longest
            if minimum > limit:  # tokenizing it would only take time
                raise _too_long(index, f"at least {minimum}", limit)
            tokens = self._vocabulary.input_tokens(given)
        else:
            if not all(0 <= token < self._vocabulary.size for token in given):
                raise InputError("invalid_prompt", f"input {index} has a token that the model does not have")
            tokens = self._encoder.array(given)
        if len(tokens) > limit:
            raise _too_long(index, str(len(tokens)), limit)
        if len(tokens) == 0:
            raise InputError("invalid_prompt", f"input {index} has no tokens")
        return tokens


def _too_long(index: int, count: str, limit: int) -> InputError:
    return InputError("context_length_exceeded", f"input {index} has {count} tokens; {limit} fit")
