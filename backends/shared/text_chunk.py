"""The form of the chunks that carry an answer's text: they are alike but for their text.

Parsing JSON and looking at each of its fields costs four times as much as comparing the bytes around
the text.
"""

from __future__ import annotations

import re

FIELD = re.compile(rb'"(?:content|text)":\s*"')
MAX_MISSES = 3
"""After so many forms that did not fit the next chunk, no more are learnt: some servers give each chunk a
value of its own."""


class TextChunk:
    """The bytes before and after the text of the last chunk that was parsed; without them, it fits none.

    What is between the same bytes is another text of the same field, if it is a whole JSON string: without
    quotes, backslashes and control characters. Every other chunk has to be parsed.
    """

    __slots__ = ("_after", "_before", "_fits", "_misses", "_size")

    def __init__(self) -> None:
        self._before = b""
        self._after = b""
        self._size = 0
        self._fits = False  # whether a chunk has fitted since the form was learnt
        self._misses = 0

    def text_of(self, data: bytes) -> str | None:
        """Return the text of a chunk of this form; None for a chunk that has to be parsed."""
        if not self._size or not data.startswith(self._before) or not data.endswith(self._after):
            return None
        end = len(data) - len(self._after)
        if end <= self._size:
            return None
        try:
            text = data[self._size : end].decode()
        except UnicodeDecodeError:
            return None
        if '"' in text or "\\" in text or not text.isprintable():
            return None
        self._fits = True
        return text

    def learn(self, data: bytes, text: str) -> None:
        """Learn the form of a chunk whose only content is this text, as it was parsed from `data`."""
        if self._size:
            self.forget()
        if self._misses >= MAX_MISSES:
            return
        fields = list(FIELD.finditer(data))
        if len(fields) != 1:
            return
        begin = fields[0].end()
        end = data.find(b'"', begin)
        if data[begin:end] == text.encode("utf-8", "surrogatepass"):
            self._before, self._after, self._size = data[:begin], data[end:], begin

    def forget(self) -> None:
        """Fit no chunk until another one is learnt."""
        if self._size and not self._fits:
            self._misses += 1
        self._size, self._fits = 0, False
