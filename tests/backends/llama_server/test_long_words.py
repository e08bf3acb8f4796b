"""Texts that would end a llama-server are refused, in whatever part of a request they are."""

from __future__ import annotations

import pytest

from backends.base import GenerationError
from backends.llama_server.long_words import BLOCK, check_words
from generation.generation import Embedding, Generation, Message, Tool, ToolCall, text_content

RUNS = ("a", "!", " ", "1", "\u00e9", "e\u0301", "\u65e5", "\n", "\u00a0 ", "\U0001d400", "?!")


def request_of(text: str) -> Generation:
    return Generation("model", (Message("user", text_content(text)),))


@pytest.mark.parametrize("run", RUNS)
def test_a_long_word_is_refused_wherever_it_begins(run: str) -> None:
    for before in (0, 1, BLOCK - 1, BLOCK + 7):
        with pytest.raises(GenerationError, match="in a row") as caught:
            check_words(request_of("a1" * (before // 2) + run * (BLOCK * 2 + 1)))
        assert caught.value.code == "invalid_prompt"


@pytest.mark.parametrize(
    "text",
    [
        "a" * (BLOCK - 1),
        ("a" * (BLOCK - 1) + " ") * 20,
        "The capital of Norway is Oslo.\n" * 10_000,
        "QmFzZTY0IGlz/A1+" * 10_000,
        "\u65e5\u672c\u3001" * 10_000,
        "",
    ],
)
def test_other_texts_pass(text: str) -> None:
    check_words(request_of(text))


def test_each_text_of_a_request_is_looked_at() -> None:
    long = "a" * (BLOCK * 2)
    schema = {"type": "object", "description": long}
    call = Message("assistant", (), tool_calls=(ToolCall("1", "f", long),))
    for generation in (
        Generation("model", (), prompt=long),
        Generation("model", (), prompt="", suffix=long),
        Generation("model", (Message("assistant", (), long),)),
        Generation("model", (call,)),
        Generation("model", (), tools=(Tool("f", long),)),
        Generation("model", (), tools=(Tool("f", None, schema),)),
        Generation("model", (), embedding=Embedding((long,))),
        Generation("model", (), embedding=Embedding((), query=long)),
    ):
        with pytest.raises(GenerationError):
            check_words(generation)
