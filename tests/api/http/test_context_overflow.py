"""Clients know a prompt that does not fit by the words of their vendor's own API."""

from __future__ import annotations

import re

import pytest

from api.http.anthropic_errors import error_object
from api.http.errors import body_of
from store.errors import Failed, StokerError

ANTHROPIC = re.compile(r"prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)", re.IGNORECASE)
"""As Claude Code reads the message."""

OPENAI = re.compile(
    r"This model's maximum context length is (\d+) tokens\. However, .* resulted in .*?(\d+) tokens"
)


def overflow(message: str) -> StokerError:
    return Failed(message, code="context_length_exceeded")


@pytest.mark.parametrize(
    ("message", "anthropic", "openai"),
    [
        ("the prompt has 9 tokens; 7 fit", ("9", "7"), ("8", "9")),
        ("the prompt has at least 9 tokens; 7 fit", ("9", "7"), ("8", "9")),
        ("the prompt has 99 characters; 7 tokens fit", ("8", "7"), ("8", "8")),
        ("the prompt has 9 words; 7 fit", ("9", "7"), ("7", "9")),
        ("the prompt does not fit: 7 tokens fit", ("8", "7"), ("8", "8")),
        ("input 3 has 9 tokens; 7 fit", ("9", "7"), ("7", "9")),
        ("one of the inputs 0 to 3: an input has 9 tokens; 7 fit", ("9", "7"), ("7", "9")),
        ("the text has 9 tokens; 7 fit", ("9", "7"), ("7", "9")),
    ],
)
def test_a_prompt_that_does_not_fit_is_described_in_the_words_of_the_vendor(
    message: str, anthropic: tuple[str, str], openai: tuple[str, str]
) -> None:
    error = error_object(overflow(message))["error"]
    assert (found := ANTHROPIC.fullmatch(error["message"].removesuffix(" maximum"))) is not None
    assert (found.groups(), error["code"]) == (anthropic, "context_length_exceeded")
    error = body_of(overflow(message))["error"]
    assert (match := OPENAI.match(error["message"])) is not None
    assert (match.groups(), error["code"]) == (openai, "context_length_exceeded")


def test_a_prompt_that_does_not_fit_is_recognised_without_numbers() -> None:
    error = overflow("the prompt has more tokens than the remote model accepts")
    assert error_object(error)["error"]["message"].startswith("prompt is too long: the prompt has more")
    assert body_of(error)["error"]["message"].startswith("This model's maximum context length is exceeded. ")


def test_the_message_of_another_error_stays_as_it_is() -> None:
    error = Failed("the prompt has 9 tokens; 7 fit", code="invalid_prompt")
    assert body_of(error)["error"]["message"] == error_object(error)["error"]["message"] == error.message
