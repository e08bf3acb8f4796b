"""Tokens leave the queue with the text that they belong to."""

from __future__ import annotations

import pytest

from backends.shared.engine.token_queue import TokenQueue


def queue(*tokens: str, lags: bool = False) -> TokenQueue[str]:
    made: TokenQueue[str] = TokenQueue(lags=lags)
    for token in tokens:
        made.add(token, token)
    return made


def test_all_tokens_that_wait_belong_to_the_next_text() -> None:
    waiting = queue("One", " two", " x")
    assert waiting.take("One two") == ["One", " two", " x"]
    waiting.add(" three", " three")
    assert waiting.take(" three") == [" three"]


def test_text_that_lags_gets_the_tokens_that_begin_in_it() -> None:
    waiting = queue("One", " two", " three", lags=True)
    assert waiting.take("On") == ["One"]
    assert waiting.take("e t") == [" two"]
    assert waiting.take("wo") == []
    assert waiting.take(" th") == [" three"]


def test_the_last_text_lacks_the_tokens_behind_it() -> None:
    assert queue("One", "<|end|>").take("One", last=True) == ["One"]


@pytest.mark.parametrize("text", ["One two", " One two"])
def test_white_space_that_the_text_lacks_has_no_token(text: str) -> None:
    waiting = queue("\n\n", " One", " two", " three", lags=True)
    assert waiting.take(text) == [" One", " two"]


def test_bytes_of_a_letter_count_once() -> None:
    waiting: TokenQueue[int] = TokenQueue(lags=True)
    for part in (0xC3, 0xA9):
        waiting.add("\ufffd", part, bytes([part]))
    waiting.add("!", 0)
    assert waiting.take("é") == [0xC3, 0xA9]
    assert waiting.take("!") == [0]


def test_tokens_before_a_text_are_dropped() -> None:
    waiting = queue("reason", "</think>", "The", " end")
    waiting.keep_last("The end")
    assert waiting.take("The end") == ["The", " end"]
    waiting.add("call", "call")
    waiting.clear()
    assert waiting.take("more") == []
