"""Prompts of tokens in the bodies of requests, checked without a look at each token in Python.

A body of the largest size has millions of them, and the event loop serves nobody else meanwhile.
"""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from api.http.strict_schema import SchemaMismatch, raise_mismatch

MAX_TOKEN = 2**31 - 1
"""The largest number that may be a token of some vocabulary."""

MAX_PROMPT_TOKENS = 1 << 20
"""The most tokens, and texts, of one prompt."""

MIXED = "must be a list of tokens, or of texts and tokens"


def is_prompt(items: list[Any]) -> bool:
    """Whether a list is one prompt: it has a token."""
    return int in set(map(type, items))


def check_parts(parts: list[Any], *, texts: bool) -> None:
    """Check the tokens of a prompt; `texts`: there may be texts among them. Raises `SchemaMismatch`."""
    if len(parts) > MAX_PROMPT_TOKENS:
        raise SchemaMismatch(f"has more than {MAX_PROMPT_TOKENS} tokens")
    kinds = set(map(type, parts))
    tokens = parts
    if kinds != {int}:
        if not texts or kinds - {int, str}:
            known = (int, str) if texts else (int,)
            raise_mismatch(MIXED if texts else "must be an integer", _first_other(parts, known))
        tokens = [part for part in parts if type(part) is int]
    if min(tokens) < 0 or max(tokens) > MAX_TOKEN:
        wrong = next(token for token in tokens if not 0 <= token <= MAX_TOKEN)
        raise_mismatch(f"must be from 0 to {MAX_TOKEN}", parts.index(wrong))


def _first_other(parts: list[Any], known: tuple[type, ...]) -> int:
    return next(number for number, part in enumerate(parts) if type(part) not in known)


class TokensField(fields.List[Any]):
    """The tokens of a prompt."""

    json_type = list

    def __init__(self, description: str) -> None:
        metadata = {"description": description, "minItems": 1, "maxItems": MAX_PROMPT_TOKENS}
        super().__init__(
            fields.Integer(strict=True, metadata={"minimum": 0, "maximum": MAX_TOKEN}), metadata=metadata
        )

    def check(self, value: list[Any]) -> None:
        """Validate a list. Raises `SchemaMismatch`."""
        if not value:
            raise SchemaMismatch("must not be empty")
        check_parts(value, texts=False)
