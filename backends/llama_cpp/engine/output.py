"""The output of one request: chooses its next token, and turns tokens into text for the output parser."""

from __future__ import annotations

from codecs import getincrementaldecoder
from dataclasses import dataclass, field
from typing import Any

from ...shared.engine.output_parser import OutputParser
from ...shared.engine.pipe import Step
from .sampling import Grammar, Sampler
from .vocabulary import Vocabulary

NO_TOKEN = -1  # the grammar allows no token


@dataclass(eq=False)
class Output:
    """The sampler, grammar and parser of one request.

    The `grammar` applies once the reasoning has ended. The reasoning may begin with the token `opening`.
    """

    vocabulary: Vocabulary
    sampler: Sampler
    parser: OutputParser
    grammar: Grammar | None = None
    opening: int | None = None
    _decoder: Any = field(default=None, init=False)  # a decoder, while a character is incomplete

    @property
    def is_plain(self) -> bool:
        """Whether the next token is always the one with the highest logit."""
        return self.sampler.is_greedy and self.grammar is None

    def pick(self, logits: Any, count: int) -> int:
        """Choose the next token from the logits of the vocabulary, after `count` generated tokens.

        Returns `NO_TOKEN` when the grammar allows none.
        """
        token = self.sampler.pick(logits)
        grammar = self.grammar
        if grammar is None or self.parser.in_reasoning or (count == 0 and token == self.opening):
            return token
        if not grammar.allows(token):
            logits = grammar.restricted(logits)
            if logits is None:
                return NO_TOKEN
            token = self.sampler.pick(logits)
        if not self.vocabulary.is_end(token):
            grammar.accept(token)
        return token

    def is_end(self, token: int) -> bool:
        """Whether a token ends the output."""
        return token == NO_TOKEN or self.vocabulary.is_end(token)

    def add_token(self, token: int, step: Step) -> bool:
        """Add the text of a token to `step`; true when a stop string has ended the output."""
        data, text = self.vocabulary.piece(token)
        if text is None or self._decoder is not None:
            text = self._complete_text(data)
        return self.parser.feed(text, step)

    def finish(self, step: Step) -> bool:
        """Add the remaining text to `step`; true when the output contains a tool call."""
        self.parser.finish(step)
        return self.parser.has_tool_calls

    def close(self) -> None:
        """Free the library's grammar."""
        if self.grammar is not None:
            self.grammar.close()

    def _complete_text(self, data: bytes) -> str:
        """The characters that are complete with these bytes; an incomplete one waits for the next token."""
        if self._decoder is None:
            self._decoder = getincrementaldecoder("utf-8")("replace")
        text: str = self._decoder.decode(data)
        if not self._decoder.getstate()[0]:
            self._decoder = None
        return text
