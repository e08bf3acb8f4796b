"""The messages of prompts that do not fit, in the words by which clients know them.

Agents shorten a conversation, and gateways ask another model, when they read these words: the codes alone are
unknown to many. Anthropic: `prompt is too long: 9 tokens > 8 maximum`; OpenAI and vLLM: `This model's maximum
context length is 8 tokens. However, your messages resulted in 9 tokens`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from store.errors import StokerError

CODE = "context_length_exceeded"

_SIZES = re.compile(
    r"(?:(?P<of>[a-z0-9: ]+?) has (?P<least>at least )?(?P<size>\d+) (?P<unit>tokens|words|characters); )?"
    r"(?P<fit>\d+)(?: tokens)? fit"
)
"""What the engines say: `the prompt has 9 tokens; 8 fit`, `input 3 has at least 9 tokens; 8 fit`."""

_PROMPT = "the prompt"


class _Overflow(NamedTuple):
    """`size` tokens, as words; `fit` of them fit; `context` is the length of the model's context."""

    of: str
    size: str
    fit: int
    context: int


def _read(message: str) -> _Overflow | None:
    found = _SIZES.search(message)
    if found is None:
        return None
    fit, of = int(found["fit"]), found["of"] or _PROMPT
    is_counted = found["size"] is not None and found["unit"] != "characters"
    size = f"{found['least'] or ''}{found['size']}" if is_counted else f"at least {fit + 1}"
    leaves_room = of == _PROMPT and found["unit"] != "words"  # for the first token of the answer
    return _Overflow(of, size, fit, fit + 1 if leaves_room else fit)


def anthropic_message(error: StokerError) -> str:
    """The message of an error in Anthropic's words, if it is about a prompt that does not fit."""
    if error.code != CODE:
        return error.message
    overflow = _read(error.message)
    if overflow is None:
        return f"prompt is too long: {error.message}"
    return f"prompt is too long: {overflow.size} tokens > {overflow.fit} maximum"


def openai_message(error: StokerError) -> str:
    """The message of an error in OpenAI's words, if it is about a prompt that does not fit."""
    if error.code != CODE:
        return error.message
    overflow = _read(error.message)
    if overflow is None:
        return f"This model's maximum context length is exceeded. {error.message}"
    of = "your messages" if overflow.of == _PROMPT else overflow.of
    return (
        f"This model's maximum context length is {overflow.context} tokens. However, {of} resulted in"
        f" {overflow.size} tokens. Please reduce the length."
    )
