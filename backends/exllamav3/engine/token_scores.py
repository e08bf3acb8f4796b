"""The log probabilities of an answer's tokens, which go out with its text."""

from __future__ import annotations

import re
from typing import Any

from ...shared.engine.pipe import Step
from ...shared.engine.token_queue import TokenQueue, move_scored

UNLIKELY = -9999.0
"""The log probability of a token whose probability single precision cannot hold."""

INCOMPLETE = "�"  # in the text of a token that is a part of a character

SINGLE_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
"""The name of a token that is one byte of a character, in vocabularies with such tokens (SentencePiece)."""

PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
UNPRINTABLE = tuple(byte for byte in range(256) if byte not in PRINTABLE)
BYTES_OF_LETTERS = {chr(byte): byte for byte in PRINTABLE} | {
    chr(256 + at): byte for at, byte in enumerate(UNPRINTABLE)
}
"""The bytes for the letters of tokens' names in byte-level vocabularies (that of GPT-2)."""


class ScoredTokens:
    """The texts and bytes of a model's tokens, from the library's tokenizer."""

    def __init__(self, tokenizer: Any, *, shows_special: bool) -> None:
        self._name_of = tokenizer.tokenizer.id_to_token  # of the library `tokenizers`
        self._pieces = tokenizer.get_id_to_piece_list(shows_special)
        self._shown = tokenizer.get_id_to_piece_list(True)

    def text(self, token: int) -> str:
        """The text of a token in an answer; that of a special token may be empty."""
        piece: str = self._pieces[token]
        return piece

    def entry(self, token: int, logprob: float) -> list[Any]:
        """The entry of a token (`streams.events.TokenLogprob`): its bytes only if they are no whole text."""
        shown = self._shown[token]
        data = name_bytes(self._name_of(token)) if INCOMPLETE in shown else None
        return [shown, min(max(logprob, UNLIKELY), 0.0), None if data is None else list(data)]


def name_bytes(name: str | None) -> bytes | None:
    """The bytes of a token with this name in the vocabulary; None if the name does not say them."""
    if name is None:
        return None
    if (single := SINGLE_BYTE.fullmatch(name)) is not None:
        return bytes.fromhex(single[1])
    if not BYTES_OF_LETTERS.keys() >= set(name):
        return None
    return bytes(BYTES_OF_LETTERS[letter] for letter in name)


class TokenScores:
    """Collects the log probabilities of one answer, each with `alternatives` of the likeliest tokens.

    They are the model's own: the library computes them of the logits before masks, biases and penalties.
    `lags`: see `TokenQueue`.
    """

    def __init__(self, tokens: ScoredTokens, alternatives: int, *, lags: bool) -> None:
        self.alternatives = alternatives
        self._tokens = tokens
        self._queue: TokenQueue[list[Any]] = TokenQueue(lags=lags)

    def add(self, result: dict[str, Any]) -> None:
        """Add the tokens of a result of the generator."""
        if "token_ids" not in result:
            return
        chosen, entry = _pairs(result["token_ids"], result["token_probs"]), self._tokens.entry
        tops: list[list[list[Any]]] = [[] for _ in chosen]
        if self.alternatives:
            likeliest = zip(result["top_k_tokens"][0], result["top_k_probs"][0], strict=True)
            tops = [[entry(*pair) for pair in _pairs(ids[None], probs[None])] for ids, probs in likeliest]
        for (token, logprob), top in zip(chosen, tops, strict=True):
            if text := self._tokens.text(token):
                scored = entry(token, logprob)
                data = None if scored[2] is None else bytes(scored[2])
                self._queue.add(text, [*scored, *([top] if top else ())], data)

    def clear(self) -> None:
        """Forget the tokens that wait: they are markers, and have no text."""
        self._queue.clear()

    def move(self, number: int, parsed: Step, step: Step) -> None:
        """Move what the parser added to `step`, its text with the tokens."""
        move_scored(self._queue, number, parsed, step)


def _pairs(tokens: Any, probabilities: Any) -> list[tuple[int, float]]:
    """The tokens of a tensor (1 x n) with the logarithms of their probabilities."""
    return list(zip(tokens[0].tolist(), probabilities[0].log().tolist(), strict=True))
