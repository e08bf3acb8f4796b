"""The results of text tasks (`Generation.text_task`): in parts, and bounded.

The engine sends one part in an iteration of its loop, so that a long list of tokens delays no other request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .pipe import Step, encode

PART_TOKENS = 1024
PART_CHARS = 8192

MAX_RESULT_BYTES = 3 << 20
"""The most bytes of a list of tokens as JSON, or of a text. The log of a response has at most 4 MiB."""

TOO_LARGE = (
    f"the result would have more than {MAX_RESULT_BYTES >> 20} MiB: send a shorter text, or fewer tokens"
)

Part = tuple[str, str]
"""The kind of a part, `tokens` or `text`, and its items or its text."""


class TextTaskError(Exception):
    """Raised when a task has no result; the text is for people."""


class TextResult:
    """The result of one request, as far as it has not been sent."""

    def __init__(self, number: int, parts: Sequence[Part]) -> None:
        self.number = number
        self._parts = iter(parts)
        self._left = len(parts)

    def advance(self, step: Step) -> bool:
        """Add the next part to a step; with the last one the end, too: then true."""
        if self._left:
            self._left -= 1
            kind, piece = next(self._parts)
            if kind == "tokens":
                step.add_tokens(self.number, piece)
            else:
                step.add_text(self.number, "text", piece)
        if not self._left:
            step.add_end(self.number, "stop", (0, 0, 0, 0))
        return not self._left


def token_parts(tokens: Sequence[int], piece: Callable[[int], bytes] | None) -> list[Part]:
    """The parts of a list of tokens; `piece` has the bytes of a token, if they are asked for.

    Raises `TextTaskError` for a result that is too large.
    """
    parts: list[Part] = []
    size = 0
    for start in range(0, len(tokens), PART_TOKENS):
        some = tokens[start : start + PART_TOKENS]
        items = ",".join(map(str, some) if piece is None else (_item(token, piece(token)) for token in some))
        size += len(items)
        if size > MAX_RESULT_BYTES:
            raise TextTaskError(TOO_LARGE)
        parts.append(("tokens", items))
    return parts


def text_parts(text: str) -> list[Part]:
    """The parts of a text. Raises `TextTaskError` for one that is too large."""
    if len(text) > MAX_RESULT_BYTES or len(text.encode("utf-8", "replace")) > MAX_RESULT_BYTES:
        raise TextTaskError(TOO_LARGE)
    return [("text", text[start : start + PART_CHARS]) for start in range(0, len(text), PART_CHARS)]


def text_of_tokens(tokens: Sequence[int], vocabulary_size: int, piece: Callable[[int], bytes]) -> str:
    """The text of tokens. Raises `TextTaskError` for a token that there is not, or if it is too large."""
    return b"".join(_bounded(tokens, vocabulary_size, piece)).decode("utf-8", "replace")


def _bounded(tokens: Sequence[int], vocabulary_size: int, piece: Callable[[int], bytes]) -> Iterator[bytes]:
    size = 0
    for token in checked_tokens(tokens, vocabulary_size):
        data = piece(token)
        size += len(data)
        if size > MAX_RESULT_BYTES:
            raise TextTaskError(TOO_LARGE)
        yield data


def checked_tokens(tokens: Sequence[int], vocabulary_size: int) -> Sequence[int]:
    """The tokens. Raises `TextTaskError` for one that the model does not have."""
    for token in tokens:
        if not 0 <= token < vocabulary_size:
            raise TextTaskError(f"the model has no token {token}")
    return tokens


def _item(token: int, data: bytes) -> str:
    piece: Any
    try:
        piece = data.decode()
    except UnicodeDecodeError:
        piece = list(data)
    return encode({"id": token, "piece": piece})
