"""What one generation says: how its next token is picked, and what becomes of it."""

from __future__ import annotations

from codecs import getincrementaldecoder
from dataclasses import dataclass, field
from typing import Any

from ...shared.engine.output_parser import Reply
from ...shared.engine.step import Step
from .grammar import Grammar
from .sampler import Sampler
from .vocabulary import Vocabulary

NOTHING = -1  # no token: the grammar leaves none


@dataclass(eq=False)
class Answer:
    """A `grammar` holds once the model has done thinking, which it may begin with the token `opening`."""

    vocabulary: Vocabulary
    sampler: Sampler
    reply: Reply
    grammar: Grammar | None = None
    opening: int | None = None
    _letters: Any = field(default=None, init=False)  # while a letter is not whole

    @property
    def is_plain(self) -> bool:
        """Whether its next token is the best one, whatever else is the case."""
        return self.sampler.is_greedy and self.grammar is None

    def pick(self, logits: Any, said: int) -> int:
        """The next token, from the logits of all, when `said` were; `NOTHING` when there can be none."""
        token = self.sampler.pick(logits)
        grammar = self.grammar
        if grammar is None or self.reply.thinks or (said == 0 and token == self.opening):
            return token
        if not grammar.allows(token):
            logits = grammar.restricted(logits)
            if logits is None:
                return NOTHING
            token = self.sampler.pick(logits)
        if not self.vocabulary.is_end(token):
            grammar.accept(token)
        return token

    def is_end(self, token: int) -> bool:
        """Whether a token ends the answer."""
        return token == NOTHING or self.vocabulary.is_end(token)

    def take(self, token: int, step: Step) -> bool:
        """Say a token; true when a stop string has ended the answer."""
        data, text = self.vocabulary.piece(token)
        if text is None or self._letters is not None:
            text = self._whole_letters(data)
        return self.reply.take(text, step)

    def finish(self, step: Step) -> bool:
        """Nothing more comes; true when it was a call."""
        self.reply.finish(step)
        return self.reply.called

    def close(self) -> None:
        """Give back what it holds of the library's."""
        if self.grammar is not None:
            self.grammar.close()

    def _whole_letters(self, data: bytes) -> str:
        """The letters that are whole by now; the rest waits for the next token."""
        if self._letters is None:
            self._letters = getincrementaldecoder("utf-8")("replace")
        text: str = self._letters.decode(data)
        if not self._letters.getstate()[0]:
            self._letters = None
        return text
