"""What the adapter knows of a model's tokens: the longest one, and those with a meaning for the server.

The server reads each prompt as a whole and takes any control token that it spells for the token. So those in
the texts of a request are marked (`literal_text`). They are in the file's header (ggml's docs/gguf.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from backends.shared.engine.literal_text import INVISIBLE_MARK, LiteralText
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.gguf_header import read_gguf_header

TOKENS, TYPES, KIND = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.model"
SPECIAL_TYPES = (2, 3)
"""llama.h, llama_token_type: unknown and control, which are text unless special tokens are parsed."""

BYTE_EXACT = ("llama", "gpt2")
"""The tokenizers (SPM, BPE) whose tokens stand for all of a text; others leave out or join characters."""


@dataclass(frozen=True)
class Vocabulary:
    """The bytes of the longest token, None if tokens do not bound a text, and the special tokens."""

    longest: int | None
    literal_text: LiteralText


UNKNOWN = Vocabulary(None, LiteralText((), INVISIBLE_MARK))


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a file's vocabulary; `UNKNOWN` if the header cannot be read, which the server will report."""
    try:
        settings = read_gguf_header(path, whole_lists=(TOKENS, TYPES)).settings
    except (UnusableArtifact, OSError):
        return UNKNOWN
    tokens, types = settings.get(TOKENS), settings.get(TYPES)
    if not isinstance(tokens, tuple) or not tokens or not isinstance(tokens[0], bytes):
        return UNKNOWN
    kinds = types if isinstance(types, tuple) else ()
    special = [token for token, kind in zip(tokens, kinds, strict=False) if kind in SPECIAL_TYPES]
    longest = max(map(len, tokens)) if settings.get(KIND) in BYTE_EXACT else None
    texts = (token.decode("utf-8", "replace") for token in special)
    return Vocabulary(longest and max(1, longest), LiteralText(texts, INVISIBLE_MARK))
