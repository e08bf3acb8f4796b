"""Writes a random text of each grammar on the standard input, with llguidance; runs in vLLM's environment."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from random import Random
from typing import Any

MAX_BYTES = 1500
CLOSING = b'"}]'


def walk(library: Any, tokenizer: Any, grammar: str, random: Random) -> str | None:
    """A random text of the grammar; None if it does not end within MAX_BYTES."""
    matcher = library.LLMatcher(tokenizer, grammar)
    if matcher.is_error():
        raise ValueError(matcher.get_error())
    written = bytearray()
    while len(written) < MAX_BYTES and not matcher.is_stopped():
        mask = matcher.compute_bitmask()
        allowed = [at for at in range(256) if mask[at // 8] >> (at % 8) & 1]
        if not allowed or (matcher.is_accepting() and random.random() < 0.5):
            break
        closing = [at for at in allowed if at in CLOSING]
        token = random.choice(closing if closing and random.random() < 0.2 else allowed)
        matcher.consume_token(token)
        written.append(token)
    return written.decode() if matcher.is_accepting() else None


def main() -> None:
    """Read the grammars as JSON, write the texts as JSON."""
    library = import_module("llguidance")
    tokenizer = library.LLTokenizer("byte")
    grammars = json.load(sys.stdin)
    json.dump([walk(library, tokenizer, one, Random(at)) for at, one in enumerate(grammars)], sys.stdout)


if __name__ == "__main__":
    main()
