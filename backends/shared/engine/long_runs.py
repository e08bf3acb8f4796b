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


def cut_long_runs(text: str) -> list[str]:
    """The text in parts: one, unless it has more than LONGEST_RUN characters without the end of a word."""
    if len(text) <= LONGEST_RUN:
        return [text]
    parts: list[str] = []
    begun = end = 0  # of the part, and of the last word
    for found in (*_WORD_END.finditer(text), None):
        at = len(text) if found is None else found.end()
        while at - end > LONGEST_RUN:
            end += LONGEST_RUN
            parts.append(text[begun:end])
            begun = end
        end = at
    return [*parts, text[begun:]] if begun < len(text) else parts
