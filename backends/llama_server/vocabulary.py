"""What the adapter knows of a model's file: its longest and its special tokens, and its chat template.

The server reads each prompt as a whole and takes any control token that it spells for the token. So those in
the texts of a request are marked (`literal_text`). They are in the file's header (ggml's docs/gguf.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.shared.engine.literal_text import INVISIBLE_MARK, LiteralText
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.gguf_header import read_gguf_header

TEMPLATE = "tokenizer.chat_template"
TOKENS, TYPES, KIND = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.model"
SPECIAL_TYPES = (2, 3)
"""llama.h, llama_token_type: unknown and control, which are text unless special tokens are parsed."""

BYTE_EXACT = ("llama", "gpt2")
"""The tokenizers (SPM, BPE) whose tokens stand for all of a text; others leave out or join characters."""


@dataclass(frozen=True)
class Vocabulary:
    """The bytes of the longest token, None if tokens do not bound a text, and the special tokens.

    `template` is the chat template in the file, `begin` and `end` are the tokens of a text's begin and end;
    each is "" if there is none. `size` is the number of tokens, None if it is not known.
    """

    longest: int | None
    literal_text: LiteralText
    template: str = ""
    begin: str = ""
    end: str = ""
    size: int | None = None


UNKNOWN = Vocabulary(None, LiteralText((), INVISIBLE_MARK))


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a file's vocabulary; `UNKNOWN` if the header cannot be read, which the server will report."""
    try:
        settings = read_gguf_header(path, TEMPLATE, (TOKENS, TYPES)).settings
    except (UnusableArtifact, OSError):
        return UNKNOWN
    tokens, types = settings.get(TOKENS), settings.get(TYPES)
    if not isinstance(tokens, tuple) or not tokens or not isinstance(tokens[0], bytes):
        return UNKNOWN
    kinds = types if isinstance(types, tuple) else ()
    special = [token for token, kind in zip(tokens, kinds, strict=False) if kind in SPECIAL_TYPES]
    longest = max(map(len, tokens)) if settings.get(KIND) in BYTE_EXACT else None
    texts = (token.decode("utf-8", "replace") for token in special)
    return Vocabulary(
        longest and max(1, longest),
        LiteralText(texts, INVISIBLE_MARK),
        _template(settings),
        _token(tokens, settings.get("tokenizer.ggml.bos_token_id")),
        _token(tokens, settings.get("tokenizer.ggml.eos_token_id")),
        len(tokens),
    )


def _template(settings: Mapping[str, Any]) -> str:
    template = settings.get(TEMPLATE)
    return template if isinstance(template, str) else ""


def _token(tokens: Sequence[bytes], number: object) -> str:
    """The text of a token; "" for a number that the vocabulary does not have."""
    if not isinstance(number, int) or not 0 <= number < len(tokens):
        return ""
    return tokens[number].decode("utf-8", "replace")
