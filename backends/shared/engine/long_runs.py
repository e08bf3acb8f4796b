"""Cuts texts that llama.cpp cannot split into words.

It splits a text by regular expressions (std::regex), which take a frame of the stack for each character of a
word: some 20,000 letters, signs or spaces in a row end the process. So such texts are tokenized in parts. The
tokens of other texts stay the same.
"""

from __future__ import annotations

import re

LONGEST_RUN = 8192
"""Characters that are tokenized together at most without the end of a word between them."""

_WORD_END = re.compile(r"[A-Za-z0-9\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af](?=[ \n\t.,!?\u3001\u3002\uff0c])")
"""A letter before a space or a stop: no tokenizer has a word with both."""


NEAR = 256
"""Characters: in most texts a word ends within them."""


def cut_long_runs(text: str) -> list[str]:
    """The text in parts: one, unless it has more than LONGEST_RUN characters without the end of a word."""
    parts: list[str] = []
    begun = end = 0  # of the part, and of a word in it
    while len(text) - end > LONGEST_RUN:
        limit = end + LONGEST_RUN
        found = _last_word_end(text, limit - NEAR, limit) or _last_word_end(text, end, limit)
        end = found or limit
        if found is None:
            parts.append(text[begun:end])
            begun = end
    return [*parts, text[begun:]]


def _last_word_end(text: str, start: int, limit: int) -> int | None:
    """The end of the last word that ends behind `start` and not behind `limit`."""
    last = None
    for found in _WORD_END.finditer(text, start, limit + 1):
        last = found.end()
    return last
