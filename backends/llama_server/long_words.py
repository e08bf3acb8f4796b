"""Refuses texts that end a llama-server, which tokenizes a prompt as a whole.

llama.cpp splits a text into words by regular expressions (std::regex) that take a frame of the stack for each
character: some 20,000 letters, signs or spaces in a row overflow it (`backends.shared.engine.long_runs`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import orjson

from backends.base import GenerationError
from generation.generation import Generation

BLOCK = 8000
"""Characters. A text is looked at in blocks: of twice as many in a row, one block has nothing else."""

TOO_LONG = (
    f"a text has more than {BLOCK} letters, digits, signs or spaces in a row, which the engine cannot read"
)


def check_words(generation: Generation) -> None:
    """Raise `GenerationError` for a text with a word that is too long. Takes microseconds for other texts."""
    if any(len(text) > BLOCK and _has_long_word(text) for text in _texts(generation)):
        raise GenerationError("invalid_prompt", TOO_LONG)


def _has_long_word(text: str) -> bool:
    starts = range(0, len(text) - BLOCK + 1, BLOCK)
    return any(run.match(text, start) for start in starts for run in _RUNS)


def _texts(generation: Generation) -> Iterator[str]:
    """The texts that become a part of the prompt."""
    yield from (text for text in (generation.prompt, generation.suffix) if text)
    yield from (part for part in generation.prompt_tokens if isinstance(part, str))
    if generation.infill is not None:
        yield generation.infill.begun
        yield from (text for file in generation.infill.extra for text in file)
    for message in generation.messages:
        yield message.text
        yield message.reasoning or ""
        yield from (call.arguments for call in message.tool_calls)
    for tool in generation.tools:
        yield tool.description or ""
        yield orjson.dumps(tool.parameters).decode()
    if generation.embedding is not None:
        yield generation.embedding.query or ""
        yield from (given for given in generation.embedding.inputs if isinstance(given, str))


def _kind(code: int) -> str:
    """The kind of a character: letter (L), mark, number, space (Z) or sign (S)."""
    text = chr(code)
    kind = "Z" if text.isspace() else unicodedata.category(text)[0]
    return kind if kind in "LMNZ" else "S"


def _block_of(kinds: str) -> re.Pattern[str]:
    """An expression for a block of these kinds; characters beyond the BMP count for each kind."""
    ranges: list[list[int]] = []
    for code in range(1 << 16):
        if _KINDS[code] in kinds:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    spelled = "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges)
    return re.compile(f"[{spelled}\\U00010000-\\U0010ffff]{{{BLOCK}}}")


_KINDS = "".join(map(_kind, range(1 << 16)))
_RUNS = tuple(map(_block_of, ("LM", "MS", "N", "Z")))
