"""The prompt of a text with a gap, of tokens, as llama-server makes it (tools/server/server-common.cpp).

Parts of other files come first, then the text before the gap with what the answer begins with, and the text
behind it. Of each the engine takes what is nearest to the gap and fits: a batch of 2048 tokens holds three
parts of the text before to one behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .vocabulary import GapTokens, Vocabulary

BATCH = 2048
LEAST_ANSWER = 64
"""The tokens that are kept for an answer, with the markers, in any case."""

SNIPPET = "\n\n--- snippet ---\n\n"
PROJECT, FILE = "myproject\n", "filename\n"
"""llama-server's names of the project and of the file with the gap."""


def gap_prompt(
    vocabulary: Vocabulary, gap: GapTokens, body: Mapping[str, Any], context: int, max_tokens: int
) -> list[int]:
    """The tokens of a body with `prompt`, `suffix` and `infill`, of a model with the tokens `gap`."""
    most = context * vocabulary.longest  # more characters than fit would only take time
    kept = max(LEAST_ANSWER, 2 * max_tokens)
    batch = min(BATCH, max(0, context - kept))
    begun = vocabulary.prompt_tokens(body["infill"]["begun"])
    before = vocabulary.text_tokens(body["prompt"][-most:])[-(3 * (batch // 4)) :]
    behind = vocabulary.text_tokens(body["suffix"][:most])[: max(0, batch // 4 - (2 + len(begun)))]
    room = max(0, context - batch - kept)
    extra = _extra(vocabulary, gap, body["infill"]["extra"], most) if room else []
    return [
        *extra[-room:],
        *vocabulary.beginning,
        *(gap.before, *before, *begun),
        *(gap.behind, *behind, gap.middle),
    ]


def _extra(vocabulary: Vocabulary, gap: GapTokens, files: list[list[str]], most: int) -> list[int]:
    tokens = [] if gap.project is None else [gap.project, *vocabulary.text_tokens(PROJECT)]
    for name, text in _last(files, most):
        tokens += _head(vocabulary, gap, f"{name}\n") + vocabulary.text_tokens(text[-most:])
    if gap.file is not None:
        tokens += _head(vocabulary, gap, FILE)
    return tokens


def _head(vocabulary: Vocabulary, gap: GapTokens, name: str) -> list[int]:
    if gap.file is None:
        return vocabulary.text_tokens(SNIPPET)
    return [gap.file, *vocabulary.text_tokens(name)]


def _last(files: list[list[str]], most: int) -> list[list[str]]:
    """The last files that have so many characters together."""
    size, first = 0, len(files)
    while first and size < most:
        first -= 1
        size += len(files[first][0]) + len(files[first][1])
    return files[first:]
