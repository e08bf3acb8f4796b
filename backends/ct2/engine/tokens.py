"""From text to the tokens that CTranslate2 takes (their strings), and back as they come."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

HALF = "\ufffd"
HALVES_HELD = 8  # tokens without a whole letter; whatever comes then is no letter cut in two
MOST_POSITIONS = 10_000_000  # what those tokenizers say that know no limit lies far beyond
VOCABULARIES = ("vocabulary", "shared_vocabulary", "source_vocabulary", "target_vocabulary")


LETTERS = 4  # of a usual token
SHORTEST = 16  # bytes that the longest token of a vocabulary has at least


class Tokens(Protocol):
    """One model's tokenizer."""

    @property
    def hidden(self) -> Collection[str]:
        """Tokens that are no text."""
        ...

    def split(self, text: str) -> list[str]:
        """The tokens of a text, and nothing around them."""
        ...

    def join(self, tokens: Sequence[str]) -> str:
        """The text of tokens; a letter that is not whole becomes U+FFFD."""
        ...


class JsonTokens:
    """A `tokenizer.json`, read by the library `tokenizers`. Fulfils `Tokens`."""

    def __init__(self, path: Path) -> None:
        self._tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        added = self._tokenizer.get_added_tokens_decoder().values()
        self.hidden = frozenset(str(token.content) for token in added if token.special)

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """All tokens with their ids."""
        known: Mapping[str, int] = self._tokenizer.get_vocab()
        return known

    def split(self, text: str) -> list[str]:
        """See `Tokens.split`."""
        tokens: list[str] = self._tokenizer.encode(whole(text), add_special_tokens=False).tokens
        return tokens

    def join(self, tokens: Sequence[str]) -> str:
        """See `Tokens.join`."""
        ids = [id for token in tokens if (id := self._tokenizer.token_to_id(token)) is not None]
        text: str = self._tokenizer.decode(ids, skip_special_tokens=False)
        return text

    def text_of(self, id: int) -> str | None:
        """The token that has an id."""
        token: str | None = self._tokenizer.id_to_token(id)
        return token


class PieceTokens:
    """Models of the library `sentencepiece`, for the source and for the target. Fulfils `Tokens`."""

    def __init__(self, source: Path, target: Path) -> None:
        sentencepiece: Any = import_module("sentencepiece")
        self._source = sentencepiece.SentencePieceProcessor(model_file=str(source))
        self._target = sentencepiece.SentencePieceProcessor(model_file=str(target))
        self.hidden = frozenset(("<s>", "</s>", "<pad>", "<unk>", "<mask>"))

    def split(self, text: str) -> list[str]:
        """See `Tokens.split`."""
        tokens: list[str] = self._source.encode(whole(text), out_type=str)
        return tokens

    def join(self, tokens: Sequence[str]) -> str:
        """See `Tokens.join`."""
        text: str = self._target.decode_pieces(list(tokens))
        return text


class Letters:
    """The text of one sequence as its tokens come. No letter leaves before it is whole.

    What a token adds is seen only with those before it (a space, the rest of a letter), so the last ones are
    read again with it. Hidden tokens are left out but for those in `shown`; neither kind is part of a letter.
    """

    def __init__(self, tokens: Tokens, shown: Collection[str] = ()) -> None:
        self._tokens = tokens
        self._shown = shown
        self._read: list[str] = []
        self._new: list[str] = []

    def take(self, token: str) -> str:
        """The text that a token brings."""
        if token in self._shown:
            return self.rest() + token
        if token in self._tokens.hidden:
            return self.rest()
        self._new.append(token)
        text = self._text()
        if not text or (text.endswith(HALF) and len(self._new) < HALVES_HELD):
            return ""
        self._read, self._new = self._new, []
        return text

    def rest(self) -> str:
        """What was held back, without the letter that never became whole; what comes next begins anew."""
        text = self._text().rstrip(HALF)
        self._read, self._new = [], []
        return text

    def _text(self) -> str:
        before = self._tokens.join(self._read)
        return self._tokens.join([*self._read, *self._new])[len(before) :]


def whole(text: str) -> str:
    """A text without the halves of UTF-16 letters, which JSON can name and no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def longest_of(vocabulary: Collection[str]) -> int:
    """The bytes of the longest token."""
    return max((len(token.encode("utf-8", "replace")) for token in vocabulary), default=0)


def split_within(tokens: Tokens, text: str, most: int, longest: int) -> list[str] | None:
    """The tokens of a text, be they more than `most` or not; None for a text that has far more.

    That is found out without reading all of it: from its bytes, of which a token has at most `longest`, and
    from how many tokens its beginning has.
    """
    if len(text.encode("utf-8", "replace")) > most * max(longest, SHORTEST):
        return None
    size = LETTERS * most
    while size < len(text):
        # where the beginning is cut there may be some tokens more than the whole has there
        if len(tokens.split(text[:size])) > most + most // 8 + SHORTEST:
            return None
        size *= 2
    return tokens.split(text)


def read_vocabulary(folder: Path) -> set[str]:
    """The tokens that a converted model knows, on either side. Raises `ValueError`, `OSError`."""
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
        raise ValueError(f"{path.name} holds no object")  # noqa: TRY004 - one error for whatever is no such file
    return found


def limit_of(folder: Path) -> int | None:
    """The tokens that a model has positions for, as its tokenizer's settings say; None when they do not."""
    limit = read_json(folder / "tokenizer_config.json").get("model_max_length")
    return int(limit) if limit and limit <= MOST_POSITIONS else None
