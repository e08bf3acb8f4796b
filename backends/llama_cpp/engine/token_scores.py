"""The log probabilities of an answer's tokens, which go out with its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...shared.engine.pipe import Step
from ...shared.engine.token_queue import TokenQueue, move_scored
from .sampler_chain import SamplerChain
from .vocabulary import Vocabulary

LEAST = -9999.0  # JSON has no infinities

Score = tuple[int, float, list[list[Any]]]
"""A token, its log probability, and the entries of the likeliest tokens in its place."""


class TokenScores:
    """Collects the log probabilities of one answer, each with `alternatives` of the likeliest tokens.

    They are the model's own (natural logarithm), before biases, penalties and sampling; with a `chain` those
    that its choice was made with. With `ids` each token has its number. `lags`: see `TokenQueue`.
    """

    def __init__(  # noqa: PLR0913 - what is reported of a token
        self,
        numpy: Any,
        vocabulary: Vocabulary,
        alternatives: int,
        *,
        lags: bool,
        ids: bool = False,
        chain: SamplerChain | None = None,
    ) -> None:
        self._ids = ids
        self._chain = chain
        self._numpy = numpy
        self._vocabulary = vocabulary
        self._alternatives = min(alternatives, vocabulary.size)
        self._picked: Score | None = None
        self._queue: TokenQueue[list[Any]] = TokenQueue(lags=lags)

    def pick(self, logits: Any, token: int) -> None:
        """Compute the log probability of a token that was chosen from the model's logits."""
        if self._chain is not None:
            self._pick_sampled(*self._chain.probabilities(), token)
            return
        best = logits.max()
        total = float(best) + float(self._numpy.log(self._numpy.exp(logits - best).sum()))
        top: list[int] = []
        if self._alternatives:
            likeliest = logits.argpartition(-self._alternatives)[-self._alternatives :]
            top = likeliest[logits[likeliest].argsort(kind="stable")[::-1]].tolist()
        entries = [
            self._entry(candidate, *self._vocabulary.shown(candidate), float(logits[candidate]) - total)
            for candidate in top
        ]
        self._picked = (token, float(logits[token]) - total, entries)

    def _pick_sampled(self, tokens: Any, probabilities: Any, token: int) -> None:
        with self._numpy.errstate(divide="ignore"):
            logprobs = self._numpy.log(probabilities)
        likeliest = logprobs.argsort(kind="stable")[::-1][: self._alternatives]
        entries = [
            self._entry(number, *self._vocabulary.shown(number), logprob)
            for number, logprob in zip(tokens[likeliest].tolist(), logprobs[likeliest].tolist(), strict=True)
        ]
        self._picked = (token, float(logprobs[tokens == token].max()), entries)

    def skip(self) -> None:
        """Forget the tokens that wait: they are markers, and have no text."""
        self._picked = None
        self._queue.clear()

    def add(self, data: bytes, text: str) -> None:
        """Add the token that was picked: its bytes, and the text that is complete with it."""
        if self._picked is not None:
            token, logprob, top = self._picked
            self._queue.add(text, self._entry(token, data, text, logprob, top), data)
        self._picked = None

    def move(self, number: int, parsed: Step, step: Step) -> None:
        """Move what the parser added to `step`, its text with the tokens."""
        move_scored(self._queue, number, parsed, step)

    def _entry(
        self, token: int, data: bytes, text: str, logprob: float, top: Sequence[list[Any]] = ()
    ) -> list[Any]:
        """The entry of a token (`streams.events.TokenLogprob`): its bytes only if they are no whole text."""
        parts = None if text.encode("utf-8", "replace") == data else list(data)
        entry = [text, max(LEAST, min(logprob, 0.0)), parts]
        if self._ids:
            return [*entry, top, token]
        return [*entry, top] if top else entry
