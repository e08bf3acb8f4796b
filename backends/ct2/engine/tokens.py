"""Tokenizers: from text to the tokens that CTranslate2 takes (as strings), and incrementally back to text."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from ...shared.engine.literal_text import LiteralText

INCOMPLETE = "\ufffd"
MAX_HELD_BACK = 8  # tokens without a complete character; after so many they are no part of one
MAX_POSITIONS = 10_000_000  # tokenizers without a limit state far larger numbers
VOCABULARIES = ("vocabulary", "shared_vocabulary", "source_vocabulary", "target_vocabulary")
CHARACTERS_PER_TOKEN = 4  # of usual text
MIN_LONGEST_TOKEN = 16  # bytes that the longest token of a vocabulary has at least


class Tokenizer(Protocol):
    """The tokenizer of one model."""

    @property
    def special_tokens(self) -> Collection[str]:
        """Control tokens, which are not part of the text."""
        ...

    def split(self, text: str) -> list[str]:
        """The tokens of a text, without special tokens around or in it."""
        ...

    def join(self, tokens: Sequence[str]) -> str:
        """The text of tokens; an incomplete character becomes U+FFFD."""
        ...


class JsonTokenizer:
    """A `tokenizer.json`, read by the library `tokenizers`. Fulfils `Tokenizer`."""

    def __init__(self, path: Path) -> None:
        self._tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        added = self._tokenizer.get_added_tokens_decoder().values()
        self.special_tokens = frozenset(str(token.content) for token in added if token.special)
        self.literal_text = LiteralText(self.special_tokens)

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """All tokens with their ids."""
        known: Mapping[str, int] = self._tokenizer.get_vocab()
        return known

    def split(self, text: str) -> list[str]:
        """Return the tokens of a text, without special tokens."""
        return self._split(text, special=False)

    def split_prompt(self, prompt: str) -> list[str]:
        """The tokens of a prompt, with special tokens, except those that `literal_text` marked."""
        parts = self.literal_text.parts(prompt)
        return [token for text, literal in parts for token in self._split(text, special=not literal)]

    def _split(self, text: str, *, special: bool) -> list[str]:
        self._tokenizer.encode_special_tokens = not special  # true: the library encodes them as text
        tokens: list[str] = self._tokenizer.encode(without_surrogates(text), add_special_tokens=False).tokens
        return tokens

    def join(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens; an incomplete character becomes U+FFFD."""
        ids = [id for token in tokens if (id := self._tokenizer.token_to_id(token)) is not None]
        text: str = self._tokenizer.decode(ids, skip_special_tokens=False)
        return text

    def text_of(self, id: int) -> str | None:
        """The token with an id."""
        token: str | None = self._tokenizer.id_to_token(id)
        return token


class SentencePieceTokenizer:
    """Models of the library `sentencepiece`, for the source and for the target. Fulfils `Tokenizer`."""

    def __init__(self, source: Path, target: Path) -> None:
        sentencepiece: Any = import_module("sentencepiece")
        self._source = sentencepiece.SentencePieceProcessor(model_file=str(source))
        self._target = sentencepiece.SentencePieceProcessor(model_file=str(target))
        self.special_tokens = frozenset(("<s>", "</s>", "<pad>", "<unk>", "<mask>"))

    def split(self, text: str) -> list[str]:
        """Return the tokens of a text, without special tokens."""
        tokens: list[str] = self._source.encode(without_surrogates(text), out_type=str)
        return tokens

    def join(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens; an incomplete character becomes U+FFFD."""
        text: str = self._target.decode_pieces(list(tokens))
        return text


class IncrementalDecoder:
    """Decodes the tokens of one sequence as they are generated, and returns only complete characters.

    The text of a token depends on the tokens before it (a space, the rest of a character), so the last ones
    are decoded again with it. Special tokens are omitted, except those in `shown`; neither kind is part of a
    character.
    """

    def __init__(self, tokenizer: Tokenizer, shown: Collection[str] = ()) -> None:
        self._decoder = tokenizer
        self._shown = shown
        self._decoded: list[str] = []
        self._pending: list[str] = []

    def add(self, token: str) -> str:
        """The text that becomes complete with a token."""
        if token in self._shown:
            return self.flush() + token
        if token in self._decoder.special_tokens:
            return self.flush()
        self._pending.append(token)
        text = self._text()
        if not text or (text.endswith(INCOMPLETE) and len(self._pending) < MAX_HELD_BACK):
            return ""
        self._decoded, self._pending = self._pending, []
        return text

    def flush(self) -> str:
        """The text that was held back, without an incomplete character; the next token starts anew."""
        text = self._text().rstrip(INCOMPLETE)
        self._decoded, self._pending = [], []
        return text

    def _text(self) -> str:
        before = self._decoder.join(self._decoded)
        return self._decoder.join([*self._decoded, *self._pending])[len(before) :]


def without_surrogates(text: str) -> str:
    """A text with lone UTF-16 surrogates replaced: JSON can contain them, and no tokenizer accepts them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def longest_token_bytes(vocabulary: Collection[str]) -> int:
    """The length of the longest token in bytes (UTF-8)."""
    return max((len(token.encode("utf-8", "replace")) for token in vocabulary), default=0)


def split_within(split: Callable[[str], list[str]], text: str, limit: int, longest: int) -> list[str] | None:
    """The tokens of a text, even if there are more than `limit`; None for a text with far more.

    A text with far more tokens is not tokenized completely: they are estimated from its bytes, of which a
    token has at most `longest`, and from the number of tokens of its beginning.
    """
    if len(text.encode("utf-8", "replace")) > limit * max(longest, MIN_LONGEST_TOKEN):
        return None
    size = CHARACTERS_PER_TOKEN * limit
    while size < len(text):
        # the cut may split tokens, so the beginning may have a few more than in the whole text
        if len(split(text[:size])) > limit + limit // 8 + MIN_LONGEST_TOKEN:
            return None
        size *= 2
    return split(text)


def read_vocabulary(folder: Path) -> set[str]:
    """The tokens of a converted model, of its source and its target. Raises `ValueError`, `OSError`."""
    known: set[str] = set()
    for name in VOCABULARIES:
        if (path := folder / f"{name}.json").is_file():
            known.update(json.loads(path.read_text(encoding="utf-8")))
        elif (path := folder / f"{name}.txt").is_file():
            known.update(path.read_text(encoding="utf-8").split("\n"))
    return known


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one when there is no such file. Raises `ValueError`, `OSError`."""
    if not path.is_file():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} does not contain an object")  # noqa: TRY004 - one error for all invalid files
    return found


def position_limit(folder: Path) -> int | None:
    """The number of positions of a model, from its tokenizer's settings; None when they do not state it."""
    limit = read_json(folder / "tokenizer_config.json").get("model_max_length")
    return int(limit) if limit and limit <= MAX_POSITIONS else None
