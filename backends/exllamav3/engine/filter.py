"""Constrains an answer to a grammar, so that an error of the grammar ends only this answer.

An exception in a filter ends the generator and all its jobs, though a client's schema can cause it: some
grammars turn out to be too complex only while they are applied. So the filter stores the exception, allows
all tokens from then on, and reports that it is complete, which ends the job.
"""

from __future__ import annotations

import traceback
from functools import cache
from importlib import import_module
from typing import Any


def grammar_filter(library: Any, tokenizer: Any, grammar: str) -> Any:
    """A filter that ends the answer where the grammar is complete; its `failure` is the exception that ended
    it.

    Raises `ValueError` for an invalid grammar.
    """
    return _tolerant(library.LLGuidanceFilter)(tokenizer, lark_grammar=grammar, eos_after_completed=True)


@cache
def _tolerant(base: Any) -> Any:
    """A subclass of the library's filter that stores exceptions."""

    class TolerantFilter(base):  # type: ignore[misc]
        failure: Exception | None = None

        def accept_token(self, token: int) -> None:
            try:
                super().accept_token(token)
            except Exception as error:
                self._store(error)

        def get_next_logit_mask(self) -> Any:
            try:
                if self.failure is None:
                    return super().get_next_logit_mask()
            except Exception as error:
                self._store(error)
            torch: Any = import_module("torch")
            return torch.full((1, self.vocab_size // 32), -1, dtype=torch.int32)  # a bit for each token

        def is_completed(self) -> bool:
            return self.failure is not None or super().is_completed()

        def _store(self, error: Exception) -> None:
            traceback.print_exception(error)
            self.failure = error

    return TolerantFilter
