"""A grammar that constrains the output of one request."""

from __future__ import annotations

import ctypes
from typing import Any

from .vocabulary import Vocabulary


class GrammarError(ValueError):
    """Raised when the library refuses a grammar."""


class Grammar:
    """A grammar and its state. Accept only allowed tokens: the library aborts the process otherwise."""

    def __init__(self, library: Any, vocabulary: Vocabulary, numpy: Any, text: str) -> None:
        self._library = library
        self._numpy = numpy
        self._vocabulary = vocabulary
        self._one = (library.llama_token_data * 1)()
        self._of_one = library.llama_token_data_array(self._one, 1, -1, False)
        self._sampler = library.llama_sampler_init_grammar(
            vocabulary.pointer, text.encode("utf-8", "replace"), b"root"
        )
        if not self._sampler:
            raise GrammarError("the library does not take this grammar")

    def allows(self, token: int) -> bool:
        """Whether a token may come next."""
        self._one[0].id, self._one[0].logit = token, 0.0
        self._library.llama_sampler_apply(self._sampler, ctypes.byref(self._of_one))
        return bool(self._one[0].logit == 0.0)

    def restricted(self, logits: Any) -> Any | None:
        """The logits with those of disallowed tokens at -inf; None when no token is allowed."""
        numpy = self._numpy
        kind = [("id", numpy.int32), ("logit", numpy.float32), ("p", numpy.float32)]
        every = numpy.zeros(len(logits), kind)
        every["id"] = numpy.arange(len(logits))
        every["logit"] = logits
        pointer = every.ctypes.data_as(ctypes.POINTER(self._library.llama_token_data))
        array = self._library.llama_token_data_array(pointer, len(logits), -1, False)
        self._library.llama_sampler_apply(self._sampler, ctypes.byref(array))
        left = every["logit"]
        return left if numpy.isfinite(left.max()) else None

    def accept(self, token: int) -> None:
        """Advance the state by an allowed token that does not end the output."""
        self._library.llama_sampler_accept(self._sampler, token)

    def close(self) -> None:
        """Free it."""
        if self._sampler:
            self._library.llama_sampler_free(self._sampler)
        self._sampler = None
