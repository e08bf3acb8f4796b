"""A model's vocabulary: text to tokens, and a token to its bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...shared.engine.literal_text import LiteralText

PIECE_BYTES = 512
CONTROL_ATTRIBUTES = (
    1 | 8
)  # the attributes of tokens that only `parse_special` finds in a text: unknown and control
BYTE_EXACT = (1, 2)
"""llama.h, llama_vocab_type: SPM and BPE; the other tokenizers leave out or join characters."""

INT32_MIN = -(1 << 31)

Piece = tuple[bytes, str | None]
"""A token's bytes, and their text; None where they are parts of characters."""


@dataclass(frozen=True)
class GapTokens:
    """The tokens ahead of the text before a gap, of the text behind it, and of the middle; and those ahead of
    the project's name, and of a file's, which some models lack."""

    before: int
    behind: int
    middle: int
    project: int | None
    file: int | None


class UnknownTokenError(ValueError):
    """Raised for a token that the model does not have; the text is for people."""


class Vocabulary:
    """The tokens of a model. Special tokens have a text only if they are among `markers`. Thread-safe."""

    def __init__(self, library: Any, model: Any, numpy: Any, markers: Iterable[str]) -> None:
        self._library = library
        self._numpy = numpy
        self._vocab = library.llama_model_get_vocab(model)
        self.pointer = self._vocab
        self.size: int = library.llama_vocab_n_tokens(self._vocab)
        self._pieces: list[Piece | None] = [None] * self.size
        self._ends: dict[int, bool] = {}
        self._adds_bos = bool(library.llama_vocab_get_add_bos(self._vocab))
        self.special = {
            f"{kind}_token": self._text(getattr(library, f"llama_vocab_{kind}")(self._vocab))
            for kind in ("bos", "eos")
        }
        self.longest = max(1, *map(self._length, range(self.size)))
        """Bytes of the longest token."""
        self.is_byte_exact = library.llama_vocab_type(self._vocab) in BYTE_EXACT
        """Whether the tokens of a text stand for all of its bytes, so that `longest` bounds their number."""
        self.literal_text = LiteralText(
            self._text(token)
            for token in range(self.size)
            if library.llama_vocab_get_attr(self._vocab, token) & CONTROL_ATTRIBUTES
        )
        self._shown = {token for marker in markers if (token := self.single(marker)) is not None}

    def tokens(self, prompt: str) -> Any:
        """The tokens of a prompt (int32); the BOS token is added at most once.

        Special tokens are parsed, except those that `literal_text` marked before the template was rendered.
        """
        (text, _), *rest = self.literal_text.parts(prompt) or [("", False)]
        begin = self.special["bos_token"]
        if self._adds_bos and begin and text.startswith(begin):
            text = text[len(begin) :]
        first = self._tokenize(text, self._adds_bos)
        if not rest:
            return first
        others = (self._tokenize(part, add_bos=False, special=not literal) for part, literal in rest)
        return self._numpy.concatenate([first, *others])

    def mixed_tokens(self, parts: Iterable[int | str]) -> Any:
        """The tokens (int32) of a prompt of tokens and texts. The BOS token is added to a text at its begin.

        Raises `UnknownTokenError`.
        """
        found: list[Any] = []
        for number, part in enumerate(parts):
            if isinstance(part, str):
                found.append(self.tokens(part) if number == 0 else self._tokenize(part, add_bos=False))
            elif not 0 <= part < self.size:
                raise UnknownTokenError(
                    f"the prompt has the token {part}: the model has the tokens 0 to {self.size - 1}"
                )
            else:
                found.append(self._numpy.array([part], self._numpy.int32))
        return self._numpy.concatenate(found)

    def prompt_tokens(self, text: str) -> list[int]:
        """The tokens of a part of a prompt; special tokens are parsed."""
        return [int(token) for token in self._tokenize(text, add_bos=False)] if text else []

    @property
    def beginning(self) -> list[int]:
        """The token that the model adds at the begin of a text, if it does."""
        return [self._library.llama_vocab_bos(self._vocab)] if self._adds_bos else []

    @cached_property
    def gap(self) -> GapTokens | None:
        """The tokens for a text with a gap; None if the model has none."""
        names = ("pre", "suf", "mid", "rep", "sep")
        tokens = [getattr(self._library, f"llama_vocab_fim_{name}")(self._vocab) for name in names]
        before, behind, middle, project, file = (token if token >= 0 else None for token in tokens)
        if before is None or behind is None or middle is None:
            return None
        return GapTokens(before, behind, middle, project, file)

    @cached_property
    def ends(self) -> list[int]:
        """All tokens that end an output."""
        return [token for token in range(self.size) if self.is_end(token)]

    def input_tokens(self, text: str) -> Any:
        """The tokens (int32) of a text to make a vector of, with those that the model adds around it."""
        return self._tokenize(text, add_bos=True, special=False)

    def text_tokens(self, text: str) -> list[int]:
        """The tokens of a text, without special tokens."""
        tokens = self._tokenize(text, add_bos=False, special=False) if text else ()
        return [int(token) for token in tokens]

    def single(self, text: str) -> int | None:
        """The token whose text this is; None when the text is not a single token."""
        tokens = self._tokenize(text, add_bos=False)
        return int(tokens[0]) if len(tokens) == 1 else None

    def piece(self, token: int) -> Piece:
        """A token's bytes and text; empty for a special token that is not a marker."""
        known = self._pieces[token]
        if known is None:
            data = self._bytes(token, special=token in self._shown)
            try:
                known = data, data.decode()
            except UnicodeDecodeError:
                known = data, None
            self._pieces[token] = known
        return known

    def shown(self, token: int) -> tuple[bytes, str]:
        """A token's bytes and text, also those of a special token."""
        data = self._bytes(token, special=True)
        return data, data.decode("utf-8", "replace")

    def is_end(self, token: int) -> bool:
        """Whether a token ends the output."""
        known = self._ends.get(token)
        if known is None:
            known = self._ends[token] = bool(self._library.llama_vocab_is_eog(self._vocab, token))
        return known

    @property
    def first(self) -> int:
        """A token for the warm-up."""
        begin: int = self._library.llama_vocab_bos(self._vocab)
        return max(begin, 0)

    def _tokenize(self, text: str, add_bos: bool, *, special: bool = True) -> Any:
        data = text.encode("utf-8", "replace")
        capacity = len(data) // 2 + 16
        while True:
            tokens = self._numpy.empty(capacity, self._numpy.int32)
            pointer = tokens.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
            count = self._library.llama_tokenize(
                self._vocab, data, len(data), pointer, capacity, add_bos, special
            )
            if count >= 0:
                return tokens[:count]
            if count == INT32_MIN:
                raise ValueError("a text is too long to be tokenized")
            capacity = -count

    def _text(self, token: int) -> str:
        return "" if token < 0 else self._bytes(token, special=True).decode("utf-8", "replace")

    def _length(self, token: int) -> int:
        """The byte length of a token: the library returns it, negated, for an empty buffer."""
        missing: int = self._library.llama_token_to_piece(self._vocab, token, None, 0, 0, True)
        return -missing

    def _bytes(self, token: int, *, special: bool) -> bytes:
        size = PIECE_BYTES
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = self._library.llama_token_to_piece(self._vocab, token, buffer, size, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            size = -count
