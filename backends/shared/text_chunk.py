"""The form of the chunks that carry an answer's text: they are alike but for their text.

Parsing JSON and looking at each of its fields costs four times as much as comparing the bytes around
the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

DATA, EVENT_END = b"data: ", b"\n\n"
FIELD = re.compile(rb'"(?:content|text)":\s*"')
MAX_MISSES = 3
"""After so many forms that did not fit the next chunk, no more are learnt: some servers give each chunk a
value of its own."""


class TextChunk:
    """The bytes before and after the text of the last chunk that was parsed; without them, it fits none.

    What is between the same bytes is another text of the same field, if it is a whole JSON string: without
    quotes, backslashes and control characters. Every other chunk has to be parsed.
    """

    __slots__ = ("_after", "_before", "_between", "_end", "_fits", "_head", "_misses", "_size")

    def __init__(self) -> None:
        self._before = b""
        self._after = b""
        self._head = b""  # of an event with such a chunk, up to the text
        self._end = b""  # of such an event, from its text on
        self._between = b""  # the texts of two such events
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

    def leading_texts(self, body: bytes) -> tuple[Sequence[str], bytes]:
        """Return the texts of the chunks of this form with which a body begins, and what follows them.

        The body begins with an event. If one of the events at its beginning is of another form, or ends
        otherwise than most servers end them, there may be no texts.
        """
        if not self._size or not body.startswith(self._head):
            return (), body
        texts = body[len(self._head) :].split(self._between)
        last, end, rest = texts.pop().partition(self._end)
        if end:
            texts.append(last)
        else:
            rest = self._head + last
        if not texts or b"" in texts:
            return (), body
        try:
            lines = b"\n".join(texts).decode().split("\n")  # fails where a text ends amid a character
        except UnicodeDecodeError:
            return (), body
        text = "".join(lines)
        if len(lines) != len(texts) or '"' in text or "\\" in text or not text.isprintable():
            return (), body
        self._fits = True
        return lines, rest

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
            self._head, self._end = DATA + self._before, self._after + EVENT_END
            self._between = self._end + self._head

    def forget(self) -> None:
        """Fit no chunk until another one is learnt."""
        if self._size and not self._fits:
            self._misses += 1
        self._size, self._fits = 0, False
