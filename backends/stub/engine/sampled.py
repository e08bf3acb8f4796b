"""The stub's sampling: biases and penalties of its tokens, and log probabilities. Standard library only.

Token N of its vocabulary is the text " tokN". At each place the token of the plan has the logit
`PLANNED_LOGIT`, and each other token has 0; `Sampling.logit_bias` and the penalties change them, and the
likeliest token is taken. The tokens of a plan differ, so that penalties alone change no output, and neither
do top_k, min_p and seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

PLANNED_LOGIT = 10.0
VOCABULARY = 1_000_000
LOG_HALF = math.log(0.5)


class BiasError(ValueError):
    """Raised for a bias that is not a finite number, and for a token that is not in the vocabulary."""


def biased(pieces: list[str], sampling: Mapping[str, Any]) -> list[str]:
    """Return the plan's pieces after `logit_bias` and the penalties. Raises `BiasError`.

    A piece that its bias makes less likely than all other tokens is left out.
    """
    biases: dict[int, float] = {}
    for token, bias in sampling["logit_bias"]:
        if not 0 <= token < VOCABULARY:
            raise BiasError(f"logit_bias: there is no token {token}")
        if bias is None or not math.isfinite(bias):  # JSON has null for NaN
            raise BiasError(f"logit_bias: the bias of token {token} is not a finite number")
        biases[token] = bias
    token, bias = max(biases.items(), key=lambda item: item[1])
    banned = {f"tok{one}" for one, value in biases.items() if PLANNED_LOGIT + value < 0}
    taken: list[str] = []
    count = 0
    for piece in pieces:
        if bias > 0 and _penalized(bias, count, sampling) > PLANNED_LOGIT:
            taken.append(f" tok{token}")
            count += 1
        elif piece.strip() not in banned:
            taken.append(piece)
    return taken


def _penalized(logit: float, count: int, sampling: Mapping[str, Any]) -> float:
    """The logit of a token that occurred `count` times."""
    if not count:
        return logit
    logit /= sampling.get("repetition_penalty") or 1.0
    return logit - (sampling.get("presence_penalty") or 0) - count * (sampling.get("frequency_penalty") or 0)


def scored(pieces: list[str], count: int) -> list[tuple[str, list[Any]]]:
    """Return each piece with its log probability: 1/2, and 1/4, 1/8 ... for the alternatives.

    The piece itself is the first of the `count` likeliest tokens.
    """
    alternatives = [[f" alt{i}", LOG_HALF * (i + 1), None] for i in range(1, count)]
    entries: list[list[Any]] = [[piece, LOG_HALF, None] for piece in pieces]
    return [(entry[0], [[*entry, [entry, *alternatives]] if count else entry]) for entry in entries]
