"""The log probabilities of an answer's tokens, which go out with its text."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ...shared.engine.token_queue import TokenQueue
from .chat import PreparedRequest


class TokenScores:
    """Collects the log probabilities of one answer, each with `alternatives` of the likeliest tokens.

    With stop strings vLLM sends text later than its tokens: `_early` has those whose text has not come.
    """

    def __init__(self, alternatives: int, *, text_lags: bool, special: frozenset[int]) -> None:
        self._alternatives = alternatives
        self._special = special
        self._early: deque[tuple[str, list[Any]]] = deque()
        self._text_lags = text_lags
        self._missing = 0  # characters of text that has come, minus those of the tokens that left `_early`
        self._queue: TokenQueue[list[Any]] = TokenQueue(lags=text_lags)
        self._in_reasoning = False
        self._last = False

    @classmethod
    def of(cls, request: PreparedRequest) -> TokenScores | None:
        """Return those of a request; None if it asks for none."""
        asked = request.sampling.logprobs
        if asked is None:
            return None
        return cls(asked, text_lags=bool(request.sampling.stop), special=request.special_tokens)

    def add(self, completion: Any) -> None:
        """Add the tokens of a `CompletionOutput` of vLLM, and its text."""
        self._last = completion.finish_reason is not None
        for token, chances in zip(completion.token_ids, completion.logprobs or (), strict=False):
            if token in self._special:
                continue
            top = sorted(chances.values(), key=lambda chance: -chance.logprob)[: self._alternatives]
            chosen = chances[token]
            self._early.append(
                (chosen.decoded_token or "", _entry(chosen, [_entry(chance) for chance in top]))
            )
        self._missing += len(completion.text)
        while self._early and (self._missing > 0 or not self._text_lags):
            text, entry = self._early.popleft()
            self._missing -= len(text)
            self._queue.add(text, entry)

    def of_prompt(self, text: str, tokens: Sequence[int], output: Any) -> list[list[Any]]:
        """Return the entries of a prompt's tokens, from a `RequestOutput`. The first one has no score: 0."""
        entries = []
        for token, chances in zip(tokens[1:], output.prompt_logprobs[1:], strict=False):
            top = sorted(chances.values(), key=lambda chance: -chance.logprob)[: self._alternatives]
            entries.append(_entry(chances[token], [_entry(chance) for chance in top]))
        rest = "".join(entry[0] for entry in entries)
        first = text[: len(text) - len(rest)] if text.endswith(rest) else ""
        return [[first, 0.0, None], *entries]

    def skip_reasoning(self, *, also_text: bool) -> None:
        """Forget the tokens of reasoning, unless text came with it."""
        self._in_reasoning = True
        if not also_text:
            self._queue.clear()

    def skip(self) -> None:
        """Forget the tokens that wait: they are those of a call."""
        self._queue.clear()

    def take(self, text: str) -> list[list[Any]]:
        """Return the entries of a piece of the answer's text."""
        if self._in_reasoning:  # the first tokens after it may be those of its end
            self._queue.keep_last(text)
            self._in_reasoning = False
        return self._queue.take(text, last=self._last)


def _entry(score: Any, top: list[list[Any]] | None = None) -> list[Any]:
    """The entry of a `Logprob` of vLLM (`streams.events.TokenLogprob`)."""
    entry = [score.decoded_token or "", min(float(score.logprob), 0.0), None]
    return [*entry, top] if top else entry
