"""Tokens with log probabilities that wait for their text, which an engine may send later than them."""

from __future__ import annotations

from collections import deque
from typing import Any, Generic, TypeVar

from .pipe import Step

Entry = TypeVar("Entry")


class TokenQueue(Generic[Entry]):
    """The tokens of one answer's text, each with an entry.

    With `lags` the text may come later than its tokens, as where it could begin a stop string: then only
    tokens that begin within the text leave the queue. Otherwise all tokens that wait belong to the next text.
    """

    def __init__(self, *, lags: bool) -> None:
        self._lags = lags
        self._waiting: deque[tuple[str, int, Entry]] = deque()
        self._ahead = 0  # how many bytes the tokens that left have more than their texts
        self._begins = True  # whether the white space before the text may have been removed

    @property
    def is_empty(self) -> bool:
        """Whether no token waits, nor has one left with more text than was taken."""
        return not self._waiting and not self._ahead

    def add(self, token: str, entry: Entry, data: bytes | None = None) -> None:
        """Add a token with its text, and its bytes where they are no whole text."""
        self._waiting.append((token, _size(token) if data is None else len(data), entry))

    def clear(self) -> None:
        """Forget the tokens that wait: they are markers, reasoning or a call, and no text."""
        self._waiting.clear()
        self._ahead = 0
        self._begins = True

    def keep_last(self, text: str) -> None:
        """Forget the tokens before those whose texts make up `text`."""
        size, kept = 0, 0
        for _, more, _ in reversed(self._waiting):
            if size >= _size(text):
                break
            size, kept = size + more, kept + 1
        for _ in range(len(self._waiting) - kept):
            self._waiting.popleft()

    def take(self, text: str, *, last: bool = False) -> list[Entry]:
        """Remove the tokens of a piece of text and return their entries; `last`: of the last piece."""
        if self._begins:
            self._skip_white_space(text)
        self._begins = False
        taken = []
        needed = _size(text)
        while self._waiting and (self._ahead < needed or not (self._lags or last)):
            _, size, entry = self._waiting.popleft()
            self._ahead += size
            taken.append(entry)
        self._ahead = max(0, self._ahead - needed) if self._lags else 0
        return taken

    def _skip_white_space(self, text: str) -> None:
        """Forget the tokens of white space that the text lacks at its beginning."""
        while self._waiting and (token := self._waiting[0][0]).isspace() and not text.startswith(token):
            self._waiting.popleft()
        if self._waiting:
            token = self._waiting[0][0]
            self._ahead -= max(0, _leading(token) - _leading(text))


def move_scored(queue: TokenQueue[list[Any]], number: int, parsed: Step, step: Step) -> None:
    """Move what a parser added to `parsed` to `step`, its text with the tokens of the queue."""
    for kind, entries in parsed.frame.items():
        if kind != "text":
            step.frame.setdefault(kind, []).extend(entries)
            continue
        text = "".join("".join(pieces) for _, pieces in entries)
        if tokens := queue.take(text):
            step.add_scored(number, text, tokens)
        else:
            step.add_text(number, "text", text)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _leading(text: str) -> int:
    return len(text) - len(text.lstrip())
