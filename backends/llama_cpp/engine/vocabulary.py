"""A model's vocabulary: from text to tokens, and from a token to its bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

PIECE_BYTES = 512
INT32_MIN = -(1 << 31)

Piece = tuple[bytes, str | None]
"""A token's bytes, and the text that they are; None where they are parts of letters."""


class Vocabulary:
    """May be asked from any thread. Of the special tokens only those that are among `markers` have a text."""

    def __init__(self, library: Any, model: Any, numpy: Any, markers: Iterable[str]) -> None:
        self._library = library
        self._numpy = numpy
        self._vocab = library.llama_model_get_vocab(model)
        self.pointer = self._vocab
        self.size: int = library.llama_vocab_n_tokens(self._vocab)
        self._pieces: list[Piece | None] = [None] * self.size
        self._ends: dict[int, bool] = {}
        self._begins = bool(library.llama_vocab_get_add_bos(self._vocab))
        self.special = {
            f"{kind}_token": self._text(getattr(library, f"llama_vocab_{kind}")(self._vocab))
            for kind in ("bos", "eos")
        }
        self.longest = max(1, *map(self._length, range(self.size)))
        """Bytes of the longest token."""
        self._shown = {token for marker in markers if (token := self.single(marker)) is not None}

    def tokens(self, text: str) -> Any:
        """A prompt's tokens (int32), special ones read as such; the one that begins a text is there once."""
        begin = self.special["bos_token"]
        if self._begins and begin and text.startswith(begin):
            text = text[len(begin) :]
        return self._tokenize(text, self._begins)

    def single(self, text: str) -> int | None:
        """The token that is this text, if it is one."""
        tokens = self._tokenize(text, begins=False)
        return int(tokens[0]) if len(tokens) == 1 else None

    def piece(self, token: int) -> Piece:
        """What a token says; nothing for a special one."""
        known = self._pieces[token]
        if known is None:
            data = self._bytes(token, special=token in self._shown)
            try:
                known = data, data.decode()
            except UnicodeDecodeError:
                known = data, None
            self._pieces[token] = known
        return known

    def is_end(self, token: int) -> bool:
        """Whether a token ends the answer."""
        known = self._ends.get(token)
        if known is None:
            known = self._ends[token] = bool(self._library.llama_vocab_is_eog(self._vocab, token))
        return known

    @property
    def first(self) -> int:
        """Some token, to try the model with."""
        begin: int = self._library.llama_vocab_bos(self._vocab)
        return max(begin, 0)

    def _tokenize(self, text: str, begins: bool) -> Any:
        data = text.encode("utf-8", "replace")
        room = len(data) // 2 + 16
        while True:
            tokens = self._numpy.empty(room, self._numpy.int32)
            pointer = tokens.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
            count = self._library.llama_tokenize(self._vocab, data, len(data), pointer, room, begins, True)
            if count >= 0:
                return tokens[:count]
            if count == INT32_MIN:
                raise ValueError("a text is too long to be told apart into tokens")
            room = -count

    def _text(self, token: int) -> str:
        return "" if token < 0 else self._bytes(token, special=True).decode("utf-8", "replace")

    def _length(self, token: int) -> int:
        """Bytes of a token: what the library finds missing when it has no room for them."""
        missing: int = self._library.llama_token_to_piece(self._vocab, token, None, 0, 0, True)
        return -missing

    def _bytes(self, token: int, *, special: bool) -> bytes:
        room = PIECE_BYTES
        while True:
            buffer = ctypes.create_string_buffer(room)
            count = self._library.llama_token_to_piece(self._vocab, token, buffer, room, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            room = -count
