"""Holds an answer to a grammar, and no more than that answer to its errors.

What a filter raises escapes the generator and is the end of all its jobs, though a client's schema can cause
it: some grammars are found too complex only while they are followed. So an error is kept here, and the filter
lets everything pass and says that it is complete, which ends the job.
"""

from __future__ import annotations

import traceback
from functools import cache
from importlib import import_module
from typing import Any


def grammar_filter(library: Any, tokenizer: Any, grammar: str) -> Any:
    """A filter that ends the answer with the grammar; its `broken` is the error that ended it before.

    Raises `ValueError` for what is no grammar.
    """
    return _kept(library.LLGuidanceFilter)(tokenizer, lark_grammar=grammar, eos_after_completed=True)


@cache
def _kept(base: Any) -> Any:
    """The library's filter, with its errors kept."""

    class Kept(base):  # type: ignore[misc]
        broken: Exception | None = None

        def accept_token(self, token: int) -> None:
            try:
                super().accept_token(token)
            except Exception as error:
                self._keep(error)

        def get_next_logit_mask(self) -> Any:
            try:
                if self.broken is None:
                    return super().get_next_logit_mask()
            except Exception as error:
                self._keep(error)
            torch: Any = import_module("torch")
            return torch.full((1, self.vocab_size // 32), -1, dtype=torch.int32)  # a bit for each token

        def is_completed(self) -> bool:
            return self.broken is not None or super().is_completed()

        def _keep(self, error: Exception) -> None:
            traceback.print_exception(error)
            self.broken = error

    return Kept
