"""Text tasks on a llama-server: its own routes do them, and lists of tokens pass through unparsed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from backends.base import GenerationError
from backends.llama_server.vocabulary import Vocabulary
from backends.shared.engine.long_runs import cut_long_runs
from backends.shared.engine.text_tasks import (
    MAX_RESULT_BYTES,
    PART_CHARS,
    TOO_LARGE,
    TextTaskError,
    checked_tokens,
    text_parts,
)
from backends.shared.http_engine import malformed_answer
from generation.generation import TextTask
from streams.events import Delta, TextDelta, TokensDelta

TOKENIZE_PATH, DETOKENIZE_PATH = "/tokenize", "/detokenize"

MAX_ANSWER_BYTES = 8 << 20
"""The most bytes read of an answer: JSON escapes make a text longer."""

_BEFORE, _BEHIND = b'{"tokens":[', b"]}"
_BETWEEN_PIECES = b'},{"id":'
"""Between two items with pieces. It cannot be in the text of a piece, whose quotes are escaped."""


def task_request(task: TextTask, vocabulary: Vocabulary) -> tuple[str, bytes]:
    """The path and the body of the request for tokens, or for a text. Raises `GenerationError`."""
    try:
        known = [part for part in task.content if isinstance(part, int)]
        checked_tokens(known, 1 << 31 if vocabulary.size is None else vocabulary.size)
    except TextTaskError as error:
        raise refused(error) from None
    if task.kind == "detokenize":
        return DETOKENIZE_PATH, orjson.dumps({"tokens": task.content})
    fields = ("add_special", "parse_special", "with_pieces")
    content: list[str | int] = []
    for part in task.content:
        cut = isinstance(part, str) and vocabulary.splits_words
        content += cut_long_runs(str(part)) if cut else [part]
    body = {"content": content, **{name: getattr(task, name) for name in fields}}
    return TOKENIZE_PATH, orjson.dumps(body)


def task_result(kind: str, answer: bytes) -> Iterator[Delta]:
    """The result in parts. Raises `GenerationError`."""
    if kind == "tokenize":
        yield from _token_deltas(answer)
        return
    try:
        text = str(orjson.loads(answer)["content" if kind == "detokenize" else "prompt"])
        for _, part in text_parts(text):
            yield TextDelta(part)
    except TextTaskError as error:
        raise refused(error) from None
    except (orjson.JSONDecodeError, LookupError, TypeError) as error:
        if len(answer) >= MAX_ANSWER_BYTES:
            raise GenerationError("invalid_prompt", TOO_LARGE) from error
        raise malformed_answer() from error


def _token_deltas(answer: bytes) -> Iterator[Delta]:
    if len(answer) > MAX_RESULT_BYTES:
        raise GenerationError("invalid_prompt", TOO_LARGE)
    items = _items(answer)
    between, kept = (_BETWEEN_PIECES, 1) if items.startswith(b"{") else (b",", 0)
    start = 0
    while start < len(items):
        end = items.find(between, start + PART_CHARS)
        end = len(items) if end < 0 else end + kept
        yield TokensDelta(items[start:end])
        start = end + 1


def _items(answer: bytes) -> bytes:
    """The items of the list, without blanks. Raises `GenerationError`."""
    if answer.startswith(_BEFORE) and answer.endswith(_BEHIND):
        return answer[len(_BEFORE) : -len(_BEHIND)]
    try:
        tokens: list[Any] = orjson.loads(answer)["tokens"]
        return orjson.dumps(tokens)[1:-1]
    except (orjson.JSONDecodeError, LookupError, TypeError) as error:
        raise malformed_answer() from error


def refused(error: TextTaskError) -> GenerationError:
    """The error of a task without a result."""
    return GenerationError("invalid_prompt", str(error))
