"""The stub's text tasks: its tokens are the bytes of UTF-8, and its chat template is that of ChatML."""

from __future__ import annotations

from typing import Any

from ...shared.engine.text_tasks import Part, checked_tokens, text_of_tokens, text_parts, token_parts
from .script import text_of

VOCABULARY = 256


def result_parts(generation: dict[str, Any]) -> list[Part]:
    """The parts of the result of a request's text task. Raises `TextTaskError`."""
    task = generation["text_task"]
    content = task["content"]
    if task["kind"] == "template":
        turns = (f"<|im_start|>{one['role']}\n{text_of(one)}<|im_end|>\n" for one in generation["messages"])
        return text_parts("".join(turns) + "<|im_start|>assistant\n")
    if task["kind"] == "detokenize":
        return text_parts(text_of_tokens(content, VOCABULARY, _byte))
    checked_tokens([part for part in content if isinstance(part, int)], VOCABULARY)
    tokens: list[int] = []
    for part in content:
        tokens += [part] if isinstance(part, int) else part.encode("utf-8", "replace")
    return token_parts(tokens, _byte if task["with_pieces"] else None)


def _byte(token: int) -> bytes:
    return bytes((token,))
