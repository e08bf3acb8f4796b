"""The output of one request: chooses its next token, and turns tokens into text for the output parser."""

from __future__ import annotations

from codecs import getincrementaldecoder
from dataclasses import dataclass, field
from typing import Any

from ...shared.engine.output_parser import OutputParser
from ...shared.engine.pipe import Step
from .line_limits import LineLimits
from .logit_changes import LogitChanges
from .sampler_chain import SamplerChain
from .sampling import Grammar, Sampler
from .thinking_budget import ThinkingBudget
from .token_scores import TokenScores
from .vocabulary import Vocabulary

NO_TOKEN = -1  # the grammar allows no token


@dataclass(eq=False)
class Output:
    """The sampler, grammar and parser of one request.

    The `grammar` applies once the reasoning has ended. The reasoning may begin with the token `opening`.
    A grammar `within_calls` applies to each tool call, from the end of the marker that begins it.
    `changes` are applied to all logits; `scores` collects the log probabilities of the text's tokens, if they
    are asked for. `budget` bounds the reasoning, `lines` the answer.
    """

    vocabulary: Vocabulary
    sampler: Sampler | SamplerChain
    parser: OutputParser
    grammar: Grammar | None = None
    opening: int | None = None
    within_calls: bool = False
    changes: LogitChanges | None = None
    scores: TokenScores | None = None
    budget: ThinkingBudget | None = None
    lines: LineLimits | None = None
    _in_call: bool = field(default=False, init=False)
    _decoder: Any = field(default=None, init=False)  # a decoder, while a character is incomplete

    @property
    def is_plain(self) -> bool:
        """Whether the next token is always the one with the highest logit."""
        if self.changes is not None or self.scores is not None or self.budget is not None:
            return False
        return self.sampler.is_greedy and self.grammar is None

    def pick(self, logits: Any, count: int) -> int:
        """Choose the next token from the logits of the vocabulary, after `count` generated tokens.

        Returns `NO_TOKEN` when the grammar allows none.
        """
        forced = None if self.budget is None else self.budget.next_token(self.parser)
        if forced is not None:
            if self.changes is not None:
                self.changes.accept(forced)
            return forced
        changed = logits if self.changes is None else self.changes.apply(logits)
        token = self._choose(changed, count)
        if token == NO_TOKEN:
            return token
        if self.changes is not None:
            self.changes.accept(token)
        if self.scores is not None and self.parser.in_text and not self.vocabulary.is_end(token):
            self.scores.pick(logits, token)
        if isinstance(self.sampler, SamplerChain):
            self.sampler.accept(token)
        return token

    def _choose(self, logits: Any, count: int) -> int:
        """Return the next token, which the grammar allows; the logits have the request's changes."""
        token = self.sampler.pick(logits)
        grammar = self.grammar
        if grammar is None or self.parser.in_reasoning or (count == 0 and token == self.opening):
            return token
        if self.within_calls and not self._in_call:
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
        if self.lines is not None:
            text = self.lines.take(text)
        ended = self._feed(data, text, step)
        if self.within_calls and self.parser.in_call is not self._in_call:
            self._in_call = self.parser.in_call
            return ended or (self._in_call and not self._begin_call())
        return ended

    def _feed(self, data: bytes, text: str, step: Step) -> bool:
        """Parse the text of one token into `step`; true when a stop string has ended the output."""
        if self.scores is None:
            return self.parser.feed(text, step)
        parsed = Step()
        ended = self.parser.feed(text, parsed)
        if self.parser.in_text:
            self.scores.add(data, text)
        else:
            self.scores.skip()
        self.scores.move(self.parser.number, parsed, step)
        return ended

    def _begin_call(self) -> bool:
        """Begin the grammar again for a new call. False if the text behind the marker does not fit it."""
        assert self.grammar is not None  # noqa: S101 - there is one within calls
        self.grammar.reset()
        for token in self.vocabulary.text_tokens(self.parser.call_text):
            if not self.grammar.allows(token):
                return False
            self.grammar.accept(token)
        return True

    def finish(self, step: Step) -> bool:
        """Add the remaining text to `step`; true when the output contains a tool call."""
        if self.scores is None:
            self.parser.finish(step)
        else:
            parsed = Step()
            self.parser.finish(parsed)
            self.scores.move(self.parser.number, parsed, step)
        return self.parser.has_tool_calls

    @property
    def is_cut(self) -> bool:
        """Whether the limit of its lines has ended the output."""
        return self.lines is not None and self.lines.is_reached

    def close(self) -> None:
        """Free the library's memory of the grammar and the samplers."""
        if isinstance(self.sampler, SamplerChain):
            self.sampler.close()
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
