"""The log probabilities of an answer's tokens, which go out with its text."""

from __future__ import annotations

from typing import Any

from ...shared.engine.pipe import Step
from ...shared.engine.token_queue import TokenQueue, move_scored
from .vocabulary import Vocabulary

Score = tuple[float, list[list[Any]]]
"""A token's log probability, and the entries of the likeliest tokens in its place."""


class TokenScores:
    """Collects the log probabilities of one answer, each with `alternatives` of the likeliest tokens.

    They are the model's own (natural logarithm), before biases, penalties and sampling. `lags`: see
    `TokenQueue`.
    """

    def __init__(self, numpy: Any, vocabulary: Vocabulary, alternatives: int, *, lags: bool) -> None:
        self._numpy = numpy
        self._vocabulary = vocabulary
        self._alternatives = min(alternatives, vocabulary.size)
        self._picked: Score | None = None
        self._queue: TokenQueue[list[Any]] = TokenQueue(lags=lags)

    def pick(self, logits: Any, token: int) -> None:
        """Compute the log probability of a token that was chosen from the model's logits."""
        best = logits.max()
        total = float(best) + float(self._numpy.log(self._numpy.exp(logits - best).sum()))
        top: list[int] = []
        if self._alternatives:
            likeliest = logits.argpartition(-self._alternatives)[-self._alternatives :]
            top = likeliest[logits[likeliest].argsort(kind="stable")[::-1]].tolist()
        entries = [
            _entry(*self._vocabulary.shown(candidate), float(logits[candidate]) - total) for candidate in top
        ]
        self._picked = (float(logits[token]) - total, entries)

    def skip(self) -> None:
        """Forget the tokens that wait: they are markers, and have no text."""
        self._picked = None
        self._queue.clear()

    def add(self, data: bytes, text: str) -> None:
        """Add the token that was picked: its bytes, and the text that is complete with it."""
        if self._picked is not None:
            logprob, top = self._picked
            self._queue.add(text, [*_entry(data, text, logprob), *([top] if top else ())], data)
        self._picked = None

    def move(self, number: int, parsed: Step, step: Step) -> None:
        """Move what the parser added to `step`, its text with the tokens."""
        move_scored(self._queue, number, parsed, step)


def _entry(data: bytes, text: str, logprob: float) -> list[Any]:
    """The entry of a token (`streams.events.TokenLogprob`): its bytes only if they are no whole text."""
    return [text, min(logprob, 0.0), None if text.encode("utf-8", "replace") == data else list(data)]
