"""What a request adds to the model's logits before a token is chosen: biases and penalties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NEUTRAL_PENALTIES: Mapping[str, float] = {
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
}


class LogitChanges:
    """The biases and penalties of one request, and the tokens that it has so far.

    The presence and frequency penalties count the generated tokens (OpenAI API reference), the repetition
    penalty counts those of the prompt, too: it divides a positive logit and multiplies a negative one
    (https://arxiv.org/abs/1909.05858). `biases` are pairs of a token and what is added to its logit; tokens
    that the vocabulary of `size` tokens does not have are left out. `prompt` is an array of tokens.
    """

    def __init__(
        self, numpy: Any, size: int, biases: Any, penalties: Mapping[str, float], prompt: Any
    ) -> None:
        self._presence = penalties["presence_penalty"]
        self._frequency = penalties["frequency_penalty"]
        self._repetition = penalties["repetition_penalty"]
        known = [(int(token), float(bias)) for token, bias in biases if 0 <= int(token) < size]
        self._biased = numpy.array([token for token, _ in known], numpy.int64)
        self._biases = numpy.array([bias for _, bias in known], numpy.float32)
        self._counts = numpy.zeros(size, numpy.float32)
        self._seen = numpy.zeros(size, bool)
        if self._repetition != 1:
            self._seen[prompt] = True
        # a repetition penalty applies to each token that was seen; the others have a count
        self._tokens = numpy.zeros(size, numpy.int64)
        found = self._seen.nonzero()[0]
        self._length = len(found)
        self._tokens[: self._length] = found

    @classmethod
    def of(cls, numpy: Any, size: int, body: Mapping[str, Any], prompt: Any) -> LogitChanges | None:
        """Return the changes that the body of a request asks for; None if there are none."""
        penalties = {name: float(body.get(name, neutral)) for name, neutral in NEUTRAL_PENALTIES.items()}
        biases = body.get("logit_bias") or {}
        if not biases and penalties == NEUTRAL_PENALTIES:
            return None
        return cls(numpy, size, biases.items(), penalties, prompt)

    def apply(self, logits: Any) -> Any:
        """Return a copy of the logits with the changes."""
        changed = logits.copy()
        changed[self._biased] += self._biases
        if self._length:
            tokens = self._tokens[: self._length]
            found = changed[tokens]
            if self._repetition != 1:
                positive = found > 0
                found[positive] /= self._repetition
                found[~positive] *= self._repetition
            counts = self._counts[tokens]
            found -= counts * self._frequency + (counts > 0) * self._presence
            changed[tokens] = found
        return changed

    def accept(self, token: int) -> None:
        """Count a generated token."""
        self._counts[token] += 1
        if not self._seen[token]:
            self._seen[token] = True
            self._tokens[self._length] = token
            self._length += 1
